#pragma once

#include "strategies/layout/tensor_table.hpp"

#include <nlohmann/json.hpp>

namespace spillway::strategies {

/// A table as JSON:
///   rows         those that differ: type of the weight, of its gradient (absent: frozen), of its
///                states, where they are, who updates them, how ranks share them. A type is a name,
///                or with scales {"type": "int8", "block": 256, "scale": "fp32"}
///   of_weights   [row, sub-group, count], weight by weight, equal ones folded; the sub-group of a
///                weight that nobody updates is null
/// Elements are the model's, and are not in it.
nlohmann::json tensors_json(const TensorTable& table);

/// Reads what tensors_json() wrote.
///   elements   of each weight: as many rows
///   Throws     ScenarioError with the path of what is wrong
TensorTable read_tensors(const nlohmann::json& in, const std::vector<std::uint64_t>& elements);

}  // namespace spillway::strategies
