#include "explore/search/bounder.hpp"

#include "explore/outcome/most_tokens.hpp"
#include "explore/points/shortage.hpp"
#include "strategies/machine/kernel_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spillway::explore {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Groups that are remembered: more would take memory that grows with the space.
constexpr std::size_t most_groups = 2048;
/// Rates of a GPU for which a group remembers its cut.
constexpr std::size_t most_rates = 4096;

std::string path_of(const std::string& override) { return override.substr(0, override.find('=')); }
bool asks_wear(const Measures& measures) {
  const auto of_wear = [](const auto& named) { return named.path.starts_with("wear."); };
  const auto in = [&](const Measures::Constraint& constraint) {
    return std::any_of(constraint.names.begin(), constraint.names.end(), of_wear);
  };
  return std::any_of(measures.goals().begin(), measures.goals().end(), of_wear) ||
         std::any_of(measures.constraints().begin(), measures.constraints().end(), in);
}
nlohmann::json value_of(const std::string& override) {
  return nlohmann::json::parse(override.substr(override.find('=') + 1));
}

}  // namespace

Bounder::Bounder(const Points& points, const Measures& measures)
    : points_(points), measures_(measures), asks_wear_(asks_wear(measures)) {
  find_fast_axes();
  bound_.costs.resize(measures.goals().size());
}

/// An axis is fast when each of its values sets numbers of the machine that stands in the base. One
/// that names another machine makes all of them slow: what follows from what differs from file to
/// file.
void Bounder::find_fast_axes() {
  const auto& axes = points_.space().axes;
  fast_.assign(axes.size(), false);
  rates_.assign(axes.size(), false);
  setters_.resize(axes.size());
  const std::optional<description::MachineFile> machine = points_.machine();
  if (!machine) return;
  for (const scenarios::Axis& axis : axes)
    for (const scenarios::AxisValue& value : axis.values)
      for (const std::string& override : value.overrides)
        if (path_of(override) == "machine") return;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    bool all = true;
    for (const scenarios::AxisValue& value : axes[a].values) {
      auto& setters = setters_[a].emplace_back();
      for (const std::string& override : value.overrides) {
        auto setter = field_setter(*machine, path_of(override), value_of(override));
        all = all && setter.has_value();
        if (setter) setters.push_back(std::move(*setter));
      }
      description::MachineFile changed = *machine;
      for (const SetField& set : setters) set(changed);
      rates_[a] = rates_[a] || !strategies::same_kernel_rates(changed.gpu, machine->gpu);
    }
    // every value has to set what another one sets, or the machine would keep the other's
    const auto paths = [&](const scenarios::AxisValue& value) {
      std::vector<std::string> list;
      for (const std::string& override : value.overrides) list.push_back(path_of(override));
      return list;
    };
    for (const scenarios::AxisValue& value : axes[a].values)
      all = all && paths(value) == paths(axes[a].values.front());
    fast_[a] = all;
  }
}

/// Nothing: whoever looks at the point says why.
std::optional<description::Scenario> Bounder::scenario_at(const Coordinates& at) const {
  try {
    return scenarios::read_scenario(points_.space().base, points_.overrides(at), systems_,
                                    scenarios::Refuse::what_cannot_run)
        .scenario;
  } catch (const description::ScenarioError&) {
    return std::nullopt;
  }
}

std::unique_ptr<Bounder::Group> Bounder::make_group(const Coordinates& at) {
  auto group = std::make_unique<Group>();
  std::optional<description::Scenario> scenario = scenario_at(at);
  if (!scenario) return nullptr;
  group->scenario = std::move(*scenario);
  auto mandatory = mandatory_of(group->scenario);
  if (!mandatory) return nullptr;
  group->counted.push_back(std::move(*mandatory));
  group->mandatory = &group->counted.front();
  group->scenario.machine.sources.clear();
  group->scenario.model = {};
  group->at = at;
  const description::Training& training = group->scenario.training;
  group->samples = static_cast<double>(training.micro_batch) *
                   static_cast<double>(training.gradient_accumulation) *
                   static_cast<double>(group->scenario.parallel.data);
  group->tokens = group->samples * static_cast<double>(training.sequence);
  group->bytes = group->mandatory->bytes(group->scenario.machine);
  group->longest_s = longest_step(*group);
  return group;
}

Bounder::Group* Bounder::group_of(const Coordinates& at) {
  bool same = known_;
  for (std::size_t a = 0; a < at.size() && same; ++a) same = fast_[a] || slow_[a] == at[a];
  if (same) return group_;
  slow_ = at;
  for (std::size_t a = 0; a < at.size(); ++a)
    if (fast_[a]) slow_[a] = 0;
  known_ = true;
  if (const auto found = groups_.find(slow_); found != groups_.end())
    return group_ = found->second.get();
  if (groups_.size() >= most_groups) groups_.clear();
  return group_ = (groups_[slow_] = make_group(at)).get();
}

void Bounder::move(Group& group, const Coordinates& at) const {
  bool other_rates = false;
  for (std::size_t a = 0; a < at.size(); ++a) {
    if (!fast_[a] || group.at[a] == at[a]) continue;
    for (const SetField& set : setters_[a][at[a]]) set(group.scenario.machine);
    group.at[a] = at[a];
    other_rates = other_rates || rates_[a];
  }
  if (other_rates && group.scenario.parallel.cut_by_time()) find_cut(group, at);
}

/// Sets what was counted of stages as the GPU's rates at that point cut them.
void Bounder::find_cut(Group& group, const Coordinates& at) const {
  Coordinates rates = at;
  for (std::size_t a = 0; a < at.size(); ++a)
    if (!fast_[a] || !rates_[a]) rates[a] = 0;
  if (group.by_rates.size() >= most_rates) group.by_rates.clear();
  const auto [found, fresh] = group.by_rates.try_emplace(std::move(rates), nullptr);
  const strategies::Mandatory*& mandatory = found->second;
  if (fresh)
    for (const strategies::Mandatory& one : group.counted)
      if (one.holds_for(group.scenario)) mandatory = &one;
  if (fresh && !mandatory)
    if (const auto scenario = scenario_at(at))
      if (auto counted = mandatory_of(*scenario))
        mandatory = &group.counted.emplace_back(std::move(*counted));
  group.mandatory = mandatory;
  if (mandatory) group.bytes = mandatory->bytes(group.scenario.machine);
}

namespace {

/// Bytes of which at least so many are moved or held, by their path in a result.
const std::map<std::string, double strategies::MandatoryBytes::*>& byte_paths() {
  using strategies::MandatoryBytes;
  static const std::map<std::string, double MandatoryBytes::*> paths = {
      {"io_bytes_per_step.h2d", &MandatoryBytes::h2d},
      {"io_bytes_per_step.d2h", &MandatoryBytes::d2h},
      {"io_bytes_per_step.ssd_read", &MandatoryBytes::drive_read},
      {"io_bytes_per_step.ssd_write", &MandatoryBytes::drive_written},
      {"peak_bytes.host.total", &MandatoryBytes::host},
      {"peak_bytes.gpu.total", &MandatoryBytes::gpu},
      {"peak_bytes.ssd.total", &MandatoryBytes::drives}};
  return paths;
}

bool of_steps(const std::string& path) {
  return path == "step_time_s" || path == "throughput.tokens_per_s" ||
         path == "throughput.samples_per_s";
}

}  // namespace

/// What is known of a number of the point's result.
Interval Bounder::number(const Group& group, const std::string& path) const {
  if (path == "step_time_s") return step_;
  if (path == "price_usd") return price_;
  if (path == "throughput.tokens_per_s") return tokens_;
  if (path == "throughput.samples_per_s") return samples_;
  if (path == "feasible") return feasible_;
  if (path == "wear.lifetime_years") return life_;
  if (path == "wear.usd_per_million_tokens") return wear_usd_;
  if (const auto found = byte_paths().find(path); found != byte_paths().end())
    return {group.bytes.*found->second, infinity};
  return Interval::anything();
}

void Bounder::measure_steps(const Group& group, Interval step_s) {
  const auto each = [&](double amount) {
    return Interval{amount / step_s.most, step_s.least > 0 ? amount / step_s.least : infinity};
  };
  step_ = step_s;
  tokens_ = each(group.tokens);
  samples_ = each(group.samples);
}

void Bounder::measure_wear(const Group& group) {
  const description::Scenario& scenario = group.scenario;
  const double usd =
      least_wear_usd(group.bytes, scenario.machine) * static_cast<double>(scenario.nodes_in_use());
  life_ = {0, longest_life_years(group.bytes, scenario.machine, group.longest_s)};
  wear_usd_ = {group.tokens > 0 ? usd / group.tokens * 1e6 : 0, infinity};
}

/// From here on, constraints that look at steps alone accept none that is longer. Without such a
/// constraint there is no such length.
double Bounder::longest_step(const Group& group) {
  constexpr double least_s = 1e-9, most_s = 1e12;
  double longest = infinity;
  for (const Measures::Constraint& constraint : measures_.constraints()) {
    const auto& names = constraint.names;
    if (!std::all_of(names.begin(), names.end(), [](const Measures::Name& name) {
          return !name.source && of_steps(name.path);
        }))
      continue;
    const auto refused_from = [&](double step_s) {
      measure_steps(group, {step_s, infinity});
      std::vector<Interval> values;
      for (const Measures::Name& name : names) values.push_back(number(group, name.path));
      const Interval truth = range_of(constraint.expression, values);
      return truth.least == 0 && truth.most == 0;
    };
    double refused = most_s, open = least_s;
    if (!refused_from(refused)) continue;
    while (refused / open > 1 + 1e-6) {
      const double between = std::sqrt(refused * open);
      (refused_from(between) ? refused : open) = between;
    }
    longest = std::min(longest, refused);
  }
  return longest;
}

void Bounder::fill(const Group& group, const Coordinates& at) {
  measure_steps(group, {group.mandatory->step_s(group.scenario), infinity});
  if (asks_wear_) measure_wear(group);
  const std::optional<double> price = group.scenario.machine.price();
  price_ = price ? Interval::exactly(*price) : Interval::anything();
  feasible_ = {1, 1};  // nothing else is accepted
  bound_.hopeless = group.mandatory->too_small(group.scenario.machine) != nullptr;
  bound_.constraint = 0;
  std::vector<Interval> values;
  for (const Measures::Constraint& constraint : measures_.constraints()) {
    if (bound_.hopeless) return;
    ++bound_.constraint;
    values.clear();
    for (const Measures::Name& name : constraint.names)
      values.push_back(name.source ? Interval::exactly(name.source->of(at))
                                   : number(group, name.path));
    const Interval truth = range_of(constraint.expression, values);
    bound_.hopeless = truth.least == 0 && truth.most == 0;
  }
  for (std::size_t i = 0; i < measures_.goals().size(); ++i) {
    const Measures::Goal& goal = measures_.goals()[i];
    const Interval range = number(group, goal.path);
    bound_.costs[i] = goal.smaller ? range.least : -range.most;
  }
}

std::string Bounder::why_hopeless() const {
  const description::MachineFile& machine = group_->scenario.machine;
  if (bound_.constraint > 0)
    return "at its bounds it fails " + measures_.constraints().at(bound_.constraint - 1).text;
  const char* const tier = group_->mandatory->too_small(machine);
  return text::words(shortage_of(*group_->mandatory, tier, machine).words());
}

const PointBound* Bounder::of(const Coordinates& at) {
  Group* group = group_of(at);
  if (!group) return nullptr;
  move(*group, at);
  if (!group->mandatory) return nullptr;
  fill(*group, at);
  return &bound_;
}

}  // namespace spillway::explore
