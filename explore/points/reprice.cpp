#include "explore/points/reprice.hpp"

#include "explore/expressions/expression.hpp"
#include "explore/points/front.hpp"
#include "scenarios/document/document.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace spillway::explore {

using description::MachineFile;
using nlohmann::json;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// As rows hold numbers: "never" is infinite.
double number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value == "never" ? never : std::nan("");
}

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw description::ScenarioError({{"", 0, 0, "--price", message, hint}});
}

/// Prices points one by one.
class Repricer {
 public:
  Repricer(Store& store, const SpaceRow& space, const std::vector<scenarios::Offer>& offers)
      : store_(store), space_(space), offers_(offers) {
    for (const PointRow& row : store.points(space.space, "front"))
      if (const json result = store.result(row.key); machine_.is_null() && result.is_object())
        machine_ = result.at("scenario").at("machine");
    if (machine_.is_null()) refuse("no result of the space is stored", "explore it first");
    if (!machine_.value("prices_usd", json()).is_object())
      refuse("its machines have no prices", "");
    for (const std::string& axis : space.axes)
      for (const AxisValueRow& value : store.axis_values(space.space, axis))
        for (const std::string& override : value.overrides)
          if (override.starts_with("machine"))
            overrides_[axis][value.value.dump()].push_back(override);
    for (const std::string& text : space.constraints) constraints_.emplace_back(text);
  }

  Repriced run() {
    for (PointRow& row : store_.points(space_.space, "verdict in ('accepted', 'rejected')"))
      look_at(std::move(row));
    answer_.pruned = space_.counts.pruned;
    for (const FrontPoint& point : front_.points())
      answer_.front.push_back(std::move(accepted_.at(point.number)));
    return std::move(answer_);
  }

 private:
  MachineFile machine_of(const PointRow& row) const {
    std::vector<std::string> overrides;
    for (const auto& [axis, by_value] : overrides_) {
      const auto found = by_value.find(row.point.value(axis, json()).dump());
      if (found != by_value.end())
        overrides.insert(overrides.end(), found->second.begin(), found->second.end());
    }
    const scenarios::Document document =
        scenarios::assemble(scenarios::located_at({{"machine", machine_}}, {}), overrides);
    return document.machine.json.value.get<MachineFile>();
  }

  void look_at(PointRow row) {
    const auto known = store_.find(row.key);
    if (!known || known->verdict != "fits") return;
    MachineFile machine = machine_of(row);
    RepricedPoint point{std::move(row), 0, machine.price().value_or(0)};
    const double old_drive = machine.storage.empty() ? 0 : drive_price(machine);
    answer_.prices = std::max(answer_.prices, apply_offers(offers_, machine));
    point.price_usd = machine.price().value_or(0);
    json numbers = known->numbers;
    numbers["price_usd"] = point.price_usd;
    const char* wear = "wear.usd_per_million_tokens";
    if (numbers.contains(wear) && numbers[wear].is_number() && old_drive > 0)
      numbers[wear] = numbers[wear].get<double>() * drive_price(machine) / old_drive;
    switch (judge(numbers, point.row)) {
      case Holds::no:
        return;
      case Holds::unknown:
        ++answer_.unknown;
        return;
      case Holds::yes:
        break;
    }
    ++answer_.points;
    answer_.joined += point.row.verdict == "rejected";
    keep(numbers, std::move(point));
  }
  static double drive_price(const MachineFile& machine) {
    return machine.storage.front().price_usd.value_or(machine.prices_usd->ssd);
  }

  enum class Holds : unsigned char { yes, no, unknown };
  Holds judge(const json& numbers, const PointRow& row) const {
    for (const Expression& constraint : constraints_) {
      bool known = true;
      const double holds = constraint([&](const std::string& name) {
        const double value = numbers.contains(name) ? number_of(numbers.at(name))
                                                    : number_of(row.point.value(name, json()));
        known = known && !std::isnan(value);
        return value;
      });
      if (!known) return row.verdict == "accepted" ? Holds::yes : Holds::unknown;
      if (holds == 0 || std::isnan(holds)) return Holds::no;
    }
    return Holds::yes;
  }

  void keep(const json& numbers, RepricedPoint point) {
    std::vector<double> costs;
    point.row.objectives = json::object();
    for (const ObjectiveRow& objective : space_.objectives) {
      const json value = numbers.value(objective.path, json());
      point.row.objectives[objective.path] = value;
      const double number = number_of(value);
      if (std::isnan(number)) return;
      costs.push_back(objective.smaller ? number : -number);
    }
    point.row.front = true;
    const std::uint64_t number = point.row.number;
    if (front_.beats(costs)) return;
    for (const FrontPoint& beaten : front_.add({number, point.row.key, costs}))
      accepted_.erase(beaten.number);
    accepted_.emplace(number, std::move(point));
  }

  Store& store_;
  const SpaceRow& space_;
  const std::vector<scenarios::Offer>& offers_;
  json machine_;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> overrides_;
  std::vector<Expression> constraints_;
  Front front_;
  std::map<std::uint64_t, RepricedPoint> accepted_;
  Repriced answer_;
};

}  // namespace

Repriced reprice(Store& store, const SpaceRow& space, const std::vector<scenarios::Offer>& offers) {
  return Repricer(store, space, offers).run();
}

}  // namespace spillway::explore
