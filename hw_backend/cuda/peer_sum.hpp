#pragma once

#include <cuda_runtime.h>

#include "hw_backend/cpu/element.hpp"

namespace spillway::hw_backend {

/// out[k] [count] = the sum of all in[i] [count], in their order, in fp32, rounded once.
struct PeerSum {
  static constexpr int most = 16;
  const std::byte* in[most];
  std::byte* out[most];
  int ins, outs;
  Element type;
};
void sum_peers(cudaStream_t stream, const PeerSum& sum, std::uint64_t count);

}  // namespace spillway::hw_backend
