#include "strategies/parts/update/gradients_into_states.hpp"

#include "strategies/layout/landing.hpp"
#include "strategies/machine/cpu_kernels.hpp"
#include "strategies/parts/update/late_gradients.hpp"

#include <algorithm>

namespace spillway::strategies {

GradientsIntoStates::GradientsIntoStates(Machine& machine, Rank rank, const Job& job,
                                         CpuOptimizer& optimizer)
    : GradientsToHost(machine, rank, job, optimizer) {
  flat_format_ = SumFormat(false);
  if (sums_before_landing(job.scenario))
    sums_ = std::make_unique<ResidentBuffer>(machine, rank, job, Spread::nothing, flat_format_);
}

Task<> GradientsIntoStates::init() {
  lay_out();
  if (sums_) co_await sums_->init();
  make_landing();
  co_await make_flats();
}

void GradientsIntoStates::make_landing() {
  std::uint64_t largest = 0;
  for (std::uint32_t weight = 0; weight < tensors(); ++weight)
    if (const TensorRow& row = job_.row(weight); row.trainable())
      largest = std::max(
          largest, row.gradient_format().bytes(job_.model.weights[weight].parameters.value()));
  const TierId host = gradients_are_pageable(job_.scenario) ? TierId::pageable : TierId::pinned;
  const Bytes bytes(largest);
  landing_host_ = machine_.allocate_now(host, rank_, bytes, Purpose::pinned_gradient_buffer);
  landing_gpu_ = machine_.allocate_now(TierId::gpu, rank_, bytes, Purpose::reduce_buckets);
  const std::uint64_t bucket = job_.tensors.largest([this](const TensorRow& row) {
    return row.trainable() ? row.gradient_format().bytes(part_.reduce_bucket.value()) : 0;
  });
  if (bucket && part_.overlap)
    second_bucket_ =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(bucket), Purpose::reduce_buckets);
  if (gradients_of_a_step(job_.scenario) > 1 && !sums_)
    for (std::uint32_t weight = 0; weight < tensors(); ++weight) {
      const Bytes sum(padded(flat_bytes(weight), share_alignment));
      partial_sums_.push_back(
          sum.value() ? machine_.allocate_now(host, rank_, sum, Purpose::gradient_accumulation)
                      : Buffer());
    }
  if (job_.scenario.strategy.overflow_check != description::OverflowCheck::none)
    flags_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(flag_bytes * tensors()),
                                   Purpose::workspace);
}

Task<> GradientsIntoStates::take(std::vector<GradientShare> shares, LayerGradients layer,
                                 MicroBatch micro) {
  if (!sums_ || micro.last) {
    co_await GradientsToHost::take(std::move(shares), std::move(layer), micro);
    co_return;
  }
  for (const GradientShare& share : shares) co_await share.ready;
  layer.slot.reset();
}

/// On the GPU: what came before is added, and after the last micro-batch the sum is checked, made
/// what the optimizer reads, and normed.
Task<GradientsToHost::Down> GradientsIntoStates::bring(const GradientShare& share,
                                                       MicroBatch micro) {
  co_await share.ready;
  const TypedView narrow = computed(share);
  Op summed;
  if (!partial_sums_.empty()) {
    const View kept = partial_sums_[share.weight].view(0, narrow.view.bytes);
    if (!micro.first) {
      const Buffer before =
          machine_.allocate_now(TierId::gpu, rank_, Bytes(kept.bytes), Purpose::gradients);
      const Op back = machine_.copy(rank_, before.view(0, kept.bytes), kept);
      co_await back;
      summed = kernels_.run("add gradient", GpuWork::sum, narrow,
                            {narrow, TypedView(before.view(0, kept.bytes), narrow.type)}, {});
    }
    const Op stored = machine_.copy(rank_, kept, narrow.view, summed);
    if (!micro.last) co_return Down(stored);
    summed = stored;
  }
  if (flags_)
    summed = kernels_.run("gradient check", GpuWork::check,
                          TypedView(flags_.view(flag_bytes * share.weight, 4), ElementType::fp32),
                          {narrow}, summed);
  const NumberFormat& wanted = job_.row(share.weight).updating_gradient();
  TypedView sum = narrow;
  Buffer wide;
  if (wanted.type != narrow.type) {
    const std::uint64_t bytes = wanted.bytes(share.elements);
    wide = machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::gradients);
    sum = TypedView(wide.view(0, bytes), wanted.type);
    summed = kernels_.run("widen gradient", GpuWork::sum, sum, {narrow}, summed);
  }
  const View result = landing_gpu_.view(0, std::min(share_alignment, landing_gpu_.view().bytes));
  const Op normed = norm_on_gpu(share, result, sum, summed);
  const View into = place(share.weight).part(0, sum.view.bytes);
  co_return Down(machine_.copy(rank_, into, sum.view, normed));
}

Task<> LateGradientsIntoStates::make_flats() {
  std::uint64_t bytes = 0;
  for (std::uint32_t weight = 0; weight < tensors(); ++weight) {
    offset_.push_back(bytes);
    if (job_.trains(weight))
      bytes += padded(fp32_numbers.bytes(job_.share(weight, ways(weight))), share_alignment);
  }
  for (Buffer* const buffer : {&coming_, &handed_over_}) {
    *buffer = machine_.allocate_now(TierId::pageable, rank_, Bytes(bytes),
                                    Purpose::optimizer_gradient_buffers);
    co_await machine_.run(rank_, zeros(buffer->view()));
  }
}

View LateGradientsIntoStates::wide(const Buffer& all, std::uint32_t weight) const {
  return all.view(offset_[weight], fp32_numbers.bytes(job_.share(weight, ways(weight))));
}

}  // namespace spillway::strategies
