#pragma once

#include "scenarios/description/scenario.hpp"

#include <string>

namespace spillway::explore {

/// Raised by hand when the same scenario would be answered otherwise; results in databases are then
/// found no more. Nothing else of the program is in a key.
inline constexpr int model_version = 14;

/// 32 hexadecimal digits that stand for `text` under this model version: XXH3, 128 bits.
std::string key_of(const std::string& text);

/// Of the resolved scenario's contents, without what it, its model and its machine are called and
/// where numbers come from.
std::string scenario_key(const description::Scenario& scenario);

}  // namespace spillway::explore
