#pragma once

#include "reports/text/text.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// A kernel that no plan lets run.
struct KernelWithoutRoom {
  std::string kernel;
  std::string memory;           ///< that is too small: "gpu", "host" or "ssd"
  std::uint64_t tensor_id = 0;  ///< its largest operand
  std::uint64_t asked_bytes = 0, free_bytes = 0;
};

/// A step at one rate of migration, each way, to memory without end.
struct RooflinePoint {
  double migration_bytes_per_s = 0;
  bool feasible = false;
  double step_s = 0;
  double over_ideal = 0;  ///< throughput over that of a GPU that never waits; 0: it does not fit
};

/// What `spillway lifetimes` answers: when the tensors of a step lie idle, and which of them a
/// planner moves meanwhile.
struct MigrationPlan {
  std::uint64_t tensors = 0, kernels = 0;             ///< of the profile
  bool partial = false;                               ///< some of its active ranges are guesses
  std::uint64_t intervals = 0;                        ///< in which a tensor lies idle
  std::uint64_t moved = 0, urgent_moves = 0;          ///< intervals; kernels wait for urgent ones
  std::uint64_t bytes_to_ssd = 0, bytes_to_host = 0;  ///< of a step
  double ideal_s = 0, step_s = 0;                     ///< the step without waits, and with them
  text::Text note;  ///< of a plan for less than the machine has: why it is that one
  std::optional<KernelWithoutRoom> infeasible;
  std::optional<std::vector<RooflinePoint>> roofline;  ///< where it was asked for
};

/// {"schema": "spillway/answer/lifetimes/1", ...}.
void to_json(nlohmann::json& json, const MigrationPlan& plan);
/// What is missing has its default.
///   Throws  ScenarioError on another schema, and with the path of a value of the wrong type
void from_json(const nlohmann::json& json, MigrationPlan& plan);

}  // namespace spillway::answer
