#pragma once

#include "reports/text/text.hpp"
#include "strategies/planner/migration/lifetimes.hpp"

#include <string>
#include <vector>

namespace spillway::scenarios {

struct TraceOptions {
  bool keep_gaps = false;    ///< times in which no kernel runs; else kernels follow each other
  std::uint64_t device = 0;  ///< GPU whose kernels count
};

struct ImportedTrace {
  strategies::planner::Lifetimes lifetimes;
  std::vector<text::Text> notes;
};

/// The lifetimes in a Kineto/Chrome trace of PyTorch's profiler.
///   trace      its text: kernels (cat "kernel", ts and dur in us), operators (External id) and,
///              when memory was profiled, [memory] events
///   execution  text of the PyTorch execution trace of the same step, joined by record-function id:
///              operands of every operator by storage, so the profile is complete; empty: sizes,
///              births and deaths of [memory] only, and the profile is partial
///   Throws     ScenarioError: no JSON (line and column), no kernels, no memory events
ImportedTrace import_trace(const std::string& trace, const std::string& file,
                           const std::string& execution, const std::string& execution_file,
                           const TraceOptions& options = {});

/// The text of a file is a trace rather than settings.
bool looks_like_trace(const std::string& text);

}  // namespace spillway::scenarios
