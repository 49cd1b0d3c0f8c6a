#include "explore/remedies/free_settings.hpp"

#include "explore/outcome/outcomes.hpp"
#include "models/architecture/architecture.hpp"
#include "models/architecture/model.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

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

std::vector<FreeSettings> fused_of(const description::Scenario& scenario,
                                   const std::vector<std::string>& overrides) {
  FreeSettings settings;
  std::vector<FreeSettings> all;
  const auto set = [&](bool open, const std::string& path, const std::string& value) {
    if (!open || name_path(overrides, path)) return;
    settings.words += (settings.words.empty() ? "" : " and ") + path + " " + value;
    settings.overrides.push_back(path + "=" + value);
  };
  const description::Training& training = scenario.training;
  set(training.loss == description::LossKind::plain, "training.loss", "fused");
  set(!training.fused_kernels, "training.fused_kernels", "true");
  const std::size_t fused = settings.overrides.size();
  if (fused > 0) {
    settings.such_as = "Liger Kernel's";
    all.push_back(settings);
  }
  set(could_pack_experts(scenario), "training.experts", "separate");
  if (settings.overrides.size() > fused) {
    settings.such_as += std::string(fused ? " and " : "") + "transformers 4's or Axolotl's";
    all.push_back(settings);
  }
  return all;
}

namespace {

constexpr const char* in_host = "strategy.weights.max_in_host";
constexpr double bytes_each = 2;  ///< of a weight

/// Bytes of weights that one rank could hold in host memory, of which `share` may be used; in whole
/// powers of two where its one pinned buffer is rounded so.
double most_in_host(const description::Scenario& scenario, const result::Result& run,
                    double share) {
  const double usable = share * static_cast<double>(scenario.machine.host.usable().value());
  const double idle = usable - static_cast<double>(run.host.total);
  const auto held = static_cast<double>(scenario.strategy.weights.max_in_host.value());
  const double most = bytes_each * held + idle / static_cast<double>(scenario.node_ranks());
  const bool rounded = scenario.strategy.pinned == description::PinnedPolicy::power_of_two;
  return rounded && most >= 1 ? std::exp2(std::floor(std::log2(most))) : most;
}

double all_weights(const description::Scenario& scenario) {
  return static_cast<double>(
      models::build_model(models::architecture_of(scenario)).parameters.value());
}

/// As many of them as so many bytes have; nothing where that is no more than now.
std::optional<FreeSettings> in_host_of(const description::Scenario& scenario, double bytes) {
  const double billions = std::floor(bytes / bytes_each / 1e9);
  if (billions * 1e9 <= static_cast<double>(scenario.strategy.weights.max_in_host.value()))
    return std::nullopt;
  const std::string params = fmt::format("{:.0f}e9 params", billions);
  return FreeSettings{fmt::format("{} \"{}\"", in_host, params),
                      {fmt::format("{}={}", in_host, params)},
                      "DeepSpeed's max_in_cpu"};
}

}  // namespace

std::optional<FreeSettings> idle_host_of(const result::Result& run,
                                         const std::vector<std::string>& overrides) {
  const description::Scenario scenario = scenario_of(run);
  if (scenario.strategy.weights.home != description::Home::ssd || name_path(overrides, in_host))
    return std::nullopt;
  // a twentieth stays free: buffers of other sizes may come with it
  const double most = most_in_host(scenario, run, 0.95);
  if (most < 1) return std::nullopt;
  if (most * static_cast<double>(scenario.machine.gpus()) >= bytes_each * all_weights(scenario))
    return FreeSettings{"strategy.weights.home host and strategy.weights.pool none",
                        {"strategy.weights.home=host", "strategy.weights.pool=none"},
                        "DeepSpeed's offload_param to cpu"};
  return in_host_of(scenario, most);
}

std::vector<FreeSettings> weights_in_idle_host_of(const result::Result& run) {
  const description::Scenario scenario = scenario_of(run);
  std::vector<FreeSettings> settings;
  if (scenario.strategy.weights.home != description::Home::ssd) return settings;
  const double ranks = static_cast<double>(scenario.node_ranks());
  for (const double share : {1.0, 0.95}) {
    const double most =
        std::min(most_in_host(scenario, run, share), bytes_each * all_weights(scenario) / ranks);
    auto one = in_host_of(scenario, most);
    if (one && (settings.empty() || settings.back().overrides != one->overrides))
      settings.push_back(std::move(*one));
  }
  return settings;
}

std::optional<FreeSettings> narrow_gradients_of(const description::Scenario& scenario,
                                                const std::vector<std::string>& overrides) {
  const char* const path = "strategy.gradients.accumulation";
  const description::Strategy& parts = scenario.strategy;
  if (parts.optimizer.device != description::OptimizerDevice::cpu ||
      parts.gradients.accumulation != description::Width::fp32 ||
      !is_mixed(scenario.training.precision) || name_path(overrides, path))
    return std::nullopt;
  return FreeSettings{std::string(path) + " fp16",
                      {std::string(path) + "=fp16"},
                      "DeepSpeed's data_types.grad_accum_dtype"};
}

std::optional<FreeSettings> pageable_gradients_of(const description::Scenario& scenario,
                                                  const std::vector<std::string>& overrides) {
  const description::Strategy& parts = scenario.strategy;
  if (parts.optimizer.device != description::OptimizerDevice::cpu ||
      parts.pinned != description::PinnedPolicy::power_of_two ||
      parts.gradients.d2h != description::CopyMemory::pinned ||
      name_path(overrides, "strategy.gradients.d2h") ||
      name_path(overrides, "strategy.gradients.pinned"))
    return std::nullopt;
  return FreeSettings{"strategy.gradients.d2h pageable and strategy.gradients.pinned exact",
                      {"strategy.gradients.d2h=pageable", "strategy.gradients.pinned=exact"},
                      "DeepSpeed's offload_optimizer.pin_memory false"};
}

std::optional<FreeSettings> checkpoints_in_host_of(const description::Scenario& scenario,
                                                   const std::vector<std::string>& overrides) {
  if (scenario.strategy.activations.policy != description::ActivationPolicy::checkpoint_gpu ||
      name_path(overrides, "strategy.activations") ||
      name_path(overrides, "strategy.activations.policy"))
    return std::nullopt;
  return FreeSettings{"strategy.activations.policy checkpoint_host",
                      {"strategy.activations.policy=checkpoint_host"},
                      "DeepSpeed's cpu_checkpointing, Unsloth's or torchtune's",
                      true};
}

namespace {

/// `first` and `more` together.
FreeSettings both(const FreeSettings& first, const FreeSettings& more) {
  FreeSettings settings = first;
  settings.words += " and " + more.words;
  settings.such_as += " and " + more.such_as;
  settings.frees_gpu = first.frees_gpu || more.frees_gpu;
  settings.overrides.insert(settings.overrides.end(), more.overrides.begin(), more.overrides.end());
  return settings;
}

}  // namespace

std::vector<FreeSettings> smaller_gradients_of(const description::Scenario& scenario,
                                               const std::vector<std::string>& overrides) {
  std::vector<FreeSettings> all;
  if (description::has_adapters(scenario.training.method)) return all;
  if (auto narrow = narrow_gradients_of(scenario, overrides)) all.push_back(std::move(*narrow));
  auto pageable = pageable_gradients_of(scenario, overrides);
  if (pageable) all.push_back(all.empty() ? *pageable : both(all.back(), *pageable));
  return all;
}

std::vector<FreeSettings> less_memory_of(const description::Scenario& scenario,
                                         const std::vector<std::string>& overrides) {
  std::vector<FreeSettings> all = smaller_gradients_of(scenario, overrides);
  const auto checkpoints = checkpoints_in_host_of(scenario, overrides);
  if (!checkpoints) return all;
  if (!all.empty()) all.push_back(both(all.back(), *checkpoints));
  all.insert(all.begin(), *checkpoints);
  return all;
}

}  // namespace spillway::explore
