#pragma once

#include "strategies/parts/weights/chosen_experts.hpp"
#include "strategies/parts/weights/weights_on_gpu.hpp"
#include "strategies/parts/weights/weights_on_storage.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace spillway::strategies {

/// Elements of gathered weights that are alive; counts down when the layer that holds it is
/// dropped.
class LiveElements {
 public:
  LiveElements() = default;
  LiveElements(std::uint64_t& total, std::uint64_t elements) : total_(&total), elements_(elements) {
    *total_ += elements;
  }
  LiveElements(LiveElements&& other) noexcept
      : total_(std::exchange(other.total_, nullptr)), elements_(other.elements_) {}
  LiveElements& operator=(LiveElements&& other) noexcept {
    std::swap(total_, other.total_);
    std::swap(elements_, other.elements_);
    return *this;
  }
  ~LiveElements() {
    if (total_) *total_ -= elements_;
  }

 private:
  std::uint64_t* total_ = nullptr;
  std::uint64_t elements_ = 0;
};

/// A layer's weights on the GPU, or on their way there. The bytes are free when it and the kernels
/// that use them are gone.
struct GatheredWeights {
  /// Parallel to LayerPlan::weights: the whole tensors; in place of experts that no token of the
  /// micro-batch chooses, and that have not come, one that has.
  std::vector<View> views;
  std::vector<Op> ready;  ///< parallel to LayerPlan::weights: after it, that weight is whole
  std::vector<Op> reads;  ///< from storage, of the whole layer
  std::vector<LiveElements> live;
};

/// One rank's weights: each from the source that owns it, layer by layer to the GPU. Which layers
/// come ahead of their turn, and how far, is the same for all sources.
///   Source  DeepSpeed partitioned_param_coordinator.py
class Weights {
 public:
  /// Each where weights live there; make_weights (make.hpp) chooses them. The layout outlives them.
  struct Sources {
    std::unique_ptr<const WeightLayout> layout;
    std::unique_ptr<WeightsOnGpu> gpu;
    std::unique_ptr<WeightSource> host;
    std::unique_ptr<WeightsOnStorage> storage;
  };
  Weights(Machine& machine, Rank rank, const Job& job, Sources sources);

  /// Set-up of all sources.
  Task<> init();
  /// Starts to bring `layer` to the GPU; returns when all its operations are issued (it may wait
  /// for pool buffers). Ahead of its turn it goes no further than free memory
  /// and `max_live` allow, and waits there for `demand`.
  ///   Throws  OutOfMemory when the GPU has no room for it
  Task<GatheredWeights> gather(std::uint32_t layer);
  /// Layers that may be fetched ahead of the one that runs: `prefetch_blocks`; none where a limit
  /// of DeepSpeed is 0.
  std::uint64_t ahead() const;
  /// Something of `layer` must come to the GPU before it can run.
  bool fetches(std::uint32_t layer);
  /// Its fetch waits for its turn, as `max_live` has it.
  bool held_back(std::uint32_t layer) const { return held_back_[layer]; }
  /// Which of the last layers stay from forward to backward: those that backward uses before
  /// `max_reuse` elements have passed, of the layers behind them in forward, in backward, and where
  /// they run again (`recomputes`).
  ///   Source  DeepSpeed partitioned_param_coordinator.py, __params_to_release
  void find_staying(const std::function<bool(std::uint32_t)>& recomputes);
  bool stays(std::uint32_t layer) const { return stays_[layer]; }
  /// The next gather() of `layer` is answered with these.
  void keep(std::uint32_t layer, GatheredWeights weights) { kept_[layer] = std::move(weights); }
  /// GPU memory that all that `layer` must gather would take.
  std::uint64_t gpu_bytes(std::uint32_t layer);
  /// `layer` is the next to run: what is missing of it is fetched whatever the limits say.
  void demand(std::uint32_t layer);
  /// It is there; a layer that has a second turn in the pass is fetched for it like any other.
  void has_come(std::uint32_t layer) { demanded_[layer].reset(); }
  /// The hook of a layer: what `max_live` held back is fetched as far as it now allows.
  void look_again();
  /// Nothing is demanded: a pass of one micro-batch begins, or of several at once.
  void begin_pass(bool backward, std::optional<std::uint64_t> micro_batch);
  /// All that a step knew of them is over: they are about to be updated.
  void step_ends();

  // ---- For who updates them

  /// New values of the weight are to come while others are in use already: who brings it to a layer
  /// waits until they have.
  void await_renewal(std::uint32_t weight) { renewed_[weight].reset(); }
  void renewed(std::uint32_t weight) { renewed_[weight].set(); }

  bool on_gpu(std::uint32_t weight) const { return lives(weight, description::Home::gpu); }
  bool in_host(std::uint32_t weight) const { return lives(weight, description::Home::host); }
  bool on_storage(std::uint32_t weight) const { return lives(weight, description::Home::ssd); }
  /// On the GPU in full although ZeRO-3 spreads the others: an updated share must be gathered.
  bool whole(std::uint32_t weight) const { return sources_.layout->whole[weight]; }
  /// What gathering the shares of those who update it fills of a weight that is whole on the GPU.
  View gathered_view(std::uint32_t weight) const {
    const TensorRow& row = job_.row(weight);
    const std::uint64_t ways = row.shards.state_ways();
    return sources_.gpu->whole(weight).part(0, row.weight.bytes(ways * row.share(ways)));
  }
  const Stored& extent(std::uint32_t weight) const { return sources_.storage->extent(weight); }
  /// This rank's share, of what lives in host or GPU memory.
  View share(std::uint32_t weight) const { return source(weight).share(weight); }
  /// Where the part of a weight on this GPU lies that the rank's optimizer renews.
  View updated_share(std::uint32_t weight) const { return sources_.gpu->updated_share(weight); }
  /// The share in whole sectors: its extent.
  std::uint64_t stored_bytes(std::uint32_t weight) const {
    return sources_.layout->stored_bytes(weight);
  }

 private:
  bool lives(std::uint32_t weight, description::Home where) const {
    return sources_.layout->lives(weight, where);
  }
  WeightSource& source(std::uint32_t weight) const;
  std::vector<WeightSource*> all() const;
  bool may_live(std::uint32_t weight) const;
  /// It is on the GPU in any case, or the micro-batch needs it there.
  bool comes(std::uint32_t weight) { return on_gpu(weight) || chosen_.needs(weight); }
  void fill_in(std::uint32_t layer, GatheredWeights& gathered);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Sources sources_;
  ChosenExperts chosen_;
  Semaphore turn_;  ///< one layer is fetched at a time: all ranks gather in the same order
  Event looked_again_;
  std::deque<Event> demanded_;                        ///< by layer
  std::deque<Event> renewed_;                         ///< by weight
  std::vector<bool> held_back_, stays_;               ///< by layer
  std::vector<std::optional<GatheredWeights>> kept_;  ///< by layer
  std::uint64_t live_ = 0;                            ///< elements of gathered weights on the GPU
};

}  // namespace spillway::strategies
