#pragma once

#include "explore/cluster/messenger.hpp"
#include "explore/evaluator.hpp"
#include "explore/explorer.hpp"
#include "explore/outpost.hpp"
#include "explore/resolver.hpp"

#include <chrono>
#include <deque>
#include <set>
#include <unordered_map>

namespace spillway::explore {

/// Owns what rank 0 of a job does: hands the points of a batch to the outposts of all ranks, its
/// own among them, and what one that is lost has not answered to the others. The database of rank 0
/// gets the rows of the front at once and those of all shards at the end.
class Team final : public Evaluator {
 public:
  /// Keeps references to all of them.
  Team(const Points& points, const Measures& measures, Store& store, const std::string& database,
       Outpost& own, Messenger& messenger, const ExploreOptions& options);

  void begin(std::int64_t space) override;
  bool run(std::span<const Coordinates> all, Front& front, Counts& counts,
           const std::function<bool()>& over) override;
  /// Enough for everybody: the front does not depend on it.
  std::size_t batch_size() const override;
  const std::vector<std::vector<double>>& costs() const override { return costs_; }
  void tend() override;
  void gather(const Front& front, const std::function<bool()>& over) override;
  bool complete_front(const Front& front, const std::function<bool()>& over) override;
  std::uint64_t known() const override { return known_; }
  std::uint64_t kept() const override { return known_; }
  void forget_known() override { known_ = 0; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Member {
    bool here = true;      ///< not lost
    bool closed = false;   ///< its shard is
    std::size_t jobs = 0;  ///< simulations at a time; 0: not ready yet
    std::set<std::uint64_t> busy;
    Clock::time_point heard = Clock::now();
  };

  std::string shard(std::size_t rank) const;
  void tell(std::size_t rank, const nlohmann::json& line);
  void hand_out();
  void listen(double wait_s);
  void hear(std::size_t rank, const std::string& line);
  void answered(std::size_t rank, const nlohmann::json& answer);
  void lose(std::size_t rank, const std::string& why);
  void close_shards();
  void part(bool together);
  void merge_shards(const std::function<void()>& meanwhile);
  void show_life();
  bool all_here() const;

  const Points& points_;
  const Measures& measures_;
  Store& store_;
  const std::string database_;
  Outpost& own_;
  Messenger& messenger_;
  const ExploreOptions& options_;
  Resolver resolver_;
  bool by_number_ = false;    ///< the database knows points of the space
  bool by_contents_ = false;  ///< and scenarios that other spaces asked for
  std::vector<Member> members_;
  Clock::time_point told_ = Clock::now(), heard_letters_ = Clock::now();

  std::vector<Candidate> candidates_;  ///< of the run
  std::span<const Coordinates> all_;
  std::unordered_map<std::uint64_t, std::size_t> missing_;  ///< candidates without an answer
  std::deque<std::uint64_t> waiting_;                       ///< those that nobody has
  Counts* counts_ = nullptr;
  std::set<std::uint64_t> incomplete_;  ///< points whose whole result is on its way
  std::vector<std::vector<double>> costs_;
  std::uint64_t known_ = 0;
};

/// What any other rank does: passes on what rank 0 asks of its outpost, and the answers, until rank
/// 0 ends it.
///   Throws  DeviceError: rank 0 or the outpost is lost; what was found is in the shard
void relay(Outpost& outpost, Messenger& messenger, const ExploreOptions& options);

}  // namespace spillway::explore
