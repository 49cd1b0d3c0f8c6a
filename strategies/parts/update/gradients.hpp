#pragma once

#include "strategies/parts/update/gradient_sink.hpp"

#include <memory>

namespace spillway::strategies {

/// One rank's weight gradients, from the kernels that make them to the sink that has what the rank
/// keeps of them: memory of each layer, sums over ranks, gradients of weights that two layers hold.
///   overlap   false: the next layer waits until this one's gradients are where they belong
///   Holds     at most two layers' gradients on the GPU
///   Source    DeepSpeed stage3.py partition_grads; the knobs: scenarios/presets/README.md
class Gradients {
 public:
  /// make_gradients (make.hpp) chooses the sink.
  Gradients(Machine& machine, Rank rank, const Job& job, std::unique_ptr<GradientSink> sink);

  Task<> init();

  /// GPU memory that the layer's gradients take.
  std::uint64_t gpu_bytes(std::uint32_t layer) const;
  /// Waits until those of other layers have left the GPU.
  Task<> others_leave();
  /// Waits until fewer than two layers' gradients are on the GPU.
  ///   Throws  OutOfMemory
  Task<LayerGradients> begin_layer(std::uint32_t layer, MicroBatch micro);
  /// The kernels between a layer's backward, `computed`, and the sums over ranks, of all of its
  /// gradients at once (rewrites_of_gradients): the last part of its pass. The passes wait for the
  /// GPU meanwhile, whichever stream DeepSpeed has these on.
  ///   Result  what comes after `computed`; itself where nothing does
  Op through_bucket(std::uint32_t layer, const LayerGradients& gradients, Op computed,
                    MicroBatch micro);
  /// `computed`: all of the layer's pass. Returns when the next layer may go on.
  Task<> leave(std::uint32_t layer, LayerGradients gradients, Op computed, MicroBatch micro);
  /// End of a micro-batch's backward: everything is where it belongs, but for the flush tail.
  Task<> drain();

 private:
  bool leaves(const LayerWeight& slot, MicroBatch micro) const;
  bool scatters(const LayerWeight& slot) const;
  bool reduces(const LayerWeight& slot, MicroBatch micro) const;
  Op reduce(const LayerWeight& slot, const View& whole, Op computed, MicroBatch micro);
  std::uint64_t gathered_bytes(const LayerWeight& slot) const;
  bool trains(const LayerWeight& slot) const;
  View own_part(const LayerWeight& slot, const View& whole) const;
  std::vector<GradientShare> reduce_layer(const LayerPlan& plan, const LayerGradients& gradients,
                                          const Op& computed, MicroBatch micro);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const description::GradientsPart& part_;
  std::unique_ptr<GradientSink> sink_;
  Buffer reduce_bucket_;
  std::vector<Buffer> tied_;  ///< by weight: a tied weight's gradient, between its two layers
  Semaphore on_gpu_;          ///< layers whose gradients are on the GPU: two
  std::vector<Pending<>> leaving_;
};

}  // namespace spillway::strategies
