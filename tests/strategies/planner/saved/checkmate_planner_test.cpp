#include "strategies/planner/saved/checkmate_milp.hpp"

#include <gmock/gmock.h>

#include <map>
#include <queue>
#include <random>

namespace spillway::strategies {
namespace {

using ::testing::Each;

CheckmateProblem problem_of(std::vector<CheckmateNode> nodes, std::uint64_t budget) {
  CheckmateProblem problem;
  problem.nodes = std::move(nodes);
  problem.budget = budget;
  return problem;
}

std::uint64_t total(const std::vector<CheckmateNode>& nodes) {
  std::uint64_t bytes = 0;
  for (const CheckmateNode& node : nodes) bytes += node.bytes;
  return bytes;
}

double seconds(const std::vector<CheckmateNode>& nodes) {
  double sum = 0;
  for (const CheckmateNode& node : nodes) sum += node.seconds;
  return sum;
}

/// What a table of computed and held values comes to, by walking its stages: no formulation.
class Walked {
 public:
  Walked(const CheckmateProblem& problem, const CheckmateTable& computed,
         const CheckmateTable& held)
      : problem_(problem), computed_(computed), held_(held) {
    for (std::size_t stage = 0; stage < problem.nodes.size() && legal_; ++stage) walk(stage);
  }
  bool legal() const { return legal_; }
  double seconds() const { return seconds_; }
  std::uint64_t peak() const { return peak_; }

 private:
  bool held_next(std::size_t stage, std::size_t node) const {
    return stage + 1 < held_.size() && held_[stage + 1][node];
  }

  void walk(std::size_t stage) {
    const auto& nodes = problem_.nodes;
    std::vector<bool> there(nodes.size(), false);
    std::uint64_t used = problem_.fixed;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (!held_[stage][node]) continue;
      legal_ &= stage > 0 && (held_[stage - 1][node] || computed_[stage - 1][node]);
      there[node] = true;
      used += nodes[node].bytes;
    }
    peak_ = std::max(peak_, used);
    legal_ &= computed_[stage][stage];
    for (std::size_t node = 0; node <= stage && legal_; ++node) {
      if (!computed_[stage][node]) continue;
      for (const std::uint32_t source : nodes[node].sources) legal_ &= there[source];
      seconds_ += nodes[node].seconds;
      used += nodes[node].bytes;
      there[node] = true;
      peak_ = std::max(peak_, used);
      used -= drop(stage, node, there);
    }
  }

  /// Values that `user` used last in this stage and the next one does not hold.
  std::uint64_t drop(std::size_t stage, std::size_t user, std::vector<bool>& there) const {
    std::vector<std::uint32_t> used = problem_.nodes[user].sources;
    used.push_back(static_cast<std::uint32_t>(user));
    std::uint64_t bytes = 0;
    for (const std::uint32_t node : used) {
      bool needed = held_next(stage, node);
      for (std::size_t later = user + 1; later <= stage; ++later)
        for (const std::uint32_t source : problem_.nodes[later].sources)
          needed |= source == node && computed_[stage][later];
      if (needed || !there[node]) continue;
      there[node] = false;
      bytes += problem_.nodes[node].bytes;
    }
    return bytes;
  }

  const CheckmateProblem& problem_;
  const CheckmateTable &computed_, &held_;
  bool legal_ = true;
  double seconds_ = 0;
  std::uint64_t peak_ = 0;
};

/// Of all tables: by peak bytes the least seconds.
std::map<std::uint64_t, double> by_brute_force(const CheckmateProblem& problem) {
  const std::size_t count = problem.nodes.size();
  const std::size_t free = count * (count - 1) / 2;  // below the diagonal, of each table
  std::map<std::uint64_t, double> best;
  for (std::uint64_t choice = 0; choice < (std::uint64_t{1} << (2 * free)); ++choice) {
    CheckmateTable computed(count, std::vector<bool>(count, false)), held = computed;
    std::uint64_t bits = choice;
    for (std::size_t stage = 0; stage < count; ++stage) {
      computed[stage][stage] = true;
      for (std::size_t node = 0; node < stage; ++node, bits >>= 2) {
        computed[stage][node] = bits & 1;
        held[stage][node] = bits & 2;
      }
    }
    const Walked walked(problem, computed, held);
    if (!walked.legal()) continue;
    const auto [known, fresh] = best.try_emplace(walked.peak(), walked.seconds());
    known->second = std::min(known->second, walked.seconds());
  }
  return best;
}

TEST(Checkmate, ComputesNothingTwiceWhereEverythingFits) {
  const std::vector<CheckmateNode> nodes{
      {1, 10, {}}, {2, 20, {0}}, {3, 30, {0, 1}}, {4, 5, {0, 2}}};
  const CheckmatePlan plan = plan_checkmate(problem_of(nodes, total(nodes)));
  ASSERT_TRUE(plan.found);
  EXPECT_TRUE(plan.proven);
  EXPECT_NEAR(plan.seconds, seconds(nodes), 1e-9);
  for (std::size_t stage = 0; stage < nodes.size(); ++stage)
    for (std::size_t node = 0; node < stage; ++node) EXPECT_FALSE(plan.computed[stage][node]);
}

TEST(Checkmate, ComputesAgainWhatItCannotHoldMeanwhile) {
  // the last value needs the first once more: 15 B hold all three in between, 11 B do not
  const std::vector<CheckmateNode> nodes{{2, 5, {}}, {3, 5, {0}}, {4, 5, {1}}, {1, 1, {0, 2}}};
  EXPECT_NEAR(plan_checkmate(problem_of(nodes, 15)).seconds, 10, 1e-9);
  const CheckmatePlan plan = plan_checkmate(problem_of(nodes, 11));
  ASSERT_TRUE(plan.found);
  EXPECT_NEAR(plan.seconds, 12, 1e-9);
  EXPECT_TRUE(plan.computed[3][0]);
  EXPECT_FALSE(plan_checkmate(problem_of(nodes, 10)).found);
}

TEST(Checkmate, IsNoPlanWhereAKernelsOperandsDoNotFit) {
  const std::vector<CheckmateNode> nodes{{1, 10, {}}, {1, 10, {0}}};
  EXPECT_TRUE(plan_checkmate(problem_of(nodes, 20)).found);  // exactly
  const CheckmatePlan plan = plan_checkmate(problem_of(nodes, 19));
  EXPECT_FALSE(plan.found);
  EXPECT_TRUE(plan.proven);
  CheckmateProblem with_weights = problem_of(nodes, 30);
  with_weights.fixed = 11;
  EXPECT_FALSE(plan_checkmate(with_weights).found);
}

/// Each plan starts a process, which takes many times as long under a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int small_graphs = 10;
#else
constexpr int small_graphs = 20;
#endif

TEST(Checkmate, IsAsGoodAsTheBestOfAllTablesOfSmallGraphs) {
  std::mt19937 random(7);
  int again = 0;
  for (int graph = 0; graph < small_graphs; ++graph) {
    SCOPED_TRACE(graph);
    std::vector<CheckmateNode> nodes(4);
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
      nodes[node].seconds = 1 + random() % 9;
      nodes[node].bytes = 1 + random() % 9;
      for (std::uint32_t source = 0; source < node; ++source)
        if (source + 1 == node || random() % 2 == 0) nodes[node].sources.push_back(source);
    }
    const std::map<std::uint64_t, double> best = by_brute_force(problem_of(nodes, 0));
    double least = best.begin()->second;
    for (const auto& [budget, at_this_peak] : best) {  // from the tightest that anything fits
      least = std::min(least, at_this_peak);
      const CheckmateProblem problem = problem_of(nodes, budget);
      const CheckmatePlan plan = plan_checkmate(problem);
      ASSERT_TRUE(plan.found);
      EXPECT_NEAR(plan.seconds, least, 1e-6) << budget;
      EXPECT_EQ(plan.gap, 0);
      const Walked walked(problem, plan.computed, plan.held);
      EXPECT_TRUE(walked.legal());
      EXPECT_LE(walked.peak(), budget);
      EXPECT_NEAR(walked.seconds(), plan.seconds, 1e-6);
      again += least > seconds(nodes);
    }
    EXPECT_FALSE(plan_checkmate(problem_of(nodes, best.begin()->first - 1)).found);
  }
  EXPECT_GT(again, 0);  // some had to compute something twice
}

/// A chain of `length` values of a byte and a second each, then its reverse, whose kernels take no
/// memory: the n-th from the end reads the n-th from the end.
std::vector<CheckmateNode> there_and_back(std::uint32_t length) {
  std::vector<CheckmateNode> nodes;
  for (std::uint32_t i = 0; i < length; ++i)
    nodes.push_back({1, 1, i ? std::vector<std::uint32_t>{i - 1} : std::vector<std::uint32_t>{}});
  for (std::uint32_t i = 0; i < length; ++i) {
    nodes.push_back({1, 0, {length - 1 - i}});
    if (i) nodes.back().sources.push_back(length + i - 1);
  }
  return nodes;
}

/// The same by dynamic programming over which values are there and how far the reverse has come.
double by_states(std::uint32_t length, std::uint32_t budget) {
  using State = std::pair<std::uint32_t, std::uint32_t>;  // reverse steps done, values as bits
  std::map<State, double> known;
  std::priority_queue<std::pair<double, State>, std::vector<std::pair<double, State>>,
                      std::greater<>>
      open;
  const auto reach = [&](State state, double cost) {
    const auto [place, fresh] = known.try_emplace(state, cost);
    if (!fresh && place->second <= cost) return;
    place->second = cost;
    open.emplace(cost, state);
  };
  reach({0, 0}, 0);
  while (!open.empty()) {
    const auto [cost, state] = open.top();
    open.pop();
    const auto [done, values] = state;
    if (known.at(state) < cost) continue;
    if (done == length) return cost;
    const std::uint32_t wanted = length - 1 - done;
    if (values >> wanted & 1) reach({done + 1, values}, cost + 1);
    for (std::uint32_t i = 0; i < length; ++i) {
      const std::uint32_t bit = 1u << i;
      if (values & bit) {
        reach({done, values & ~bit}, cost);  // dropped
      } else if ((i == 0 || values >> (i - 1) & 1) &&
                 static_cast<std::uint32_t>(__builtin_popcount(values)) < budget) {
        reach({done, values | bit}, cost + 1);
      }
    }
  }
  return -1;
}

TEST(Checkmate, OfAChainIsWhatDynamicProgrammingFinds) {
  for (const auto& [length, budget] :
       {std::pair{3u, 2u}, std::pair{4u, 2u}, std::pair{4u, 3u}, std::pair{5u, 3u}}) {
    SCOPED_TRACE(std::to_string(length) + " in " + std::to_string(budget));
    const CheckmatePlan plan = plan_checkmate(problem_of(there_and_back(length), budget));
    ASSERT_TRUE(plan.found);
    EXPECT_TRUE(plan.proven);
    EXPECT_NEAR(plan.seconds, by_states(length, budget), 1e-6);
    EXPECT_GT(plan.seconds, 2 * length);
  }
}

TEST(Checkmate, SaysHowFarItMayBeFromTheBestWhenTheNodesRunOut) {
  const CheckmateProblem problem = problem_of(there_and_back(5), 3);
  milp::Limits few;
  few.nodes = 1;
  const CheckmatePlan plan = plan_checkmate(problem, few), again = plan_checkmate(problem, few);
  EXPECT_EQ(plan.found, again.found);  // limits of nodes repeat
  EXPECT_EQ(plan.computed, again.computed);
  EXPECT_EQ(plan.gap, again.gap);
  if (plan.found) {
    EXPECT_LE(plan.seconds * (1 - plan.gap), by_states(5, 3) + 1e-6);
  }
}

/// Three values that backward reads after all other blocks have run: 10 B each, made in 1 s.
CheckmateProblem block(std::uint64_t held, std::uint64_t host, double rate) {
  CheckmateProblem problem;
  for (std::uint32_t i = 0; i < 3; ++i) {
    problem.nodes.push_back({1, 10, {}, i > 0, host > 0});
    if (i) problem.nodes.back().sources.push_back(i - 1);
  }
  problem.nodes.push_back({0, 0, {}, false});
  problem.nodes.push_back({6, 0, {0, 1, 2}, false});
  problem.budget = 1000;
  problem.held_at = 4;
  problem.held_bytes = held;
  problem.host_bytes = host;
  problem.down_bytes_per_s = problem.up_bytes_per_s = rate;
  problem.groups = {3, 4};
  return problem;
}

TEST(CheckmateOfABlock, HoldsWhatThereIsRoomForAndMakesTheRestAgain) {
  const CheckmatePlan all = plan_checkmate(block(30, 0, 1));
  EXPECT_NEAR(all.seconds, 9, 1e-6);  // 3 x 1 s and 6 s
  EXPECT_THAT(std::vector<bool>(all.held[4].begin(), all.held[4].begin() + 3), Each(true));
  // one byte short: one of the three is made again, and the first cannot be
  const CheckmatePlan two = plan_checkmate(block(29, 0, 1));
  EXPECT_NEAR(two.seconds, 10, 1e-6);
  EXPECT_TRUE(two.held[4][0]);
  EXPECT_NEAR(plan_checkmate(block(10, 0, 1)).seconds, 11, 1e-6);
  EXPECT_FALSE(plan_checkmate(block(9, 0, 1)).found);  // nowhere to go with the first
}

TEST(CheckmateOfABlock, SendsToHostMemoryWhatTheKernelsHide) {
  // forward hides 3 s of copies out, 20 B at 10 B/s; backward 6 s of copies in
  const CheckmatePlan hidden = plan_checkmate(block(10, 100, 10));
  EXPECT_NEAR(hidden.seconds, 9, 1e-6);
  EXPECT_EQ(hidden.fetched[4][0] + hidden.fetched[4][1] + hidden.fetched[4][2], 2);
  EXPECT_EQ(hidden.computed[4][1] + hidden.computed[4][2], 0);
  // 20 B at 5 B/s: 4 s out where forward has 3; one copy and one recomputation also take 3 + 7
  EXPECT_NEAR(plan_checkmate(block(10, 100, 5)).seconds, 10, 1e-6);
  EXPECT_NEAR(plan_checkmate(block(10, 9, 10)).seconds, 11, 1e-6);  // no room for one
  EXPECT_NEAR(plan_checkmate(block(0, 10, 10)).seconds, 11, 1e-6);  // the first goes there
}

}  // namespace
}  // namespace spillway::strategies
