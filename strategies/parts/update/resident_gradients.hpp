#pragma once

#include "strategies/parts/update/gradient_sink.hpp"

namespace spillway::strategies {

class Replay;

/// How gradients of such a buffer are shared: those of each weight as its row says, or not at all.
enum class Spread : bool { nothing, as_gradients };

/// One buffer on the GPU with a place for each of a rank's gradients.
class ResidentBuffer {
 public:
  /// A gradient that is whole has room for the shares of who updates it.
  ResidentBuffer(Machine& machine, Rank rank, const Job& job, Spread spread, SumFormat format);

  /// Cleared: what pads tensors is checked for overflow with them, and nobody else writes it.
  ///   Throws  OutOfMemory
  Task<> init();
  View at(std::uint32_t weight) const { return buffer_.view(offset_[weight], bytes(weight)); }
  /// In whole sectors; 0 of a weight that is not trained.
  std::uint64_t bytes(std::uint32_t weight) const;
  View all() const { return buffer_.view(); }
  /// Of all().
  ElementType type() const { return format_.of_all(job_.tensors); }
  NumberFormat format(std::uint32_t weight) const { return format_.of(job_.row(weight)); }

 private:
  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Spread spread_;
  SumFormat format_;
  std::vector<std::uint64_t> offset_;  ///< by weight
  Buffer buffer_;
};

/// Gradients that stay on the GPU, where an optimizer on it finds them.
///   Micro-batches add up here: in the kernels that make the gradients where ranks keep all of
///   them and one type does for both, else by a kernel of their own
///   Beside those that leave (optimizer.cpu_share), each micro-batch is reduced before it is added,
///            as theirs are: all gradients of a step have been rounded alike
///   Replay   sums begin and end as a recorded training says, and have their memory from the start
class ResidentGradients final : public GradientSink {
 public:
  /// `replay` null: a sum for each step.
  ResidentGradients(Machine& machine, Rank rank, const Job& job, Replay* replay);

  Task<> init() override;
  std::uint64_t ways(std::uint32_t weight) const override {
    return job_.row(weight).shards.gradient_ways();
  }
  std::uint64_t bytes_to_begin(std::uint32_t weight) const override;
  void begin(std::uint32_t weight) override;
  bool in_place(std::uint32_t weight) const override;
  View own(std::uint32_t weight) const override;
  bool reduces(std::uint32_t weight, bool last_micro) const override;
  void issue(GradientShare& share, MicroBatch micro) override;
  Task<> take(std::vector<GradientShare> shares, LayerGradients layer, MicroBatch micro) override;
  Task<> sum_at_end() override;

  /// The update has read them all.
  void end_step();

  /// Of gradients with memory from the start.
  View all() const;
  /// The part of a gradient that this rank's optimizer reads.
  View share(std::uint32_t weight) const;
  /// Of all().
  ElementType type() const { return buffer_.type(); }
  NumberFormat format(std::uint32_t weight) const { return buffer_.format(weight); }

 private:
  bool sums_parts_each_time(std::uint32_t weight) const;
  bool sums_locally(std::uint32_t weight) const;
  void reserve_placeholders();
  Op keep(const GradientShare& share, bool first_micro, const After& after);
  Op add(const GradientShare& share, bool first, const After& after);
  Op sum(std::uint32_t weight, const Op& after);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  GradientKernels kernels_;
  SumFormat format_;
  bool alone_;  ///< all stay; else micro-batches add up in the order of those that leave
  ResidentBuffer buffer_;
  Replay* replay_;
  bool at_end_;                        ///< gradients.sums
  std::vector<std::uint32_t> to_sum_;  ///< weights, by ranks, when backward is through
  std::vector<Buffer> placeholders_;   ///< without values, where products add to wider gradients
  bool in_backward_;                   ///< gradients.memory
  std::vector<Buffer> own_;            ///< by weight, with gradients.memory in_backward
};

}  // namespace spillway::strategies
