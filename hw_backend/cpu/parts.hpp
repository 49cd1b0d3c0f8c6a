#pragma once

#include <algorithm>
#include <cstddef>

#include "hw_backend/cpu/kernels.hpp"
#include "hw_backend/cpu/team.hpp"

namespace spillway::hw_backend {

/// Elements of one part of a kernel: large enough that handing it out costs nothing, small enough
/// that a thread which is held up holds up the others by little.
inline constexpr std::size_t part_elements = std::size_t(1) << 16;

/// work(range) over [0, n) in parts on `team`.
///   written   bytes that are written and not read; decides whether they go past the caches
template <class Work>
void in_parts(std::size_t n, std::size_t written, Team& team, Work work) {
  const bool streamed = written >= streamed_from();
  team.run((n + part_elements - 1) / part_elements, [&](std::size_t part) {
    const std::size_t first = part * part_elements;
    work(Range{first, std::min(n, first + part_elements), streamed});
  });
}

}  // namespace spillway::hw_backend
