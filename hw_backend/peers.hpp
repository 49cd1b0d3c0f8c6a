#pragma once

#include "hw_backend/device.hpp"

namespace spillway::hw_backend {

/// A collective of devices whose memory the caller can read and write. Reductions add in fp32, in
/// rank order, and round once; an output may be its member's input.
void combine(const PeerCall& call);

}  // namespace spillway::hw_backend
