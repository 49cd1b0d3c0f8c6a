#include "explore/outcome/lower_plans.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/long_test.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

/// Schedules that foresee their step decide differently on a better machine, and not always better:
/// each of these got slower on one, by what stands beside it, as long as its own plan was the only
/// one.
namespace spillway::explore::lower_plans_test {
namespace {

using nlohmann::json;

/// A llama with heads of 128.
json llama(std::uint64_t hidden, std::uint64_t layers, std::uint64_t vocabulary) {
  return {{"model_type", "llama"},
          {"hidden_size", hidden},
          {"num_hidden_layers", layers},
          {"num_attention_heads", hidden / 128},
          {"num_key_value_heads", hidden / 128},
          {"intermediate_size", hidden * 7 / 2 / 128 * 128},
          {"vocab_size", vocabulary},
          {"max_position_embeddings", 1 << 20},
          {"tie_word_embeddings", true}};
}

struct Better {
  json base;
  std::vector<std::string> machine, upgrade;
};

constexpr double does_not_fit = std::numeric_limits<double>::infinity();

double step_s(const Better& one, bool upgraded, bool lower = true) {
  std::vector<std::string> overrides = one.machine;
  if (upgraded) overrides.insert(overrides.end(), one.upgrade.begin(), one.upgrade.end());
  if (!lower) overrides.push_back("strategy.plan.lower_limits=0");
  const result::Result result =
      simulate(sim(), scenarios::read_scenario(one.base, overrides, known_systems(),
                                               scenarios::Refuse::what_cannot_run)
                          .scenario);
  return result.feasible() ? result.step_time_s : does_not_fit;
}

void expect_no_slower(const Better& one) {
  EXPECT_LT(step_s(one, false), does_not_fit);
  EXPECT_LE(step_s(one, true), 1.001 * step_s(one, false));
  // the plan for all of the better machine alone is slower: without the others this would fail
  EXPECT_GT(step_s(one, true, false), 1.001 * step_s(one, false));
}

json base(const std::string& system, const std::string& machine, json model, json training,
          std::uint64_t data = 1) {
  json strategy{{"system", system}};
  if (system == "lohan")  // as it was when these were found
    strategy["optimizer"] = {{"grouping", "layers"}, {"subgroup", "1 params"}};
  return {{"model", std::move(model)},
          {"machine", machine},
          {"strategy", std::move(strategy)},
          {"parallel", {{"data", data}}},
          {"run", {{"steps", 1}, {"warmup_steps", 1}}},
          {"training", std::move(training)}};
}

/// The result of a plan for less of the machine says so, and is repeated with that plan.
TEST(LowerPlans, AreRepeatedFromTheResultTheyHave) {
  const description::Scenario scenario =
      scenarios::read_scenario(
          base("ssdtrain", "h100_8gpu", llama(1280, 12, 32000),
               {{"micro_batch", 60}, {"sequence", 1152}, {"precision", "bf16"}}, 2),
          {"machine.gpu.count=2", "machine.host.memory=16 GiB", "machine.storage.nvme.count=4"},
          known_systems(), scenarios::Refuse::what_cannot_run)
          .scenario;
  json result = simulate(sim(), scenario, nullptr, {WhenFull::find_need, true, true});
  ASSERT_TRUE(result.at("decision").contains("stands_for"));
  json again = replay(sim(), json::parse(result.dump()));
  for (json* one : {&result, &again}) one->erase("wall");
  EXPECT_EQ(again, result);
  // the decision alone says nothing of hardware that would help; nobody asked for it here
  again = replay(sim(), result.at("decision"));
  again.erase("wall");
  EXPECT_EQ(again, result);
}

TEST(LowerPlans, AResultWithoutItsDecisionIsNotRepeated) {
  const auto refused = [](const json& file) {
    try {
      replay(sim(), file);
    } catch (const description::ScenarioError& error) {
      return error.complaints().front().message;
    }
    return std::string();
  };
  EXPECT_THAT(refused({{"schema", "spillway/result/1"}}), ::testing::HasSubstr("an older version"));
  EXPECT_THAT(refused(json::array()), ::testing::HasSubstr("nothing says what this is"));
  EXPECT_THAT(refused(3), ::testing::HasSubstr("nothing says what this is"));
}

/// A fourth drive: +10.7 %, as more is stored than comes back in time.
TEST(LowerPlans, OneMoreDriveDoesNotHurtATensorCache) {
  expect_no_slower(
      {base("ssdtrain", "h100_8gpu", llama(1280, 12, 32000),
            {{"micro_batch", 60}, {"sequence", 1152}, {"precision", "bf16"}}, 2),
       {"machine.gpu.count=2", "machine.host.memory=16 GiB", "machine.storage.nvme.count=3"},
       {"machine.storage.nvme.count=4"}});
}

/// 14 drives instead of 7: +29.9 %, as half of 14 still store more than the link brings back.
TEST(LowerPlans, TwiceTheDrivesDoNotHurtATensorCacheBehindASlowerLink) {
  expect_no_slower(
      {base("ssdtrain", "a100_40_4gpu", "gpt2-xl",
            {{"micro_batch", 43}, {"sequence", 256}, {"precision", "fp16_mixed"}}),
       {"machine.gpu.count=1", "machine.gpu.memory=141 GiB", "machine.storage.nvme.count=7"},
       {"machine.storage.nvme.count=14"}});
}

/// Half as much host memory again: a plan for 8 GiB beats those for 16 and 32, which are equal, and
/// those for 32 and 48 are equal too.
TEST(LowerPlans, MoreHostMemoryDoesNotHurtPlannedSwaps) {
  expect_no_slower(
      {base("capuchin", "lohan_4090_256g", llama(1152, 19, 50257),
            {{"micro_batch", 2}, {"sequence", 13440}, {"precision", "bf16_mixed"}}),
       {"machine.gpu.memory=16 GiB", "machine.host.memory=32 GiB", "machine.storage.nvme.count=8"},
       {"machine.host.memory=48 GiB"}});
}

/// Drives twice as fast: +25 %, as half and a quarter of their rate store more than links that
/// ranks share bring back. What stays is best where it fits.
TEST(LowerPlans, FasterDrivesDoNotHurtATensorCacheThatHadBetterStoreNothing) {
  expect_no_slower({base("ssdtrain", "h100_8gpu", llama(1792, 20, 152064),
                         {{"micro_batch", 1}, {"sequence", 896}, {"precision", "fp16_mixed"}}, 4),
                    {"machine.gpu.count=4", "machine.gpu.memory=192 GiB",
                     "machine.storage.nvme.count=15", "machine.host.module_hooks=0 s"},
                    {"machine.storage.nvme.count=30"}});
}

/// A GPU twice as fast fills its memory before stores make room: with half its rate it fits.
TEST(LowerPlans, AFasterGpuDoesNotOutrunTheStoresOfATensorCache) {
  const Better one{
      base("ssdtrain", "a100_40_4gpu", llama(4352, 39, 32000),
           {{"micro_batch", 1}, {"sequence", 50688}, {"precision", "fp16_mixed"}}),
      {"machine.gpu.count=1", "machine.gpu.memory=192 GiB", "machine.storage.nvme.count=15"},
      {"machine.gpu.compute.fp16=312 TFLOPS", "machine.gpu.memory_rate=3110 GB/s"}};
  EXPECT_EQ(step_s(one, true, false), does_not_fit);
  EXPECT_LT(step_s(one, false), does_not_fit);
  EXPECT_LE(step_s(one, true), 1.001 * step_s(one, false));
}

/// Links twice as fast: 33 GB are swapped instead of 21, of which half a third goes to drives that
/// the update needs.
TEST(LowerPlans, AFasterLinkDoesNotHurtASwap) {
  json model = llama(1792, 19, 152064);
  model["tie_word_embeddings"] = false;
  expect_no_slower({base("lohan", "l40s_server", model,
                         {{"micro_batch", 14}, {"sequence", 4096}, {"precision", "bf16"}}),
                    {"machine.gpu.count=1", "machine.gpu.memory=96 GiB",
                     "machine.host.memory=64 GiB", "machine.storage.nvme.count=7"},
                    {"machine.pcie.h2d=50.4 GB/s", "machine.pcie.d2h=50.4 GB/s"}});
}

/// What a plan made and did, as far as the plans beside it look.
result::Result made(std::uint64_t swap, std::uint64_t in_host, double cpu) {
  result::Result own;
  own.step_time_s = 1;
  own.io.h2d = own.io.d2h = swap;
  own.utilization.cpu = cpu;
  own.plan = {{"swap_bytes", swap},
              {"least_bytes", std::uint64_t{8'000'000'000}},
              {"most_bytes", std::uint64_t{88'000'000'000}},
              {"bytes_to_host", in_host}};
  return own;
}

std::vector<std::string> words_of(const std::vector<LowerPlan>& plans) {
  std::vector<std::string> words;
  for (const LowerPlan& plan : plans) words.push_back(text::words(plan.words));
  return words;
}

description::Scenario scenario_of(const std::string& system,
                                  const std::vector<std::string>& overrides = {}) {
  return scenarios::read_scenario(
             base(system, "lohan_4090", "gpt2", {{"micro_batch", 1}, {"sequence", 512}}), overrides,
             known_systems(), scenarios::Refuse::what_cannot_run)
      .scenario;
}

TEST(LowerPlans, OfASwapAreOtherAmounts) {
  const description::Scenario scenario = scenario_of("lohan");
  const auto plans = lower_plans(scenario, made(24'000'000'000, 18'000'000'000, 0));
  // beyond the least of 8 there are 16: 8 + 8, 8 + 12, 24 + 4, and what fits the host
  EXPECT_EQ(words_of(plans), (std::vector<std::string>{"swaps 16.0 GB", "swaps 18.0 GB",
                                                       "swaps 20.0 GB", "swaps 28.0 GB"}));
  // 18 beyond the least are 10: an eighth, 1.25, less and more
  EXPECT_EQ(words_of(lower_plans(plans[1], made(18'000'000'000, 18'000'000'000, 0))),
            (std::vector<std::string>{"swaps 16.8 GB", "swaps 19.2 GB"}));
  // of the least, an eighth of the 80 that there are
  EXPECT_EQ(words_of(lower_plans(scenario, made(8'000'000'000, 8'000'000'000, 0))),
            (std::vector<std::string>{"swaps 18.0 GB"}));
  const auto set = scenario_of("lohan", {"strategy.activations.swap_bytes=24 GB"});
  EXPECT_TRUE(lower_plans(set, made(24'000'000'000, 18'000'000'000, 0)).empty());
}

TEST(LowerPlans, HoldUpdatesToRatesOfOneScaleForEachProcessor) {
  // 0.4e9 parameters a second are the whole step: 2^28.5 = 0.38e9 is the next below; three times
  // that, and on down by the fourth root of 2 to 1.4 times the whole step
  std::vector<std::string> expected;
  for (const char* held : {"1.14", "0.96", "0.81", "0.68", "0.57"})
    expected.push_back(fmt::format("updates held to {} Gparam/s", held));
  const std::string fixed = "strategy.activations.swap_bytes=24 GB";
  for (const double rate : {1.6, 3.2, 5.0}) {
    const auto scenario =
        scenario_of("lohan", {fixed, fmt::format("machine.host.adam={} Gparam/s", rate)});
    const auto plans = lower_plans(scenario, made(24'000'000'000, 0, 0.4 / rate));
    EXPECT_EQ(words_of(plans), expected) << rate;
    // around one of them, 2 to the power of 1/8 more and less
    EXPECT_EQ(words_of(lower_plans(plans[1], made(24'000'000'000, 0, 0.5))),
              (std::vector<std::string>{"updates held to 1.04 Gparam/s",
                                        "updates held to 0.88 Gparam/s"}));
  }
  // never to more than there is
  const auto slow = scenario_of("lohan", {fixed, "machine.host.adam=0.8 Gparam/s"});
  const auto plans = lower_plans(slow, made(24'000'000'000, 0, 0.5));
  EXPECT_EQ(words_of(plans), (std::vector<std::string>(expected.begin() + 3, expected.end())));
  const auto slower = scenario_of("lohan", {fixed, "machine.host.adam=0.7 Gparam/s"});
  const auto held = lower_plans(slower, made(24'000'000'000, 0, 0.4 / 0.7));
  EXPECT_EQ(words_of(lower_plans(held[0], made(24'000'000'000, 0, 0.5))),
            (std::vector<std::string>{"updates held to 0.62 Gparam/s"}));
}

TEST(LowerPlans, OfWhatMovesNothingThereAreNone) {
  result::Result own;
  own.step_time_s = 1;
  for (const char* system : {"teraio", "g10", "capuchin", "flashneuron"})
    EXPECT_TRUE(lower_plans(scenario_of(system), own).empty()) << system;
}

TEST(LowerPlans, HoldDrivesToHalfOfThemAndToPowersOfTwo) {
  // two drives of 6.8 GB/s: powers of 2 from 2^33 = 8.59 on; they read 0.68 GB and wrote as much at
  // half the rate in a second, which is 2.04 GB/s of reads, above 2^30 = 1.07
  description::Scenario scenario = scenario_of("teraio");
  description::StorageSpec& nvme = scenario.machine.storage.front();
  scenario.machine.storage.resize(1);
  nvme.count = 2;
  nvme.read = description::BytesPerSecond(6.8e9);
  nvme.write = description::BytesPerSecond(3.4e9);
  nvme.array_read.reset();
  nvme.array_write.reset();
  result::Result own = made(1, 1, 0);
  own.io.by_storage[nvme.name] = {680'000'000, 680'000'000};
  const auto words = words_of(lower_plans(scenario, own));
  ASSERT_GE(words.size(), 5u);
  EXPECT_EQ(std::vector<std::string>(words.end() - 5, words.end()),
            (std::vector<std::string>{
                "planned for half the drives", "planned for 8.59 GB/s of the drives",
                "planned for 4.29 GB/s of the drives", "planned for 2.15 GB/s of the drives",
                "planned for 1.07 GB/s of the drives"}));
}

/// Drives twice as fast: +1.2 %, as the more they take the more waits for the slot that the copies
/// need too. Nothing on drives is best, on either.
TEST(LowerPlans, WhereTheSlotIsFullNothingGoesToDrives) {
  LONG_TEST();
  const Better one{
      base("teraio", "lohan_4090_256g", "llama-3.1-8b",
           {{"micro_batch", 33},
            {"sequence", 128},
            {"precision", "bf16_mixed"},
            {"fused_kernels", true}}),
      {"machine.gpu.memory=80 GiB", "machine.storage.nvme.count=8"},
      {"machine.storage.nvme.read=13 GB/s", "machine.storage.nvme.write=6.8 GB/s",
       "machine.storage.nvme.array_read=56.2 GB/s", "machine.storage.nvme.array_write=56.2 GB/s"}};
  expect_no_slower(one);
  EXPECT_LT(step_s(one, false), 0.95 * step_s(one, false, false));
}

/// A GPU twice as fast outruns the stores: what they have no time for stays, from the first step.
TEST(LowerPlans, AFasterGpuThanStoresStillFits) {
  const Better one{
      base("ssdtrain", "a100_40_4gpu", llama(1280, 12, 50257),
           {{"micro_batch", 41},
            {"sequence", 128},
            {"precision", "fp16_mixed"},
            {"fused_kernels", false},
            {"gradient_accumulation", 4}},
           4),
      {"machine.gpu.memory=12 GiB", "machine.host.memory=16 GiB", "machine.storage.nvme.count=11"},
      {"machine.gpu.compute.fp16=312 TFLOPS", "machine.gpu.memory_rate=3110 GB/s"}};
  EXPECT_LT(step_s(one, true, false), does_not_fit);
  EXPECT_LT(step_s(one, false), does_not_fit);
  EXPECT_LE(step_s(one, true), 1.001 * step_s(one, false));
}

/// A processor twice as fast: +4.6 %, as updates at 0.76e9 parameters a second beat those at 2.9e9
/// and 5.9e9, where reads and writes of states meet more often.
TEST(LowerPlans, AFasterProcessorDoesNotHurtUpdatesInBackward) {
  LONG_TEST();
  expect_no_slower({base("lohan", "a100_40_4gpu", llama(1408, 14, 32000),
                         {{"micro_batch", 1}, {"sequence", 512}, {"precision", "fp32"}}, 4),
                    {"machine.gpu.count=4", "machine.gpu.memory=16 GiB",
                     "machine.host.memory=128 GiB", "machine.storage.nvme.count=3"},
                    {"machine.host.adam=5.86 Gparam/s", "machine.host.convert=130 GB/s"}});
}

/// The same: +2.4 %, as updates at 0.41e9 parameters a second were found on the slower processor,
/// by steps from 0.54e9, and at 0.54e9 a step takes longer than at 1.6e9.
TEST(LowerPlans, AFasterProcessorDoesNotHideTheRatesThatWereBetter) {
  json model = llama(3968, 29, 50257);
  model["intermediate_size"] = 13824;
  model["tie_word_embeddings"] = false;
  expect_no_slower({base("lohan", "memascend_c1", model, {{"micro_batch", 2}, {"sequence", 3840}}),
                    {"machine.gpu.memory=192 GiB", "machine.gpu.count=1",
                     "machine.host.memory=64 GiB", "training.fused_kernels=true"},
                    {"machine.host.adam=1600 Mparam/s", "machine.host.convert=130 GB/s",
                     "machine.host.check_chained=58.4 GB/s", "machine.host.check_fused=388 GB/s"}});
}

/// Twice the host memory: +1.6 %, as the plan for what 16 GiB leave was in neither the plans for 32
/// nor in those for powers of 2 below what they use.
TEST(LowerPlans, MoreHostMemoryHasThePlansOfSmallerHosts) {
  expect_no_slower(
      {base("capuchin", "l40s_server", llama(896, 11, 32000),
            {{"micro_batch", 12}, {"sequence", 7936}, {"precision", "fp32"}}),
       {"machine.gpu.memory=80 GiB", "machine.gpu.count=1", "machine.host.memory=16 GiB",
        "machine.storage.nvme.count=2", "strategy.pinned=exact", "training.fused_kernels=false"},
       {"machine.host.memory=32 GiB"}});
}

/// A link twice as fast: +4.7 %, as only one of them found that updates at 3.6e9 parameters a
/// second meet fewer reads, where those at 2.1e9, 3.0e9 and 4.3e9 meet more.
TEST(LowerPlans, AFasterLinkDoesNotHideARateOfUpdates) {
  LONG_TEST();
  const Better one{base("lohan", "l40s_server", "llama-3-70b",
                        {{"micro_batch", 2}, {"sequence", 128}, {"precision", "bf16_mixed"}}, 4),
                   {"machine.gpu.memory=32 GiB", "machine.gpu.count=4",
                    "machine.host.memory=256 GiB", "machine.storage.nvme.count=12"},
                   {"machine.pcie.h2d=50.4 GB/s", "machine.pcie.d2h=50.4 GB/s",
                    "machine.pcie.pageable_h2d=16 GB/s", "machine.pcie.pageable_d2h=16 GB/s"}};
  EXPECT_LE(step_s(one, true), 1.001 * step_s(one, false));
}

/// Drives twice as fast have time for two and a half times the swap, whose way back has no room.
TEST(LowerPlans, FasterDrivesStillFit) {
  expect_no_slower(
      {base("lohan", "l40s_server", llama(1280, 13, 50257),
            {{"micro_batch", 60}, {"sequence", 23808}, {"precision", "fp16_mixed"}}),
       {"machine.gpu.memory=96 GiB", "machine.gpu.count=1", "machine.host.memory=128 GiB",
        "machine.storage.nvme.count=3", "strategy.pinned=exact"},
       {"machine.storage.nvme.read=13 GB/s", "machine.storage.nvme.write=6.8 GB/s"}});
}

/// Steps do not wait for these updates: at half the rate they come later, which is no better plan.
/// Twelve drives read as six do, which the array lets through, and write faster: half their rate is
/// not that of six.
TEST(LowerPlans, TwiceTheDrivesBehindAFullArrayHaveThePlansOfHalfOfThem) {
  LONG_TEST();
  json model = llama(1024, 16, 32000);
  model["num_key_value_heads"] = 2;
  expect_no_slower({base("teraio", "lohan_4090_256g", model,
                         {{"micro_batch", 3},
                          {"sequence", 7936},
                          {"precision", "bf16_mixed"},
                          {"fused_kernels", true}}),
                    {"machine.gpu.memory=8 GiB", "machine.gpu.count=1",
                     "machine.host.memory=128 GiB", "machine.storage.nvme.count=6"},
                    {"machine.storage.nvme.count=12"}});
}

TEST(LowerPlans, UpdatesThatComeLaterAreNone) {
  const auto scenario =
      scenarios::read_scenario(
          base("angel_ptm", "gaming_4090", "gpt2", {{"micro_batch", 1}, {"sequence", 512}}), {},
          known_systems(), scenarios::Refuse::what_cannot_run)
          .scenario;
  EXPECT_TRUE(lower_plans(scenario, simulate(sim(), scenario)).empty());
}

}  // namespace
}  // namespace spillway::explore::lower_plans_test
