#include "strategies/run/numerics.hpp"
#include "tests/hw_backend/training.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

/// Pipeline stages that stream their layers, each a device.
namespace spillway::hw_backend {
namespace {

struct Way {
  const char* name;
  Overrides overrides;
};

class Stages : public ::testing::TestWithParam<Way> {};

// Several micro-batches under way, whose tensors leave, stay or are made again.
TEST_P(Stages, EndWhereTheReferenceDoes) {
  const Overrides policies[] = {
      {"strategy.activations.policy=keep"},
      {"strategy.activations.policy=checkpoint_gpu"},
      {"strategy.activations.policy=tensor_cache", "strategy.activations.swap_bytes=all"},
      {"strategy.activations.policy=tensor_cache", "strategy.activations.swap_bytes=all",
       "strategy.activations.forwarding=false", "strategy.activations.cancel=never",
       "strategy.activations.keep_last=none"},
  };
  for (const Overrides& policy : policies) {
    SCOPED_TRACE(policy.back());
    // devices on few cores take their time: what moves most has to do for every further way
    if (!GetParam().overrides.empty() && &policy != std::end(policies) - 1) continue;
    Overrides overrides{"training.gradient_accumulation=4", "strategy.activations.min_elements=0",
                        "parallel.pipeline=2"};
    overrides.insert(overrides.end(), GetParam().overrides.begin(), GetParam().overrides.end());
    overrides.insert(overrides.end(), policy.begin(), policy.end());
    const description::Scenario scenario = small_training("ssdtrain", overrides, {.blocks = 4});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible()) << nlohmann::json(run.result).at("infeasible");
    const RealRun& reference = reference_run(scenario, std::string("stages_") + GetParam().name);
    EXPECT_LT(run.trained.losses.back(), run.trained.losses.front());
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

const Way stage_ways[] = {
    {"two", {}},
    {"adapters", {"training.method=lora", "training.lora.targets=all_linear"}},
    {"adapters_beside_tied_embeddings",
     {"training.method=lora", "training.lora.targets=all_linear",
      "model.tie_word_embeddings=true"}},
    {"adapters_beside_4_bits", {"training.method=qlora", "training.lora.targets=all_linear"}},
    {"adapters_in_tiles",
     {"training.method=lora", "training.lora.targets=all_linear", "training.mlp_tiles=5"}},
#ifndef SPILLWAY_SANITIZED
    {"fp32", {"training.precision=fp32"}},
    {"fp16_checked", {"training.precision=fp16_mixed", "strategy.overflow_check=fused"}},
    {"dropping", {"training.dropout=0.1"}},
    {"sums_in_fp32", {"strategy.gradients.accumulation=fp32"}},
#endif
    {"four", {"parallel.pipeline=4", "machine.gpu.count=4", "machine.host.memory=16 GiB"}},
    {"two_ranks_each",
     {"parallel.data=2", "parallel.zero_stage=1", "machine.gpu.count=4",
      "machine.host.memory=16 GiB"}},
};
INSTANTIATE_TEST_SUITE_P(Training, Stages, ::testing::ValuesIn(sampled(stage_ways)),
                         [](const auto& way) { return way.param.name; });

class StagesInAnyOrder : public ::testing::TestWithParam<Way> {};

// Passes in another order add up the same numbers in the same order.
TEST_P(StagesInAnyOrder, EndWhereTheReferenceDoes) {
  if (GetParam().name != std::string("adapters_beside_4_bits")) LONG_TEST();
  const Overrides schedules[] = {
      {"parallel.schedule=interleaved", "strategy.activations.policy=keep"},
      {"parallel.schedule=interleaved", "strategy.activations.policy=checkpoint_gpu"},
      {"parallel.schedule=interleaved", "strategy.activations.policy=tensor_cache",
       "strategy.activations.swap_bytes=all", "strategy.activations.keep_last=none"},
      {"parallel.schedule=zero_bubble", "strategy.activations.policy=keep"},
      {"parallel.schedule=sequential", "strategy.activations.policy=checkpoint_gpu"},
      {"parallel.schedule=sequential", "strategy.activations.policy=checkpoint_host"},
      {"parallel.schedule=sequential", "strategy.activations.policy=checkpoint_ssd"},
      {"parallel.schedule=sequential", "strategy.activations.policy=offload"},
  };
  for (const Overrides& schedule : sampled(schedules)) {
    SCOPED_TRACE(schedule.front() + " " + schedule.back());
    const bool leaves = schedule.front() == "parallel.schedule=sequential" &&
                        schedule.back() != "strategy.activations.policy=checkpoint_gpu";
    if (!GetParam().overrides.empty() && leaves) continue;
    Overrides overrides{"training.gradient_accumulation=4", "strategy.activations.min_elements=0",
                        "parallel.pipeline=2"};
    overrides.insert(overrides.end(), GetParam().overrides.begin(), GetParam().overrides.end());
    overrides.insert(overrides.end(), schedule.begin(), schedule.end());
    const std::uint64_t blocks = GetParam().name == std::string("four") ? 8 : 4;
    const description::Scenario scenario =
        small_training("ssdtrain", overrides, {.blocks = blocks});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible()) << nlohmann::json(run.result).at("infeasible");
    const RealRun& reference =
        reference_run(scenario, "stages_" + std::to_string(blocks) + GetParam().name);
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Training, StagesInAnyOrder, ::testing::ValuesIn(sampled(stage_ways)),
                         [](const auto& way) { return way.param.name; });

// What a stage adds up is rounded before the stages' sums are added: the reference has stages too.
TEST(StagesWithTiedEmbeddings, EndAlikeInEverySystemAndCloseToOneStage) {
  const Overrides overrides{"training.gradient_accumulation=2", "parallel.pipeline=2",
                            "training.precision=fp32", "model.tie_word_embeddings=true"};
  const description::Scenario scenario = small_training("ssdtrain", overrides);
  const description::Scenario reference = strategies::reference_of(scenario);
  EXPECT_EQ(reference.parallel.pipeline, 2u);
  const RealRun expected = train_for_real(reference);
  EXPECT_EQ(different(train_for_real(scenario).trained, expected.trained), 0u);
  Overrides plan = overrides;
  plan.emplace_back("machine.gpu.context=0 B");
  const RealRun planned = train_for_real(small_training("teraio", plan));
  EXPECT_EQ(different(planned.trained, expected.trained), 0u);
  description::Scenario one = reference;
  one.parallel.pipeline = 1;
  const RealRun whole = train_for_real(one);
  for (std::size_t step = 0; step < whole.trained.losses.size(); ++step)
    EXPECT_NEAR(expected.trained.losses[step], whole.trained.losses[step], 1e-4);
  // an exchange that was left out would show: the copies' gradients are far apart
  EXPECT_GT(whole.trained.losses.front() - whole.trained.losses.back(), 1e-3);
}

}  // namespace
}  // namespace spillway::hw_backend
