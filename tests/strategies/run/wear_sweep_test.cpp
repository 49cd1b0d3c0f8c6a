#include "strategies/systems/catalogue.hpp"
#include "tests/long_test.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <optional>
#include <set>

namespace spillway::strategies {
namespace {

/// A small model whose states fill most of one drive of 2 GB, on so many of them.
std::optional<description::Scenario> on_drives(const std::string& system, int drives,
                                               const std::string& block) {
  try {
    return small_model(
        "llama", system,
        {"machine.storage.nvme.part=990 PRO 2TB", "machine.storage.nvme.capacity=2 GB",
         "machine.storage.nvme.slc_cache.size=100 MB",
         "machine.storage.nvme.endurance.erase_block=" + block,
         "machine.storage.nvme.endurance.held=500 MB", "machine.host.memory=64 GiB",
         "machine.storage.nvme.count=" + std::to_string(drives), "run.steps=1"});
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // not every system runs such a job
  }
}

/// Tokens that are trained until the drives are worn; nothing where none are.
std::optional<double> tokens_until_worn(const description::Scenario& scenario) {
  const result::Result result = simulate(scenario);
  if (!result.feasible() || !result.wear || !result.wear->lifetime_years) return std::nullopt;
  const auto tokens = static_cast<double>(scenario.training.micro_batch *
                                          scenario.training.sequence * scenario.parallel.data);
  return *result.wear->lifetime_write_bytes / result.wear->write_bytes_per_step * tokens;
}

TEST(Logs, AreWrittenToTheDriveWithEachStep) {
  const auto of = [](const Overrides& more) {
    return simulate(small_model("llama", "zero_infinity", more)).wear.value();
  };
  const result::Wear without = of({}), with = of({"run.log_bytes=1 GB"});
  EXPECT_DOUBLE_EQ(with.write_bytes_per_step, without.write_bytes_per_step + 1e9);
  EXPECT_LT(with.warranty_years.value(), without.warranty_years.value());
}

TEST(WearSweep, MoreDrivesTrainMoreTokensBeforeTheyAreWorn) {
  LONG_TEST();
  std::set<std::string> worn;
  for (const System& system : catalogue()) {
    // who updates as often as the drives allow writes more a step on more drives
    if (system.defaults().optimizer.staleness != 0) continue;
    for (const char* block : {"1 MiB", "64 MiB", "1 GiB"}) {
      double last = 0;
      for (int drives = 1; drives <= 16; drives += drives < 8 ? 1 : 4) {
        const auto scenario = on_drives(system.name, drives, block);
        const auto tokens = scenario ? tokens_until_worn(*scenario) : std::nullopt;
        if (!tokens) continue;
        // a planner may write a little more where there is more to write to
        EXPECT_GE(*tokens, last * 0.999) << system.name << ", " << block << ", " << drives;
        last = *tokens;
        worn.insert(system.name);
      }
    }
  }
  EXPECT_GE(worn.size(), 5u);  // the others leave this job off the drives
}

}  // namespace
}  // namespace spillway::strategies
