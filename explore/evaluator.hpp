#pragma once

#include "explore/front.hpp"
#include "explore/points.hpp"
#include "explore/store/store.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace spillway::explore {

/// Finds out what points are, wherever that happens: in this machine's processes, on other
/// machines.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// From now on the points are of the space of that number in the database.
  virtual void begin(std::int64_t space) = 0;

  /// Finds out what `all` are and puts them on the front, in the order in which they are given.
  ///   over     asked again and again; true ends it, and what is not known by then is left out
  ///   Result   false when it was ended
  virtual bool run(std::span<const Coordinates> all, Front& front, Counts& counts,
                   const std::function<bool()>& over) = 0;

  /// Points that a run should have when there are many.
  virtual std::size_t batch_size() const = 0;

  /// Of the points of the last run(): by objective, the smaller the better; empty when one is not
  /// accepted.
  virtual const std::vector<std::vector<double>>& costs() const = 0;

  /// Called now and then where a search is busy with itself.
  virtual void tend() = 0;

  /// The search is over: what is elsewhere comes into the database, as far as it can be reached.
  ///   over  true: somebody stopped it, and nothing is waited for
  virtual void gather(const Front& front, const std::function<bool()>& over) = 0;

  /// Simulates what is on the front and has no whole result in the database.
  virtual bool complete_front(const Front& front, const std::function<bool()>& over) = 0;

  /// Points of which the verdict is known.
  virtual std::uint64_t known() const = 0;
  /// Of them, whose rows are committed.
  virtual std::uint64_t kept() const = 0;
  virtual void forget_known() = 0;
};

}  // namespace spillway::explore
