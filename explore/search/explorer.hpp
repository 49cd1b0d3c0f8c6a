#pragma once

#include "explore/points/front.hpp"
#include "explore/points/measure.hpp"
#include "explore/store/store.hpp"
#include "explore/workers/worker_pool.hpp"

namespace spillway::explore {

/// How far an exploration is.
struct Progress {
  Counts counts;
  std::uint64_t done = 0;  ///< points that are pruned or known
  std::uint64_t kept = 0;  ///< of them, in the database for good
  double seconds = 0;      ///< since its start
  const Front* front = nullptr;
};

/// Which points of a space are looked at: all, coarse first; a spread of them; what descends from
/// the best.
enum class Search : unsigned char { exhaustive, sobol, nsga2 };

struct ExploreOptions {
  std::size_t jobs = 0;  ///< simulations at a time; 0: one for each core it may use
  double limit_s = 600;  ///< for one simulation
  double budget_s = 0;   ///< for all of it; 0: as long as it takes
  bool prune = true;     ///< by bounds
  Search search = Search::exhaustive;
  std::uint64_t seed = 1;               ///< of the other two
  std::uint64_t samples = 1024;         ///< that the other two look at
  std::uint64_t shard = 0, shards = 1;  ///< only points of that share
  std::uint64_t points = 0;             ///< that it looks at, for who watches; 0: all there are
  /// Where simulations run, `jobs` at a time in each; none: on this machine.
  std::vector<WorkerPlace> workers = {};
  double silence_s = 30;  ///< of one of them, after which it is given up, or this machine's ended
  std::function<bool()> stop = [] { return false; };
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  /// What went wrong and does not end the search.
  std::function<void(const std::string&)> notice = [](const std::string&) {};
};

/// How an exploration ended.
struct Exploration {
  std::int64_t space = 0;  ///< its number in the database
  Counts counts;
  bool finished = false;  ///< every point that the search looks at is pruned or known
  bool stopped = false;   ///< by `stop`, not by the budget
  double seconds = 0;
};

/// Finds the front of a space: what the database knows is not simulated again, and what is
/// simulated is in the database 100 ms later, counts and a heartbeat each second, so that another
/// process can watch it. Points are taken in batches whose content does not
/// depend on `jobs`, so neither does the front, nor on where they are simulated: this process alone
/// writes the database.
///   Throws  ScenarioError: another process fills the database, or it is no such database;
///           DeviceError
Exploration explore(const Backend& backend, const Points& points, const std::string& database,
                    const ExploreOptions& options);

/// The row of a space; its id is a hash of what the space asks, its base included.
///   Throws  ScenarioError: the base names what is not there
SpaceRow row_of(const scenarios::Space& space);

}  // namespace spillway::explore
