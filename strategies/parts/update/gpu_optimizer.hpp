#pragma once

#include "strategies/parts/update/gradient_norm.hpp"
#include "strategies/parts/update/resident_gradients.hpp"
#include "strategies/parts/update/shared_matrices.hpp"
#include "strategies/parts/weights/weights.hpp"

#include <span>

namespace spillway::strategies {

/// One rank's optimizer step on the GPU: states resident, one kernel a weight, over this rank's
/// share under ZeRO; then renewed weights are gathered where every rank holds them whole.
///   Paged  optimizer.home host: states lie in pinned host memory and come to the GPU for each
///         update, of two weights at a time behind backward, of a layer during it.
///         Source  bitsandbytes, paged optimizers, whose unified memory the driver moves likewise
///   Away  new weights that live in host memory go there through a buffer each, two at a time
///   Late  staleness 1: new weights wait in a buffer of their own until they are published
///   Matrices  of which it has a share of what Muon needs whole go by SharedMatrices
class GpuOptimizer {
 public:
  /// `gradients`: null where none stay, and each update is given its own.
  GpuOptimizer(Machine& machine, Rank rank, const Job& job, Weights& weights,
               const ResidentGradients* gradients);
  /// Throws  OutOfMemory
  Task<> init();
  Task<> update(const StepNumbers& numbers);
  /// The norms of gradients that stay: where they are clipped, before an update that reads them.
  ///   clipped  to which they leave their part; null: nobody reads them
  Task<> norm_gradients(const GradientNorm* clipped);
  /// Of one weight, into where its old values are; the gradient is there when `after` is done.
  Op update(std::uint32_t weight, const StepNumbers& numbers, View into, const After& after);
  /// Of one weight that lives on the GPU, by a gradient that has just been made.
  Op update(const GradientShare& gradient, const StepNumbers& numbers);
  /// staleness 1: what the last update made, if there is any, to where kernels read it.
  Task<> publish_late();
  /// Brings every master to host memory, one by one.
  Task<> checkpoint();

 private:
  Task<> first_states();
  Task<> gather(Op updated);
  Task<> send_away(std::vector<const models::Operator*> updates, const StepNumbers& numbers);
  Task<> copy_weights(bool out);
  View late(std::uint32_t weight) const;
  /// Elements of the weight that this rank updates, and the first of them.
  std::uint64_t share(std::uint32_t weight) const;
  std::uint64_t first_element(std::uint32_t weight) const;
  /// Of this rank's share, masters included.
  std::uint64_t state_bytes(std::uint32_t weight) const;
  /// Of its own master, which lies before the other states; 0: it has none.
  std::uint64_t master_bytes(std::uint32_t weight) const;
  /// Where the weight's states live.
  View home(std::uint32_t weight) const;
  /// As operands, at `at`: at home, or where they came to.
  std::vector<BoundOperand> states(std::uint32_t weight, models::Access access,
                                   const View& at) const;
  struct Paged {
    Buffer buffer;
    Op arrived;
  };
  /// Room on the GPU for a weight's states; they come there where `with_values`.
  Paged page_in(std::uint32_t weight, bool with_values);
  /// Back home after `changed`.
  Op page_out(std::uint32_t weight, const Paged& paged, const Op& changed);
  TypedView resident(std::uint32_t weight) const;
  GpuKernel kernel(const models::Operator& op, const StepNumbers& numbers, View into,
                   TypedView gradient, const View& states_at) const;
  /// Where norms are clipped, a pass over all gradients that multiplies them.
  Op scale_gradients();
  template <class Fill>
  Op for_gradients(const Fill& fill);
  Task<> update_flattened(const StepNumbers& numbers);
  /// Copies of a gradient: in its own type, and in fp32 where the update reads that.
  struct Flattened {
    std::uint64_t flat = 0, wide = 0;
    std::uint64_t bytes() const { return flat + wide; }
  };
  Flattened flattened(std::uint32_t weight) const;
  double traffic_of(const Flattened& copies) const;
  Op update_matrices(const StepNumbers& numbers);
  Op run_flattened(std::vector<GpuKernel>& kernels);
  void take_scratch(std::span<const models::Operator> updates);
  Op run_alone(const models::Operator& op, const StepNumbers& numbers, View into,
               TypedView gradient, const View& states_at, const After& after);
  Task<> update_paged(const StepNumbers& numbers);
  std::span<const models::Operator> updates() const {
    const models::Span span = job_.program.update;
    return std::span(job_.program.operators).subspan(span.first, span.last - span.first);
  }
  const models::Operator& update_of(std::uint32_t weight) const;
  std::uint32_t weight_of(const models::Operator& op) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Weights& weights_;
  const ResidentGradients* gradients_;
  std::vector<std::uint64_t> offset_;
  SharedMatrices matrices_;
  bool paged_;  ///< states live in host memory
  Buffer states_, ema_, late_;
  Buffer scratch_;                                  ///< of the kernels that are being put together
  std::vector<const models::Operator*> update_of_;  ///< by weight; null: nothing updates it
  std::vector<Op> paged_out_;                       ///< by weight: its states' last way home
  std::vector<std::uint64_t> late_offset_;
  bool has_late_ = false;
};

}  // namespace spillway::strategies
