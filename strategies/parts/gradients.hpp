#pragma once

#include "strategies/parts/active_update.hpp"
#include "strategies/parts/landing.hpp"

namespace spillway::strategies {

class Replay;

/// `bytes` in whole units.
constexpr std::uint64_t padded(std::uint64_t bytes, std::uint64_t unit) {
  return description::divide_up(bytes, unit) * unit;
}
/// Of a flag on the GPU, which is its first fp32 number.
inline constexpr std::uint64_t flag_bytes = 64;

/// One rank's weight gradients, from the kernels that make them to where the optimizer finds them.
///   resident      stay on the GPU, reduced over the data-parallel group
///   host_fp16, host_fp32
///                 to the flat host buffer; after the last micro-batch to the optimizer's buffers
///   ssd_fp32      like that, then to each sub-group's gradient extent through the swap buffers
///   active, active_naive
///                 to where ActiveUpdate reads them, layer by layer
///   convert gpu   widened on the GPU, 4 B/param down; later micro-batches read back, add there and
///                 write again
///   convert cpu   as computed, 2 B/param down; the CPU widens and adds
///   overlap       widening, adding and norms have the side stream; false: they share the passes'
///                 stream, and the next layer waits until this one's gradients are where they
///                 belong
///   staleness     1: gradients of two steps have a flat buffer each, one being filled, one read by
///                 the update; async: whoever updates takes what has come since the last time, and
///                 what comes next begins a new sum
///   lands         states: without the flat buffer, 4 B/param to the optimizer's gradients; see
///                 landing.hpp
///   flush_tail    bytes that may still be on their way to storage when backward ends
///   Holds         at most two layers' gradients on the GPU
///   Source        DeepSpeed stage3.py partition_grads; MemAscend, steps 8-10; the knobs:
///                 scenarios/presets/README.md
class Gradients {
 public:
  /// `optimizer` null: gradients stay on the GPU.
  Gradients(Machine& machine, Rank rank, const Job& job, CpuOptimizer* optimizer);

  Task<> init();

  /// A layer's gradients on the GPU while its backward runs and until they have left.
  struct OnGpu {
    Semaphore::Lock slot;
    Buffer buffer;
    std::vector<View> views;  ///< parallel to LayerPlan::weights
    std::vector<bool> fresh;  ///< nothing is in the view yet to add to
  };
  /// GPU memory is free for the layer's gradients.
  bool has_room(std::uint32_t layer) const;
  /// Waits until those of other layers have left the GPU.
  Task<> others_leave();
  /// Waits until fewer than two layers' gradients are on the GPU.
  ///   Throws  OutOfMemory
  Task<OnGpu> begin_layer(std::uint32_t layer, bool first_micro);
  /// `computed`: the layer's backward. Returns when the next layer may go on.
  Task<> leave(std::uint32_t layer, OnGpu gradients, Op computed, bool first_micro,
               bool last_micro);
  /// End of a micro-batch's backward: everything is down, but for the flush tail.
  Task<> drain();

  /// The CPU updates sub-groups while backward goes on.
  bool active() const { return active_ != nullptr; }
  /// Policy active: the backward of the last micro-batch begins.
  void begin_update(const Numbers& numbers);
  /// Waits for what it updates after backward.
  Task<> finish_update();

  /// A weight's share in the flat host buffer.
  View flat(std::uint32_t weight) const;
  View flat_sectors(std::uint32_t weight) const;
  /// An update that goes on beside the next step takes this step's gradients (staleness 1).
  void hand_over() { std::swap(flat_, handed_over_); }
  /// As above, of the gradients handed over last.
  View handed_over(std::uint32_t weight) const;
  View handed_over_sectors(std::uint32_t weight) const;
  /// Each tensor's flag is a number on the GPU, above 0 where its gradient has an inf or a NaN;
  /// empty unless gradients land in the states, where they are checked on their way.
  const Buffer& flags() const { return flags_; }
  std::size_t tensors() const { return offset_.size(); }
  /// Of them all; not where they take their weights' place.
  View flat_view() const { return flat_.view(); }
  Bytes flat_bytes() const { return flat_.size(); }
  std::uint64_t flat_width() const { return flat_width_; }
  ElementType flat_type() const;
  // ---- An update that no step waits for takes sums out of the flat buffer (see UpdateLoop)

  /// Set when a gradient has come; reset it before waiting.
  Event& news() { return news_; }
  bool has_news(std::uint32_t weight) const {
    return sums_[weight].gradients > sums_[weight].taken_gradients;
  }
  /// After it the sum is complete.
  const Op& arrived(std::uint32_t weight) const { return sums_[weight].arrived; }
  /// The sum is not needed any more when `taken` is done.
  ///   Result  gradients of the run in it and in those before it
  std::uint64_t taken(std::uint32_t weight, const Op& taken);
  /// Resident sums begin and end as it says.
  void set_replay(Replay* replay) { replay_ = replay; }

  /// A weight's gradient on the GPU (policy resident).
  View resident(std::uint32_t weight) const;
  View resident_view() const { return resident_.view(); }
  /// The part of it that this rank's optimizer reads.
  View resident_share(std::uint32_t weight) const;
  ElementType resident_type() const;

 private:
  struct Share {
    std::uint32_t weight;
    std::uint64_t elements;
    View on_gpu;  ///< this rank's share, as computed
    Op ready;     ///< reduced
  };
  /// A share's way off the GPU: `copied`, its GPU bytes may go; `arrived`, it is in the flat
  /// buffer.
  struct Down {
    Op copied, arrived;
    explicit Down(Op both) : copied(both), arrived(std::move(both)) {}
    Down(Op off_gpu, Op in_place) : copied(std::move(off_gpu)), arrived(std::move(in_place)) {}
  };
  /// A sum of gradients that somebody else takes when it suits him.
  struct Sum {
    bool empty = true;
    std::uint64_t gradients = 0, taken_gradients = 0;
    Op arrived, taken;
  };
  Task<Down> add_down(const Share& share);
  void make_landing();
  Task<Down> bring(const Share& share, bool first_micro, bool last_micro);
  Task<Down> bring_to_states(const Share& share, bool first_micro, bool last_micro);
  bool lands_by_subgroup() const;
  Task<Buffer> make_flat(std::uint64_t total);
  Op reduce(const LayerWeight& slot, const View& whole, Op computed, bool last_micro);
  Op keep(const Share& share, bool first_micro, const After& after);
  Op add_resident(const Share& share, bool first, const After& after);
  void sum_locally(std::vector<Share>& shares, bool first_micro, bool last_micro);
  bool sums_locally() const;
  View own_part(const LayerWeight& slot, const View& whole) const;
  std::vector<Share> reduce_layer(const LayerPlan& plan, const OnGpu& gradients, const Op& computed,
                                  bool last_micro);
  Task<> offload(std::vector<Share> shares, OnGpu keep, bool first_micro, bool last_micro);
  Task<> keep_resident(std::vector<Share> shares, OnGpu keep, bool first_micro);
  Task<Down> bring_down(const Share& share, bool first_micro);
  Task<Op> widen_on_gpu(const Share& share, bool first_micro);
  Task<> deliver_layer(std::vector<Share> shares, std::vector<Op> copied, std::vector<Op> arrived);
  Task<> deliver(Share share, Op arrived, std::vector<Op> before_write);
  Task<Buffer> storage_staging(std::uint64_t bytes);
  /// A view with the type of what is in it.
  struct Typed {
    View view;
    ElementType type;
    Typed(View what, ElementType of) : view(std::move(what)), type(of) {}
  };
  Op gpu_kernel(std::string_view name, GpuWork work, Typed into, std::vector<Typed> from,
                const After& after);
  bool in_place() const;
  std::uint64_t resident_bytes(std::uint32_t weight) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const description::GradientsPart& part_;
  CpuOptimizer* optimizer_;
  Group group_;
  std::uint64_t ways_;        ///< ranks that share one gradient; ZeRO-1 offloads what it updates
  std::uint64_t width_;       ///< bytes of a gradient element as computed
  std::uint64_t flat_width_;  ///< bytes of one in the flat buffer
  std::uint64_t resident_width_;           ///< bytes of one in the buffer on the GPU
  std::vector<std::uint64_t> offset_;      ///< by weight, bytes in the flat buffer
  std::vector<std::uint64_t> gpu_offset_;  ///< ... and in the buffer on the GPU
  Buffer flat_, handed_over_, resident_, reduce_bucket_;
  std::unique_ptr<BufferPool> pinned_staging_, landing_;
  Buffer storage_staging_;  ///< swap buffer being filled
  std::uint64_t staged_ = 0;
  std::vector<Buffer> tied_;  ///< by weight: a tied weight's gradient, between its two layers
  Semaphore on_gpu_;          ///< layers whose gradients are on the GPU: two
  Semaphore delivering_;      ///< one layer at a time
  Semaphore staging_;
  Semaphore norms_;        ///< tensors on the GPU once more for their norm: two
  std::vector<Sum> sums_;  ///< by weight; empty: each step's gradients are its own
  Event news_;
  Replay* replay_ = nullptr;
  std::vector<Pending<>> leaving_;
  std::deque<Op> storage_writes_;
  Op last_write_;
  bool reuses_weights_ = false;  ///< gradients take the place of their weights (reuses_chunks)
  bool direct_;                  ///< gradients land in the states
  bool sums_on_gpu_;             ///< ... when micro-batches have added up on the GPU
  Buffer landing_host_, landing_gpu_, second_bucket_, flags_;
  std::vector<Buffer> partial_sums_;  ///< by weight: 16-bit sums in host memory
  std::unique_ptr<ActiveUpdate> active_;
  bool updating_ = false;  ///< the backward that goes on completes gradients for it
};

}  // namespace spillway::strategies
