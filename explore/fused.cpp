#include "explore/fused.hpp"

#include <algorithm>

namespace spillway::explore {

bool name_path(const std::vector<std::string>& overrides, const std::string& path) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const std::string& one) { return one.starts_with(path + "="); });
}

std::optional<FreeSettings> fused_of(const description::Scenario& scenario,
                                     const std::vector<std::string>& overrides) {
  FreeSettings settings;
  const auto set = [&](bool open, const std::string& path, const std::string& value) {
    if (!open || name_path(overrides, path)) return;
    settings.words += (settings.words.empty() ? "" : " and ") + path + " " + value;
    settings.overrides.push_back(path + "=" + value);
  };
  const description::Training& training = scenario.training;
  set(training.loss == description::LossKind::plain, "training.loss", "fused");
  set(!training.fused_kernels, "training.fused_kernels", "true");
  return settings.overrides.empty() ? std::nullopt : std::optional(settings);
}

}  // namespace spillway::explore
