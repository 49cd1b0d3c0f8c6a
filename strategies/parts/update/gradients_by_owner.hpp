#pragma once

#include "strategies/parts/update/gradient_sink.hpp"

namespace spillway::strategies {

/// A sink and the rows that it takes gradients of.
struct OwnedGradients {
  const Job* rows;  ///< outlives the sink; it holds what the sink owns
  std::unique_ptr<GradientSink> sink;
};

/// Gradients that several sinks take, each those of its rows, of the same layers.
class GradientsByOwner final : public GradientSink {
 public:
  GradientsByOwner(Machine& machine, std::vector<OwnedGradients> owners)
      : machine_(machine), owners_(std::move(owners)) {}

  Task<> init() override;
  std::uint64_t ways(std::uint32_t weight) const override { return of(weight).ways(weight); }
  std::uint64_t bytes_to_begin(std::uint32_t weight) const override {
    return of(weight).bytes_to_begin(weight);
  }
  void begin(std::uint32_t weight) override { of(weight).begin(weight); }
  bool in_place(std::uint32_t weight) const override { return of(weight).in_place(weight); }
  View own(std::uint32_t weight) const override { return of(weight).own(weight); }
  bool reduces(std::uint32_t weight, bool last_micro) const override {
    return of(weight).reduces(weight, last_micro);
  }
  void issue(GradientShare& share, MicroBatch micro) override {
    of(share.weight).issue(share, micro);
  }
  /// The layer's bytes of the GPU are given up when all have taken theirs.
  Task<> take(std::vector<GradientShare> shares, LayerGradients layer, MicroBatch micro) override;
  bool ends_with_backward() const override;
  Task<> sum_at_end() override;
  Task<> settle(std::uint64_t bytes) override;

 private:
  GradientSink& of(std::uint32_t weight) const;

  Machine& machine_;
  std::vector<OwnedGradients> owners_;
};

}  // namespace spillway::strategies
