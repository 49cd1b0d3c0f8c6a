#pragma once

#include "scenarios/json/input_file.hpp"
#include "strategies/planner/migration/lifetimes.hpp"

#include <string>
#include <string_view>

namespace spillway::scenarios {

/// A lifetime profile of one rank, "spillway/lifetimes/1": one row a tensor,
/// `id,bytes,kind,persistent,active`, ranges of kernels as "12-14:r;97-97:rw"; beside it the
/// kernels, `index,name,start_s,duration_s,stream`. A first line "# spillway/lifetimes/1 partial"
/// says that ranges were guessed.
struct LifetimesText {
  std::string tensors, kernels;
};
LifetimesText write_lifetimes(const strategies::planner::Lifetimes& lifetimes);

/// Reads both back.
///   Throws  ScenarioError, all complaints at once, each with file and line
strategies::planner::Lifetimes parse_lifetimes(const LifetimesText& text, const std::string& file);

/// "profile.csv" -> "profile.kernels.csv".
std::string kernels_file(const std::string& tensors_file);
/// parse_lifetimes of `path` and what lies beside it.
strategies::planner::Lifetimes read_lifetimes(const std::string& path);

}  // namespace spillway::scenarios
