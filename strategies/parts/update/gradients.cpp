#include "strategies/parts/update/gradients.hpp"

#include "strategies/layout/landing.hpp"

namespace spillway::strategies {

Gradients::Gradients(Machine& machine, Rank rank, const Job& job,
                     std::unique_ptr<GradientSink> sink)
    : machine_(machine),
      rank_(rank),
      job_(job),
      part_(job.scenario.strategy.gradients),
      sink_(std::move(sink)),
      tied_(job.model.weights.size()),
      on_gpu_(machine.scheduler(), 2) {}

Task<> Gradients::init() {
  const std::uint64_t bucket = job_.tensors.largest([this](const TensorRow& row) {
    return row.trainable() ? row.gradient_format().bytes(part_.reduce_bucket.value()) : 0;
  });
  if (bucket)
    reduce_bucket_ =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(bucket), Purpose::reduce_buckets);
  co_await sink_->init();
}

std::uint64_t Gradients::gpu_bytes(std::uint32_t layer) const {
  std::uint64_t bytes = 0;
  for (const LayerWeight& slot : job_.plans.layers[layer].weights) {
    if (!trains(slot)) continue;
    if (const std::uint64_t own = sink_->bytes_to_begin(slot.weight))
      bytes += machine_.gpu_charge(own);
    if (!sink_->in_place(slot.weight) && !tied_[slot.weight])
      bytes += machine_.gpu_charge(gathered_bytes(slot));
  }
  return bytes;
}

bool Gradients::trains(const LayerWeight& slot) const { return job_.row(slot.weight).trainable(); }

/// Of all ranks' shares.
std::uint64_t Gradients::gathered_bytes(const LayerWeight& slot) const {
  return slot.gradient_share_bytes * job_.row(slot.weight).shards.gradient_ways();
}

Task<> Gradients::others_leave() {
  for (std::size_t i = 0; i < leaving_.size(); ++i) co_await leaving_[i];
}

Task<LayerGradients> Gradients::begin_layer(std::uint32_t layer, MicroBatch micro) {
  LayerGradients gradients;
  Semaphore::Lock slot_of_two = co_await on_gpu_.acquire();
  gradients.slot = std::make_shared<Semaphore::Lock>(std::move(slot_of_two));
  const LayerPlan& plan = job_.plans.layers[layer];
  std::uint64_t bytes = 0;
  for (const LayerWeight& slot : plan.weights) {
    if (!trains(slot) || !micro.makes(slot)) continue;
    sink_->begin(slot.weight);
    if (!sink_->in_place(slot.weight) && slot.owned && !tied_[slot.weight])
      bytes += gathered_bytes(slot);
  }
  if (bytes)
    gradients.buffer = machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::gradients);
  std::uint64_t offset = 0;
  for (const LayerWeight& slot : plan.weights) {
    if (!trains(slot) || !micro.makes(slot)) {
      gradients.fresh.push_back(false);
      gradients.views.emplace_back();
      continue;
    }
    const std::uint64_t size = gathered_bytes(slot);
    const bool in_place = sink_->in_place(slot.weight);
    // the head has begun the sum of the weights that it shares with the embedding
    gradients.fresh.push_back(slot.begins && (micro.first || !in_place));
    if (in_place) {
      gradients.views.push_back(sink_->own(slot.weight));
    } else if (!slot.owned || tied_[slot.weight]) {
      // made by the head, completed and sent away by the embedding
      if (!tied_[slot.weight])
        tied_[slot.weight] =
            machine_.allocate_now(TierId::gpu, rank_, Bytes(size), Purpose::gradients);
      gradients.views.push_back(tied_[slot.weight].view());
    } else {
      gradients.views.push_back(gradients.buffer.view(offset, size));
      offset += size;
    }
  }
  co_return gradients;
}

View Gradients::own_part(const LayerWeight& slot, const View& whole) const {
  const std::uint64_t ways = sink_->ways(slot.weight);
  if (ways == 1) return whole;
  const std::uint64_t member = job_.member(rank_, slot.weight);
  if (job_.row(slot.weight).shards.gradient_ways() > 1)
    return whole.part(member * slot.gradient_share_bytes, slot.gradient_share_bytes);
  const std::uint64_t bytes =
      padded(job_.row(slot.weight).gradient_format().bytes(job_.share(slot.weight, ways)),
             share_alignment);
  return whole.part(member * bytes, bytes);
}

/// It is sent away after this layer's backward.
bool Gradients::leaves(const LayerWeight& slot, MicroBatch micro) const {
  return slot.owned && trains(slot) && micro.makes(slot);
}

bool Gradients::scatters(const LayerWeight& slot) const {
  return job_.row(slot.weight).shards.gradient_ways() > 1 && scatters_gradients(job_.scenario);
}

/// Ranks add up what this micro-batch makes of it.
bool Gradients::reduces(const LayerWeight& slot, MicroBatch micro) const {
  return scatters(slot) || sink_->reduces(slot.weight, micro.last);
}

/// ZeRO-2 and 3 leave each rank its share of each micro-batch's sum; below, sums are made once a
/// step when micro-batches add up on the GPU, each time when they do so in host memory.
Op Gradients::reduce(const LayerWeight& slot, const View& whole, Op computed, MicroBatch micro) {
  const TensorRow& row = job_.row(slot.weight);
  if (!reduces(slot, micro)) return computed;  // at the end of the step
  computed = sum_over_tensor_ranks(machine_, rank_, job_, slot.weight, whole, row.gradient_format(),
                                   computed);
  if (row.shards.ways == 1) return computed;
  if (scatters(slot))
    return machine_.collective(rank_, job_.reduce_group(rank_, slot.weight),
                               Collective::reduce_scatter, whole, own_part(slot, whole), computed,
                               row.gradient_format().type);
  return sum_over_ranks(machine_, rank_, job_, slot.weight, whole, row.gradient_format(), computed);
}

std::vector<GradientShare> Gradients::reduce_layer(const LayerPlan& plan,
                                                   const LayerGradients& gradients,
                                                   const Op& computed, MicroBatch micro) {
  std::vector<GradientShare> shares;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const LayerWeight& slot = plan.weights[i];
    if (!leaves(slot, micro)) continue;
    Op reduced = reduce(slot, gradients.views[i], computed, micro);
    shares.push_back({slot.weight, job_.share(slot.weight, sink_->ways(slot.weight)),
                      own_part(slot, gradients.views[i]), std::move(reduced)});
  }
  return shares;
}

Op Gradients::through_bucket(std::uint32_t layer, const LayerGradients& gradients, Op computed,
                             MicroBatch micro) {
  const std::size_t rewrites = rewrites_of_gradients(job_.scenario);
  if (rewrites == 0) return computed;
  const LayerPlan& plan = job_.plans.layers[layer];
  GpuKernel kernel;
  kernel.name = "gradient bucket";
  kernel.work = GpuWork::scale;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const LayerWeight& slot = plan.weights[i];
    if (!leaves(slot, micro) || !reduces(slot, micro)) continue;
    const TensorRow& row = job_.row(slot.weight);
    if (job_.scenario.parallel.zero_stage == 0 && row.shards.ways == 1) continue;
    const View& whole = gradients.views[i];
    kernel.bytes += static_cast<double>(2 * whole.bytes);
    kernel.operands.emplace_back(whole, models::Access::read_write, Role::gradient,
                                 row.gradient_format().type, slot.weight);
  }
  if (kernel.operands.empty()) return computed;
  return machine_.run(rank_, std::vector<GpuKernel>(rewrites, kernel), computed);
}

Task<> Gradients::leave(std::uint32_t layer, LayerGradients gradients, Op computed,
                        MicroBatch micro) {
  std::vector<GradientShare> shares =
      reduce_layer(job_.plans.layers[layer], gradients, computed, micro);
  for (GradientShare& share : shares) {
    sink_->issue(share, micro);
    tied_[share.weight].reset();
  }
  leaving_.push_back(machine_.spawn(sink_->take(std::move(shares), std::move(gradients), micro)));
  const bool blocks = part_.d2h == description::CopyMemory::typed && micro.last;
  if (part_.overlap && !blocks) co_return;
  co_await leaving_.back();
  leaving_.pop_back();
  co_await sink_->settle(0);
}

Task<> Gradients::drain() {
  if (!sink_->ends_with_backward()) co_return;
  for (Pending<>& leaving : leaving_) co_await leaving;
  leaving_.clear();
  co_await sink_->settle(part_.flush_tail.value());
  co_await sink_->sum_at_end();
}

}  // namespace spillway::strategies
