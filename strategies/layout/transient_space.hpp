#pragma once

#include "strategies/layout/first_fit.hpp"
#include "strategies/layout/pass_order.hpp"

#include <map>
#include <optional>

namespace spillway::strategies {

/// Tensors inside a layer's memory begin at multiples of CUDA's granularity of allocation, 512 B.
constexpr std::uint64_t placed_bytes(std::uint64_t bytes) {
  return description::divide_up(bytes, 512) * 512;
}

/// The memory of one layer's passes at a time: transient tensors, each from its first use to its
/// last, workspaces where tensors leave room while their operator runs, and logits beside them.
class TransientSpace {
 public:
  explicit TransientSpace(const models::StepProgram& program) : program_(program) {}

  void begin_layer();
  /// Lays out passes that follow each other in one space.
  ///   is_transient  of a tensor, and whether it is used by what runs again
  void place(const std::vector<Pass>& passes,
             const std::function<bool(models::TensorId, bool recompute)>& is_transient);

  /// Offsets, in bytes; none: it has no place here.
  std::optional<std::uint64_t> transient(models::TensorId id) const {
    return found(transients_, id);
  }
  std::optional<std::uint64_t> logits(models::TensorId id) const { return found(logits_, id); }
  /// Of an operator's workspace, among the transients.
  std::optional<std::uint64_t> workspace(std::uint32_t op) const { return found(workspaces_, op); }

  std::uint64_t transient_bytes() const { return transient_bytes_; }
  std::uint64_t logits_bytes() const { return logits_bytes_; }

 private:
  using Offsets = std::map<std::uint32_t, std::uint64_t>;

  static std::optional<std::uint64_t> found(const Offsets& offsets, std::uint32_t key) {
    const auto at = offsets.find(key);
    return at == offsets.end() ? std::nullopt : std::optional(at->second);
  }
  void place_logits(models::TensorId id);
  void place_workspaces(const std::vector<Pass>& passes, const FirstFit& fit);

  const models::StepProgram& program_;
  Offsets transients_, logits_, workspaces_;
  std::uint64_t transient_bytes_ = 0, logits_bytes_ = 0;
};

}  // namespace spillway::strategies
