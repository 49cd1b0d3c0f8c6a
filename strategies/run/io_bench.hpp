#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/machine/machine.hpp"

namespace spillway::strategies {

/// Sends the stream of requests that `run.io_bench` describes through the I/O engine, from the
/// first rank to its home (without a drive: to the first storage) and trains nothing.
///   Each request    a tensor of its own size; `queue_depth` of them are under way, each slot with
///                   a buffer and an extent of its own, written once before if anything is read
///   Mixed           request i is a read when floor((i + 1) x read_share) > floor(i x read_share)
///   Result          `io_bench`: mean latency_s of a request; rates are bytes over the time from
///                   the first start to the last end. Zeros on a machine without a clock. A stream
///                   whose buffers or extents do not fit is infeasible
result::Result measure_io(Machine& machine, const description::Scenario& scenario,
                          const std::string& backend);

}  // namespace spillway::strategies
