#pragma once

#include "hw_backend/device/device.hpp"

/// What the plugin shows. All of it may throw DeviceError.
extern "C" {
/// How many devices there are.
int spillway_cuda_count();
/// Gives ownership.
spillway::hw_backend::Device* spillway_cuda_make(int ordinal);
/// The device's memory in bytes: all, and what is free now.
void spillway_cuda_memory(int ordinal, std::uint64_t* total, std::uint64_t* available);
/// Makes the device the calling thread's own.
void spillway_cuda_use(int ordinal);
}
