#include "explore/points/points.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/json/schema_check.hpp"

#include <algorithm>
#include <numeric>

namespace spillway::explore {

using description::Complaint;
using description::Dimension;
using nlohmann::json;

namespace {

constexpr std::uint64_t most_points = 1ull << 62;

/// The base as written, model and machine filled in, over what is default without a system.
json whole_base(const scenarios::Space& space, std::optional<description::MachineFile>& machine) {
  json whole = description::Scenario{};
  for (const char* key : {"model", "machine", "strategy"}) whole.erase(key);
  const scenarios::Document document = scenarios::assemble(space.base, {});
  whole.merge_patch(document.scenario.value);
  if (document.model.present) whole["model"] = document.model.json.value;
  if (document.machine.present) {
    document.machine.json.value.get_to(machine.emplace());
    whole["machine"] = *machine;  // with its defaults
  }
  return whole;
}

/// The text after "path=" of the override that sets `path`; nothing when none does.
std::optional<json> value_set(const scenarios::AxisValue& value, const std::string& path) {
  for (const std::string& override : value.overrides)
    if (override.size() > path.size() && override[path.size()] == '=' && override.starts_with(path))
      return json::parse(override.substr(path.size() + 1));
  return std::nullopt;
}

/// Indices 0 .. size-1 of one axis, coarse first, and where each level of fineness ends.
struct CoarseOrder {
  std::vector<std::uint32_t> order;
  std::vector<std::size_t> ends;

  explicit CoarseOrder(std::size_t size) {
    std::vector<bool> taken(size, false);
    const auto take = [&](std::size_t i) {
      if (!taken[i]) order.push_back(static_cast<std::uint32_t>(i));
      taken[i] = true;
    };
    for (std::size_t parts = 1; order.size() < size; parts *= 2) {
      for (std::size_t i = 0; i <= parts; ++i) take(i * (size - 1) / parts);
      ends.push_back(order.size());
    }
  }
  std::size_t end(std::size_t level) const { return ends[std::min(level, ends.size() - 1)]; }
};

}  // namespace

std::optional<double> number_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  for (const Dimension dimension :
       {Dimension::bytes, Dimension::bytes_per_second, Dimension::seconds,
        Dimension::flops_per_second, Dimension::params, Dimension::params_per_second}) {
    const auto parsed = description::parse_quantity(dimension, value.get<std::string>());
    if (parsed.problem.empty()) return static_cast<double>(parsed.value);
  }
  return std::nullopt;
}

Points::Points(const scenarios::Space& space) : space_(space) {
  base_ = whole_base(space, machine_);
  std::vector<Complaint> complaints;
  for (const scenarios::Axis& axis : space.axes) {
    if (count_ > most_points / axis.values.size()) {
      complaints.push_back({axis.place.file, axis.place.line, axis.place.column,
                            "axes." + axis.name, "makes more than 2^62 points",
                            "take coarser steps"});
      break;
    }
    count_ *= axis.values.size();
  }
  for (const scenarios::Condition& condition : space.where) add_condition(condition, complaints);
  if (complaints.empty()) return;
  scenarios::tidy(complaints);
  throw description::ScenarioError(complaints);
}

void Points::add_condition(const scenarios::Condition& condition,
                           std::vector<Complaint>& complaints) {
  const scenarios::Place& place = condition.place;
  const auto complain = [&](const std::string& message, const std::string& hint) {
    complaints.push_back({place.file, place.line, place.column, "where", message, hint});
  };
  try {
    Compiled compiled{Expression(condition.text), {}};
    std::vector<std::string> known;
    for (const scenarios::Axis& axis : space_.axes) known.push_back(axis.name);
    for (const std::string& name : compiled.expression.names()) {
      if (auto source = source_of(name)) {
        compiled.sources.push_back(std::move(*source));
        continue;
      }
      const std::string near = description::nearest_name(name, known);
      complain("no number \"" + name + "\" in the scenario",
               near.empty() ? "name an axis or a number of the base scenario"
                            : "did you mean \"" + near + "\"?");
    }
    if (compiled.sources.size() == compiled.expression.names().size())
      where_.push_back(std::move(compiled));
  } catch (const ExpressionError& error) {
    complain(std::string(error.what()) + " at character " + std::to_string(error.column()), "");
  }
}

std::optional<Points::Source> Points::source_of(const std::string& path) const {
  Source source;
  const json* written = scenarios::value_at(base_, path);
  const std::optional<double> base = written ? number_of(*written) : std::nullopt;
  for (std::size_t a = 0; a < space_.axes.size(); ++a) {
    bool sets = false;
    for (const scenarios::AxisValue& value : space_.axes[a].values)
      sets = sets || value_set(value, path);
    if (!sets) continue;
    source.axis = a;
    for (const scenarios::AxisValue& value : space_.axes[a].values) {
      const auto set = value_set(value, path);
      const std::optional<double> number = set ? number_of(*set) : base;
      if (!number) return std::nullopt;
      source.by_value.push_back(*number);
    }
    return source;
  }
  if (!base) return std::nullopt;
  source.constant = *base;
  return source;
}

Coordinates Points::at(std::uint64_t number) const {
  Coordinates at(space_.axes.size());
  for (std::size_t a = at.size(); a-- > 0;) {
    const std::uint64_t size = space_.axes[a].values.size();
    at[a] = static_cast<std::uint32_t>(number % size);
    number /= size;
  }
  return at;
}

std::uint64_t Points::number(const Coordinates& at) const {
  std::uint64_t number = 0;
  for (std::size_t a = 0; a < at.size(); ++a)
    number = number * space_.axes[a].values.size() + at[a];
  return number;
}

bool Points::allowed(const Coordinates& at) const {
  return std::all_of(where_.begin(), where_.end(), [&](const Compiled& condition) {
    double values[16];
    std::vector<double> more;
    const std::size_t size = condition.sources.size();
    double* into = values;
    if (size > std::size(values)) more.resize(size), into = more.data();
    for (std::size_t i = 0; i < size; ++i) into[i] = condition.sources[i].of(at);
    return condition.expression(std::span<const double>(into, size)) != 0;
  });
}

std::vector<std::string> Points::overrides(const Coordinates& at) const {
  std::vector<std::string> all;
  for (std::size_t a = 0; a < at.size(); ++a) {
    const auto& own = space_.axes[a].values[at[a]].overrides;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

json Points::shown(const Coordinates& at) const {
  json point = json::object();
  for (std::size_t a = 0; a < at.size(); ++a)
    point[space_.axes[a].name] = space_.axes[a].values[at[a]].shown;
  return point;
}

namespace {

/// Walks boxes of points that grow from level to level; what an earlier box held is left out.
class CoarseWalk {
 public:
  CoarseWalk(const Points& points, const std::vector<bool>& fast,
             const std::function<bool(const Coordinates&)>& visit)
      : points_(points), visit_(visit), at_(fast.size()) {
    for (const bool inner : {false, true})
      for (std::size_t a = 0; a < fast.size(); ++a)
        if (fast[a] == inner) nesting_.push_back(a);
    for (const scenarios::Axis& axis : points.space().axes)
      orders_.emplace_back(axis.values.size());
  }

  void run() {
    std::size_t levels = 0;
    for (const CoarseOrder& order : orders_) levels = std::max(levels, order.ends.size());
    for (level_ = 0; level_ < levels; ++level_)
      if (!loop(0, level_ == 0)) return;
  }

 private:
  /// True: go on.
  bool loop(std::size_t depth, bool fresh) {
    if (depth == nesting_.size()) return !fresh || !points_.allowed(at_) || visit_(at_);
    const std::size_t axis = nesting_[depth];
    const CoarseOrder& order = orders_[axis];
    const std::size_t end = order.end(level_);
    const std::size_t seen = level_ == 0 ? 0 : order.end(level_ - 1);
    const bool last = depth + 1 == nesting_.size();
    for (std::size_t i = last && !fresh ? seen : 0; i < end; ++i) {
      at_[axis] = order.order[i];
      if (!loop(depth + 1, fresh || i >= seen)) return false;
    }
    return true;
  }

  const Points& points_;
  const std::function<bool(const Coordinates&)>& visit_;
  Coordinates at_;
  std::vector<std::size_t> nesting_;
  std::vector<CoarseOrder> orders_;
  std::size_t level_ = 0;
};

}  // namespace

void coarse_first(const Points& points, const std::vector<bool>& fast,
                  const std::function<bool(const Coordinates&)>& visit) {
  CoarseWalk(points, fast, visit).run();
}

}  // namespace spillway::explore
