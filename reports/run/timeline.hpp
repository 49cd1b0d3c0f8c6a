#pragma once

#include "reports/result/result.hpp"
#include "reports/view/document.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::reports {

/// "gradient flat buffer" of "gradient_flat_buffer".
std::string plain(std::string name);

/// A stretch of a trace.
struct Window {
  double first_s = 0, last_s = 0;
};

/// The last step of the trace; nothing where it has none.
std::optional<Window> last_step(const result::Trace& trace);

/// What ran in the window: a lane for each engine, for each rank; times from its beginning.
view::Lanes timeline(const result::Trace& trace, const Window& window);

/// Bytes of each tier over the same time, by purpose, the largest of the tier's peak at the bottom:
/// the fullest GPU, the host, each storage that is used. Purposes beyond seven are one.
std::vector<view::Series> memory_over_time(const result::Result& result, const result::Trace& trace,
                                           const Window& window);

}  // namespace spillway::reports
