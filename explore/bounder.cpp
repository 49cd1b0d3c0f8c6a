#include "explore/bounder.hpp"

#include "strategies/catalogue.hpp"

#include <algorithm>
#include <limits>

namespace spillway::explore {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Groups that are remembered: more would take memory that grows with the space.
constexpr std::size_t most_groups = 2048;

std::string path_of(const std::string& override) { return override.substr(0, override.find('=')); }
nlohmann::json value_of(const std::string& override) {
  return nlohmann::json::parse(override.substr(override.find('=') + 1));
}

}  // namespace

Bounder::Bounder(const Points& points, const Measures& measures)
    : points_(points), measures_(measures) {
  find_fast_axes();
  bound_.costs.resize(measures.goals().size());
}

/// An axis is fast when each of its values sets numbers of the machine that stands in the base. One
/// that names another machine makes all of them slow: what follows from what differs from file to
/// file.
void Bounder::find_fast_axes() {
  const auto& axes = points_.space().axes;
  fast_.assign(axes.size(), false);
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

std::unique_ptr<Bounder::Group> Bounder::make_group(const Coordinates& at) const {
  auto group = std::make_unique<Group>();
  try {
    group->scenario = scenarios::read_scenario(points_.space().base, points_.overrides(at),
                                               systems_, strategies::unsupported)
                          .scenario;
  } catch (const description::ScenarioError&) {
    return nullptr;  // whoever looks at the point says why
  }
  group->mandatory = strategies::Mandatory::of(group->scenario);
  if (!group->mandatory) return nullptr;
  group->scenario.machine.sources.clear();
  group->scenario.model = {};
  group->at = at;
  const description::Training& training = group->scenario.training;
  group->samples = static_cast<double>(training.micro_batch) *
                   static_cast<double>(training.gradient_accumulation) *
                   static_cast<double>(group->scenario.parallel.data);
  group->tokens = group->samples * static_cast<double>(training.sequence);
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
  for (std::size_t a = 0; a < at.size(); ++a) {
    if (!fast_[a] || group.at[a] == at[a]) continue;
    for (const SetField& set : setters_[a][at[a]]) set(group.scenario.machine);
    group.at[a] = at[a];
  }
}

/// What is known of a number of the point's result.
Interval Bounder::number(const std::string& path) const {
  if (path == "step_time_s") return step_;
  if (path == "price_usd") return price_;
  if (path == "throughput.tokens_per_s") return tokens_;
  if (path == "throughput.samples_per_s") return samples_;
  if (path == "feasible") return feasible_;
  return Interval::anything();
}

void Bounder::fill(const Group& group, const Coordinates& at) {
  const double least = group.mandatory->step_s(group.scenario);
  step_ = {least, infinity};
  tokens_ = {0, least > 0 ? group.tokens / least : infinity};
  samples_ = {0, least > 0 ? group.samples / least : infinity};
  const std::optional<double> price = group.scenario.machine.price();
  price_ = price ? Interval::exactly(*price) : Interval::anything();
  feasible_ = {1, 1};  // nothing else is accepted
  bound_.hopeless = group.mandatory->too_small(group.scenario.machine) != nullptr;
  std::vector<Interval> values;
  for (const Measures::Constraint& constraint : measures_.constraints()) {
    if (bound_.hopeless) return;
    values.clear();
    for (const Measures::Name& name : constraint.names)
      values.push_back(name.source ? Interval::exactly(name.source->of(at)) : number(name.path));
    const Interval truth = range_of(constraint.expression, values);
    bound_.hopeless = truth.least == 0 && truth.most == 0;
  }
  for (std::size_t i = 0; i < measures_.goals().size(); ++i) {
    const Measures::Goal& goal = measures_.goals()[i];
    const Interval range = number(goal.path);
    bound_.costs[i] = goal.smaller ? range.least : -range.most;
  }
}

const PointBound* Bounder::of(const Coordinates& at) {
  Group* group = group_of(at);
  if (!group) return nullptr;
  move(*group, at);
  fill(*group, at);
  return &bound_;
}

}  // namespace spillway::explore
