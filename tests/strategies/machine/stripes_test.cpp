#include "tests/strategies/systems/systems.hpp"

#include "strategies/rules/rules.hpp"

/// Whole runs on several storages.
namespace spillway::strategies {
namespace {

using description::BytesPerSecond;

description::Scenario two_ranks(const Overrides& overrides = {}) {
  Overrides all = {"parallel.data=2", "parallel.zero_stage=3"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return small_model("llama", "zero_infinity", all);
}

/// The array of the scenario's machine as two, with so much of its rates and drives each.
void split_array(description::Scenario& scenario, double first) {
  auto& storage = scenario.machine.storage;
  description::StorageSpec whole = storage.at(0);
  whole.count = 1;
  whole.array_read = whole.array_write = {};
  const BytesPerSecond read = storage[0].total_read(), write = storage[0].total_write();
  storage.assign(2, whole);
  storage[1].name = "second";
  for (std::size_t i = 0; i < 2; ++i) {
    const double share = i == 0 ? first : 1 - first;
    storage[i].read = BytesPerSecond(read.value() * share);
    storage[i].write = BytesPerSecond(write.value() * share);
  }
}

TEST(Stripes, TwoArraysTogetherAreAsFastAsOneOfTheirSum) {
  const description::Scenario whole = two_ranks();
  const result::Result one = simulate(whole);
  for (const double first : {0.5, 0.75}) {
    description::Scenario halves = whole;
    split_array(halves, first);
    const result::Result both = simulate(halves);
    // shares are whole sectors: a transfer may be a sector longer on one of them
    EXPECT_NEAR(both.step_time_s, one.step_time_s, 2e-3 * one.step_time_s);
    EXPECT_EQ(both.io.ssd_read, one.io.ssd_read);
    EXPECT_EQ(both.io.ssd_write, one.io.ssd_write);
    EXPECT_EQ(both.ssd.total, one.ssd.total);
    const double written = static_cast<double>(both.io.ssd_write);
    EXPECT_NEAR(static_cast<double>(both.io.by_storage.at("nvme").write), first * written,
                0.01 * written);
    EXPECT_EQ(both.io.by_storage.at("nvme").write + both.io.by_storage.at("second").write,
              both.io.ssd_write);
    EXPECT_EQ(count(halves).result.io.by_storage.at("nvme").write,
              both.io.by_storage.at("nvme").write);
  }
}

TEST(Stripes, ARankUsesItsOwnArray) {
  description::Scenario scenario = two_ranks();
  split_array(scenario, 0.5);
  scenario.machine.storage[0].gpus = {0};
  scenario.machine.storage[1].gpus = {1};
  ASSERT_TRUE(unsupported(scenario).empty());
  for (const result::Result& run : {count(scenario).result, simulate(scenario)}) {
    const auto& first = run.io.by_storage.at("nvme");
    const auto& second = run.io.by_storage.at("second");
    EXPECT_GT(first.write, 0u);
    EXPECT_EQ(first.write, second.write);  // equal shards
    EXPECT_EQ(first.read, second.read);
  }
}

TEST(Stripes, ARankWithoutADriveIsRefused) {
  description::Scenario scenario = two_ranks();
  scenario.machine.storage[0].gpus = {0};
  const auto complaints = unsupported(scenario);
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_EQ(complaints[0].path, "machine.storage");
  EXPECT_EQ(complaints[0].message, "GPU 1 reaches no drive");
  scenario.strategy.weights.home = description::Home::gpu;
  scenario.strategy.optimizer.paths["nvme"] = std::nullopt;  // named: the user's choice
  EXPECT_TRUE(unsupported(scenario).empty());
}

TEST(Stripes, WearIsThatOfTheBytesThatEachArrayTook) {
  description::Scenario scenario = two_ranks();
  split_array(scenario, 0.75);
  const result::Result run = simulate(scenario);
  ASSERT_TRUE(run.wear);
  EXPECT_EQ(run.wear->storage, "nvme");  // equal ratings, three times the writes
  EXPECT_EQ(run.wear->write_bytes_per_step,
            static_cast<double>(run.io.by_storage.at("nvme").write));
}

}  // namespace
}  // namespace spillway::strategies
