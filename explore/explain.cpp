#include "explore/explain.hpp"

#include "explore/measure.hpp"
#include "scenarios/description/quantity.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

namespace spillway::explore {

using description::Scenario;
using nlohmann::json;

namespace {

struct Step {
  std::string words;
  std::vector<std::string> overrides;
};

/// Overrides without the quotes that a value may have or not.
std::string text_of(const Step& step) {
  std::string text;
  for (const std::string& override : step.overrides) text += override + '\n';
  std::erase(text, '"');
  return text;
}

/// Whether a value of an axis sets the machine and nothing else.
bool of_machine(const AxisValueRow& value) {
  return std::all_of(value.overrides.begin(), value.overrides.end(), [](const std::string& set) {
    return set.starts_with("machine.") || set.starts_with("machine=");
  });
}

template <class Q>
std::string times(const std::string& path, Q rate, double factor) {
  return path + "=" + description::to_text(rate * factor);
}

void add_drives(const Scenario& scenario, std::vector<Step>& steps) {
  for (const description::StorageSpec& storage : scenario.machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    const std::string path = "machine.storage." + storage.name + ".count=";
    steps.push_back(
        {"one more drive of " + storage.name, {path + std::to_string(storage.count + 1)}});
    if (storage.count > 1)
      steps.push_back(
          {"one drive of " + storage.name + " fewer", {path + std::to_string(storage.count - 1)}});
  }
}

void add_memory(const Scenario& scenario, std::vector<Step>& steps) {
  const std::uint64_t memory = scenario.machine.host.memory.value(), step = 64ull << 30;
  const auto to = [](std::uint64_t bytes) {
    return std::vector<std::string>{"machine.host.memory=" +
                                    description::to_text(description::Bytes(bytes))};
  };
  steps.push_back({"64 GiB of host memory more", to(memory + step)});
  if (memory > step)
    steps.push_back({"64 GiB of host memory less", to(memory - step)});
  else
    steps.push_back({"half the host memory", to(memory / 2)});
}

void add_rates(const Scenario& scenario, std::vector<Step>& steps) {
  const description::PcieSpec& pcie = scenario.machine.pcie;
  Step link{"a link twice as fast",
            {times("machine.pcie.h2d", pcie.h2d, 2), times("machine.pcie.d2h", pcie.d2h, 2)}};
  if (pcie.link) link.overrides.push_back(times("machine.pcie.link", *pcie.link, 2));
  steps.push_back(std::move(link));
  Step gpu{"a GPU twice as fast",
           {times("machine.gpu.memory_rate", scenario.machine.gpu.memory_rate, 2)}};
  for (const auto& [type, rate] : scenario.machine.gpu.compute)
    gpu.overrides.push_back(times("machine.gpu.compute." + type, rate, 2));
  steps.push_back(std::move(gpu));
  const description::HostSpec& host = scenario.machine.host;
  steps.push_back(
      {"a processor twice as fast",
       {times("machine.host.adam", host.adam, 2), times("machine.host.convert", host.convert, 2),
        times("machine.host.check_chained", host.check_chained, 2),
        times("machine.host.check_fused", host.check_fused, 2)}});
}

/// The micro-batches and accumulations that make the samples of a step: the own one first, then
/// halves and doubles of it.
std::vector<std::pair<std::uint64_t, std::uint64_t>> splits_of(
    const description::Training& training) {
  const std::uint64_t own = training.micro_batch, times = training.gradient_accumulation;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> splits = {{own, times}};
  for (std::uint64_t by = 2; own % by == 0; by *= 2) splits.emplace_back(own / by, times * by);
  for (std::uint64_t by = 2; times % by == 0; by *= 2) splits.emplace_back(own * by, times / by);
  return splits;
}

/// Each other system under each split. Systems whose updates come late only where those of the
/// point do.
std::vector<Step> system_steps(const Scenario& scenario) {
  std::vector<Step> steps;
  for (const strategies::System& system : strategies::catalogue()) {
    if (scenario.strategy.system == system.name ||
        (system.defaults().optimizer.staleness != 0 && scenario.strategy.optimizer.staleness == 0))
      continue;
    for (const auto& [batch, times] : splits_of(scenario.training))
      steps.push_back({fmt::format("{}, micro-batch {}{}", system.name, batch,
                                   times == 1 ? "" : fmt::format(" x {}", times)),
                       {std::string(R"(strategy={"system": ")") + system.name + "\"}",
                        fmt::format("training.micro_batch={}", batch),
                        fmt::format("training.gradient_accumulation={}", times)}});
  }
  return steps;
}

/// Of each system the split that is fastest, or else the first that says most.
std::vector<Trial> best_splits(const std::vector<Trial>& all) {
  const auto merit = [](const Trial& trial) {
    return std::tuple(trial.fits(), trial.fits() ? trial.result->tokens_per_s : 0,
                      trial.ruled_out ? trial.most_tokens_per_s.value_or(0) : 0);
  };
  std::vector<Trial> best;
  std::string last;
  for (const Trial& trial : all) {
    const std::string system = trial.words.substr(0, trial.words.find(','));
    if (system != last)
      best.push_back(trial);
    else if (merit(trial) > merit(best.back()))
      best.back() = trial;
    last = system;
  }
  return best;
}

/// What stands beside the point on the axes of the machine: the values before and after its own, of
/// alternatives all the others.
void add_axes(const std::vector<AxisRow>& axes, const json& point, std::vector<Step>& steps) {
  constexpr std::size_t most_alternatives = 8;
  for (const AxisRow& axis : axes) {
    const bool path = axis.name.starts_with("machine");
    std::size_t own = 0;
    while (own < axis.values.size() && axis.values[own].value != point.value(axis.name, json()))
      ++own;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < axis.values.size() && own < axis.values.size(); ++i) {
      const AxisValueRow& value = axis.values[i];
      const bool beside = path ? i + 1 == own || i == own + 1 : i != own;
      if (!beside || !of_machine(value) || ++taken > most_alternatives) continue;
      const std::string shown =
          value.value.is_string() ? value.value.get<std::string>() : value.value.dump();
      Step step{axis.name + " " + shown, value.overrides};
      if (std::none_of(steps.begin(), steps.end(),
                       [&](const Step& other) { return text_of(other) == text_of(step); }))
        steps.push_back(std::move(step));
    }
  }
}

double number_of_name(const std::string& name, const json& result) {
  if (result_has(name)) return number_in(result, name);
  const json* written = value_at(result.at("scenario"), name);
  return (written ? number_of(*written) : std::nullopt)
      .value_or(std::numeric_limits<double>::quiet_NaN());
}

std::vector<Trial> trials_of(const std::vector<Step>& steps) {
  std::vector<Trial> trials;
  for (const Step& step : steps) trials.push_back({step.words, step.overrides, std::nullopt, ""});
  return trials;
}

}  // namespace

std::string unmet(const std::vector<std::string>& constraints, const result::Result& result) {
  const json whole = result;
  for (const std::string& text : constraints) {
    const Expression expression(text);
    std::vector<double> values;
    std::string numbers;
    for (const std::string& name : expression.names()) {
      values.push_back(number_of_name(name, whole));
      numbers += fmt::format("{}{} is {:.3g}", numbers.empty() ? "" : ", ", name, values.back());
    }
    const double holds = expression(std::span<const double>(values));
    if (holds == 0 || std::isnan(holds)) return text + ": " + numbers;
  }
  return "";
}

std::vector<NextStep> next_steps(const Backend& backend, const json& written,
                                 const std::vector<AxisRow>& axes, const json& point,
                                 const std::vector<std::string>& constraints) {
  const Scenario scenario = scenarios::read_scenario(written, {}, known_systems()).scenario;
  std::vector<Step> parts;
  add_drives(scenario, parts);
  add_memory(scenario, parts);
  add_axes(axes, point, parts);
  add_rates(scenario, parts);
  std::vector<Trial> trials = trials_of(parts), others = trials_of(system_steps(scenario));
  try_bounded(backend, written, trials);  // what contradicts itself has that as its reason
  TrialCounts counts;
  try_fastest(backend, written, others, 1, counts);
  others = best_splits(others);
  const std::size_t systems_from = trials.size();
  trials.insert(trials.end(), others.begin(), others.end());
  std::vector<NextStep> answers;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    Trial& trial = trials[i];
    NextStep& answer = answers.emplace_back(NextStep{trial.words, i >= systems_from, std::nullopt,
                                                     trial.reason, "", trial.most_tokens_per_s});
    if (!trial.fits()) continue;
    answer.unmet = unmet(constraints, *trial.result);
    answer.result = std::move(trial.result);
  }
  return answers;
}

}  // namespace spillway::explore
