#pragma once

#include "strategies/job.hpp"
#include "strategies/memory/pool.hpp"
#include "strategies/parts/weight_chunks.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace spillway::strategies {

class Replay;

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
  std::vector<View> views;  ///< parallel to LayerPlan::weights: the whole tensors
  std::vector<Op> ready;    ///< parallel to LayerPlan::weights: after it, that weight is whole
  std::vector<Op> reads;    ///< from storage, of the whole layer
  std::vector<LiveElements> live;
};

/// Where one rank's share of the 16-bit weights lives, and how a layer comes to the GPU.
///   weights.home gpu    shares on the GPU; gathered by an all-gather when ZeRO-3 spreads them,
///                       else used in place
///   weights.home host   shares in one pinned flat buffer; host to GPU, then all-gather
///   weights.home ssd    an extent per tensor; SSD to a pool buffer, host to GPU, all-gather. The
///                       pool buffer is free when its copy ends. Tensors up to the persistence
///                       threshold, 1-D ones and shares below 1 MiB are not swapped: they stay on
///                       the GPU; the first `max_in_host` elements in host memory
///   weights.chunk       of weights in host memory: they lie and come in chunks (WeightChunks)
///   Source  DeepSpeed partition_parameters.py, partitioned_param_swapper.py; MemAscend IV-B
class Weights {
 public:
  Weights(Machine& machine, Rank rank, const Job& job);

  /// Set-up: memory, extents and what they hold.
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
  bool fetches(std::uint32_t layer) const;
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
  /// All that `layer` must gather would fit into the GPU memory that is free now.
  bool has_room(std::uint32_t layer) const;
  /// `layer` is the next to run: what is missing of it is fetched whatever the limits say.
  void demand(std::uint32_t layer);
  /// The hook of a layer: what `max_live` held back is fetched as far as it now allows.
  void look_again();
  /// Nothing is demanded: a pass begins.
  void begin_pass(bool backward);
  /// All that a step knew of them is over: they are about to be updated.
  void step_ends() {
    if (chunks_) chunks_->forget();
  }

  /// Where the optimizer puts new weights of its share: host memory or an extent.
  bool on_gpu(std::uint32_t weight) const { return residence_[weight] == Residence::gpu; }
  /// On the GPU in full although ZeRO-3 spreads the others: an updated share must be gathered.
  bool whole(std::uint32_t weight) const { return whole_[weight]; }
  View whole_view(std::uint32_t weight) const;
  /// What gathering the shares of `ways` ranks fills of it.
  View gathered_view(std::uint32_t weight, std::uint64_t ways) const {
    return whole_view(weight).part(0, ways * job_.share(weight, ways) * job_.weight_bytes);
  }
  bool in_host(std::uint32_t weight) const { return residence_[weight] == Residence::host; }
  bool on_storage(std::uint32_t weight) const { return residence_[weight] == Residence::storage; }
  const Stored& extent(std::uint32_t weight) const { return extents_[weight]; }
  /// This rank's share, of what lives in host or GPU memory.
  View share(std::uint32_t weight) const;
  /// Where the part of a weight on this GPU lies that an optimizer spread over `ways` ranks renews
  /// here.
  View updated_share(std::uint32_t weight, std::uint64_t ways) const;
  /// New values of a weight in host memory, between fetches that have begun and those to come. No
  /// other operation writes `from`.
  Op renew(std::uint32_t weight, const View& from);
  /// Weights on the GPU are what it says when a layer fetches them.
  void set_replay(Replay* replay) { replay_ = replay; }
  std::uint64_t share_bytes(std::uint32_t weight) const { return share_bytes_[weight]; }
  /// The same in whole sectors: its extent.
  std::uint64_t stored_bytes(std::uint32_t weight) const;

 private:
  enum class Residence : std::uint8_t { gpu, host, storage };
  void choose_residence();
  Task<> make_host_flat(std::uint64_t bytes);
  bool persistent(std::uint32_t weight) const;
  Task<> init_gpu();
  Task<> init_host();
  std::uint64_t first_element(std::uint32_t weight) const;
  void make_pools();
  Task<> make_extents();
  BufferPool& pool_for(std::uint32_t weight);
  bool may_live(const LayerWeight& slot) const;
  bool finds_room(const LayerWeight& slot) const;
  Task<View> bring(const LayerWeight& slot, GatheredWeights& gathered);
  Op gather_weight(const LayerWeight& slot, View region, Op own_share_is_there);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Group group_;
  std::vector<Residence> residence_;
  std::vector<bool> whole_;
  std::vector<std::uint64_t> share_bytes_, flat_offset_;
  Buffer gpu_flat_, host_flat_;
  std::vector<Stored> extents_;
  Semaphore turn_;  ///< one layer is fetched at a time: all ranks gather in the same order
  Event looked_again_;
  Op last_read_, last_copy_;
  Replay* replay_ = nullptr;
  Delays* delays_ = nullptr;        ///< keeps what fetches saw
  std::vector<Op> read_, renewed_;  ///< by weight, where delays are kept: its last copies
  std::vector<std::uint64_t> renewals_;
  std::deque<Event> demanded_;                        ///< by layer
  std::vector<bool> held_back_, stays_;               ///< by layer
  std::vector<std::optional<GatheredWeights>> kept_;  ///< by layer
  std::unique_ptr<WeightChunks> chunks_;              ///< null unless weights come in chunks
  std::uint64_t live_ = 0;                            ///< elements of gathered weights on the GPU
  std::vector<std::unique_ptr<BufferPool>> pools_;
  std::vector<std::size_t> pool_of_;  ///< by weight
};

}  // namespace spillway::strategies
