#include <gtest/gtest.h>

#include <set>

#include "explore/evolution/evolution.hpp"
#include "explore/points/sobol.hpp"
#include "explore/search/explorer.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/explore/spaces.hpp"
#include "tests/long_test.hpp"

namespace spillway::explore::search_test {
namespace {

constexpr const char* two_axes =
    R"("run.seed": {"from": 0, "to": 63}, "run.steps": {"from": 1, "to": 64})";

std::vector<std::uint64_t> sobol(const Points& points, std::uint64_t seed, std::uint64_t samples) {
  std::vector<std::uint64_t> numbers;
  sobol_points(points, seed, samples, [&](const Coordinates& at) {
    numbers.push_back(points.number(at));
    return true;
  });
  return numbers;
}

TEST(SobolPoints, AreSpreadEvenly) {
  const SpaceFiles files;
  const auto space = files.space(space_over(two_axes));
  const Points points(space);
  // a net: turned or not, 64 points hit each eighth of both axes about once: 64 squares
  const auto numbers = sobol(points, 1, 64);
  ASSERT_EQ(numbers.size(), 64u);
  std::set<std::pair<std::uint32_t, std::uint32_t>> squares;
  for (const std::uint64_t number : numbers)
    squares.insert({points.at(number)[0] / 8, points.at(number)[1] / 8});
  // chance alone hits 64 (1 - 1/e) = 40 of them
  EXPECT_GE(squares.size(), 48u);
}

TEST(SobolPoints, AreTheSameForTheSameSeed) {
  const SpaceFiles files;
  const auto space = files.space(space_over(two_axes));
  const Points points(space);
  EXPECT_EQ(sobol(points, 3, 100), sobol(points, 3, 100));
  EXPECT_NE(sobol(points, 3, 100), sobol(points, 4, 100));
}

TEST(SobolPoints, AreDifferentAndAllowed) {
  const SpaceFiles files;
  const auto space = files.space(space_over(R"("run.seed": [1, 2, 3], "run.steps": [1, 2, 3])",
                                            R"(, "where": ["run.seed != run.steps"])"));
  const Points points(space);
  const auto numbers = sobol(points, 1, 100);
  EXPECT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()).size(), 6u);
  EXPECT_EQ(numbers.size(), 6u);
}

/// Costs x and (3 - x)^2 + y: the front is y = 0, x from 0 to 3.
std::vector<std::vector<double>> costs_of(const std::vector<EvolvedPoint>& points) {
  std::vector<std::vector<double>> all;
  for (const EvolvedPoint& at : points) {
    const double x = at[0], y = at[1];
    all.push_back({x, (3 - x) * (3 - x) + y});
  }
  return all;
}

TEST(Evolution, FindsAFront) {
  EvolutionTask task{{1000, 1000}, 2, 1, 64, 60};
  std::set<EvolvedPoint> seen;
  evolve(task, [&](const std::vector<EvolvedPoint>& points) {
    seen.insert(points.begin(), points.end());
    return costs_of(points);
  });
  EXPECT_LE(seen.size(), 64u * 61);
  // chance alone finds a point of a million in each 250, and costs of about 60 at best
  double least = rejected_cost;
  for (const EvolvedPoint& at : seen) {
    const double x = at[0], y = at[1];
    least = std::min(least, x + (3 - x) * (3 - x) + y);
  }
  EXPECT_LE(least, 12);
}

TEST(Evolution, RepeatsItselfForTheSameSeed) {
  const auto run = [](std::uint64_t seed) {
    std::vector<EvolvedPoint> all;
    evolve({{100, 100}, 1, seed, 16, 5}, [&](const std::vector<EvolvedPoint>& points) {
      all.insert(all.end(), points.begin(), points.end());
      auto costs = costs_of(points);
      for (auto& one : costs) one.resize(1);
      return costs;
    });
    return all;
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

/// A space of 160 points with a front of several.
constexpr const char* wide =
    R"({ "base": { "model": "gpt2",
    "machine": { "extends": "gaming_4090", "host": { "slots": { "m2": 5 }, "lanes": 36 } },
    "run": { "steps": 1 }, "strategy": { "system": "zero_offload" } },
  "axes": { "training.micro_batch": { "from": 1, "to": 16 },
            "machine.host.adam": ["0.5 Gparam/s", "1 Gparam/s"],
            "machine.storage.nvme.count": { "from": 1, "to": 5 } },
  "constraints": ["feasible", "training.micro_batch != 2"],
  "objectives": { "step_time_s": "min", "throughput.tokens_per_s": "max", "price_usd": "min" } })";

struct Found {
  std::vector<std::string> front;
  Counts counts;
};

Found search(Search how, std::size_t jobs, std::uint64_t samples) {
  const SpaceFiles files;
  const auto space = files.space(wide);
  const Points points(space);
  ExploreOptions options;
  options.jobs = jobs;
  options.search = how;
  options.samples = samples;
  const Exploration done = explore(sim(), points, files.database(), options);
  EXPECT_TRUE(done.finished);
  Found found{{}, done.counts};
  for (const PointRow& row :
       Store(files.database(), Database::Access::read).points(done.space, "front"))
    found.front.push_back(row.objectives.dump());
  return found;
}

TEST(Search, FindsTheSameWithAnyNumberOfWorkers) {
  LONG_TEST();
  for (const Search how : {Search::sobol, Search::nsga2}) {
    const Found one = search(how, 1, 128), three = search(how, 3, 128);
    EXPECT_EQ(one.front, three.front);
    EXPECT_EQ(one.counts.simulated, three.counts.simulated);
    EXPECT_LE(one.counts.points, 128u);
    EXPECT_GE(one.front.size(), 1u);
  }
}

TEST(Search, OfShardsIsThatOfTheWhole) {
  LONG_TEST();
  const SpaceFiles files;
  const auto space = files.space(wide);
  const Points points(space);
  ExploreOptions options;
  options.jobs = 2;
  options.shards = 3;
  Store whole(files.path("whole.db"), Database::Access::write);
  std::uint64_t all = 0;
  for (options.shard = 0; options.shard < 3; ++options.shard) {
    const std::string part = files.path("part" + std::to_string(options.shard));
    all += explore(sim(), points, part, options).counts.points;
    whole.take_over(part);
  }
  whole.close();
  EXPECT_EQ(all, points.count());
  const Exploration joined = explore(sim(), points, files.path("whole.db"), {.jobs = 2});
  // each shard simulated its own front, and that of the whole is among them
  EXPECT_EQ(joined.counts.simulated, 0u);
  whole.open();
  std::set<std::string> front;
  for (const PointRow& row : whole.points(joined.space, "front"))
    front.insert(row.objectives.dump());
  const Found at_once = search(Search::exhaustive, 2, 0);
  EXPECT_EQ(front, std::set<std::string>(at_once.front.begin(), at_once.front.end()));
}

TEST(Search, OfEverythingFindsWhatIsThere) {
  LONG_TEST();
  const Found all = search(Search::exhaustive, 2, 0), spread = search(Search::sobol, 2, 1000);
  EXPECT_EQ(all.counts.points, 160u);
  EXPECT_EQ(spread.counts.points, 160u);
  EXPECT_EQ(std::set<std::string>(all.front.begin(), all.front.end()),
            std::set<std::string>(spread.front.begin(), spread.front.end()));
}

}  // namespace
}  // namespace spillway::explore::search_test
