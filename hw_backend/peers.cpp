#include "hw_backend/peers.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace spillway::hw_backend {

namespace {

using strategies::Collective;

constexpr std::size_t block = 4096;  // elements that are summed at once

/// sum over the members of their elements [first, first + count)
void sum_block(const PeerCall& call, std::size_t first, std::size_t count,
               std::array<float, block>& sum) {
  std::fill_n(sum.begin(), count, 0.0F);
  for (std::size_t member = 0; member < call.in.size(); ++member) {
    const ConstArray in(call.in[member], call.type);
    for (std::size_t i = 0; i < count; ++i)
      sum[i] = member == 0 ? load(in, first + i) : sum[i] + load(in, first + i);
  }
}

void copy(std::byte* into, const std::byte* from, std::uint64_t bytes) {
  if (into != from) std::memcpy(into, from, bytes);
}

void copy_pieces(const Strided& pieces) {
  for (std::uint64_t i = 0; i < pieces.pieces; ++i)
    copy(pieces.into + i * pieces.into_stride, pieces.from + i * pieces.from_stride, pieces.bytes);
}

void reduce(const PeerCall& call) {
  const std::size_t elements = call.bytes / size_of(call.type);
  const bool scatter = call.what == Collective::reduce_scatter;
  const std::size_t each = scatter ? elements / call.out.size() : elements;
  std::array<float, block> sum{};
  for (std::size_t first = 0; first < elements; first += block) {
    const std::size_t count = std::min(block, elements - first);
    sum_block(call, first, count, sum);
    for (std::size_t member = 0; member < call.out.size(); ++member)
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = first + i;
        if (scatter && at / each != member) continue;
        store({call.out[member], call.type}, scatter ? at % each : at, sum[i]);
      }
  }
}

}  // namespace

void combine(const PeerCall& call) {
  switch (call.what) {
    case Collective::all_gather:
      return copy_gathered(call, copy);
    case Collective::all_to_all:
      return copy_exchanged(call, copy_pieces);
    case Collective::ring_shift:
      return copy_shifted(call, copy);
    case Collective::reduce_scatter:
    case Collective::all_reduce:
      return reduce(call);
  }
}

}  // namespace spillway::hw_backend
