#include "hw_backend/cuda/peer_sum.hpp"

#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// A thread reads its elements of all members before it writes them.
__global__ void sum_peers(PeerSum call, std::uint64_t count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 8;
       first < count; first += stride) {
    const std::uint64_t n = count - first < 8 ? count - first : 8;
    Eight sum = widened8(call.type, raw8(call.in[0], call.type, first, n));
    for (int member = 1; member < call.ins; ++member) {
      const Eight more = widened8(call.type, raw8(call.in[member], call.type, first, n));
      for (int i = 0; i < 8; ++i) sum.value[i] += more.value[i];
    }
    for (int member = 0; member < call.outs; ++member)
      put8(Output{call.out[member], call.type, false}, first, n, sum);
  }
}

}  // namespace

}  // namespace on_device

void sum_peers(cudaStream_t stream, const PeerSum& sum, std::uint64_t count) {
  launch(stream, "sum_peers", on_device::sum_peers, divided_up(count, on_device::block_elements),
         sum, count);
}

}  // namespace spillway::hw_backend
