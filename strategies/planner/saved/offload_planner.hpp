#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// Which tensors leave for the drives so that a step fits: FlashNeuron's choice. Pure functions of
/// numbers.
namespace spillway::strategies {

struct OffloadTensor {
  std::uint64_t bytes = 0;
  std::uint64_t compressed_bytes = 0;  ///< of its sparse form; `bytes` where that is no smaller
};

struct OffloadChoice {
  std::vector<std::uint32_t> picked;  ///< in order of creation
  std::uint64_t bytes = 0;            ///< of GPU memory that they give up
  std::uint64_t moved_bytes = 0;      ///< that go to the drives
  bool by_ratio = false;              ///< phase 2 chose
};

/// Phase 1 picks tensors in order of creation until they give up `need` bytes. Where moving them
/// takes longer than `forward_s`, phase 2 picks those that compress best first, and its set is
/// taken if it takes less time.
///   tensors     in order of creation
///   Result      fewer than `need` bytes where all of them are fewer: no choice fits
///   Source      FlashNeuron (FAST'21), its offloading scheduler
OffloadChoice choose_offload(std::span<const OffloadTensor> tensors, std::uint64_t need,
                             double forward_s, double bytes_per_s);

}  // namespace spillway::strategies
