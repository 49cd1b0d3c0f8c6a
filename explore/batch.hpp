#pragma once

#include "explore/front.hpp"
#include "explore/measure.hpp"
#include "explore/nursery.hpp"

#include <set>

namespace spillway::explore {

/// Owns the way of points from coordinates to rows of the database: resolved here, answered by the
/// database or the nursery, judged, and put on the front in the order in which they were given.
class Batch {
 public:
  /// Keeps references to all of them.
  Batch(const Points& points, const Measures& measures, Store& store, Nursery& nursery);

  /// From now on the points are of the space of that number in the database.
  void begin(std::int64_t space) { space_ = space; }

  /// Finds out what `all` are.
  ///   over     asked between deliveries; true ends it, and what is not delivered is left out
  ///   Result   false when it was ended
  bool run(std::span<const Coordinates> all, Front& front, Counts& counts,
           const std::function<bool()>& over);

  /// Of the points of the last run(): by objective, the smaller the better; empty when one is not
  /// accepted.
  const std::vector<std::vector<double>>& costs() const { return costs_; }

  /// Simulates what is on the front and has no whole result in the database.
  bool complete_front(const Front& front, const std::function<bool()>& over);

  /// Points of which the verdict is known.
  std::uint64_t known() const { return known_; }
  /// Of them, whose rows are committed.
  std::uint64_t kept() const { return kept_; }
  void forget_known() { known_ = kept_ = 0; }

 private:
  struct Candidate {
    PointRow row;
    Judgement judgement;
    nlohmann::json scenario;  ///< resolved, while it waits
    bool known = false;
  };

  Candidate resolve(const Coordinates& at, Counts& counts);
  bool recall(Candidate& candidate, const Coordinates& at, Counts& counts);
  void judge(Candidate& candidate, const Coordinates& at, const ScenarioRow& row);
  bool deliver(std::span<const Coordinates> all, std::vector<Candidate>& candidates, Counts& counts,
               const std::function<bool()>& over);
  void take(const Delivery& delivery, std::span<const Coordinates> all,
            std::vector<Candidate>& candidates, Counts& counts);
  void put_on_front(std::vector<Candidate>& candidates, Front& front);
  void commit();
  void commit_when_due();

  const Points& points_;
  const Measures& measures_;
  Store& store_;
  Nursery& nursery_;
  const std::vector<scenarios::SystemInfo> systems_ = known_systems();
  std::int64_t space_ = 0;
  std::uint64_t known_ = 0, kept_ = 0;
  std::map<std::string, std::vector<std::size_t>> same_;  ///< candidates of a batch by key
  std::map<std::string, nlohmann::json> results_;         ///< of a batch, by key
  std::vector<std::vector<double>> costs_;
  double last_commit_s_ = 0;
};

}  // namespace spillway::explore
