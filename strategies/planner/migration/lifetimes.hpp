#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// When each tensor of a training step is used, and plans of what is elsewhere in between: no
/// machine, no clock, no file.
///   Source  "Cost-Efficient LLM Training with Lifetime-Aware Tensor Offloading via GPUDirect
///           Storage" (TeraIO), section 3; its Algorithm 1 as this project writes it down
namespace spillway::strategies::planner {

enum class TensorKind : std::uint8_t {
  weight,
  gradient,
  optimizer_state,
  activation,
  communication,
  workspace,
};
std::string_view to_string(TensorKind kind);
std::optional<TensorKind> tensor_kind(std::string_view name);

/// Kernels [first, last], both included, that use a tensor.
struct ActiveRange {
  std::uint32_t first = 0, last = 0;
  bool reads = true, writes = false;
  bool operator==(const ActiveRange&) const = default;
};

/// One storage, whatever views look at it.
struct LifetimeTensor {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  TensorKind kind = TensorKind::activation;
  bool persistent = false;          ///< lives from step to step; else from first to last range
  std::vector<ActiveRange> active;  ///< in order of kernels
  bool operator==(const LifetimeTensor&) const = default;
};

/// A kernel, and the slot of time that begins with it.
struct LifetimeKernel {
  std::string name;
  double start_s = 0, duration_s = 0;  ///< without waits
  std::uint32_t stream = 0;
  bool operator==(const LifetimeKernel&) const = default;
};

/// One training step of one rank. Every step is the same, so time is a circle.
struct Lifetimes {
  std::vector<LifetimeTensor> tensors;
  std::vector<LifetimeKernel> kernels;
  bool partial = false;  ///< some active ranges are guesses: the trace did not name operands
  bool operator==(const Lifetimes&) const = default;

  std::uint32_t slots() const { return static_cast<std::uint32_t>(kernels.size()); }
};

/// A tensor lies idle in slots [first, end); `end` passes the number of slots where the interval
/// goes round the end of the step.
struct IdleInterval {
  std::uint32_t tensor = 0;  ///< index
  std::uint32_t first = 0, end = 0;
};

struct LifetimeFault {
  std::optional<std::size_t> tensor, kernel;  ///< index of which row is wrong; neither: the whole
  std::string message;
};

/// What makes a profile no profile: overlapping ranges, kernels that do not exist or are out of
/// order, tensors of no bytes or of no use, ids twice. Empty: none.
std::vector<LifetimeFault> faults_of(const Lifetimes& lifetimes);

/// Gaps between active ranges; of persistent tensors also the one round the end of the step.
///   Order  by tensor, then time
std::vector<IdleInterval> idle_intervals(const Lifetimes& lifetimes);

/// Bytes that are alive in each slot when nothing moves.
std::vector<std::uint64_t> alive_bytes(const Lifetimes& lifetimes);
/// Bytes that the kernel of each slot uses.
std::vector<std::uint64_t> active_bytes(const Lifetimes& lifetimes);

}  // namespace spillway::strategies::planner
