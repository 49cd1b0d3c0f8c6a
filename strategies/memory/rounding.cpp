#include "strategies/memory/rounding.hpp"

#include "scenarios/description/units.hpp"

#include <bit>

namespace spillway::strategies {

namespace {
constexpr std::uint64_t up_to(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
}  // namespace

std::uint64_t rounded(Rounding rounding, std::uint64_t asked) {
  if (asked == 0) return 0;
  switch (rounding) {
    case Rounding::none:
      return asked;
    case Rounding::power_of_two:
      return std::bit_ceil(asked);
    case Rounding::page:
      return up_to(asked, 4096);
    case Rounding::sector:
      return description::in_sectors(asked);
    case Rounding::cuda_caching:
      return asked <= (1u << 20) ? up_to(asked, 512) : up_to(asked, 2u << 20);
  }
  return asked;
}

}  // namespace spillway::strategies
