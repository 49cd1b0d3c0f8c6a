#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::result {

/// One bar of a trace: an operation on one engine. An operation of several kernels, or on several
/// storages, has a bar for each.
struct TraceSpan {
  std::string track;  ///< "rank 0 compute", "rank 0 h2d", "nvme", "cpu", ...
  std::string name;
  std::string phase;
  double start_s = 0, end_s = 0;
  std::uint64_t bytes = 0;
  std::string run = {};         ///< "measured", "predicted", where a trace shows several
  std::uint64_t operation = 0;  ///< its number; 0: a step or a phase
  double asked_s = 0;           ///< when the schedule asked for it; it waited until start_s
  std::uint64_t after = 0;      ///< the operation whose end let it start; 0: none
  std::uint64_t from = 0;       ///< of a transfer: the operation that wrote what it reads; 0: none
};
/// Bytes in use on a tier from `at_s` on.
struct TraceSample {
  std::string counter;  ///< "gpu 0 memory", "host memory", ...
  double at_s = 0;
  std::uint64_t bytes = 0;
};
/// A buffer, from when it was reserved until it was given back.
struct TraceBuffer {
  std::string tier;  ///< "gpu 0", "host", the name of a storage
  std::uint64_t rank = 0;
  std::string purpose;
  std::string phase;  ///< in which it was reserved
  std::uint64_t asked_bytes = 0;
  std::uint64_t charged_bytes = 0;  ///< after rounding
  bool pinned = false;
  double born_s = 0;
  std::optional<double> freed_s = {};  ///< absent: held to the end
  std::string run = {};                ///< as of a span
};
/// What happened when, of a whole run.
struct Trace {
  std::vector<TraceSpan> spans = {};
  std::vector<TraceSample> samples = {};
  std::vector<TraceBuffer> buffers = {};  ///< in the order in which they were reserved
};

}  // namespace spillway::result
