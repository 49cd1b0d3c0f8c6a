#pragma once

#include "strategies/parts/update/gradients_to_host.hpp"
#include "strategies/parts/update/resident_gradients.hpp"

namespace spillway::strategies {

/// Of a flag on the GPU, which is its first fp32 number.
inline constexpr std::uint64_t flag_bytes = 64;

/// Gradients that land in the states, as ZeRO-1 and 2 of DeepSpeed bring them (lands_in_states):
/// checked and normed on the GPU, and there made what the optimizer reads: 4 B/param beside fp32
/// masters, 2 B/param beside masters of 16 bits. The flat buffer is what they have for new 16-bit
/// weights.
///   ZeRO-1   micro-batches add up on the GPU before; ZeRO-2: 16-bit sums in host memory
///   Source   stage_1_and_2.py: async_inplace_copy_grad_to_fp32_buffer_from_gpu,
///            temp_grad_buffer_for_cpu_offload and ..._gpu_offload, accumulated_grads_in_cpu; a
///            second bucket with overlap_comm
class GradientsIntoStates : public GradientsToHost {
 public:
  GradientsIntoStates(Machine& machine, Rank rank, const Job& job, CpuOptimizer& optimizer);

  Task<> init() override;
  bool in_place(std::uint32_t) const override { return sums_ != nullptr; }
  View own(std::uint32_t weight) const override { return sums_->at(weight); }
  bool reduces(std::uint32_t, bool last_micro) const override { return !sums_ || last_micro; }
  Task<> take(std::vector<GradientShare> shares, LayerGradients layer, MicroBatch micro) override;

  /// Each tensor's is a number, above 0 where its gradient has an inf or a NaN; empty where nobody
  /// asks.
  const Buffer& flags() const { return flags_; }
  std::size_t tensors() const { return job_.model.weights.size(); }

 protected:
  /// Of a weight's gradient as the optimizer reads it.
  virtual View place(std::uint32_t weight) const {
    return optimizer_.states().gradient_home(weight).memory;
  }

 private:
  Purpose flat_purpose() const override { return Purpose::swap_out_buffer; }
  bool two_at_a_time() const override { return true; }
  bool delivers() const override { return false; }
  Task<Down> bring(const GradientShare& share, MicroBatch micro) override;
  void make_landing();

  std::unique_ptr<ResidentBuffer> sums_;  ///< null: they do not add up on the GPU
  Buffer landing_host_, landing_gpu_, second_bucket_, flags_;
  std::vector<Buffer> partial_sums_;  ///< by weight: 16-bit sums in host memory
};

}  // namespace spillway::strategies
