#include "models/program/expert_choice.hpp"

namespace spillway::models {

namespace {

/// Bits that depend on all bits of `value`.
///   Source  Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (OOPSLA 2014)
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

/// Above 0 and below 1, and no number that sums of shares come to.
double draw_of(std::uint32_t layer, std::uint64_t micro_batch) {
  constexpr unsigned bits = 16;
  const std::uint64_t drawn = mixed((std::uint64_t{layer} << 32) ^ micro_batch) >> (64 - bits);
  return static_cast<double>(2 * drawn + 1) / static_cast<double>(2ull << bits);
}

}  // namespace

std::vector<std::uint64_t> copies_of_experts(const Architecture& architecture,
                                             const Workload& workload, std::uint32_t layer,
                                             std::uint64_t micro_batch) {
  const Architecture& a = architecture;
  const description::ExpertLoad& load = workload.expert_load;
  if (workload.expert > 1) return load.copies(a.experts, a.experts_per_token, workload.tokens());
  return load.drawn_copies(a.experts, a.experts_per_token, workload.tokens(),
                           draw_of(layer, micro_batch));
}

}  // namespace spillway::models
