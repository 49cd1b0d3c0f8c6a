#pragma once

#include "strategies/coroutines/sync.hpp"
#include "strategies/layout/job.hpp"

#include <memory>

namespace spillway::strategies {

/// A layer's gradients on the GPU while its backward runs and until they have left.
struct LayerGradients {
  std::shared_ptr<Semaphore::Lock> slot;  ///< of those who bring them away
  Buffer buffer;
  std::vector<View> views;  ///< parallel to LayerPlan::weights
  std::vector<bool> fresh;  ///< nothing is in the view yet to add to
};

/// What one rank keeps of a gradient.
struct GradientShare {
  std::uint32_t weight;
  std::uint64_t elements;
  View on_gpu;  ///< as computed
  Op ready;     ///< reduced
};

/// Which of a layer's gradients a pass makes: all, or those that one half of a split backward does.
enum class Made : std::uint8_t { all, early, late };

/// Of a step's micro-batches.
struct MicroBatch {
  bool first, last;
  Made made = Made::all;

  bool makes(const LayerWeight& slot) const {
    return made == Made::all || slot.late == (made == Made::late);
  }
};

/// Where gradients go. Gradients has them computed and reduced, layer by layer; what becomes of the
/// shares is the sink's.
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  /// Throws  OutOfMemory
  virtual Task<> init() = 0;
  /// Ranks that share the weight's gradient.
  virtual std::uint64_t ways(std::uint32_t weight) const = 0;
  /// GPU memory that `begin` takes: none of a gradient that has its memory already.
  virtual std::uint64_t bytes_to_begin(std::uint32_t /*weight*/) const { return 0; }
  /// Backward comes to a layer that makes the gradient.
  ///   Throws  OutOfMemory
  virtual void begin(std::uint32_t /*weight*/) {}
  /// Kernels write, or add to, the sink's own gradient: `own` has it.
  virtual bool in_place(std::uint32_t /*weight*/) const { return false; }
  virtual View own(std::uint32_t weight) const = 0;
  /// Ranks add up a gradient that all of them keep as soon as it is computed.
  virtual bool reduces(std::uint32_t /*weight*/, bool /*last_micro*/) const { return true; }
  /// A share on the way: what is to be issued in the order of the layers.
  virtual void issue(GradientShare&, MicroBatch) {}
  /// Runs beside the passes: brings the shares to where they belong, and gives up the layer's bytes
  /// of the GPU as early as it can.
  virtual Task<> take(std::vector<GradientShare> shares, LayerGradients layer,
                      MicroBatch micro) = 0;
  /// A backward ends when all have come; false: they are part of an update that goes on.
  virtual bool ends_with_backward() const { return true; }
  /// Backward of a micro-batch is through, and all that left it has come: ranks add up what they
  /// have waited with.
  virtual Task<> sum_at_end() { co_return; }
  /// Waits until no more than `bytes` are still being written to storage.
  virtual Task<> settle(std::uint64_t /*bytes*/) { co_return; }
};

/// Ranks add up a gradient of `format` that each of them has whole, with room for all their shares:
/// each gets all of it, or, where gradients are scattered, the share that its optimizer reads.
Op sum_over_ranks(Machine& machine, Rank rank, const Job& job, std::uint32_t weight,
                  const View& whole, const NumberFormat& format, const After& after);

/// Tensor ranks add up a gradient of which each has a part, as those of norms of some tokens or
/// heads; of others `after` itself.
///   Source  Megatron-LM finalize_model_grads, _allreduce_non_tensor_model_parallel_grads
Op sum_over_tensor_ranks(Machine& machine, Rank rank, const Job& job, std::uint32_t weight,
                         const View& whole, const NumberFormat& format, const Op& after);

/// A view with the type of what is in it.
struct TypedView {
  View view;
  ElementType type;
  TypedView(View what, ElementType of) : view(std::move(what)), type(of) {}
};

/// Widening, adding and norms of gradients on one rank's GPU: beside the passes, or, without
/// `gradients.overlap`, on their stream.
///   Source  DeepSpeed: reduce_and_partition_stream with overlap_comm, else the default stream
class GradientKernels {
 public:
  GradientKernels(Machine& machine, Rank rank, const Job& job);
  Op run(std::string_view name, GpuWork work, TypedView into, std::vector<TypedView> from,
         const After& after);

  /// That reads all of `from`, and writes all of `into`.
  static GpuKernel kernel(std::string_view name, GpuWork work, TypedView into,
                          std::vector<TypedView> from);
  Op run(const GpuKernel& kernel, const After& after);

 private:
  Machine& machine_;
  Rank rank_;
  GpuStream stream_;
};

/// `bytes` in whole units.
constexpr std::uint64_t padded(std::uint64_t bytes, std::uint64_t unit) {
  return description::divide_up(bytes, unit) * unit;
}
/// How gradients lie where micro-batches add up.
class SumFormat {
 public:
  /// `wide`: as fp32; else each as it is computed.
  explicit SumFormat(bool wide) : wide_(wide) {}
  /// As `gradients.accumulation` says; a policy of 16 bits adds up what comes.
  explicit SumFormat(const Job& job);

  NumberFormat of(const TensorRow& row) const;
  /// Some are wider than they are computed.
  bool widens(const TensorTable& tensors) const;
  /// Of all together, which then must be of one type.
  ElementType of_all(const TensorTable& tensors) const;

 private:
  bool wide_;
};

}  // namespace spillway::strategies
