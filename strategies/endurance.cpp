#include "strategies/endurance.hpp"

#include <cmath>

namespace spillway::strategies {

namespace {
constexpr double day_s = 86400;
constexpr double year_s = 365 * day_s;
constexpr double relaxation_of_one_day = 86;
}  // namespace

double retention_relaxation(description::Seconds retention, description::Seconds rated) {
  if (retention.value() <= 0 || rated.value() <= 0) return 1;
  return std::pow(relaxation_of_one_day,
                  std::log(rated / retention) / std::log(3 * year_s / day_s));
}

std::optional<double> lifetime_writes(const description::StorageSpec& storage) {
  if (!storage.endurance) return std::nullopt;
  const description::EnduranceSpec& endurance = *storage.endurance;
  return static_cast<double>(endurance.rated.value()) * static_cast<double>(storage.count) *
         endurance.rating_waf / endurance.waf *
         retention_relaxation(endurance.retention, endurance.rated_retention);
}

std::optional<result::Wear> wear_of(const description::MachineFile& machine,
                                    const std::vector<result::StorageBytes>& written,
                                    double step_time_s) {
  std::optional<result::Wear> worst;
  for (std::size_t i = 0; i < machine.storage.size(); ++i) {
    const description::StorageSpec& storage = machine.storage[i];
    if (storage.kind != description::StorageKind::ssd) continue;
    result::Wear wear;
    wear.storage = storage.name;
    if (step_time_s > 0)
      wear.write_bytes_per_day = static_cast<double>(written[i].write) * day_s / step_time_s;
    if (storage.endurance) {
      wear.waf = storage.endurance->waf;
      wear.rated_write_bytes = static_cast<double>(storage.endurance->rated.value()) *
                               static_cast<double>(storage.count);
    }
    const std::optional<double> total = lifetime_writes(storage);
    if (total && wear.write_bytes_per_day > 0)
      wear.lifetime_years = *total / (wear.write_bytes_per_day * 365);
    const bool sooner =
        !worst || (wear.lifetime_years &&
                   (!worst->lifetime_years || *wear.lifetime_years < *worst->lifetime_years));
    if (sooner) worst = wear;
  }
  return worst;
}

}  // namespace spillway::strategies
