#include "strategies/parts/landing.hpp"

#include "strategies/parts/cpu_kernels.hpp"
#include "strategies/parts/gradients.hpp"
#include "strategies/setup.hpp"

/// Gradients in host memory: the flat buffer, and the way of ZeRO-1 and 2, which leave it out.
namespace spillway::strategies {

using description::Home;
using description::Landing;

bool lands_in_states(const description::Scenario& scenario) {
  const description::Strategy& strategy = scenario.strategy;
  if (strategy.gradients.lands) return *strategy.gradients.lands == Landing::states;
  const std::uint64_t stage = scenario.parallel.zero_stage;
  const description::Precision precision = scenario.training.precision;
  return (stage == 1 || stage == 2) && strategy.weights.home == Home::gpu &&
         strategy.gradients.policy == description::GradientPolicy::host_fp32 &&
         strategy.optimizer.device == description::OptimizerDevice::cpu &&
         strategy.optimizer.home == Home::host && strategy.optimizer.staleness == 0 &&
         scenario.training.optimizer_state == description::StateWidth::fp32 &&
         (precision == description::Precision::fp16_mixed ||
          precision == description::Precision::bf16_mixed);
}

bool sums_before_landing(const description::Scenario& scenario) {
  return scenario.parallel.zero_stage == 1 && scenario.training.gradient_accumulation > 1 &&
         lands_in_states(scenario);
}

bool gradients_are_pageable(const description::Scenario& scenario) {
  const description::GradientsPart& part = scenario.strategy.gradients;
  return part.d2h == description::CopyMemory::pageable &&
         part.pinned == description::PinnedPolicy::exact;
}

/// One buffer for all gradients of the rank, `total` bytes.
Task<Buffer> Gradients::make_flat(std::uint64_t total) {
  std::optional<Rounding> rounding;
  if (part_.pinned) rounding = rounding_of(*part_.pinned);
  Buffer pageable;  // built pageable, then copied into pinned memory: both alive for a moment
  if (part_.init_copy)
    pageable = machine_.allocate_now(TierId::pageable, rank_, Bytes(total), Purpose::init_copy);
  // where only states leave the GPUs, host memory sums 16-bit gradients; else it is DeepSpeed's
  // flat buffer, or what ZeRO-1 and 2 have for new 16-bit weights
  const bool sums = flat_width_ == 2 && part_.convert == description::ConvertOn::cpu &&
                    job_.scenario.strategy.weights.home == Home::gpu;
  const Purpose purpose = direct_ ? Purpose::swap_out_buffer
                          : sums  ? Purpose::gradient_accumulation
                                  : Purpose::gradient_flat_buffer;
  const TierId tier = gradients_are_pageable(job_.scenario) ? TierId::pageable : TierId::pinned;
  if (tier != TierId::pinned) rounding.reset();
  Buffer flat = machine_.allocate_now(tier, rank_, Bytes(total), purpose, rounding);
  // what pads the shares must look like gradients without an overflow
  View first = flat.view();
  if (pageable) first = pageable.view();
  const Op cleared = machine_.run(rank_, zeros(std::move(first)));
  co_await cleared;
  if (pageable) co_await machine_.copy(rank_, flat.view(), pageable.view());
  co_return flat;
}

/// What ZeRO-1 and 2 have beside the optimizer's own gradients: two buffers for the largest tensor,
/// 16-bit sums of several micro-batches, and a flag for each tensor that is checked.
///   Source  stage_1_and_2.py: temp_grad_buffer_for_cpu_offload and ..._gpu_offload,
///           accumulated_grads_in_cpu; a second bucket with overlap_comm
void Gradients::make_landing() {
  std::uint64_t largest = 0;
  for (const models::WeightTensor& weight : job_.model.weights)
    largest = std::max(largest, weight.parameters.value());
  const TierId host = gradients_are_pageable(job_.scenario) ? TierId::pageable : TierId::pinned;
  const Bytes bytes(width_ * largest);
  landing_host_ = machine_.allocate_now(host, rank_, bytes, Purpose::pinned_gradient_buffer);
  landing_gpu_ = machine_.allocate_now(TierId::gpu, rank_, bytes, Purpose::reduce_buckets);
  const std::uint64_t bucket = part_.reduce_bucket.value() * width_;
  if (bucket && part_.overlap)
    second_bucket_ =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(bucket), Purpose::reduce_buckets);
  if (job_.scenario.training.gradient_accumulation > 1 && !sums_on_gpu_)
    for (std::uint32_t weight = 0; weight < offset_.size(); ++weight)
      partial_sums_.push_back(machine_.allocate_now(
          host, rank_, Bytes(padded(job_.share(weight, ways_) * width_, share_alignment)),
          Purpose::gradient_accumulation));
  if (job_.scenario.strategy.overflow_check != description::OverflowCheck::none)
    flags_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(flag_bytes * offset_.size()),
                                   Purpose::workspace);
}

/// On the GPU: what came before is added, and after the last micro-batch the sum is checked, normed
/// and widened.
///   Result  done when the share is where this micro-batch leaves it
Task<Gradients::Down> Gradients::bring_to_states(const Share& share, bool first_micro,
                                                 bool last_micro) {
  co_await share.ready;
  const Typed narrow(share.on_gpu.part(0, share.elements * width_), job_.weight_type());
  Op summed;
  if (!partial_sums_.empty()) {
    const View kept = partial_sums_[share.weight].view(0, narrow.view.bytes);
    if (!first_micro) {
      const Buffer before =
          machine_.allocate_now(TierId::gpu, rank_, Bytes(kept.bytes), Purpose::gradients);
      const Op back = machine_.copy(rank_, before.view(0, kept.bytes), kept);
      co_await back;
      summed = gpu_kernel("add gradient", GpuWork::sum, narrow,
                          {narrow, Typed(before.view(0, kept.bytes), job_.weight_type())}, {});
    }
    const Op stored = machine_.copy(rank_, kept, narrow.view, summed);
    if (!last_micro) co_return Down(stored);
    summed = stored;
  }
  if (flags_)
    summed = gpu_kernel("gradient check", GpuWork::check,
                        Typed(flags_.view(flag_bytes * share.weight, 4), ElementType::fp32),
                        {narrow}, summed);
  const Buffer wide =
      machine_.allocate_now(TierId::gpu, rank_, Bytes(4 * share.elements), Purpose::gradients);
  const Typed sum(wide.view(0, 4 * share.elements), ElementType::fp32);
  const Op widened = gpu_kernel("widen gradient", GpuWork::sum, sum, {narrow}, summed);
  const View result = landing_gpu_.view(0, std::min(share_alignment, landing_gpu_.view().bytes));
  const Op normed =
      gpu_kernel("gradient norm", GpuWork::norm, Typed(result, job_.weight_type()), {sum}, widened);
  const View place = optimizer_->states().gradient_home(share.weight).memory;
  co_return Down(machine_.copy(rank_, place.part(0, sum.view.bytes), sum.view, normed));
}

}  // namespace spillway::strategies
