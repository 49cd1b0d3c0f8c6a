#pragma once

#include "reports/result/result.hpp"

#include <string>
#include <vector>

namespace spillway::result {

/// What one tier must have and what it has, both with its reserve.
struct TierNeed {
  std::string tier;  ///< gpu host ssd
  std::uint64_t needed = 0;
  std::uint64_t capacity = 0;  ///< 0: unlimited
  std::uint64_t reserve = 0;   ///< of the capacity; that of a larger memory may be larger
  bool is_short() const { return capacity > 0 && needed > capacity; }
};

/// The tiers that the run uses or the machine has; none of a result without needs.
std::vector<TierNeed> needs_of(const Result& result);

/// Those that are too small. None of a run that fits, and of one whose tiers are large enough as a
/// whole: one drive of several is full, or a setting allows less than there is.
std::vector<TierNeed> shortages_of(const Result& result);

}  // namespace spillway::result
