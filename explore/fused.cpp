#include "explore/fused.hpp"

#include "models/architecture.hpp"

#include <algorithm>

namespace spillway::explore {

bool name_path(const std::vector<std::string>& overrides, const std::string& path) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const std::string& one) { return one.starts_with(path + "="); });
}

namespace {

/// Experts of a layer are one tensor, which is not quantised, and could be modules, which are.
bool could_pack_experts(const description::Scenario& scenario) {
  const description::Training& training = scenario.training;
  if (!description::has_adapters(training.method) ||
      training.lora.base == description::BaseType::bf16 ||
      training.experts != description::ExpertLayout::stacked || scenario.parallel.expert > 1 ||
      scenario.strategy.weights.experts_on_cpu())
    return false;
  const models::Architecture model = models::architecture_of(scenario);
  return model.experts > 0 && models::refusal(model, description::ExpertLayout::separate).empty();
}

}  // namespace

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
  if (!settings.overrides.empty()) settings.such_as = "Liger Kernel's";
  const std::size_t fused = settings.overrides.size();
  set(could_pack_experts(scenario), "training.experts", "separate");
  if (settings.overrides.size() > fused)
    settings.such_as += std::string(fused ? " and " : "") + "transformers 4's or Axolotl's";
  return settings.overrides.empty() ? std::nullopt : std::optional(settings);
}

}  // namespace spillway::explore
