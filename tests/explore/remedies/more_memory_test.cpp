#include "explore/remedies/more_memory.hpp"
#include "explore/points/reasons.hpp"

#include "reports/result/needs.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/explore/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::explore::more_memory_test {
namespace {

using nlohmann::json;

Resolve resolver(const json& scenario) {
  return [scenario](const std::vector<std::string>& more) -> std::optional<description::Scenario> {
    try {
      return scenarios::read_scenario(scenario, more, known_systems(),
                                      scenarios::Refuse::what_cannot_run)
          .scenario;
    } catch (const description::ScenarioError&) {
      return std::nullopt;
    }
  };
}

std::optional<Remedy> remedy_of(const json& scenario) {
  const description::Scenario resolved = *resolver(scenario)({});
  return more_memory(sim(), resolved, simulate(sim(), resolved), resolver(scenario));
}

json on_gaming_box(const std::string& model, const std::string& system) {
  return {{"model", model},
          {"machine", "gaming_4090"},
          {"training", {{"micro_batch", 1}, {"sequence", 1024}, {"precision", "bf16_mixed"}}},
          {"strategy", {{"system", system}}}};
}

TEST(MoreMemory, TakesTheNextSizeThatIsSold) {
  constexpr std::uint64_t gib = 1ull << 30;
  EXPECT_EQ(sold_host_memory(65 * gib), 96 * gib);
  EXPECT_EQ(sold_host_memory(96 * gib), 96 * gib);
  EXPECT_EQ(sold_host_memory(96 * gib + 1), 128 * gib);
  EXPECT_EQ(sold_gpu_memory(25 * gib), 32 * gib);
  EXPECT_EQ(sold_gpu_memory(5000 * gib), 0u);
}

TEST(MoreMemory, FitsAndTheNextSmallerSizeDoesNot) {
  // 16 bytes of each of 3.2e9 parameters and what the GPU computes with: 32 < need <= 64 GiB
  const json scenario = on_gaming_box("llama-3.2-3b", "resident");
  const auto remedy = remedy_of(scenario);
  ASSERT_TRUE(remedy);
  EXPECT_TRUE(remedy->result.feasible());
  ASSERT_EQ(remedy->overrides.size(), 1u);
  EXPECT_TRUE(remedy->overrides[0].starts_with("machine.gpu.memory=")) << remedy->overrides[0];
  const std::uint64_t has = remedy->result.gpu.capacity;
  const std::uint64_t needs = simulate(sim(), *resolver(scenario)({})).needed->gpu;
  EXPECT_EQ(sold_gpu_memory(needs), has);
}

TEST(MoreMemory, BuysWhatIsShortOfEveryTier) {
  json scenario = on_gaming_box("llama-3.1-8b", "zero_infinity");
  const std::vector<std::string> small = {"machine.host.memory=16 GiB",
                                          "machine.storage.nvme.capacity=60 GB"};
  const Resolve resolve = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = small;
    all.insert(all.end(), more.begin(), more.end());
    return resolver(scenario)(all);
  };
  const description::Scenario resolved = *resolve({});
  const result::Result first = simulate(sim(), resolved);
  EXPECT_EQ(result::shortages_of(first).size(), 2u);
  const auto remedy = more_memory(sim(), resolved, first, resolve);
  ASSERT_TRUE(remedy);
  EXPECT_TRUE(remedy->result.feasible());
  EXPECT_EQ(remedy->overrides.size(), 2u);
  EXPECT_THAT(remedy->words, testing::HasSubstr("GiB of host memory and "));
  EXPECT_THAT(remedy->words, testing::HasSubstr(" drives of nvme"));
}

TEST(MoreMemory, IsNothingWhereNoSizeIsSold) {
  EXPECT_FALSE(remedy_of(on_gaming_box("opt-175b", "resident")));
  EXPECT_FALSE(remedy_of(on_gaming_box("gpt2", "resident"))) << "it fits";
}

TEST(MoreMemory, IsNothingWhereGpuAndHostShareWhatTheMachineComesWith) {
  json scenario = on_gaming_box("llama-3.1-8b", "zero_offload");
  scenario["machine"] = "strix_halo";
  EXPECT_FALSE(simulate(sim(), *resolver(scenario)({})).feasible());
  EXPECT_FALSE(remedy_of(scenario));
}

/// What `ratio` leaves to the GPU has no room there, and for the rest host memory is too small.
TEST(MoreMemory, BesideACardIsForASettingWithWhichThatIsLargeEnough) {
  json scenario = on_gaming_box("llama-3.1-8b", "zero_offload");
  scenario["strategy"]["weights"]["home"] = "host";
  scenario["strategy"]["optimizer"]["cpu_share"] = 0.7;
  const Resolve resolve = resolver(scenario);
  const result::Result first = simulate(sim(), *resolve({}));
  ASSERT_EQ(result::shortages_of(first).size(), 2u);
  const auto other_card = more_memory(sim(), *resolve({}), first, resolve);
  ASSERT_TRUE(other_card);
  EXPECT_GT(other_card->result.gpu.capacity, first.gpu.capacity);
  const auto own = more_memory_beside_its_cards(sim(), *resolve({}), resolve);
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->result.feasible());
  EXPECT_EQ(own->result.gpu.capacity, first.gpu.capacity);
  EXPECT_THAT(own->words, testing::StartsWith("strategy.optimizer.cpu_share 1 and "));
  EXPECT_THAT(own->words, testing::HasSubstr("GiB of host memory"));
}

TEST(NoRoom, CountsDrivesAsTheyAreSold) {
  EXPECT_EQ(
      no_room({"ssd", 0, "weights", "init", 90'000'000'000, 20'000'000'000, 2'000'000'000'000}),
      "drives: weights in init asks for 90.0 GB, 20.0 GB of 2.00 TB are free");
}

TEST(NoRoom, SaysWhatIsNeededOfEachTier) {
  result::Result result;
  result.infeasible = result::Infeasible{"host", 0, "host_pool", "init", 5, 4, 3};
  result.host.capacity = 64ull << 30;
  result.gpu.capacity = 24ull << 30;
  result.needed = result::NeededBytes{131ull << 30, 109ull << 30, 0};
  EXPECT_EQ(no_room(result),
            "needs 131.0 GiB of 24.0 GiB of GPU memory, 109.0 GiB of 64.0 GiB of host memory; "
            "first host_pool in init");
  result.needed.reset();
  EXPECT_EQ(no_room(result), no_room(*result.infeasible));
}

}  // namespace
}  // namespace spillway::explore::more_memory_test
