#pragma once

#include "reports/result/trace.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spillway::reports {

/// A number that changes over the trace.
struct Counter {
  std::string name;                             ///< "gpu 0 weights", "nvme rate", "GPUs busy"
  const char* unit = "bytes";                   ///< of its values: bytes, bytes_per_s, gpus
  std::map<std::int64_t, std::int64_t> values;  ///< from which nanosecond on it is what
};

/// Bytes of each tier by purpose.
std::vector<Counter> memory_counters(const result::Trace& trace);
/// What each link and storage moves, and how many GPUs have a kernel running.
std::vector<Counter> work_counters(const result::Trace& trace);

}  // namespace spillway::reports
