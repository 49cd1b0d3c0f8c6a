#pragma once

#include "explore/points/front.hpp"
#include "explore/search/resolver.hpp"
#include "explore/workers/worker_pool.hpp"

#include <map>

namespace spillway::explore {

/// Owns the way of points from coordinates to rows of the database: resolved here, answered by the
/// database or by workers, judged, and put on the front in the order in which they were given.
class Batch {
 public:
  /// Keeps references to all of them.
  Batch(const Points& points, const Measures& measures, Store& store, WorkerPool& workers);

  /// From now on the points are of the space of that number in the database.
  void begin(std::int64_t space) { resolver_.begin(space); }

  /// Finds out what `all` are and puts them on the front, in the order in which they are given.
  ///   over     asked again and again; true ends it, and what is not known by then is left out
  ///   Result   false when it was ended
  bool run(std::span<const Coordinates> all, Front& front, Counts& counts,
           const std::function<bool()>& over);

  /// Points that a run should have when there are many: on this machine always as many, so that the
  /// same points are simulated on any, else enough for all workers. The front does not depend on
  /// it.
  std::size_t batch_size() const {
    return workers_.size() == 1 ? 256 : std::max<std::size_t>(256, 8 * workers_.jobs());
  }

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
  std::vector<Delivery> collect();
  bool deliver(std::span<const Coordinates> all, std::vector<Candidate>& candidates, Counts& counts,
               const std::function<bool()>& over);
  void take(const Delivery& delivery, std::span<const Coordinates> all,
            std::vector<Candidate>& candidates, Counts& counts);
  void put_on_front(std::vector<Candidate>& candidates, Front& front);
  void commit();
  void commit_when_due();

  const Points& points_;
  Store& store_;
  WorkerPool& workers_;
  Resolver resolver_;
  std::uint64_t known_ = 0, kept_ = 0;
  std::map<std::string, std::vector<std::size_t>> same_;  ///< candidates of a batch by key
  std::map<std::string, nlohmann::json> results_;         ///< of a batch, by key
  std::vector<std::vector<double>> costs_;
  double last_commit_s_ = 0;
};

}  // namespace spillway::explore
