#include "explore/trials/duration.hpp"

#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace spillway::explore {

using description::Bytes;
using description::Scenario;
using nlohmann::json;

namespace {

/// Passes through a block from which on an answer may take ten seconds: of a system that plans each
/// tensor, and of one that does not (measured: some 30 and 3,000 a second on a busy core).
constexpr std::uint64_t planned_passes = 100, plain_passes = 10'000;
constexpr std::uint64_t first_passes = 16;
constexpr double measurable_s = 0.8;
constexpr std::uint64_t few_steps = 2, more_steps = 20;

/// Where a model's file says how many blocks it has; null: in more places than one.
const char* layers_key(const json& model) {
  if (!model.is_object() || model.contains("layer_types")) return nullptr;
  for (const char* key : {"num_hidden_layers", "n_layer", "num_layers", "n_layers"})
    if (model.contains(key) && model[key].is_number_integer()) return key;
  return nullptr;
}

Bytes share_of(Bytes memory, Bytes fixed, double share) {
  if (memory <= fixed) return memory;
  const auto rest = static_cast<double>(memory.value() - fixed.value());
  return Bytes(fixed.value() + static_cast<std::uint64_t>(rest * share));
}

/// The seconds of `size`, from those of two smaller ones: as the power that they grew with, and
/// where that is below one, in a line.
double continued(double before_s, double before, double last_s, double last, double size) {
  const double power = std::log(last_s / before_s) / std::log(last / before);
  if (power > 1) return last_s * std::pow(size / last, std::min(power, 3.0));
  return last_s + std::max(0.0, last_s - before_s) / (last - before) * (size - last);
}

/// Of `passes`, whole blocks of fewer micro-batches, or fewer blocks of one; as many of both as its
/// pipeline divides.
RunSize part_of(const RunSize& whole, std::uint64_t passes, const description::Parallel& parallel) {
  RunSize part = whole;
  part.steps = std::min(whole.steps, few_steps);
  const std::uint64_t pieces = parallel.pieces(), stages = parallel.pipeline;
  const auto up_to = [](std::uint64_t number, std::uint64_t unit, std::uint64_t most) {
    return std::min(description::divide_up(std::max<std::uint64_t>(number, 1), unit) * unit, most);
  };
  part.micro_batches = up_to(passes / whole.blocks, pieces > 1 ? stages : 1, whole.micro_batches);
  const std::uint64_t fewest = std::min(stages, whole.blocks);
  part.blocks = up_to(std::max(passes, fewest), pieces > 1 ? stages * pieces : 1, whole.blocks);
  return part;
}

using Ask = std::function<std::optional<double>(const Scenario&)>;

/// One more step of the part: of so many more that they can be measured, or of all.
///   part_s  seconds of the part itself
std::optional<double> seconds_of_a_step(const Scenario& scenario, const Duration& found,
                                        double part_s, const Ask& ask) {
  const std::uint64_t missing = found.whole.steps - found.part.steps;
  for (std::uint64_t more = std::min(more_steps, missing);; more = std::min(4 * more, missing)) {
    RunSize longer = found.part;
    longer.steps += more;
    const auto seconds = ask(with_size(scenario, longer));
    if (!seconds) return std::nullopt;
    const double added_s = *seconds - part_s;
    if (added_s >= measurable_s || more == missing)
      return std::max(0.0, added_s) / static_cast<double>(more);
  }
}

std::string about(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 360e3) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

std::string words(const RunSize& size) {
  const auto many = [](std::uint64_t number, const char* one, const char* more) {
    return fmt::format("{} {}", number, number == 1 ? one : more);
  };
  return many(size.steps, "step", "steps") + " of " +
         many(size.micro_batches, "micro-batch", "micro-batches") + " through " +
         many(size.blocks, "block", "blocks");
}

}  // namespace

RunSize size_of(const Scenario& scenario) {
  RunSize size;
  if (const char* key = layers_key(scenario.model))
    size.blocks = std::max<std::uint64_t>(1, scenario.model[key].get<std::uint64_t>());
  size.micro_batches = scenario.training.gradient_accumulation;
  size.steps = scenario.run.warmup_steps + std::max<std::uint64_t>(1, scenario.run.steps);
  return size;
}

Scenario with_size(Scenario scenario, const RunSize& size) {
  const RunSize own = size_of(scenario);
  if (size.blocks < own.blocks) {
    scenario.model[layers_key(scenario.model)] = size.blocks;
    const double share = static_cast<double>(size.blocks) / static_cast<double>(own.blocks);
    description::MachineFile& machine = scenario.machine;
    machine.gpu.memory =
        share_of(machine.gpu.memory,
                 Bytes(machine.gpu.context.value() + machine.gpu.reserve.value()), share);
    machine.host.memory = share_of(machine.host.memory, machine.host.reserve, share);
  }
  scenario.training.gradient_accumulation = std::min(own.micro_batches, size.micro_batches);
  if (size.steps < own.steps) {
    scenario.run.warmup_steps = std::min<std::uint64_t>(scenario.run.warmup_steps, 1);
    scenario.run.steps = std::max<std::uint64_t>(1, size.steps - scenario.run.warmup_steps);
  }
  return scenario;
}

bool may_take_long(const Scenario& scenario) {
  if (scenario.run.io_bench) return false;
  const RunSize size = size_of(scenario);
  const std::uint64_t ranks = std::min(scenario.parallel.ranks(), scenario.machine.gpu.count);
  if (strategies::plans_steps(scenario.strategy.system) && size.passes() > planned_passes)
    return true;
  return size.passes() * size.steps * ranks > plain_passes;
}

std::optional<Duration> duration_of(const Scenario& scenario, const Ask& ask) {
  Duration found;
  found.whole = size_of(scenario);
  const std::uint64_t all = found.whole.passes();
  double before_s = 0, last_s = 0, before = 0, last = 0;
  // two of them at least, or how it grows is not known
  for (std::uint64_t passes = first_passes; last_s < measurable_s || before == 0; passes *= 2) {
    const RunSize part = part_of(found.whole, passes, scenario.parallel);
    if (static_cast<double>(part.passes()) <= last) return std::nullopt;  // it grows no more
    if (part.passes() == all && part.steps == found.whole.steps) return std::nullopt;
    const auto seconds = ask(with_size(scenario, part));
    if (!seconds && last == 0) return std::nullopt;
    if (!seconds) {
      found.at_least = true;
      break;
    }
    before_s = last_s, before = last;
    last_s = *seconds, last = static_cast<double>(part.passes());
    found.part = part;
    if (part.passes() == all) break;
  }
  const auto whole = static_cast<double>(all);
  const bool grew = before > 0 && before_s > 0;
  found.seconds = grew ? continued(before_s, before, last_s, last, whole) : last_s * whole / last;
  const std::uint64_t missing = found.whole.steps - found.part.steps;
  if (missing <= found.part.steps || found.at_least) {  // too few to be worth measuring
    found.seconds *= static_cast<double>(found.whole.steps) / static_cast<double>(found.part.steps);
    return found;
  }
  const auto step_s = seconds_of_a_step(scenario, found, last_s, ask);
  found.at_least = !step_s;
  found.seconds += step_s.value_or(0) * static_cast<double>(missing) * whole / last;
  return found;
}

std::string duration_words(const Duration& duration) {
  return fmt::format("{} {} for {}, as {} took", duration.at_least ? "at least" : "about",
                     about(duration.seconds), words(duration.whole), words(duration.part));
}

std::string words_if_long(const Backend& backend, const Scenario& scenario) {
  if (!may_take_long(scenario)) return "";
  const auto start = std::chrono::steady_clock::now();
  const Backend quiet = backend.quiet();
  const auto duration = duration_of(scenario, [&](const Scenario& part) -> std::optional<double> {
    const double left_s = most_spent_s - seconds_since(start);
    const auto begun = std::chrono::steady_clock::now();
    if (left_s <= 0) return std::nullopt;
    const Outcome outcome = simulate_all(quiet, std::span(&part, 1), 1, left_s).front();
    if (!outcome.result) return std::nullopt;
    return seconds_since(begun);
  });
  return duration && duration->seconds >= long_s ? duration_words(*duration) : "";
}

}  // namespace spillway::explore
