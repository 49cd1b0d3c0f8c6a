#pragma once

#include <cstdint>

namespace spillway::strategies {

/// How a host or GPU allocator turns asked bytes into taken bytes.
enum class Rounding : std::uint8_t {
  none,          ///< pageable memory: as asked
  power_of_two,  ///< PyTorch's caching pinned allocator: next power of two, never given back
  page,          ///< exact pinned allocation: next multiple of 4096
  cuda_caching,  ///< PyTorch's CUDA allocator: 512 B up to 1 MiB, then 2 MiB
  sector,        ///< storage extents: next multiple of 4096
};

/// Bytes that `rounding` takes for `asked`; 0 takes 0.
///   Source  PyTorch c10/cuda/CUDACachingAllocator (kMinBlockSize, kRoundLarge), aten
///           CachingHostAllocator
std::uint64_t rounded(Rounding rounding, std::uint64_t asked);

}  // namespace spillway::strategies
