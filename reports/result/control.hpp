#pragma once

#include "reports/result/purpose.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spillway::result {

/// "strategy.weights.buffer_count = 9 (auto), strategy.weights.pool = monolithic": the knobs with
/// the values in force.
///   scenario  complete, as in a result; what it lacks is left out
///   count     equal buffers of a rank
std::string setting_of(std::string_view tier, std::string_view purpose,
                       const nlohmann::json& scenario, std::uint64_t count);

/// How buffers of a purpose get smaller, in a few words: as its row has it, and before it a higher
/// ZeRO stage, where several ranks share the model and theirs is lower.
///   scenario  complete, as in a result
std::string shrinks_with(std::string_view tier, std::string_view purpose,
                         const nlohmann::json& scenario);

}  // namespace spillway::result
