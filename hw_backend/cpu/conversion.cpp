#include "hw_backend/cpu/conversion.hpp"

#include <cstring>

#include "hw_backend/cpu/parts.hpp"

namespace spillway::hw_backend {

void convert(Array into, ConstArray from, std::size_t n, Team& team) {
  if (into.type == from.type) {
    if (into.data != from.data) copy(into.data, from.data, n * size_of(into.type), team);
    return;
  }
  const std::size_t written = into.data == from.data ? 0 : n * size_of(into.type);
  const auto kernel = kernels(team.isa()).convert;
  in_parts(n, written, team, [&](Range range) { kernel(into, from, range); });
}

void add(Array into, ConstArray a, ConstArray b, std::size_t n, Team& team) {
  const auto kernel = kernels(team.isa()).add;
  in_parts(n, n * size_of(into.type), team, [&](Range range) { kernel(into, a, b, range); });
}

void copy(void* into, const void* from, std::size_t bytes, Team& team) {
  auto* const target = static_cast<std::byte*>(into);
  const auto* const source = static_cast<const std::byte*>(from);
  const auto past_caches = kernels(team.isa()).copy;
  // Four bytes to an element: as long a part as those of the other kernels.
  in_parts((bytes + 3) / 4, bytes, team, [&](Range range) {
    const std::size_t first = range.first * 4;
    const std::size_t length = std::min(bytes, range.last * 4) - first;
    if (range.streamed) {
      past_caches(target + first, source + first, length);
    } else {
      std::memcpy(target + first, source + first, length);
    }
  });
}

}  // namespace spillway::hw_backend
