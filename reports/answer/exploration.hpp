#pragma once

#include "reports/result/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// What should be small or large, in the order of importance.
struct Objective {
  std::string path;
  bool smaller = true;
};

/// A space that was searched, and what became of its points.
struct Space {
  std::string name;
  std::vector<std::string> axes;
  std::vector<Objective> objectives;
  std::vector<std::string> constraints;
  std::uint64_t points = 0;  ///< that fulfil the conditions between axes
  std::uint64_t bounded = 0, pruned = 0, simulated = 0;
  std::uint64_t reused = 0;   ///< that the database knew
  std::uint64_t refused = 0;  ///< whose values contradict each other
  std::uint64_t failed = 0;
  bool finished = false;  ///< every point is pruned or known
};

/// A point of a space.
struct Point {
  std::uint64_t number = 0;   ///< in the space
  std::string key;            ///< of its scenario; "" when it is refused
  nlohmann::json point;       ///< {axis: value}
  std::string verdict;        ///< accepted, rejected (a constraint), infeasible, refused, failed
  text::Text reason;          ///< of all but the first
  nlohmann::json objectives;  ///< {path: value}, of those that fit
  bool front = false;
  nlohmann::json result;  ///< whole, of those on a front; null elsewhere
  std::string program;    ///< that trains it; "" where its result does not say
  /// Where the space asks how long drives last: {"wear.warranty_years", "wear.lifetime_years",
  /// "wear.waf"}; else null.
  nlohmann::json wear;
};

/// What `spillway explore show` answers: the points that nothing beats.
struct Front {
  Space space;
  std::vector<Point> points;  ///< the best in the first objective first
};

/// `--best-per`: for each value of an axis the accepted point that is best.
struct Groups {
  Space space;
  std::string axis;
  std::vector<Point> points;  ///< the best first
};

/// Points that were not accepted for one reason.
struct ReasonGroup {
  std::uint64_t count = 0;
  Point example;
};

/// `--why`: the points that were not accepted.
struct Reasons {
  Space space;
  std::vector<Point> points;
  std::vector<ReasonGroup> groups;
};

/// A point of the front at other prices.
struct RepricedPoint {
  Point point;  ///< its objectives are those at the new prices; without its result
  double price_usd = 0, old_price_usd = 0;
};

/// `--price`: what a search says at other prices. Nothing is simulated, since times and memory do
/// not depend on prices.
struct RepricedFront {
  std::string space;
  std::vector<std::string> axes, objectives;
  std::uint64_t points = 0;   ///< that fulfil the constraints at the new prices
  std::uint64_t joined = 0;   ///< of them, those that did not at the old ones
  std::uint64_t unknown = 0;  ///< left out: a constraint names what the database does not hold
  std::uint64_t pruned = 0;   ///< by bounds at the old prices: nobody knows what they are now
  std::vector<RepricedPoint> front;  ///< the cheapest first
};

/// A change of a scenario and what it would bring.
struct NextStep {
  std::string words;    ///< "one more drive of nvme", "memascend, micro-batch 8 x 8"
  bool system = false;  ///< another system with its own parts
  std::optional<result::Result> result;
  text::Text reason;                        ///< why there is no result that fits
  text::Text unmet;                         ///< the constraint that it breaks; "" when it meets all
  std::optional<double> most_tokens_per_s;  ///< its bound, where one was computed
  std::vector<std::string> set = {};        ///< "path=value" on the scenario of the point
};

/// What `spillway explore explain` answers: why a point of the front is what it is.
struct Explanation {
  Space space;
  Point point;
  result::Result result;        ///< of the point
  std::vector<NextStep> steps;  ///< that somebody would take from it, simulated
};

// Schemas: spillway/answer/front/1, groups/1, reasons/1, repriced/1, explain/1. Reading, as in
// simulation.hpp, takes what an older release wrote and throws ScenarioError.
void to_json(nlohmann::json& json, const Front& front);
void from_json(const nlohmann::json& json, Front& front);
void to_json(nlohmann::json& json, const Groups& groups);
void from_json(const nlohmann::json& json, Groups& groups);
void to_json(nlohmann::json& json, const Reasons& reasons);
void from_json(const nlohmann::json& json, Reasons& reasons);
void to_json(nlohmann::json& json, const RepricedFront& front);
void from_json(const nlohmann::json& json, RepricedFront& front);
void to_json(nlohmann::json& json, const Explanation& explanation);
void from_json(const nlohmann::json& json, Explanation& explanation);

/// Points as `explore show --best-per` and `--why` print them with --json: an array of {"number",
/// "key", "point", "verdict", "reason", "objectives", "front"}.
std::vector<nlohmann::json> rows_of(const std::vector<Point>& points);
/// Points as `explore show --price` prints them: an array of {"number", "key", "point",
/// "objectives", "price_usd", "old_price_usd"}.
std::vector<nlohmann::json> rows_of(const RepricedFront& front);
/// A line of `explore show --csv` each: the result, its axes as `point.<axis>`, key and number.
std::vector<nlohmann::json> rows_of(const Front& front);

}  // namespace spillway::answer
