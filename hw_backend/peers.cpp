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

void gather(const PeerCall& call) {
  const std::uint64_t shard = call.bytes / call.in.size();
  for (std::byte* out : call.out)
    for (std::size_t member = 0; member < call.in.size(); ++member)
      if (out + member * shard != call.in[member])
        std::memcpy(out + member * shard, call.in[member], shard);
}

void exchange(const PeerCall& call) {
  const std::uint64_t part = call.bytes / call.in.size();
  for (std::size_t to = 0; to < call.out.size(); ++to)
    for (std::size_t from = 0; from < call.in.size(); ++from)
      std::memcpy(call.out[to] + from * part, call.in[from] + to * part, part);
}

void shift(const PeerCall& call) {
  for (std::size_t from = 0; from < call.in.size(); ++from)
    std::memcpy(call.out[(from + 1) % call.out.size()], call.in[from], call.bytes);
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
      return gather(call);
    case Collective::all_to_all:
      return exchange(call);
    case Collective::ring_shift:
      return shift(call);
    case Collective::reduce_scatter:
    case Collective::all_reduce:
      return reduce(call);
  }
}

}  // namespace spillway::hw_backend
