#include "strategies/parts/stage_links.hpp"

#include "strategies/layout/pipeline.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>

namespace spillway::strategies {

StageLinks::StageLinks(Machine& machine, Rank rank, const Job& job, Activations& activations)
    : machine_(machine),
      rank_(rank),
      job_(job),
      activations_(activations),
      ranks_of_a_stage_(simulated_ranks(job.scenario) / job.scenario.parallel.pipeline),
      stage_(rank.index / ranks_of_a_stage_),
      records_(records_of(job.scenario, rank)) {}

StagePlace StageLinks::place_of(const description::Scenario& scenario, Rank rank) {
  const description::Parallel& parallel = scenario.parallel;
  StagePlace at;
  at.schedule = parallel.schedule;
  at.stages = parallel.pipeline;
  at.stage = rank.index / (simulated_ranks(scenario) / at.stages);
  at.micro_batches = scenario.training.gradient_accumulation;
  at.pieces = parallel.pieces();
  return at;
}

std::size_t StageLinks::records_of(const description::Scenario& scenario, Rank rank) {
  if (scenario.strategy.micro_batches == description::MicroBatchOrder::by_layer)
    return scenario.training.gradient_accumulation;
  const StagePlace at = place_of(scenario, rank);
  return micro_batches_under_way(at) * at.pieces;
}

std::size_t StageLinks::record(std::uint64_t micro, std::uint64_t piece) const {
  const std::size_t pieces = job_.plans.pieces.size();
  return micro % (records_ / pieces) * pieces + piece;
}

Rank StageLinks::peer(std::uint64_t stage) const {
  return Rank{
      static_cast<std::uint32_t>(stage * ranks_of_a_stage_ + rank_.index % ranks_of_a_stage_)};
}

/// A sender is at most a stage's micro-batches ahead of who receives: micro-batches by their last
/// bits, ranks and items far below what theirs can tell apart.
std::uint64_t StageLinks::key(Rank from, Rank to, std::uint64_t item, std::uint64_t micro) const {
  constexpr std::uint64_t rank_bits = 14, item_bits = 24, micro_bits = 12;
  ENSURE(from.index >> rank_bits == 0 && to.index >> rank_bits == 0 && item >> item_bits == 0,
         "a hand-over's key is too short");
  std::uint64_t all = from.index;
  all = all << rank_bits | to.index;
  all = all << item_bits | item;
  return all << micro_bits | (micro & ((1u << micro_bits) - 1));
}

/// The gradient of the residual stream is one tensor in all pieces: the receiver's tells its ways
/// between the same ranks apart.
void StageLinks::list(const std::vector<std::uint32_t>& tensors, Passage of, bool sends, Rank there,
                      std::vector<Message>& messages) const {
  const std::uint64_t number = of.micro * job_.plans.pieces.size() + of.receiver;
  for (const std::uint32_t hidden : tensors) {
    const std::uint64_t item = job_.plans.hidden[hidden].tensor;
    messages.push_back({sends ? key(rank_, there, item, number) : key(there, rank_, item, number),
                        hidden, record(of.micro, of.piece), there});
  }
}

std::vector<Incoming> StageLinks::take_in(const std::vector<Message>& messages) {
  std::vector<Incoming> incoming;
  for (const Message& message : messages) {
    activations_.use(message.record);
    incoming.push_back({message.key, activations_.receive(message.hidden)});
  }
  return incoming;
}

std::vector<Outgoing> StageLinks::give_out(const std::vector<Message>& messages) {
  std::vector<Outgoing> outgoing;
  for (const Message& message : messages) {
    activations_.use(message.record);
    outgoing.push_back({message.key, message.peer, activations_.hidden_view(message.hidden)});
    activations_.sent(message.hidden);
  }
  return outgoing;
}

Task<> StageLinks::exchange(StageAction action) {
  const StageTraffic& all = traffic(0);
  std::vector<Message> in, out;
  list(all.receives_forward, action.receives_forward, false, previous(), in);
  list(all.receives_backward, action.receives_backward, false, next(), in);
  list(all.sends_forward, action.sends_forward, true, next(), out);
  list(all.sends_backward, action.sends_backward, true, previous(), out);
  std::vector<Incoming> incoming = take_in(in);
  co_await hand_over(machine_, rank_, job_.shared->handovers, std::move(incoming), give_out(out));
}

// ---- Beside passes

std::vector<StageLinks::Message> StageLinks::inputs(const StageAction& action) const {
  const StageTraffic& all = traffic(action.piece);
  std::vector<Message> in;
  list(action.back ? all.receives_backward : all.receives_forward,
       Passage{action.micro, action.piece, action.piece}, false, action.back ? next() : previous(),
       in);
  return in;
}

void StageLinks::offer(const StageAction& action) {
  for (const Incoming& one : take_in(inputs(action)))
    job_.shared->handovers.offer(one.key, one.into);
}

Task<> StageLinks::arrival(StageAction action) {
  const std::vector<Message> in = inputs(action);
  for (const Message& message : in) co_await job_.shared->handovers.arrival(message.key);
}

void StageLinks::send(const StageAction& action) {
  const StageTraffic& all = traffic(action.piece);
  // the last stage's next piece is one further on the first
  std::uint64_t receiver = action.piece;
  if (action.back && stage_ == 0) --receiver;
  if (!action.back && stage_ + 1 == stages()) ++receiver;
  std::vector<Message> out;
  list(action.back ? all.sends_backward : all.sends_forward,
       Passage{action.micro, action.piece, receiver}, true, action.back ? previous() : next(), out);
  std::erase_if(sending_, [](const Pending<>& one) { return one.done(); });
  sending_.push_back(
      machine_.spawn(hand_over(machine_, rank_, job_.shared->handovers, {}, give_out(out))));
}

Task<> StageLinks::all_sent() {
  for (Pending<>& one : sending_) co_await one;
  sending_.clear();
}

Task<> StageLinks::sum_tied(const ResidentGradients& gradients) {
  if (!job_.stage) co_return;
  for (const models::TiedWeight& tied : job_.stage->tied)
    if (job_.row(tied.weight).trainable()) co_await sum_one(tied, gradients);
}

Op StageLinks::add(const View& one, const View& other, const View& into, ElementType type) {
  GpuKernel kernel;
  kernel.name = "sum tied gradients";
  kernel.work = GpuWork::sum;
  kernel.bytes = 3 * static_cast<double>(into.bytes);
  kernel.operands.emplace_back(one, models::Access::read, Role::input, type, 0);
  kernel.operands.emplace_back(other, models::Access::read, Role::input, type, 0);
  kernel.operands.emplace_back(into, models::Access::write, Role::output, type, 0);
  return machine_.run(rank_, std::span<const GpuKernel>(&kernel, 1));
}

Task<> StageLinks::sum_one(const models::TiedWeight& tied, const ResidentGradients& gradients) {
  const NumberFormat format = gradients.format(tied.weight);
  const View own = gradients.own(tied.weight).part(0, format.bytes(job_.elements(tied.weight)));
  // behind all tensors of the program
  const std::uint64_t item = job_.program.tensors.size() + tied.weight;
  std::vector<View> parts;  // by holder
  std::vector<Incoming> in;
  std::vector<Outgoing> out;
  for (const std::uint32_t stage : tied.stages) {
    if (stage == stage_) {
      parts.push_back(own);
      continue;
    }
    const Buffer arrival =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(own.bytes), Purpose::gradients);
    parts.push_back(arrival.view());
    in.push_back({key(peer(stage), rank_, item, 0), parts.back()});
    out.push_back({key(rank_, peer(stage), item, 0), peer(stage), own});
  }
  co_await hand_over(machine_, rank_, job_.shared->handovers, std::move(in), std::move(out));
  for (std::size_t i = 1; i < parts.size(); ++i) {  // the sum so far lies in part i - 1
    const View into = i + 1 == parts.size() ? own : parts[i];
    const Op added = add(parts[i - 1], parts[i], into, format.type);
    co_await added;
  }
}

}  // namespace spillway::strategies
