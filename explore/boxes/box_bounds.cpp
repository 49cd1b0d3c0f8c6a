#include "explore/boxes/box_bounds.hpp"

#include "explore/outcome/most_tokens.hpp"
#include "explore/trials/machine_shape.hpp"
#include "scenarios/description/errors.hpp"
#include "strategies/machine/kernel_time.hpp"

#include <algorithm>
#include <limits>

namespace spillway::explore {

using description::MachineFile;
using nlohmann::json;

namespace {

constexpr double day_s = 86400;

}  // namespace

std::uint64_t BoxNeed::accumulation(std::size_t setting, std::uint64_t gpus) const {
  const BoxSetting& own = settings.at(setting);
  if (gpus % own.cards != 0) return 0;
  if (global_batch == 0) return own.accumulation;
  const std::uint64_t together = own.micro_batch * (gpus / own.cards);
  return global_batch % together == 0 ? global_batch / together : 0;
}

std::string BoxNeed::words(std::size_t setting, std::uint64_t gpus) const {
  const std::uint64_t times = accumulation(setting, gpus);
  return settings.at(setting).words + (times == 1 ? "" : " x " + std::to_string(times));
}

std::vector<std::string> BoxNeed::on(std::size_t setting, std::uint64_t gpus) const {
  const std::uint64_t times = accumulation(setting, gpus);
  ENSURE(times > 0, "settings that make no global batch are left out");
  const BoxSetting& own = settings[setting];
  std::vector<std::string> all = {"parallel.data=" + std::to_string(gpus / own.cards),
                                  "training.micro_batch=" + std::to_string(own.micro_batch),
                                  "training.gradient_accumulation=" + std::to_string(times)};
  all.insert(all.end(), own.overrides.begin(), own.overrides.end());
  all.insert(all.end(), overrides.begin(), overrides.end());
  return all;
}

description::Scenario BoxBounds::scenario_of(std::size_t setting, const scenarios::Box& box,
                                             const json& machine) const {
  std::vector<std::string> overrides = need_.on(setting, box.gpus);
  overrides.insert(overrides.begin(), "machine=" + machine.dump());
  return scenarios::read_scenario(need_.job, overrides, systems_,
                                  scenarios::Refuse::what_cannot_run)
      .scenario;
}

BoxBounds::Group& BoxBounds::group(std::size_t setting, std::size_t shape,
                                   const scenarios::Box& box, const json& machine) {
  const auto [found, fresh] = groups_.try_emplace({setting, shape});
  Group& group = found->second;
  if (!fresh) return group;
  try {
    group.scenario = scenario_of(setting, box, machine);
  } catch (const description::ScenarioError& error) {
    if (!resolved_ && !error_) error_ = error;
    return group;
  }
  resolved_ = true;
  error_.reset();
  if (auto mandatory = mandatory_of(*group.scenario))
    group.counted.push_back(std::move(*mandatory));
  group.tokens = tokens_a_step(*group.scenario);
  group.scenario->model = {};
  return group;
}

/// Where the pipeline is cut by time, each cut has a count of its own, which is looked for once for
/// each card's rates.
const strategies::Mandatory* BoxBounds::mandatory(Group& group, const Asked& asked) const {
  if (group.counted.empty()) return nullptr;
  if (!group.scenario->parallel.cut_by_time()) return &group.counted.front();
  const auto [found, fresh] = group.by_rates.try_emplace(asked.rates, nullptr);
  if (!fresh) return found->second;
  for (const strategies::Mandatory& one : group.counted)
    if (one.holds_for(*group.scenario)) return found->second = &one;
  try {
    if (auto mandatory = mandatory_of(scenario_of(asked.setting, asked.box, asked.written)))
      found->second = &group.counted.emplace_back(std::move(*mandatory));
  } catch (const description::ScenarioError&) {
    return nullptr;  // whoever simulates it says why
  }
  return found->second;
}

double BoxBounds::most_tokens_per_day(const Asked& asked) {
  constexpr double any = std::numeric_limits<double>::infinity();
  Group& group = this->group(asked.setting, asked.shape, asked.box, asked.written);
  if (!group.scenario) return 0;
  const MachineFile& machine = asked.machine;
  group.scenario->machine = machine;
  const strategies::Mandatory* mandatory = this->mandatory(group, asked);
  if (!mandatory) return any;
  if (mandatory->too_small(machine)) return 0;
  const double longest_s = group.tokens / need_.tokens_per_day * day_s;
  if (need_.years &&
      longest_life_years(mandatory->bytes(machine), machine, longest_s) < *need_.years)
    return 0;
  const double step_s = mandatory->step_s(*group.scenario);
  return step_s > 0 ? group.tokens / step_s * day_s : any;
}

std::size_t BoxBounds::index_of_rates(const description::GpuSpec& gpu) {
  const auto same = std::find_if(rates_.begin(), rates_.end(), [&](const auto& known) {
    return strategies::same_kernel_rates(known, gpu);
  });
  const auto index = static_cast<std::size_t>(same - rates_.begin());
  if (same == rates_.end()) rates_.push_back(gpu);
  return index;
}

const std::vector<double>& BoxBounds::of(const scenarios::Box& box) {
  const auto [found, fresh] = known_.try_emplace(box);
  if (!fresh) return found->second;
  const json written = machine_of(list_, box);
  auto machine = written.get<MachineFile>();
  const std::size_t shape = shapes_.try_emplace(shape_of(machine), shapes_.size()).first->second;
  const std::size_t rates = index_of_rates(machine.gpu);
  machine.sources.clear();
  for (std::size_t i = 0; i < need_.settings.size(); ++i) {
    if (need_.accumulation(i, box.gpus) == 0) {
      found->second.push_back(0);
      continue;
    }
    if (!need_.settings[i].searched) {
      found->second.push_back(std::numeric_limits<double>::infinity());
      continue;
    }
    found->second.push_back(most_tokens_per_day({i, shape, rates, box, written, machine}));
    ++bounded_;
  }
  return found->second;
}

}  // namespace spillway::explore
