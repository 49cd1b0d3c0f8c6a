#pragma once

#include "scenarios/description/scenario.hpp"

#include <string>

namespace spillway::explore {

/// Raised by hand when the same scenario would be answered otherwise; results in databases are then
/// found no more. Nothing else of the program is in a key.
inline constexpr int model_version = 15;

/// Of `shards` explorations that run beside each other, the one that has the point of this number:
/// 0 .. shards-1. By a hash: the last axis changes with each number, and in turn a shard would have
/// one of its values where it has as many as there are shards.
std::uint64_t shard_of(std::uint64_t number, std::uint64_t shards);

/// 32 hexadecimal digits that stand for `text` under this model version: XXH3, 128 bits.
std::string key_of(const std::string& text);

/// Of the resolved scenario's contents, without what it, its model and its machine are called and
/// where numbers come from.
std::string scenario_key(const description::Scenario& scenario);

}  // namespace spillway::explore
