#pragma once

#include "gui/model/trace.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace spillway::gui {

/// Reads the JSON Trace Event Format, whoever wrote it: bars (X, B and E), counters (C), names (M)
/// and flows (s, f). Other events are skipped; one event at a time is in memory.
///   Throws  ScenarioError: no JSON, or JSON without events, named as `file`
Trace read_trace(std::string_view text, const std::string& file);

/// The same of a file, which may be packed (gzip).
Trace read_trace_file(const std::string& path);

/// The same of the `trace` of a worker's answer.
Trace read_trace(const nlohmann::json& json);

}  // namespace spillway::gui
