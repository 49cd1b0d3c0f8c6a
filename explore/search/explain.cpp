#include "explore/search/explain.hpp"

#include "explore/points/measure.hpp"
#include "explore/points/reasons.hpp"
#include "scenarios/description/quantity.hpp"
#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

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
  for (const auto& [type, rate] : scenario.machine.gpu.attention)
    gpu.overrides.push_back(times("machine.gpu.attention." + type, rate, 2));
  if (const auto& rate = scenario.machine.gpu.reduction)
    gpu.overrides.push_back(times("machine.gpu.reduction", *rate, 2));
  if (const auto& rate = scenario.machine.gpu.permute)
    gpu.overrides.push_back(times("machine.gpu.permute", *rate, 2));
  steps.push_back(std::move(gpu));
  const description::HostSpec& host = scenario.machine.host;
  Step processor{
      "a processor twice as fast",
      {times("machine.host.adam", host.adam, 2), times("machine.host.convert", host.convert, 2),
       times("machine.host.check_chained", host.check_chained, 2),
       times("machine.host.check_fused", host.check_fused, 2)}};
  if (host.lion) processor.overrides.push_back(times("machine.host.lion", *host.lion, 2));
  for (const auto& [type, rate] : host.compute)
    processor.overrides.push_back(times("machine.host.compute." + type, rate, 2));
  steps.push_back(std::move(processor));
  if (scenario.strategy.weights.experts_on_cpu())
    steps.push_back(
        {"host memory twice as fast", {times("machine.host.memory_rate", host.memory_rate, 2)}});
}

/// Samples of a rank in a step: micro-batch x gradient accumulation.
struct Split {
  std::uint64_t batch = 0, times = 0;
};

/// The splits that make the samples of a step by halves and doubles of the own one; the largest
/// micro-batch first.
std::vector<Split> splits_of(const description::Training& training) {
  std::uint64_t batch = training.micro_batch, times = training.gradient_accumulation;
  for (; times % 2 == 0; times /= 2) batch *= 2;
  std::vector<Split> splits = {{batch, times}};
  for (; batch % 2 == 0; batch /= 2) splits.push_back({batch / 2, times *= 2});
  return splits;
}

/// Another system on its way to the split that suits it.
struct SplitSearch {
  std::string system;
  std::optional<Trial> best = std::nullopt;
  bool done = false;

  Trial with(const Split& split) const {
    return {fmt::format("{}, micro-batch {}{}", system, split.batch,
                        split.times == 1 ? "" : fmt::format(" x {}", split.times)),
            {R"(strategy={"system": ")" + system + "\"}",
             fmt::format("training.micro_batch={}", split.batch),
             fmt::format("training.gradient_accumulation={}", split.times)},
            std::nullopt,
            ""};
  }

  /// Weights and states move once a micro-batch, so that smaller ones than the largest that fits
  /// are rarely faster: one that is not ends the search.
  void take(Trial trial) {
    const bool fitted = best && best->fits();
    const bool slower =
        fitted && (!trial.fits() || trial.result->tokens_per_s <= best->result->tokens_per_s);
    done = slower || trial.refused || trial.not_tried;
    if (!slower) best = std::move(trial);
  }
};

/// Each other system under the split of the samples that is fastest; one that never fits under the
/// smallest micro-batch. Systems whose updates come late only where those of the point do. Splits
/// are compared by their plans for all of the machine: to try plans for less of it with each of
/// them would take minutes of systems that plan each tensor.
std::vector<Trial> other_systems(const Backend& backend, const json& written,
                                 const Scenario& scenario) {
  std::vector<SplitSearch> searches;
  for (const strategies::System& system : strategies::catalogue())
    if (scenario.strategy.system != system.name &&
        (system.defaults().optimizer.staleness == 0 || scenario.strategy.optimizer.staleness != 0))
      searches.push_back({system.name});
  for (const Split& split : splits_of(scenario.training)) {
    std::vector<Trial> round;
    std::vector<SplitSearch*> open;
    for (SplitSearch& search : searches) {
      if (search.done) continue;
      round.push_back(search.with(split));
      open.push_back(&search);
    }
    if (round.empty()) break;
    try_bounded(backend, written, round, {WhenFull::stop, false});
    for (std::size_t i = 0; i < open.size(); ++i) open[i]->take(std::move(round[i]));
  }
  std::vector<Trial> best;
  for (const SplitSearch& search : searches)
    best.push_back({search.best->words, search.best->overrides, std::nullopt, ""});
  try_bounded(backend, written, best);
  for (std::size_t i = 0; i < best.size(); ++i)
    if (best[i].not_tried) best[i] = std::move(*searches[i].best);
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
  const json* written = scenarios::value_at(result.at("scenario"), name);
  return (written ? number_of(*written) : std::nullopt)
      .value_or(std::numeric_limits<double>::quiet_NaN());
}

std::vector<Trial> trials_of(const std::vector<Step>& steps) {
  std::vector<Trial> trials;
  for (const Step& step : steps) trials.push_back({step.words, step.overrides, std::nullopt, ""});
  return trials;
}

}  // namespace

text::Text unmet(const std::vector<std::string>& constraints, const result::Result& result) {
  const json whole = result;
  for (const std::string& text : constraints) {
    const Expression expression(text);
    std::vector<double> values;
    for (const std::string& name : expression.names())
      values.push_back(number_of_name(name, whole));
    const double holds = expression(std::span<const double>(values));
    if (holds == 0 || std::isnan(holds))
      return broken(text, expression.names(), std::span<const double>(values));
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
  std::vector<Trial> trials = trials_of(parts);
  try_bounded(backend, written, trials);  // what contradicts itself has that as its reason
  std::vector<Trial> others = other_systems(backend, written, scenario);
  const std::size_t systems_from = trials.size();
  trials.insert(trials.end(), others.begin(), others.end());
  std::vector<NextStep> answers;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    Trial& trial = trials[i];
    NextStep& answer =
        answers.emplace_back(NextStep{trial.words, i >= systems_from, std::nullopt, trial.reason,
                                      "", trial.most_tokens_per_s, trial.overrides});
    if (!trial.fits()) continue;
    answer.unmet = unmet(constraints, *trial.result);
    answer.result = std::move(trial.result);
  }
  return answers;
}

}  // namespace spillway::explore
