#include "strategies/run/numerics.hpp"
#include "tests/hw_backend/cuda/devices.hpp"
#include "tests/hw_backend/training.hpp"

#include <gtest/gtest.h>

/// Whole trainings by RealMachine on CUDA devices, emulated or real: each ends, bit for bit, as
/// resident training on the same devices does.
namespace spillway::hw_backend {
namespace {

struct Way {
  const char* name;
  Overrides overrides;
  Size size;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

const Way ways[] = {
    {"zero_infinity", {"strategy.io_engine=direct"}, {}},
    {"two_ranks_of_zero_infinity_in_fp16",
     {"parallel.data=2", "training.precision=fp16_mixed"},
     {.blocks = 1, .feed_forward = 4096}},
    {"two_ranks_that_share_samples",
     {"parallel.context=2", "training.dropout=0.1"},
     {.blocks = 1, .feed_forward = 4096}},
    {"two_tensor_ranks",
     {"parallel.tensor=2", "training.dropout=0.1"},
     {.blocks = 1, .feed_forward = 4096}},
    {"two_tensor_ranks_that_share_tokens",
     {"parallel.tensor=2", "parallel.sequence_parallel=true"},
     {.blocks = 1, .feed_forward = 4096}},
    {"two_ranks_in_a_ring",
     {"parallel.context=2", "parallel.context_kind=ring"},
     {.blocks = 1, .feed_forward = 4096}},
};

class WholeTraining : public ::testing::TestWithParam<Way> {};

/// Seconds in which a span of `track` and one of `other` both last.
double together_s(const result::Trace& trace, const std::string& track, const std::string& other) {
  double sum = 0;
  for (const result::TraceSpan& one : trace.spans) {
    if (one.track != track || one.phase == "init") continue;
    for (const result::TraceSpan& two : trace.spans)
      if (two.track == other)
        sum += std::max(0.0, std::min(one.end_s, two.end_s) - std::max(one.start_s, two.start_s));
  }
  return sum;
}

TEST_P(WholeTraining, EndsAsResidentTrainingOnTheSameDevicesAndOverlapsItsCopies) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  LONG_TEST_OF(devices);
  const description::Scenario scenario =
      small_training("zero_infinity", GetParam().overrides, GetParam().size);
  RealRunOptions options;
  options.make_device = devices.make;
  options.trace = true;
  const RealRun run = train_for_real(scenario, options);
  ASSERT_TRUE(run.result.feasible());
  EXPECT_LT(run.trained.losses.back(), run.trained.losses.front());
  const double overlap_s = together_s(run.trace, "rank 0 compute", "rank 0 h2d") +
                           together_s(run.trace, "rank 0 compute", "rank 0 d2h");
  RecordProperty("overlap_ms", std::to_string(1e3 * overlap_s));
  EXPECT_GT(overlap_s, 0);
  EXPECT_EQ(run.pins_in_steps, 0u);
  options.trace = false;
  const RealRun reference = train_for_real(strategies::reference_of(scenario), options);
  ASSERT_TRUE(reference.result.feasible());
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

INSTANTIATE_TEST_SUITE_P(On, WholeTraining, ::testing::ValuesIn(ways),
                         [](const auto& way) { return way.param.name; });

/// Ends as resident training on the same devices does, with the delays of this run.
void expect_the_reference(const DevicesUnderTest& devices, const description::Scenario& scenario) {
  RealRunOptions options;
  options.make_device = devices.make;
  const RealRun run = train_for_real(scenario, options);
  ASSERT_TRUE(run.result.feasible());
  const RealRun reference =
      train_for_real(strategies::reference_of(scenario), options, false, {}, run.delays);
  ASSERT_TRUE(reference.result.feasible());
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

/// Eight tokens, as emulated kernels are threads of the processor.
class SystemOnCuda : public ::testing::TestWithParam<std::string> {};

TEST_P(SystemOnCuda, EndsAsResidentTrainingOnTheSameDevices) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  const description::Scenario scenario =
      small_training(GetParam(), {"training.sequence=8"}, {.blocks = 1});
  expect_the_reference(devices, scenario);
}

TEST(OnCuda, TrainingOnBothSidesEndsAsResidentTrainingDoes) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  for (const char* home : {"host", "gpu"}) {
    SCOPED_TRACE(home);
    const description::Scenario scenario = small_training(
        "zero_offload",
        {"training.sequence=8", "strategy.optimizer.subgroup=5e5 params",
         "strategy.optimizer.cpu_share=0.5", std::string("strategy.weights.home=") + home},
        {.blocks = 1});
    expect_the_reference(devices, scenario);
  }
}

// Norms are the same bits on a device as on the processor; each step is clipped, those that were
// updated too early are taken back.
TEST(OnCuda, TrainingWithClippedNormsEndsAsResidentTrainingDoes) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  for (const char* system : {"superoffload", "zero_offload"}) {
    SCOPED_TRACE(system);
    expect_the_reference(
        devices,
        small_training(
            system, {"training.sequence=8", "training.gradient_clipping=1e-3", "parallel.data=2"},
            {.blocks = 1, .feed_forward = 1024}));
  }
}

// Two ranks agree on the columns that their GPUs update.
TEST(OnCuda, TrainingWithSelectedColumnsOfTwoRanksEndsAsResidentTrainingDoes) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  for (const char* stage : {"parallel.zero_stage=2", "parallel.zero_stage=3"}) {
    SCOPED_TRACE(stage);
    const description::Scenario scenario =
        small_training("zenflow",
                       {"training.sequence=8", "training.gradient_accumulation=2",
                        "parallel.data=2", "model.vocab_size=255", stage},
                       {.blocks = 1});
    expect_the_reference(devices, scenario);
  }
}

/// Of 8 tokens the last of three tiles has two.
TEST(OnCuda, AdaptersInTilesEndAsResidentOnesDo) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  const Overrides tiles{"training.sequence=8", "training.lora.targets=all_linear",
                        "training.mlp_tiles=3"};
  const Overrides packed{"training.method=qlora", "training.lora.dora=true"};
  const Overrides wide{"training.method=lora", "training.lora.dora=true",
                       "training.lora.adapters=fp32"};
  const Overrides trainings[] = {packed, wide};
  for (const Overrides& overrides : sampled(trainings)) {
    SCOPED_TRACE(overrides.back());
    expect_the_reference(devices,
                         small_training("zero_infinity", joined(tiles, overrides), {.blocks = 1}));
  }
}

/// Adapters with magnitudes, or beside matrices in 4 bits, and momenta that the CPU renews.
TEST(OnCuda, OtherTrainingsEndAsResidentOnesDo) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  LONG_TEST_OF(devices);
  const Overrides dora{"training.sequence=8", "training.method=lora", "training.lora.dora=true",
                       "training.lora.targets=all_linear"};
  const Overrides packed{"training.sequence=8", "training.method=qlora",
                         "training.lora.targets=all_linear"};
  const Overrides lion{"training.sequence=8", "training.optimizer=lion"};
  const Overrides experts{"training.sequence=8",
                          "model.model_type=qwen2_moe",
                          "model.num_experts=4",
                          "model.num_experts_per_tok=2",
                          "model.moe_intermediate_size=512",
                          "model.shared_expert_intermediate_size=256",
                          R"(training.expert_load={"zipf": 1.2})"};
  const Overrides by_cpu{"training.sequence=8",
                         "model.model_type=mixtral",
                         "model.num_local_experts=4",
                         "model.num_experts_per_tok=2",
                         "model.intermediate_size=512",
                         "training.method=lora",
                         "training.lora.targets=attention",
                         "machine.host.compute.bf16=1 TFLOPS",
                         "strategy.weights.experts=cpu"};
  const Overrides trainings[] = {by_cpu, dora, lion, packed, experts};
  for (const Overrides& overrides : sampled(trainings)) {
    SCOPED_TRACE(overrides.back());
    const description::Scenario scenario =
        small_training("zero_infinity", overrides, {.blocks = 1});
    expect_the_reference(devices, scenario);
  }
}

/// Products in 16 bits that write, and add to, gradients in fp32.
TEST(OnCuda, TrainingWithMainGradientsEndsAsResidentTrainingDoes) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  LONG_TEST_OF(devices);
  const Overrides wide{"training.sequence=8", "training.gradient_accumulation=2",
                       "strategy.gradients.main_gradients=true",
                       "strategy.gradients.accumulation=fp32"};
  expect_the_reference(devices, small_training("resident", wide, {.blocks = 1}));
}

/// Latents, and experts by sigmoids.
TEST(OnCuda, TrainingOfLatentsEndsAsResidentTrainingDoes) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  const Overrides latents{"training.sequence=8",
                          "model.model_type=deepseek_v3",
                          "model.num_key_value_heads=8",
                          "model.q_lora_rank=96",
                          "model.kv_lora_rank=64",
                          "model.qk_nope_head_dim=32",
                          "model.qk_rope_head_dim=16",
                          "model.v_head_dim=24",
                          "model.n_routed_experts=4",
                          "model.num_experts_per_tok=2",
                          "model.moe_intermediate_size=512",
                          "model.first_k_dense_replace=0"};
  for (const char* system : {"zero_infinity", "zero_offload"}) {
    SCOPED_TRACE(system);
    expect_the_reference(devices, small_training(system, latents, {.blocks = 1}));
  }
}

// Optimizers that the GPU alone has.
TEST(OnCuda, OtherOptimizersEndAsResidentOnesDo) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  LONG_TEST_OF(devices);
  const char* const optimizers[] = {"adam8bit", "muon", "adafactor"};
  for (const char* optimizer : sampled(optimizers)) {
    SCOPED_TRACE(optimizer);
    const description::Scenario scenario = small_training(
        "ssdtrain", {"training.sequence=8", std::string("training.optimizer=") + optimizer},
        {.blocks = 1});
    expect_the_reference(devices, scenario);
  }
}

TEST(OnCuda, RanksThatShareMatricesEndAsResidentOnesDo) {
  const DevicesUnderTest devices = devices_under_test();
  if (!devices.make) GTEST_SKIP() << "SKIP " << devices.why_none;
  LONG_TEST_OF(devices);
  const description::Scenario scenario =
      small_training("ssdtrain",
                     {"training.sequence=8", "training.optimizer=muon", "parallel.data=2",
                      "parallel.zero_stage=2"},
                     {.blocks = 1});
  expect_the_reference(devices, scenario);
}

INSTANTIATE_TEST_SUITE_P(On, SystemOnCuda, ::testing::ValuesIn(systems_under_test()),
                         [](const auto& system) { return system.param; });

}  // namespace
}  // namespace spillway::hw_backend
