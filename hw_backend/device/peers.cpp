#include "hw_backend/device/peers.hpp"

#include "hw_backend/cpu/conversion.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace spillway::hw_backend {

namespace {

using strategies::Collective;

constexpr std::size_t block = 4096;  // elements that are summed at once

/// sum over the members of their elements [first, first + count), added in the order of members
void sum_block(const PeerCall& call, std::size_t first, std::size_t count,
               std::array<float, block>& sum, Team& team) {
  std::array<float, block> next;
  for (std::size_t member = 0; member < call.in.size(); ++member) {
    std::array<float, block>& into = member == 0 ? sum : next;
    const std::byte* from = call.in[member] + first * size_of(call.type);
    convert({reinterpret_cast<std::byte*>(into.data()), Element::fp32}, {from, call.type}, count,
            team);
    if (member > 0)
      for (std::size_t i = 0; i < count; ++i) sum[i] += next[i];
  }
}

void copy_bytes(std::byte* into, const std::byte* from, std::uint64_t bytes) {
  if (into != from) std::memcpy(into, from, bytes);
}

void copy_pieces(const Strided& pieces) {
  for (std::uint64_t i = 0; i < pieces.pieces; ++i)
    copy_bytes(pieces.into + i * pieces.into_stride, pieces.from + i * pieces.from_stride,
               pieces.bytes);
}

void reduce(const PeerCall& call) {
  const std::size_t elements = call.bytes / size_of(call.type);
  const bool scatter = call.what == Collective::reduce_scatter;
  const std::size_t each = scatter ? elements / call.out.size() : elements;
  Team alone(1);
  std::array<float, block> sum;
  for (std::size_t first = 0; first < elements; first += block) {
    const std::size_t past = std::min(first + block, elements);
    sum_block(call, first, past - first, sum, alone);
    for (std::size_t member = 0; member < call.out.size(); ++member) {
      const std::size_t start = scatter ? member * each : 0;  // what this member gets
      const std::size_t from = std::max(first, start), to = std::min(past, start + each);
      if (from >= to) continue;
      convert({call.out[member] + (from - start) * size_of(call.type), call.type},
              {reinterpret_cast<const std::byte*>(sum.data() + (from - first)), Element::fp32},
              to - from, alone);
    }
  }
}

}  // namespace

void combine(const PeerCall& call) {
  switch (call.what) {
    case Collective::all_gather:
      return copy_gathered(call, copy_bytes);
    case Collective::all_to_all:
      return copy_exchanged(call, copy_pieces);
    case Collective::ring_shift:
      return copy_shifted(call, copy_bytes);
    case Collective::reduce_scatter:
    case Collective::all_reduce:
      return reduce(call);
  }
}

}  // namespace spillway::hw_backend
