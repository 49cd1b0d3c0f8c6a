#include "reports/result/needs.hpp"

namespace spillway::result {

std::vector<TierNeed> needs_of(const Result& result) {
  if (!result.needed) return {};
  std::vector<TierNeed> all;
  const auto add = [&](const char* tier, std::uint64_t needed, const PeakBytes& peak) {
    if (needed > 0 || peak.capacity > 0) all.push_back({tier, needed, peak.capacity, peak.reserve});
  };
  add("gpu", result.needed->gpu, result.gpu);
  add("host", result.needed->host, result.host);
  add("ssd", result.needed->ssd, result.ssd);
  return all;
}

std::vector<TierNeed> shortages_of(const Result& result) {
  if (result.feasible()) return {};
  std::vector<TierNeed> all = needs_of(result);
  std::erase_if(all, [](const TierNeed& need) { return !need.is_short(); });
  return all;
}

}  // namespace spillway::result
