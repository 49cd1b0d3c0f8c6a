#pragma once

#include "answers/plan/question.hpp"
#include "reports/answer/plan.hpp"

namespace spillway::answers {

/// How many drives does this scenario need?
struct DrivesQuestion {
  description::Scenario scenario;  ///< resolved
  std::string storage;             ///< whose drives are counted; "": of several arrays the busiest
  std::string parts;        ///< a price list whose drives are tried too: its name or file; "": none
  std::uint64_t most = 16;  ///< drives that are tried at most
  double years = 0;         ///< that their flash has to last; 0: however long
  std::string today;        ///< as in PlanQuestion
};

/// The fewest drives of each kind that are nearly as fast as the best of all and last long enough.
/// Other arrays keep theirs.
///   Throws  ScenarioError: the machine has no drives, or none of that name; what is wrong with all
///           that could be tried
answer::Drives drives(const explore::Backend& backend, const DrivesQuestion& question);

}  // namespace spillway::answers
