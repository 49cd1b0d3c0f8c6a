#include "tests/e2e/server.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <cstdlib>
#include <set>

/// Mixes of parts that nobody published: each beats every published system on its box.
namespace spillway::e2e {
namespace {

using nlohmann::json;

constexpr const char* mixes[] = {"mix_8b_workstation", "mix_70b_workstation", "mix_70b_gaming_48g"};

json shipped(const std::string& path) {
  const std::filesystem::path root = SPILLWAY_SOURCE_DIR;  // whoever runs the test, from wherever
  return json::parse(file_text(root / (path + ".json")), nullptr, true, true);
}

std::vector<std::string> systems() {
  std::vector<std::string> names;
  for (const json& one : spillway("systems --json").json()) names.push_back(one.at("system"));
  return names;
}

class Mixes : public testing::TestWithParam<const char*> {
 protected:
  json space() const { return shipped(std::string("scenarios/spaces/") + GetParam()); }
  json example() const { return shipped(std::string("scenarios/examples/") + GetParam()); }
  std::string path() const { return std::string("scenarios/examples/") + GetParam() + ".json"; }

  /// The alternatives of the space that are as published, and the rest.
  std::pair<std::vector<std::string>, std::vector<json>> contenders() const {
    std::pair<std::vector<std::string>, std::vector<json>> all;
    const json who = space().at("axes").at("who"), mix = example().at("strategy");
    for (const auto& [name, sets] : who.items()) {
      const json& strategy = sets.at("strategy");
      if (strategy == mix)
        all.second.push_back(strategy);
      else
        all.first.push_back(strategy.at("system"));
    }
    return all;
  }
};

TEST_P(Mixes, StandsBesideEverySystemThatHasDrivesForIt) {
  LONG_TEST();
  const auto [published, mix] = contenders();
  ASSERT_EQ(mix.size(), 1u);  // the space and the example say the same
  for (const std::string& system : systems()) {
    if (system == "smart_infinity") continue;  // no drive here computes
    EXPECT_THAT(published, testing::Contains(system));
  }
  const Workplace place;
  const Ended counted = shell(place, std::string("spillway explore scenarios/spaces/") +
                                         GetParam() + ".json --count --json");
  ASSERT_EQ(counted.exit, 0) << counted.err;
  EXPECT_GE(counted.json().at("points").get<int>(), 3 * static_cast<int>(published.size()));
}

/// As the example splits its batch; who plans for pipeline stages has a stage on each card.
TEST_P(Mixes, IsFasterThanEverySystem) {
  LONG_TEST();
  const Ended mixed = spillway("simulate " + path() + " --set run.steps=1 --json");
  ASSERT_EQ(mixed.exit, 0) << mixed.err;
  const double seconds = mixed.json().at("step_time_s");
  EXPECT_EQ(mixed.json().contains("staleness"), false);
  const auto cards = example().value("parallel", json::object()).value("data", 1);
  const std::string all = "compare " + path() + " --set run.steps=1 --json --system ";
  std::vector<Ended> fields{spillway(all + "all")};
  if (cards > 1)
    fields.push_back(spillway(
        all + "teraio,g10 --set parallel.data=1 --set parallel.pipeline=" + std::to_string(cards) +
        " --set training.gradient_accumulation=" + std::to_string(cards)));
  std::set<std::string> answered;  // a system whose own search chooses may answer twice
  for (const Ended& field : fields) {
    ASSERT_EQ(field.exit, 0) << field.err;
    for (const json& one : field.json()) {
      answered.insert(one.at("system"));
      if (!one.at("feasible")) continue;
      EXPECT_GT(one.at("step_time_s").get<double>(), 1.05 * seconds) << one.at("system");
    }
  }
  EXPECT_EQ(answered.size(), systems().size() - 1);
}

// Every published system in every split of the batch: minutes, in the long form of the tests.
TEST_P(Mixes, IsTheFrontOfItsSpace) {
  if (!std::getenv("SPILLWAY_EVERY_PAIR")) GTEST_SKIP() << "SPILLWAY_EVERY_PAIR is not set";
  const Workplace place;
  const Ended ended = shell(place, std::string("spillway explore scenarios/spaces/") + GetParam() +
                                       ".json --db r.db --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json front = ended.json().at("front");
  ASSERT_EQ(front.size(), 1u);
  EXPECT_EQ(ended.json().at("failed"), 0);
  const json strategy = example().at("strategy");
  EXPECT_EQ(space().at("axes").at("who").at(front[0].at("point").at("who")).at("strategy"),
            strategy);
}

INSTANTIATE_TEST_SUITE_P(Shipped, Mixes, testing::ValuesIn(mixes),
                         [](const auto& mix) { return std::string(mix.param); });

/// LoHan's schedule over weights and states in host memory, on real memory, with real arithmetic.
TEST(Mix, OfActiveGradientsAndStatesInHostMemoryTrainsToTheSameBits) {
  json strategy = shipped("scenarios/examples/mix_8b_workstation").at("strategy");
  const Server server;
  const Ended ended = server.validate("--on a --json --set 'strategy=" + strategy.dump() +
                                      "' --set parallel.data=2");
  ASSERT_EQ(ended.exit, 0) << ended.err << ended.out;
  const json answer = ended.json();
  EXPECT_EQ(answer["weights_equal"], true);
  EXPECT_EQ(answer["measured"]["io_bytes_per_step"]["ssd_write"], 0);
  for (const char* path : {"io_bytes_per_step.h2d", "io_bytes_per_step.d2h", "peak_bytes.gpu.total",
                           "peak_bytes.host.total"})
    EXPECT_LT(std::abs(answer["errors"][path].get<double>()), 0.02) << path;
}

}  // namespace
}  // namespace spillway::e2e
