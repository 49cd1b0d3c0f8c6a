#pragma once

#include <cstdint>

namespace spillway::hw_backend {

/// Makes sure that `pinned_bytes` of memory can be locked and `files` be open at once; raises soft
/// limits up to the hard ones.
///   Counts  1 MiB for the engine's rings, and what is locked or open already; with CAP_IPC_LOCK,
///           which root has, memory is without limit
///   Throws  DeviceError: the limit, what is asked, and the commands that raise it
void check_limits(std::uint64_t pinned_bytes, std::uint64_t files);

}  // namespace spillway::hw_backend
