#pragma once

#include "tests/strategies/systems/systems.hpp"

#include <string>
#include <vector>

/// What the composition test combines.
namespace spillway::strategies {

/// One part and the values that a scenario may give it.
struct PartChoice {
  std::string path;
  std::vector<std::string> values;
};

/// Parts with a list of names have all of them, so that one that is added is tested.
const std::vector<PartChoice>& parts();

/// Two values of different parts, as overrides.
struct Pair {
  std::string one, other;
};

/// What all pairs are put on: a system with all its defaults, or one that more pairs go with.
struct Base {
  std::string name;
  std::string system;
  Overrides overrides;
  std::size_t number = 0;  ///< among all
};

/// Every system of the catalogue, and some more.
std::vector<Base> bases();

/// Every `shards`-th part, from number `shard` on, with all that come after it: one pair in forty,
/// other ones on each base. With the long tests one in twenty, so that none is left out on all
/// bases; all where the environment has SPILLWAY_EVERY_PAIR.
std::vector<Pair> pairs_for(const Base& base, std::size_t shard, std::size_t shards);

}  // namespace spillway::strategies
