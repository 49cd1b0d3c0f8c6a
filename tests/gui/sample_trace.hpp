#pragma once

#include "gui/model/trace.hpp"

#include <memory>

namespace spillway::gui {

inline constexpr Instant one_second = 1'000'000'000;

/// A step from 1 s to 1 s + `step` of two ranks and a drive, and what two tiers hold.
inline Trace two_ranks(Instant step = one_second) {
  constexpr Instant begin = one_second;
  TraceBuilder builder;
  builder.process_name(1, "rank 0");
  builder.process_name(2, "rank 1");
  builder.process_name(3, "node");
  for (const int rank : {1, 2}) {
    builder.thread_name(rank, 1, "compute");
    builder.thread_name(rank, 2, "h2d");
    builder.slice(rank, 1, "kernel", "forward", begin, begin + step / 2, 0);
    builder.slice(rank, 2, "copy", "forward", begin, begin + step / 4, 8);
  }
  builder.thread_name(3, 1, "steps");
  builder.thread_name(3, 2, "nvme");
  builder.slice(3, 1, "step 0", "", begin, begin + step, 0);
  builder.slice(3, 2, "read kernel", "forward", 0, begin, 8);
  builder.sample("gpu 0 memory", "weights", 0, 300);
  builder.sample("gpu 0 memory", "activations", begin, 100);
  builder.sample("gpu 0 memory", "activations", begin + step / 2, 500);
  builder.sample("gpu 1 memory", "weights", 0, 200);
  builder.sample("host memory", "states", 0, 800);
  builder.sample("rank 0 h2d rate", "bytes_per_s", begin, 40);
  return builder.finish();
}

inline std::shared_ptr<const Trace> shared(Trace trace) {
  return std::make_shared<const Trace>(std::move(trace));
}

}  // namespace spillway::gui
