#include "hw_backend/cuda/peers.hpp"

#include <algorithm>
#include <string>

#include "hw_backend/cuda/cuda_error.hpp"
#include "hw_backend/cuda/peer_sum.hpp"
#include "hw_backend/device/peers.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

using strategies::Collective;

constexpr std::uint64_t slot_bytes = 1u << 20;  // of a member that is copied first

void copy(cudaStream_t stream, std::byte* into, const std::byte* from, std::uint64_t bytes) {
  if (into && into != from && bytes > 0)
    check(cudaMemcpyAsync(into, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}

void copy(cudaStream_t stream, const Strided& pieces) {
  if (pieces.pieces == 1) return copy(stream, pieces.into, pieces.from, pieces.bytes);
  check(cudaMemcpy2DAsync(pieces.into, pieces.into_stride, pieces.from, pieces.from_stride,
                          pieces.bytes, pieces.pieces, cudaMemcpyDefault, stream),
        "cudaMemcpy2DAsync");
}

}  // namespace

/// Kernels of this device may use `memory` as it lies.
bool Peers::reaches(const void* memory) {
  cudaPointerAttributes at = {};
  check(cudaPointerGetAttributes(&at, memory), "cudaPointerGetAttributes");
  return at.type != cudaMemoryTypeDevice || at.device == device_ || reaches_device(at.device);
}

bool Peers::reaches_device(int other) {
  if (reached_.count(other) > 0) return true;
  if (unreached_.count(other) > 0) return false;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, device_, other), "cudaDeviceCanAccessPeer");
  if (can != 0) {
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(other, 0);
    if (enabled == cudaErrorPeerAccessAlreadyEnabled)
      static_cast<void>(cudaGetLastError());
    else
      check(enabled, "cudaDeviceEnablePeerAccess");
  }
  (can != 0 ? reached_ : unreached_).insert(other);
  return can != 0;
}

void Peers::reserve(const std::set<int>& others, std::size_t members) {
  bool all = true;
  for (const int other : others) all = reaches_device(other) && all;
  if (!all) staging_.take((members + 1) * slot_bytes);
}

/// The sum of elements [first, first + count) of all inputs goes to the beginnings of `out`. Pieces
/// in ascending order: what a piece reads, no earlier one has written.
void Peers::reduce(cudaStream_t stream, const PeerCall& call, std::uint64_t first,
                   std::uint64_t count, const std::vector<std::byte*>& out) {
  const std::size_t ins = call.in.size(), width = size_of(call.type);
  std::vector<bool> in_place, out_place;
  for (const std::byte* in : call.in) in_place.push_back(reaches(in));
  for (const std::byte* to : out) out_place.push_back(reaches(to));
  const auto all = [](const std::vector<bool>& places) {
    return std::find(places.begin(), places.end(), false) == places.end();
  };
  const bool direct = all(in_place) && all(out_place);
  std::byte* const slots = direct ? nullptr : staging_.take((ins + 1) * slot_bytes);
  const std::uint64_t piece = direct ? count : std::min(count, slot_bytes / width);
  for (std::uint64_t done = 0; done < count; done += piece) {
    const std::uint64_t some = std::min(piece, count - done);
    PeerSum sum = {};
    sum.type = call.type;
    sum.ins = static_cast<int>(ins);
    for (std::size_t i = 0; i < ins; ++i) {
      sum.in[i] = call.in[i] + (first + done) * width;
      if (in_place[i]) continue;
      copy(stream, slots + i * slot_bytes, sum.in[i], some * width);
      sum.in[i] = slots + i * slot_bytes;
    }
    std::byte* const staged = slots + ins * slot_bytes;
    if (!all(out_place)) sum.out[sum.outs++] = staged;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out_place[i]) sum.out[sum.outs++] = out[i] + done * width;
    sum_peers(stream, sum, some);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!out_place[i]) copy(stream, out[i] + done * width, staged, some * width);
  }
}

void Peers::combine(cudaStream_t stream, const PeerCall& call) {
  const std::uint64_t elements = call.bytes / size_of(call.type);
  const std::uint64_t each = elements / call.in.size();
  ENSURE(call.in.size() < PeerSum::most, std::to_string(call.in.size()) + " devices in one group");
  const auto on_stream = [stream](std::byte* into, const std::byte* from, std::uint64_t bytes) {
    copy(stream, into, from, bytes);
  };
  switch (call.what) {
    case Collective::all_gather:
      return copy_gathered(call, on_stream);
    case Collective::all_to_all:
      return copy_exchanged(call, [&](const Strided& pieces) { copy(stream, pieces); });
    case Collective::ring_shift:
      return copy_shifted(call, on_stream);
    case Collective::all_reduce:
      return reduce(stream, call, 0, elements, call.out);
    case Collective::reduce_scatter:
      // one after the other: a member's output may be the beginning of its input
      for (std::size_t member = 0; member < call.out.size(); ++member)
        reduce(stream, call, member * each, each, {call.out[member]});
      return;
  }
}

}  // namespace spillway::hw_backend
