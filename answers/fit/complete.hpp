#pragma once

#include "answers/fit/search.hpp"

namespace spillway::answers {

/// Gives the results of a search their best plan for less, what would make them faster and how far
/// their headline numbers may be off, and finds the one change that helps most what people can run.
/// The three side by side. What-ifs and ranges are of plans for all of the machine alone, in
/// proportion to what that takes: each plan for less costs a simulation.
///   lower_plans  Found's
///   answer       its results; gets its change, simulations and notes
void complete(const explore::Backend& backend, bool lower_plans, FitAnswer& answer);

}  // namespace spillway::answers
