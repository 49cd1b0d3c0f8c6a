#pragma once

#include "reports/result/result.hpp"

#include <ostream>

namespace spillway::reports {

/// Writes `trace` for chrome://tracing and ui.perfetto.dev: the JSON Trace Event Format
/// (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
///   Processes  "rank N" for tracks named "rank N ...", "node" for the others, "memory"
///   Threads    a track each; where its bars overlap without nesting, more: "nvme", "nvme (2)"
///   Counters   one per TraceSample::counter, and one per tier and purpose, in "memory", bytes; in
///              "rates" what each link and storage moves, and how many GPUs have a kernel running
///   Flows      from what wrote data, a store or a kernel, to what loads them
///   Times      microseconds with three decimals; the same trace gives the same bytes
///   Throws     InternalError on a span that ends before it starts or a time that is not finite
/// Written piece by piece: needs memory for one number per span, not for the text.
void write_chrome_trace(std::ostream& out, const result::Trace& trace);

}  // namespace spillway::reports
