#include "explore/search/bounder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "explore/search/explorer.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/explore/spaces.hpp"
#include "tests/long_test.hpp"

namespace spillway::explore {
namespace {

using nlohmann::json;

/// A space of about twenty points over a few axes drawn from many.
std::string random_space(std::mt19937& random) {
  const std::vector<std::pair<std::string, json>> all = {
      {"machine.storage.nvme.count", {1, 2, 4}},
      {"machine.storage.nvme.read", {"500 MB/s", "7 GB/s"}},
      {"machine.storage.nvme.capacity", {"1 GB", "2 TB"}},
      {"machine.host.memory", {"3 GiB", "4500 MiB", "64 GiB"}},
      {"machine.host.adam", {"0.05 Gparam/s", "1 Gparam/s"}},
      {"machine.gpu.memory", {"1 GiB", "3 GiB", "24 GiB"}},
      {"machine.gpu.compute.fp16", {"10 TFLOPS", "132 TFLOPS"}},
      {"machine.pcie.link", {"2 GB/s", "40 GB/s"}},
      {"machine.prices_usd.ssd", {0, 300}},
      {"training.micro_batch", {1, 3, 16}},
      {"training.gradient_accumulation", {1, 3}},
      {"training.precision", {"fp16_mixed", "bf16_mixed"}},
      {"strategy.activations.policy", {"keep", "checkpoint_gpu", "checkpoint_host"}},
      {"strategy.optimizer.subgroup", {"1e7 params", "1e9 params"}}};
  std::vector<std::string> systems;
  for (const strategies::System& system : strategies::catalogue()) systems.push_back(system.name);
  const auto pick = [&random](std::size_t size) { return random() % size; };
  json axes = {{"strategy.system", {systems[pick(systems.size())], "zero_infinity"}}};
  if (axes["strategy.system"][0] == "zero_infinity") axes["strategy.system"].erase(1);
  for (int i = 0; i < 3; ++i) {
    const auto& [path, values] = all[pick(all.size())];
    axes[path] = values;
  }
  json space = {{"base",
                 {{"model", "gpt2"},
                  {"machine", "gaming_4090"},
                  {"training", {{"sequence", 256}}},
                  {"run", {{"steps", 1}}},
                  {"strategy", {{"system", "zero_infinity"}}}}},
                {"axes", axes},
                {"constraints", {"feasible"}},
                {"objectives", {{"throughput.tokens_per_s", "max"}}}};
  if (pick(2)) space["objectives"]["price_usd"] = "min";
  if (pick(2)) space["constraints"].push_back("step_time_s <= 0.3");
  if (pick(2)) space["constraints"].push_back("price_usd < 3100 or step_time_s < 0.1");
  if (pick(3) == 0) space["constraints"].push_back("wear.lifetime_years >= 0.004");
  if (pick(3) == 0) space["constraints"].push_back("io_bytes_per_step.ssd_write <= 1.5e9");
  if (pick(3) == 0) space["constraints"].push_back("peak_bytes.host.total <= 4e9");
  const std::vector<std::pair<const char*, const char*>> more = {
      {"wear.lifetime_years", "max"},   {"wear.usd_per_million_tokens", "min"},
      {"io_bytes_per_step.h2d", "min"}, {"io_bytes_per_step.ssd_read", "min"},
      {"peak_bytes.gpu.total", "min"},  {"peak_bytes.ssd.total", "min"}};
  if (pick(2)) {
    const auto& [path, way] = more[pick(more.size())];
    space["objectives"][path] = way;
  }
  return space.dump();
}

std::set<std::string> objectives_of(const std::vector<PointRow>& front) {
  std::set<std::string> all;
  for (const PointRow& point : front) all.insert(point.objectives.dump());
  return all;
}

std::vector<PointRow> front_of(const Points& points, const std::string& database, bool prune,
                               Counts& counts) {
  ExploreOptions options;
  options.jobs = 2;
  options.prune = prune;
  const Exploration done = explore(sim(), points, database, options);
  counts = done.counts;
  EXPECT_TRUE(done.finished);
  return Store(database, Database::Access::read).points(done.space, "front");
}

/// No bound is above what a simulation says, and what is hopeless is not accepted.
void expect_true_bounds(const Points& points, const std::vector<PointRow>& rows) {
  const Measures measures(points);
  Bounder bounder(points, measures);
  for (const PointRow& row : rows) {
    const Coordinates at = points.at(row.number);
    const PointBound* bound = bounder.of(at);
    if (!bound) continue;
    SCOPED_TRACE(row.point.dump());
    if (row.verdict == "accepted") {
      EXPECT_FALSE(bound->hopeless);
    }
    if (row.verdict != "accepted" || bound->hopeless) continue;
    for (std::size_t i = 0; i < measures.goals().size(); ++i) {
      const json& written = row.objectives[measures.goals()[i].path];
      const double value = written.is_number() ? written.get<double>() : HUGE_VAL;  // "never"
      EXPECT_GE(measures.goals()[i].smaller ? value : -value, bound->costs[i]);
    }
    json bounded = bounder.last()->machine;
    json resolved =
        scenarios::read_scenario(points.space().base, points.overrides(at), known_systems())
            .scenario.machine;
    resolved["sources"] = json::object();
    EXPECT_EQ(bounded, resolved);
  }
}

/// How many random spaces: a few, or what SPILLWAY_SPACES says.
int spaces() {
  const char* wanted = std::getenv("SPILLWAY_SPACES");
  return wanted ? std::atoi(wanted) : 12;
}

TEST(Bounds, PruneNoPointOfTheTrueFront) {
  LONG_TEST();
  std::mt19937 random(20261121);
  std::uint64_t pruned = 0;
  for (int i = 0; i < spaces(); ++i) {
    const std::string text = random_space(random);
    SCOPED_TRACE(text);
    const SpaceFiles files;
    const scenarios::Space space = files.space(text);
    const Points points(space);
    Counts all, some;
    const auto truth = front_of(points, files.path("all.db"), false, all);
    const auto found = front_of(points, files.path("some.db"), true, some);
    EXPECT_EQ(objectives_of(found), objectives_of(truth));
    EXPECT_EQ(all.pruned, 0u);
    EXPECT_EQ(some.pruned + some.simulated + some.refused + some.reused, some.points)
        << "points that resolve to one scenario are simulated once";
    pruned += some.pruned;
    Store store(files.path("all.db"), Database::Access::read);
    expect_true_bounds(points, store.points(1));
  }
  EXPECT_GT(pruned, 0u);
}

TEST(Bounds, SayWhyTheyRulePointsOut) {
  const SpaceFiles files;
  const scenarios::Space space = files.space(
      space_over(R"("machine.host.memory": ["1 GiB", "2 GiB"], )"
                 R"("training.micro_batch": [1, 2, 3])",
                 R"(, "constraints": ["feasible", "training.micro_batch < 3"])", "zero_offload"));
  Counts counts;
  front_of(Points(space), files.database(), true, counts);
  EXPECT_EQ(counts.pruned, 6u);
  Store store(files.database(), Database::Access::read);
  const std::vector<RuledOut> kinds = store.ruled_out(1);
  std::uint64_t points = 0;
  for (const RuledOut& kind : kinds) points += kind.points;
  EXPECT_EQ(points, counts.pruned);
  ASSERT_FALSE(kinds.empty());
  EXPECT_NE(kinds[0].reason.find("needs at least "), std::string::npos) << kinds[0].reason;
  EXPECT_NE(kinds[0].reason.find(" of 1.00 GiB of host memory, for what every step holds"),
            std::string::npos)
      << kinds[0].reason;
  EXPECT_EQ(kinds[0].point.at("machine.host.memory"), "1 GiB");
}

/// How many points of a space are simulated, and how many there are.
Counts counts_of(const std::string& more, const std::string& system) {
  const SpaceFiles files;
  const auto space = files.space(space_over(
      R"("machine.storage.nvme.count": [1, 2, 3, 4],
         "machine.storage.nvme.write": ["1 GB/s", "7 GB/s"])",
      more, system));
  const Points points(space);
  Counts counts;
  front_of(points, files.path("all.db"), true, counts);
  return counts;
}

TEST(Bounds, KnowThatDrivesWearOutTooSoonAtTheRateThatIsAskedFor) {
  const std::string fast = R"(, "constraints": ["feasible", "step_time_s <= 2")";
  EXPECT_EQ(counts_of(fast + R"(, "wear.lifetime_years >= 1000"])", "zero_infinity").simulated, 0u);
  EXPECT_GT(counts_of(fast + "]", "zero_infinity").simulated, 0u);
  // without a limit of the step it may be as long as it takes
  EXPECT_GT(
      counts_of(R"(, "constraints": ["feasible", "wear.lifetime_years >= 1000"])", "zero_infinity")
          .simulated,
      0u);
}

TEST(Bounds, KnowWhatAStepWrites) {
  // gpt2 has 124 M parameters of 12 bytes of states: each step writes 1.5 GB or more
  const auto writes = [](const char* most) {
    return std::string(R"(, "constraints": ["io_bytes_per_step.ssd_write <= )") + most + "\"]";
  };
  EXPECT_EQ(counts_of(writes("1.4e9"), "zero_infinity").simulated, 0u);
  EXPECT_GT(counts_of(writes("1.4e9"), "zero_offload").simulated, 0u);
}

TEST(Bounds, OfMachineNumbersAloneAreFast) {
  const SpaceFiles files;
  const auto space = files.space(space_over(R"("machine.storage.nvme.count": [1, 2],
    "card": { "a": { "machine.gpu.memory": "24 GiB", "machine.gpu.compute.fp16": "9 TFLOPS" },
              "b": { "machine.gpu.memory": "48 GiB", "machine.gpu.compute.fp16": "1 TFLOPS" } },
    "odd": { "a": { "machine.host.adam": "1 Gparam/s" }, "b": {} },
    "machine.host.memory_rate": ["10 GB/s"], "machine.gpu.count": [1],
    "training.micro_batch": [1, 2])"));
  const Points points(space);
  const Measures measures(points);
  // check rates of this machine follow from the rate of its memory; the odd axis keeps what is set
  EXPECT_EQ(Bounder(points, measures).fast(),
            (std::vector<bool>{true, true, false, false, false, false}));
}

// The rates of a GPU say where a pipeline is cut, and with it what each card does.
TEST(Bounds, AreOfTheStagesThatTheRatesOfThePointCut) {
  const SpaceFiles files;
  json written = json::parse(space_over(
      R"("machine.gpu.memory": ["40 GiB", "80 GiB"],
         "machine.gpu.memory_rate": ["100 GB/s", "99 GB/s", "3 TB/s", "200 TB/s"],
         "parallel.pipeline": [1, 2])"));
  written["base"]["machine"] = {{"name", "two"},
                                {"extends", "h100_8gpu"},
                                {"gpu", {{"count", 2}, {"elementwise", "separate"}}}};
  written["base"]["training"] = {{"micro_batch", 8}, {"sequence", 256}, {"loss", "plain"}};
  const auto space = files.space(written.dump());
  const Points points(space);
  const Measures measures(points);
  Bounder together(points, measures);
  EXPECT_EQ(together.fast(), (std::vector<bool>{true, true, false}));
  constexpr std::uint64_t all = 16, apart = 7;  // every point twice, in an order of neither axis
  std::set<double> costs;
  for (std::uint64_t i = 0; i < 2 * all; ++i) {
    const Coordinates at = points.at(i * apart % all);
    Bounder alone(points, measures);
    const PointBound* own = alone.of(at);
    ASSERT_TRUE(own);
    const PointBound* bound = together.of(at);
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->costs, own->costs) << points.shown(at);
    costs.insert(own->costs.front());
  }
  EXPECT_EQ(costs.size(), 8u);  // by rate and stages
}

TEST(Bounds, AreNoneWhereAnAxisNamesOtherMachines) {
  const SpaceFiles files;
  const auto space = files.space(
      space_over(R"("machine": ["gaming_4090", "h100_8gpu"], "machine.host.memory": ["64 GiB"])"));
  const Points points(space);
  const Measures measures(points);
  Bounder bounder(points, measures);
  EXPECT_EQ(bounder.fast(), (std::vector<bool>{false, false}));
  ASSERT_TRUE(bounder.of({1, 0}));  // slow, but there
  EXPECT_EQ(bounder.last()->machine.gpu.count, 8u);
}

}  // namespace
}  // namespace spillway::explore
