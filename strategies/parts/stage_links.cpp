#include "strategies/parts/stage_links.hpp"

#include "strategies/layout/pipeline.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/parts/hand_over.hpp"

#include <algorithm>

namespace spillway::strategies {

StageLinks::StageLinks(Machine& machine, Rank rank, const Job& job, Activations& activations)
    : machine_(machine),
      rank_(rank),
      job_(job),
      activations_(activations),
      ranks_of_a_stage_(simulated_ranks(job.scenario) / job.scenario.parallel.pipeline),
      stage_(rank.index / ranks_of_a_stage_) {}

std::size_t StageLinks::records_of(const description::Scenario& scenario, Rank rank) {
  if (scenario.strategy.micro_batches == description::MicroBatchOrder::by_layer)
    return scenario.training.gradient_accumulation;
  const std::uint64_t stages = scenario.parallel.pipeline;
  const std::uint64_t behind = rank.index / (simulated_ranks(scenario) / stages);
  const std::uint64_t micro_batches = scenario.training.gradient_accumulation;
  return std::min(forwards_ahead(scenario.parallel.schedule, behind, stages, micro_batches) + 1,
                  micro_batches);
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

void StageLinks::list(const std::vector<std::uint32_t>& tensors, std::int64_t micro, bool sends,
                      std::uint64_t other, std::vector<Message>& messages) const {
  if (micro < 0) return;
  const auto number = static_cast<std::uint64_t>(micro);
  const Rank there = peer(other);
  for (const std::uint32_t hidden : tensors) {
    const std::uint64_t item = job_.plans.hidden[hidden].tensor;
    messages.push_back({sends ? key(rank_, there, item, number) : key(there, rank_, item, number),
                        hidden, static_cast<std::size_t>(number % records()), there});
  }
}

Task<> StageLinks::exchange(StageAction action) {
  const StageTraffic& traffic = job_.plans.traffic;
  std::vector<Message> in, out;
  list(traffic.receives_forward, action.receives_forward, false, stage_ - 1, in);
  list(traffic.receives_backward, action.receives_backward, false, stage_ + 1, in);
  list(traffic.sends_forward, action.sends_forward, true, stage_ + 1, out);
  list(traffic.sends_backward, action.sends_backward, true, stage_ - 1, out);
  std::vector<Incoming> incoming;
  std::vector<Outgoing> outgoing;
  for (const Message& message : in) {
    activations_.use(message.record);
    incoming.push_back({message.key, activations_.receive(message.hidden)});
  }
  for (const Message& message : out) {
    activations_.use(message.record);
    outgoing.push_back({message.key, message.peer, activations_.hidden_view(message.hidden)});
    activations_.sent(message.hidden);
  }
  co_await hand_over(machine_, rank_, job_.shared->handovers, std::move(incoming),
                     std::move(outgoing));
}

Task<> StageLinks::sum_tied(const ResidentGradients& gradients) {
  if (!job_.stage) co_return;
  for (const models::TiedWeight& tied : job_.stage->tied) co_await sum_one(tied, gradients);
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
