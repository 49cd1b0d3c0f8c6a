#include "explore/lower_plans.hpp"
#include "strategies/catalogue.hpp"
#include "tests/explore/simulator.hpp"

#include <gtest/gtest.h>

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

double step_s(const Better& one, bool upgraded, bool lower = true) {
  std::vector<std::string> overrides = one.machine;
  if (upgraded) overrides.insert(overrides.end(), one.upgrade.begin(), one.upgrade.end());
  if (!lower) overrides.push_back("strategy.plan.lower_limits=0");
  return simulate(sim(), scenarios::read_scenario(one.base, overrides, known_systems(),
                                                  strategies::unsupported)
                             .scenario)
      .step_time_s;
}

void expect_no_slower(const Better& one) {
  EXPECT_LE(step_s(one, true), 1.001 * step_s(one, false));
  // the plan for all of the better machine alone is slower: without the others this would fail
  EXPECT_GT(step_s(one, true, false), 1.001 * step_s(one, false));
}

json base(const std::string& system, const std::string& machine, json model, json training,
          std::uint64_t data = 1) {
  return {{"model", std::move(model)},
          {"machine", machine},
          {"strategy", {{"system", system}}},
          {"parallel", {{"data", data}}},
          {"run", {{"steps", 1}, {"warmup_steps", 1}}},
          {"training", std::move(training)}};
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

/// A processor twice as fast: +4.9 %. Updates at 0.4e9 parameters a second beat those at 0.8e9,
/// which 1.6e9 beat.
TEST(LowerPlans, AFasterProcessorDoesNotHurtUpdatesInBackward) {
  expect_no_slower({base("lohan", "memascend_c1", llama(3200, 41, 152064),
                         {{"micro_batch", 1},
                          {"sequence", 5248},
                          {"precision", "fp16_mixed"},
                          {"fused_kernels", false}}),
                    {"machine.gpu.memory=141 GiB", "machine.host.memory=2048 GiB"},
                    {"machine.host.adam=1.6 Gparam/s", "machine.host.convert=130 GB/s"}});
}

/// Steps do not wait for these updates: at half the rate they come later, which is no better plan.
TEST(LowerPlans, UpdatesThatComeLaterAreNone) {
  const auto scenario = scenarios::read_scenario(base("angel_ptm", "gaming_4090", "gpt2",
                                                      {{"micro_batch", 1}, {"sequence", 512}}),
                                                 {}, known_systems(), strategies::unsupported)
                            .scenario;
  EXPECT_TRUE(lower_plans(scenario, simulate(sim(), scenario)).empty());
}

}  // namespace
}  // namespace spillway::explore::lower_plans_test
