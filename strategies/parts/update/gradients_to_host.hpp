#pragma once

#include "strategies/parts/update/cpu_optimizer.hpp"
#include "strategies/parts/update/gradient_sink.hpp"

namespace spillway::strategies {

/// Gradients that leave for host memory, where the optimizer on the CPU finds them: in one flat
/// buffer, and after the last micro-batch in the optimizer's own, where it has some.
///   convert gpu   widened on the GPU, 4 B/param down; later micro-batches read back, add there and
///                 write again; on the way to the optimizer up once more for their norms
///   convert cpu   as computed, 2 B/param down; the CPU widens and adds
///   Holds         at most two layers' gradients on the GPU, two tensors' fp32 copies
///   Source        DeepSpeed stage3.py partition_grads; MemAscend, steps 8-10
class GradientsToHost : public GradientSink {
 public:
  GradientsToHost(Machine& machine, Rank rank, const Job& job, CpuOptimizer& optimizer);

  Task<> init() override;
  std::uint64_t ways(std::uint32_t weight) const override {
    return job_.row(weight).shards.state_ways();
  }
  View own(std::uint32_t) const override { return View(); }
  Task<> take(std::vector<GradientShare> shares, LayerGradients layer, MicroBatch micro) override;

  /// A weight's share in host memory.
  virtual View gradient(std::uint32_t weight) const { return in_flat(flat_, weight); }
  /// With whole sectors for it, where new weights take its place.
  virtual View sectors(std::uint32_t weight) const { return sectors_in(flat_, weight); }
  /// Of all of them.
  View all() const { return flat_.view(); }
  /// Of all().
  ElementType type() const { return flat_format_.of_all(job_.tensors); }
  /// Of `gradient`.
  NumberFormat format(std::uint32_t weight) const { return flat_format_.of(job_.row(weight)); }

 protected:
  /// A share's way off the GPU: `copied`, its GPU bytes may go; `arrived`, it is in its place.
  struct Down {
    Op copied, arrived;
    explicit Down(Op both) : copied(both), arrived(std::move(both)) {}
    Down(Op off_gpu, Op in_place) : copied(std::move(off_gpu)), arrived(std::move(in_place)) {}
  };

  // ---- What other ways to host memory do differently

  /// The buffers that `gradient` is part of.
  virtual Task<> make_flats();
  virtual Purpose flat_purpose() const;
  /// Shares pass a buffer of their own on the way to their place.
  virtual bool passes_landing() const;
  /// Waits for the part of such a buffer that the share's bytes take.
  virtual Task<View> landing_place(const GradientShare& share);
  virtual void make_staging();
  virtual bool two_at_a_time() const { return part_.convert == description::ConvertOn::gpu; }
  /// Waits until the share has a place to go to.
  virtual Task<> room(std::uint32_t /*weight*/) { co_return; }
  virtual Task<Down> bring(const GradientShare& share, MicroBatch micro);
  virtual void arrives(const GradientShare&, const Op& /*arrived*/, MicroBatch) {}
  /// What came is brought on to where the optimizer reads it.
  virtual bool delivers() const { return true; }
  /// Where that is; empty: where it came to.
  virtual Task<View> destination(std::uint32_t weight);
  /// It is there when `placed` is done. A write to storage also waits for `copied`.
  virtual void delivered(std::uint32_t, const View& /*place*/, const Op& /*placed*/,
                         std::vector<Op> /*copied*/) {}
  virtual void layer_delivered() {}

  void lay_out();
  /// Of this rank's share.
  std::uint64_t flat_bytes(std::uint32_t weight) const;
  /// For the share of a gradient that another sink keeps.
  void make_room(const TensorRow& row);
  Task<Buffer> make_flat();
  View in_flat(const Buffer& flat, std::uint32_t weight) const;
  View sectors_in(const Buffer& flat, std::uint32_t weight) const;
  Task<Buffer> landing_buffer() { return landing_->take(); }
  TypedView computed(const GradientShare& share) const;
  /// The norm of a share, as the optimizer reads it or as it came.
  Op norm_on_gpu(const GradientShare& share, View result, TypedView gradient, const After& after);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const description::GradientsPart& part_;
  CpuOptimizer& optimizer_;
  GradientKernels kernels_;
  SumFormat flat_format_;  ///< in host memory
  bool widens_ = false;    ///< some gradient on its way there
  Buffer flat_;

 private:
  Task<Op> widen_on_gpu(GradientShare share, bool first_micro);
  Task<> deliver_layer(std::vector<GradientShare> shares, std::vector<Op> copied,
                       std::vector<Op> arrived);
  Task<> deliver(GradientShare share, Op arrived, std::vector<Op> copied);
  /// A share's way up for its norm, and down into its place.
  Task<Op> norm(GradientShare share, Op arrived, View place);

  std::vector<std::uint64_t> offset_;  ///< by weight, bytes in the flat buffer
  std::uint64_t total_ = 0;
  std::unique_ptr<BufferPool> pinned_staging_, landing_;
  Semaphore delivering_;  ///< one layer at a time
  Semaphore norms_;       ///< tensors on the GPU once more for their norm: two
};

}  // namespace spillway::strategies
