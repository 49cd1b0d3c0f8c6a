#pragma once

#include "strategies/planner/milp/milp.hpp"

#include <optional>
#include <string>

/// Which values to hold and which to compute again, as a mixed-integer program: Checkmate's. Pure
/// functions of numbers.
namespace spillway::strategies {

/// Nodes of the integer program's tree where nobody says another number ('assumed').
inline constexpr std::uint64_t checkmate_node_limit = 100'000;

/// A value of the graph, computed by one kernel.
struct CheckmateNode {
  double seconds = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> sources;  ///< values before it that its kernel reads
  bool again = true;                   ///< false: computed in its own stage only
  bool offloads = false;               ///< may go to host memory
};

/// Stage t computes node t for the first time, and others before it again.
struct CheckmateProblem {
  std::vector<CheckmateNode> nodes;  ///< in topological order
  std::uint64_t budget = 0;          ///< bytes of GPU memory
  std::uint64_t fixed = 0;           ///< of them those of inputs, weights and their gradients
  /// What is held when this stage begins is held by every other block too, and for each of them:
  /// `held_bytes` are there for it.
  std::optional<std::uint32_t> held_at;
  std::uint64_t held_bytes = 0;
  // of what offloads:
  std::uint64_t host_bytes = 0;
  double down_bytes_per_s = 0, up_bytes_per_s = 0;
  /// Stages whose kernels hide each other's transfers, by their last one, ascending; empty: none.
  std::vector<std::uint32_t> groups;
};

/// By stage and node.
using CheckmateTable = std::vector<std::vector<bool>>;

struct CheckmatePlan {
  bool found = false;
  bool proven = false;
  double seconds = 0;       ///< of all stages
  double gap = 0;           ///< the best plan may be shorter by this share
  CheckmateTable computed;  ///< R: in this stage
  CheckmateTable held;      ///< S: on the GPU when the stage begins
  CheckmateTable fetched;   ///< from host memory in this stage
};

/// The shortest plan. Without offloading: the least time of kernels.
///   Source  Checkmate (MLSys'20), section 4. Added ('assumed', for LoHan+CM): copies in host
///           memory; a group of stages takes the longest of its kernels and its transfers each way
CheckmatePlan plan_checkmate(const CheckmateProblem& problem, const milp::Limits& limits = {});

}  // namespace spillway::strategies
