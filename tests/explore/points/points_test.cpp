#include "explore/points/points.hpp"

#include <gtest/gtest.h>

#include <set>

#include "explore/points/scenario_key.hpp"
#include "tests/explore/spaces.hpp"
#include "tests/scenarios/complaints.hpp"

namespace spillway::explore {
namespace {

const SpaceFiles& files() {
  static const SpaceFiles all;
  return all;
}

/// Numbers in the order in which they are visited.
std::vector<std::uint64_t> visited(const Points& points, const std::vector<bool>& fast) {
  std::vector<std::uint64_t> numbers;
  coarse_first(points, fast, [&](const Coordinates& at) {
    numbers.push_back(points.number(at));
    return true;
  });
  return numbers;
}

TEST(Points, CountTheLastAxisFastest) {
  const auto space = files().space(
      space_over(R"("training.micro_batch": [1, 2, 4], "training.sequence": [512, 1024])"));
  const Points points(space);
  EXPECT_EQ(points.count(), 6u);
  EXPECT_EQ(points.at(3), (Coordinates{1, 1}));
  EXPECT_EQ(points.number({1, 1}), 3u);
  EXPECT_EQ(points.overrides({2, 0}),
            (std::vector<std::string>{"training.micro_batch=4", "training.sequence=512"}));
  EXPECT_EQ(points.shown({2, 0}).dump(), R"({"training.micro_batch":4,"training.sequence":512})");
}

TEST(Points, VisitsEachOnceCoarseFirst) {
  const auto space = files().space(space_over(R"("run.seed": {"from": 0, "to": 8})"));
  const Points points(space);
  // the ends, the middle, the quarters, the rest
  EXPECT_EQ(visited(points, {false}), (std::vector<std::uint64_t>{0, 8, 4, 2, 6, 1, 3, 5, 7}));
}

TEST(Points, VisitsEachOnceWhicheverAxesAreFast) {
  const auto space = files().space(
      space_over(R"("run.seed": {"from": 0, "to": 6}, "run.steps": {"from": 1, "to": 5},
                    "training.micro_batch": [1], "training.sequence": [512, 1024])"));
  const Points points(space);
  for (const std::vector<bool>& fast :
       {std::vector<bool>{false, false, false, false}, std::vector<bool>{true, false, true, false},
        std::vector<bool>{true, true, true, true}}) {
    const auto numbers = visited(points, fast);
    EXPECT_EQ(numbers.size(), 70u);
    EXPECT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()).size(), 70u);
    // the first are the corners: two ends of three axes
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(points.at(numbers[i])[0] % 6, 0u);
      EXPECT_EQ(points.at(numbers[i])[1] % 4, 0u);
    }
  }
}

TEST(Points, StopWhenTheVisitorHasSeenEnough) {
  const auto space = files().space(space_over(R"("run.seed": {"from": 0, "to": 99999},
    "run.steps": {"from": 1, "to": 100000}, "training.sequence": {"from": 1, "to": 100000})"));
  const Points points(space);
  EXPECT_EQ(points.count(), 1'000'000'000'000'000u);
  std::size_t count = 0;
  coarse_first(points, {false, false, true}, [&](const Coordinates&) { return ++count < 100'000; });
  EXPECT_EQ(count, 100'000u);
  EXPECT_EQ(points.number(points.at(987'654'321'098'765u)), 987'654'321'098'765u);
}

TEST(Points, LeaveOutWhatAConditionForbids) {
  // micro-batch 1, 2, 4 times data 1, 2: at most 4 leaves (4, 2) out
  const auto space = files().space(space_over(
      R"("training.micro_batch": [1, 2, 4], "parallel.data": [1, 2])",
      R"(, "where": ["training.micro_batch * parallel.data <= 4 * training.gradient_accumulation",
                     "machine.host.memory >= 64 * 1024 * 1024 * 1024"])"));
  const Points points(space);
  EXPECT_EQ(visited(points, {false, false}).size(), 5u);
  EXPECT_FALSE(points.allowed({2, 1}));
}

TEST(Points, TakeNumbersOfAlternativesFromWhatTheySet) {
  const auto space = files().space(space_over(
      R"("box": { "small": { "machine.gpu.memory": "24 GiB" }, "as it is": {},
                  "large": { "machine.gpu.memory": "48 GiB", "machine.storage.nvme.count": 4 } })",
      R"(, "where": ["machine.gpu.memory / machine.storage.nvme.count >= 24000000000"])"));
  const Points points(space);
  // 24 GiB / 1 twice; 48 GiB / 4 is 12
  EXPECT_EQ(visited(points, {false}), (std::vector<std::uint64_t>{0, 1}));
}

TEST(Points, SayWhatIsWrongWithACondition) {
  const auto space = files().space(space_over(R"("training.micro_batch": [1])", R"(,
"where": ["training.micro_bach < 2", "training.micro_batch <", "strategy.system < 2"])"));
  EXPECT_EQ(
      files().relative(scenarios::complaints_of([&] { Points{space}; })),
      "space.json:3:11: where: no number \"training.micro_bach\" in the scenario; did you "
      "mean \"training.micro_batch\"?\n"
      "space.json:3:38: where: a number, a name or a bracket is missing at character 23\n"
      "space.json:3:64: where: no number \"strategy.system\" in the scenario; name an axis or "
      "a number of the base scenario");
}

TEST(Points, AreAtMostTwoToThe62) {
  std::string axes;
  for (const char* path : {"run.seed", "run.steps", "training.sequence", "training.micro_batch"})
    axes += "\"" + std::string(path) + R"(": {"from": 1, "to": 100000},)";
  axes.pop_back();
  const auto space = files().space(space_over(axes));
  EXPECT_NE(scenarios::complaints_of([&] { Points{space}; }).find("more than 2^62 points"),
            std::string::npos);
}

TEST(Points, OfAShardHaveAllValuesOfAnAxisThatHasAsManyAsThereAreShards) {
  constexpr std::uint64_t shards = 8;
  std::vector<std::set<std::uint64_t>> values(shards);
  std::vector<std::uint64_t> points(shards);
  for (std::uint64_t number = 0; number < 100 * shards; ++number) {
    const std::uint64_t shard = shard_of(number, shards);
    ++points[shard];
    values[shard].insert(number % shards);  // of the last axis
  }
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    EXPECT_EQ(values[shard].size(), shards);
    EXPECT_NEAR(static_cast<double>(points[shard]), 100, 40);  // four standard deviations
  }
  EXPECT_EQ(shard_of(7, 1), 0u);
}

}  // namespace
}  // namespace spillway::explore
