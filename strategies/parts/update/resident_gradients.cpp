#include "strategies/parts/update/resident_gradients.hpp"

#include "strategies/layout/landing.hpp"
#include "strategies/parts/weights/replay.hpp"

#include <map>

namespace spillway::strategies {

ResidentBuffer::ResidentBuffer(Machine& machine, Rank rank, const Job& job, Spread spread,
                               SumFormat format)
    : machine_(machine),
      rank_(rank),
      job_(job),
      spread_(spread),
      format_(format),
      offset_(job.model.weights.size()) {}

std::uint64_t ResidentBuffer::bytes(std::uint32_t weight) const {
  if (!job_.row(weight).trainable()) return 0;
  const Partition& shards = job_.row(weight).shards;
  const std::uint64_t states = shards.state_ways();
  const std::uint64_t shared = spread_ == Spread::as_gradients ? shards.gradient_ways() : 1;
  const std::uint64_t elements =
      shared == 1 ? job_.share(weight, states) * states : job_.share(weight, shared);
  return in_sectors(format(weight).bytes(elements));
}

Task<> ResidentBuffer::init() {
  std::uint64_t total = 0;
  for (std::uint32_t weight = 0; weight < offset_.size(); ++weight) {
    offset_[weight] = total;
    total += bytes(weight);
  }
  buffer_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(total), Purpose::gradients);
  GpuKernel clear;
  clear.name = "clear gradients";
  clear.work = GpuWork::initialize;
  clear.bytes = static_cast<double>(total);
  clear.operands.emplace_back(buffer_.view(), models::Access::write, Role::gradient, type(), 0);
  const Op cleared = machine_.run(rank_, std::span<const GpuKernel>(&clear, 1));
  co_await cleared;
}

namespace {
/// Gradients are added to others, and not only kept.
bool has_sums(const description::Scenario& scenario) {
  return gradients_of_a_step(scenario) > 1 || scenario.strategy.gradients.main_gradients;
}

/// Beside an update that may be taken back they wait in the type of the masters.
///   Source  DeepSpeed stage3.py, initialize_optimizer_states
SumFormat format_of(const Job& job) {
  if (has_sums(job.scenario)) return SumFormat(job);
  const description::Strategy& strategy = job.scenario.strategy;
  return SumFormat(strategy.optimizer.roll_back);
}
}  // namespace

ResidentGradients::ResidentGradients(Machine& machine, Rank rank, const Job& job, Replay* replay)
    : machine_(machine),
      rank_(rank),
      job_(job),
      kernels_(machine, rank, job),
      format_(format_of(job)),
      alone_(job.scenario.strategy.gradients.policy == description::GradientPolicy::resident),
      buffer_(machine, rank, job, Spread::as_gradients, format_),
      replay_(replay),
      at_end_(sums_at_end(job.scenario)),
      in_backward_(!replay && job.scenario.strategy.gradients.memory ==
                                  description::GradientMemory::in_backward),
      own_(job.model.weights.size()) {}

Task<> ResidentGradients::init() {
  if (!in_backward_) co_await buffer_.init();
  if (products_widen(job_.scenario)) reserve_placeholders();
}

/// One of each kind and size of matrix, in the type of the weight: autograd is handed it in place
/// of a gradient. Layers and micro-batches share it. A matrix that Megatron-LM fuses with others
/// has one as large as all of them.
///   Source  TransformerEngine pytorch/module/base.py, get_dummy_wgrad; Megatron-LM
///           tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication
void ResidentGradients::reserve_placeholders() {
  std::map<std::pair<models::WeightKind, std::uint64_t>, std::uint64_t> sizes;
  for (std::uint32_t weight = 0; weight < own_.size(); ++weight) {
    const TensorRow& row = job_.row(weight);
    if (row.elements == 0 || !row.trainable()) continue;
    const models::WeightTensor& tensor = job_.model.weights[weight];
    if (products_widen(job_.scenario, tensor))
      sizes[{tensor.kind, row.elements}] = row.weight.bytes(row.elements);
  }
  for (const auto& [of, bytes] : sizes)
    placeholders_.push_back(
        machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::gradients));
}

std::uint64_t ResidentGradients::bytes_to_begin(std::uint32_t weight) const {
  return in_backward_ && !own_[weight] ? buffer_.bytes(weight) : 0;
}

void ResidentGradients::begin(std::uint32_t weight) {
  if (const std::uint64_t bytes = bytes_to_begin(weight))
    own_[weight] = machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::gradients);
}

View ResidentGradients::own(std::uint32_t weight) const {
  return in_backward_ ? own_[weight].view() : buffer_.at(weight);
}

void ResidentGradients::end_step() {
  for (Buffer& each : own_) each.reset();
}

View ResidentGradients::all() const {
  ENSURE(!in_backward_, "gradients that have memory of their own, as one");
  return buffer_.all();
}

/// A part is summed over tensor ranks before it is added to those of other micro-batches: ZeRO-2
/// and 3 do so with all gradients, where there are ranks that share them.
bool ResidentGradients::sums_parts_each_time(std::uint32_t weight) const {
  return job_.partial(weight) && job_.scenario.parallel.zero_stage >= 2;
}

bool ResidentGradients::in_place(std::uint32_t weight) const {
  if (replay_) return false;
  const bool one = gradients_of_a_step(job_.scenario) == 1;
  if (ways(weight) > 1 || format(weight) != job_.row(weight).gradient_format()) return false;
  return one || (alone_ && job_.scenario.strategy.gradients.fused_accumulation &&
                 !sums_parts_each_time(weight));
}

/// Micro-batches add up before the ranks' sums do (ZeRO-0 and 1).
bool ResidentGradients::sums_locally(std::uint32_t weight) const {
  return alone_ && ways(weight) == 1 && !in_place(weight) && !sums_parts_each_time(weight);
}

bool ResidentGradients::reduces(std::uint32_t weight, bool last_micro) const {
  return in_place(weight) ? last_micro && !at_end_ : !sums_locally(weight);
}

View ResidentGradients::share(std::uint32_t weight) const {
  const std::uint64_t states = job_.row(weight).shards.state_ways();
  const std::uint64_t bytes = format(weight).bytes(job_.share(weight, states));
  const std::uint64_t first =
      ways(weight) == 1 && states > 1 ? job_.member(rank_, weight) * bytes : 0;
  return own(weight).part(first, bytes);
}

/// Micro-batches add up on each rank, and ranks once a step: their order is that of the layers.
void ResidentGradients::issue(GradientShare& share, MicroBatch micro) {
  const bool local = sums_locally(share.weight);
  if (local) share.ready = keep(share, micro.first, share.ready);
  if (!micro.last) return;
  if (at_end_ && (local || in_place(share.weight)))
    to_sum_.push_back(share.weight);
  else if (local)
    share.ready = sum(share.weight, share.ready);
}

/// Of a gradient of which this rank has all that it made of it.
Op ResidentGradients::sum(std::uint32_t weight, const Op& after) {
  Op summed =
      sum_over_tensor_ranks(machine_, rank_, job_, weight, own(weight), format(weight), after);
  if (job_.row(weight).shards.ways == 1) return summed;
  return sum_over_ranks(machine_, rank_, job_, weight, own(weight), format(weight), summed);
}

/// All in the order in which they were made, after one kernel that divides them by the number of
/// ranks.
///   Source  Megatron-LM distributed/param_and_grad_buffer.py, start_grad_sync
Task<> ResidentGradients::sum_at_end() {
  GpuKernel divide;
  divide.name = "divide gradients";
  divide.work = GpuWork::scale;
  for (const std::uint32_t weight : to_sum_) {
    const View whole = own(weight);
    divide.bytes += static_cast<double>(2 * whole.bytes);
    divide.operands.emplace_back(whole, models::Access::read_write, Role::gradient,
                                 format(weight).type, weight);
  }
  if (to_sum_.empty() || job_.scenario.parallel.ranks() == job_.scenario.parallel.pipeline)
    co_return to_sum_.clear();
  const Op divided = machine_.run(rank_, std::span<const GpuKernel>(&divide, 1));
  std::vector<Op> summed;
  for (const std::uint32_t weight : to_sum_) summed.push_back(sum(weight, divided));
  to_sum_.clear();
  for (const Op& op : summed) co_await op;
}

/// To the sum that stays here; with a replay, to the one that it is to be in.
Op ResidentGradients::keep(const GradientShare& share, bool first_micro, const After& after) {
  if (!replay_) return add(share, first_micro, after);
  std::vector<Op> all{replay_->reader(share.weight)};
  after.each([&](Operation& on) { all.emplace_back(&on); });
  const Op kept = add(share, replay_->begins(share.weight), all);
  replay_->arrived(share.weight, kept);
  return kept;
}

Op ResidentGradients::add(const GradientShare& share, bool first, const After& after) {
  const NumberFormat sum = format(share.weight);
  const NumberFormat& computed = job_.row(share.weight).gradient_format();
  const TypedView into(own(share.weight).part(0, sum.bytes(share.elements)), sum.type);
  std::vector<TypedView> from;
  if (!first) from.push_back(into);
  from.emplace_back(share.on_gpu.part(0, computed.bytes(share.elements)), computed.type);
  return kernels_.run("keep gradient", GpuWork::sum, into, std::move(from), after);
}

/// Waits for shares that are reduced (or summed) and adds them to those that stay here.
Task<> ResidentGradients::take(std::vector<GradientShare> shares, LayerGradients layer,
                               MicroBatch micro) {
  std::vector<Op> kept;
  for (const GradientShare& share : shares) {
    co_await share.ready;  // the stream must not stand still behind a reduction
    if (in_place(share.weight) || sums_locally(share.weight)) continue;
    kept.push_back(keep(share, micro.first, {}));
  }
  for (const Op& op : kept) co_await op;
  layer.buffer.reset();
}

}  // namespace spillway::strategies
