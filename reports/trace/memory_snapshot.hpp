#pragma once

#include "reports/result/trace.hpp"

#include <string>

namespace spillway::reports {

/// Every buffer of a run as a snapshot of PyTorch's allocator (torch.cuda.memory._snapshot), which
/// pytorch.org/memory_viz opens: a pickle of protocol 2, dicts and lists only.
///   Devices    0 and on are the GPUs, then the host, then each storage; where a stack would stand
///              is what the buffer is for, its rank, its phase and its tier
///   Addresses  made up: the lowest place with room, in one segment a device
///   Order      at one instant what is given back goes first; buffers that last no time are left
///              out
std::string memory_snapshot(const result::Trace& trace);

}  // namespace spillway::reports
