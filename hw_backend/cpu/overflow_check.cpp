#include "hw_backend/cpu/overflow_check.hpp"

#include <atomic>

#include "hw_backend/cpu/parts.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

bool check_fused(ConstArray values, std::size_t n, Team& team) {
  std::atomic<bool> found = false;
  const auto kernel = kernels(team.isa()).has_overflow;
  in_parts(n, 0, team, [&](Range range) {
    if (found.load(std::memory_order_relaxed)) return;
    if (kernel(values, range)) found.store(true, std::memory_order_relaxed);
  });
  return found.load();
}

bool check_chained(ConstArray values, std::size_t n, Array absolute, std::byte* matches, Isa isa) {
  ENSURE(absolute.type == values.type, "absolute values of another type");
  return kernels(isa).check_chained({values, n, absolute.data, matches});
}

}  // namespace spillway::hw_backend
