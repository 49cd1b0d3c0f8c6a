#pragma once

#include "explore/outcome/outcomes.hpp"

#include <nlohmann/json.hpp>

#include <string_view>

namespace spillway::explore {

/// What a worker can be asked about a scenario; want_names has their names in requests and answers.
enum class Want : unsigned char { result, settings, trace, what_if, faster, remedy, bound };
inline constexpr const char* want_names[] = {"result", "settings", "trace", "what_if",
                                             "faster", "remedy",   "bound"};

/// What a line asks that a worker reads: {"id", "scenario", "want", "limit_s", "when_full",
/// "today"}, of which all but the scenario may be missing, or {"cancel": id}.
struct Request {
  nlohmann::json id;        ///< any JSON value; null: it has none
  bool cancel = false;      ///< the request with this id is to be ended; nothing else is set
  nlohmann::json scenario;  ///< as in a file, or resolved
  std::vector<Want> want = {Want::result};
  double limit_s = 0;  ///< after which it is a failure; 0: as long as the worker gives any
  WhenFull when_full = WhenFull::find_need;
  std::string today;  ///< "2026-11-22": prices a year older than that are named; "": none is
  std::vector<description::Complaint> complaints;  ///< why it cannot be answered

  bool wants(Want one) const;
  /// Whether it is answered without a simulation, in milliseconds.
  bool quick() const;
};

/// Reads a line. What is wrong with it stands in the request, beside the id if it has one.
Request read_request(std::string_view line);

/// The line that asks the same, of what can be answered.
std::string line_of(const Request& request);

/// Of a request that is cancelled.
inline constexpr const char* cancelled = "cancelled";

}  // namespace spillway::explore
