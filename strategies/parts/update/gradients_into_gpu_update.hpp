#pragma once

#include "strategies/parts/update/gradient_sink.hpp"

#include <functional>

namespace spillway::strategies {

/// Gradients that the GPU's update takes layer by layer, while backward goes on: none stays.
///   Source  PyTorch, torch.Tensor.register_post_accumulate_grad_hook; torchtune, optimizer_in_bwd
class GradientsIntoGpuUpdate final : public GradientSink {
 public:
  using Update = std::function<Op(const GradientShare&)>;

  explicit GradientsIntoGpuUpdate(const Job& job) : job_(job) {}

  /// What a share's weight is updated by, once the share is there.
  void set_update(Update update) { update_ = std::move(update); }

  Task<> init() override { co_return; }
  std::uint64_t ways(std::uint32_t weight) const override {
    return job_.row(weight).shards.gradient_ways();
  }
  View own(std::uint32_t weight) const override;
  Task<> take(std::vector<GradientShare> shares, LayerGradients layer, MicroBatch micro) override;

 private:
  const Job& job_;
  Update update_;
};

}  // namespace spillway::strategies
