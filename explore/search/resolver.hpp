#pragma once

#include "explore/points/front.hpp"
#include "explore/points/measure.hpp"
#include "explore/points/points.hpp"
#include "explore/store/store.hpp"
#include "explore/workers/worker_pool.hpp"

namespace spillway::explore {

/// A point on its way from coordinates to a row of the database.
struct Candidate {
  PointRow row;
  Judgement judgement;
  nlohmann::json scenario;  ///< resolved; null when the database knew it first
  ScenarioRow outcome;      ///< what it came to, when that is known
  bool known = false;       ///< nothing is left to simulate
};

/// Owns what can be said of points without a simulation: scenarios resolved, answers recalled from
/// the database, results judged.
class Resolver {
 public:
  /// Keeps references to all of them.
  Resolver(const Points& points, const Measures& measures, Store& store);

  /// From now on the points are of the space of that number in the database.
  void begin(std::int64_t space) { space_ = space; }
  std::int64_t space() const { return space_; }

  /// Whether the database knows the point, from an earlier run over the same space.
  bool recall(Candidate& candidate, const Coordinates& at, Counts& counts);

  /// The point, known when the database knows it or its scenario, or when its values contradict
  /// each other; then its row is in the database.
  Candidate resolve(const Coordinates& at, Counts& counts);

  /// What the space says of a scenario that came to `row`.
  void judge(Candidate& candidate, const Coordinates& at, ScenarioRow row) const;

  /// Keeps what a simulation came to; of a failure the scenario too.
  ScenarioRow record(const Candidate& candidate, const Delivery& delivery);

  /// Puts a point on the front, in the database too, if nothing there beats it.
  ///   result  the whole one, when it is at hand
  void put_on_front(Candidate& candidate, Front& front, const nlohmann::json* result);

  description::Scenario scenario(const Coordinates& at) const;

 private:
  const Points& points_;
  const Measures& measures_;
  Store& store_;
  const std::vector<scenarios::SystemInfo> systems_ = known_systems();
  std::int64_t space_ = 0;
};

}  // namespace spillway::explore
