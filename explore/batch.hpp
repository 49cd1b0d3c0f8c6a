#pragma once

#include "explore/evaluator.hpp"
#include "explore/resolver.hpp"
#include "explore/worker.hpp"

#include <map>

namespace spillway::explore {

/// Owns the way of points from coordinates to rows of the database on this machine: resolved here,
/// answered by the database or the worker, judged, and put on the front in the order in which they
/// were given.
class Batch final : public Evaluator {
 public:
  /// Keeps references to all of them.
  Batch(const Points& points, const Measures& measures, Store& store, Worker& worker);

  void begin(std::int64_t space) override { resolver_.begin(space); }
  bool run(std::span<const Coordinates> all, Front& front, Counts& counts,
           const std::function<bool()>& over) override;
  /// Whatever the number of workers, so that the same points are simulated on any machine.
  std::size_t batch_size() const override { return 256; }
  const std::vector<std::vector<double>>& costs() const override { return costs_; }
  void tend() override {}
  void gather(const Front&, const std::function<bool()>&) override {}
  bool complete_front(const Front& front, const std::function<bool()>& over) override;
  std::uint64_t known() const override { return known_; }
  std::uint64_t kept() const override { return kept_; }
  void forget_known() override { known_ = kept_ = 0; }

 private:
  bool deliver(std::span<const Coordinates> all, std::vector<Candidate>& candidates, Counts& counts,
               const std::function<bool()>& over);
  void take(const Delivery& delivery, std::span<const Coordinates> all,
            std::vector<Candidate>& candidates, Counts& counts);
  void put_on_front(std::vector<Candidate>& candidates, Front& front);
  void commit();
  void commit_when_due();

  const Points& points_;
  Store& store_;
  Worker& worker_;
  Resolver resolver_;
  std::uint64_t known_ = 0, kept_ = 0;
  std::map<std::string, std::vector<std::size_t>> same_;  ///< candidates of a batch by key
  std::map<std::string, nlohmann::json> results_;         ///< of a batch, by key
  std::vector<std::vector<double>> costs_;
  double last_commit_s_ = 0;
};

}  // namespace spillway::explore
