#pragma once

#include "strategies/parts/activations/saved_tensors.hpp"
#include "strategies/parts/activations/tensor_cache.hpp"

namespace spillway::strategies {

/// Saved tensors that a cache decides about during the run (TensorCache). Layers are cut into
/// modules and run part by part, at most one ahead of the GPU: memory is taken for what a part
/// makes or needs when it begins, and given back when it is through.
///   Source  SSDTrain, section III
class SavedInCache : public SavedTensors {
 public:
  SavedInCache(Machine& machine, Rank rank, const Job& job, ActivationMemory& memory)
      : SavedTensors(machine, rank, job, memory), cache_(machine, rank, job, memory.records()) {}

  Task<> init() override { return cache_.init(); }
  /// Nothing: each part takes its own.
  void before_forward(std::uint32_t /*layer*/) override {}
  Task<IssuedPass> forward(PassTurn turn) override;
  void after_forward(std::uint32_t layer, const IssuedPass& issued) override;
  Task<IssuedPass> backward(BackwardTurn turn, std::vector<Op> after) override;

  void use(std::size_t record) override {
    cache_.use(record);
    piece_ = &job_.plans.pieces[record % job_.plans.pieces.size()];
  }
  void begin_micro_batch(bool backward_follows) override;
  /// Its last tensors come back behind the end of the pass.
  void expect_backward(std::optional<std::size_t> record) override { expected_ = record; }
  bool holds(std::uint32_t hidden) const override;
  void step_ended() override { cache_.step_ended(); }
  Task<> settle() override { return cache_.settle(); }

 private:
  void enter_forward(std::uint32_t layer, const PassPlan::Segment& segment);
  void leave_forward(std::uint32_t layer, std::uint32_t index, const Op& issued);
  Task<> enter_backward(std::uint32_t layer, const PassPlan::Segment& segment);
  void leave_backward(std::uint32_t layer, const PassPlan::Segment& segment);
  void note_modules(const PassPlan& pass, const IssuedPass& issued);
  void expect_at(std::uint32_t module, bool backward);
  const MovedTensor& moved(std::uint32_t index) const { return job_.plans.moved[index]; }

  TensorCache cache_;
  Op before_;                                             ///< the forward of the layer before
  std::optional<std::size_t> expected_;                   ///< record whose backward is next
  const LayerPiece* piece_ = &job_.plans.pieces.front();  ///< of the record in use
};

}  // namespace spillway::strategies
