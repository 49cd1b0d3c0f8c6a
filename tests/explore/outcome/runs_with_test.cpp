#include "explore/outcome/runs_with.hpp"

#include "explore/outcome/outcomes.hpp"
#include "scenarios/deepspeed/export_deepspeed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::explore {
namespace {

using nlohmann::json;

/// Who trains gpt2 so on a box with two cards.
result::RunsWith with(const json& strategy, const std::vector<std::string>& overrides = {}) {
  const json scenario = {
      {"model", "gpt2"}, {"machine", "workstation_2gpu"}, {"strategy", strategy}};
  return runs_with(scenarios::read_scenario(scenario, overrides, known_systems()).scenario);
}

TEST(RunsWith, DeepSpeedWhereItHasEveryPart) {
  EXPECT_EQ(with({{"system", "zero_offload"}}).program, "DeepSpeed");
  EXPECT_TRUE(with({{"system", "zero_infinity"}}).runnable);
  // sizes are settings
  EXPECT_TRUE(
      with({{"system", "zero_infinity"}, {"optimizer", {{"subgroup", "1e7 params"}}}}).runnable);
  EXPECT_TRUE(with({{"system", "zero_infinity"}, {"preset", "deepspeed_0.16"}}).runnable);
}

// One truth: DeepSpeed runs what its configuration can say.
TEST(RunsWith, IsDeepSpeedExactlyWhereExportWritesAConfiguration) {
  for (const json& strategy :
       {json{{"system", "zero_infinity"}}, json{{"system", "zero_offload"}},
        json{{"system", "zero_infinity"}, {"optimizer", {{"order", "alternating"}}}},
        json{{"system", "zero_infinity"}, {"optimizer", {{"pipeline_read", true}, {"buffers", 8}}}},
        json{{"system", "zero_offload"}, {"gradients", {{"policy", "active"}}}}}) {
    const json job = {{"model", "gpt2"}, {"machine", "workstation_2gpu"}, {"strategy", strategy}};
    const auto scenario = scenarios::read_scenario(job, {}, known_systems()).scenario;
    const bool exports = scenarios::deepspeed_that_runs(scenario, known_systems()).has_value();
    EXPECT_EQ(runs_with(scenario).program == "DeepSpeed", exports) << strategy;
  }
}

TEST(RunsWith, SpillwayAloneWhereAPartIsNobodys) {
  for (const json& part :
       {json{{"weights", {{"pool", "adaptive"}}}}, json{{"overflow_check", "fused"}},
        json{{"io_engine", "direct"}}, json{{"activations", {{"policy", "swap"}}}}}) {
    json strategy = part;
    strategy["system"] = "zero_infinity";
    const auto found = with(strategy, {"training.precision=fp16_mixed"});  // bf16 has no check
    EXPECT_EQ(found.program, "spillway alone") << strategy;
    EXPECT_FALSE(found.runnable) << strategy;
  }
}

TEST(RunsWith, NoDeepSpeedThatPinsExactly) {
  json strategy = {{"system", "zero_offload"}, {"preset", "deepspeed_0.19"}, {"pinned", "exact"}};
  EXPECT_EQ(with(strategy).program, "spillway alone");  // its GPUs copy such memory as pageable
  strategy["preset"] = "deepspeed_0.16";  // which stages gradients, and pins in powers of two
  EXPECT_EQ(with(strategy).program, "spillway alone");
}

TEST(RunsWith, TheAuthorsCodeOnlyForItsOwnParts) {
  EXPECT_EQ(with({{"system", "lohan"}}).program, "the authors' code of lohan");
  EXPECT_FALSE(with({{"system", "lohan"}}).runnable);
  EXPECT_EQ(with({{"system", "lohan"}, {"optimizer", {{"buffers", 6}}}}).program,
            "the authors' code of lohan");
  EXPECT_EQ(with({{"system", "lohan"}, {"pinned", "exact"}}).program, "spillway alone");
  EXPECT_EQ(with({{"system", "teraio"}}).program, "spillway alone");
}

// No paper's code of these trains adapters beside a frozen model.
TEST(RunsWith, NobodysCodeWhereThePaperTrainsAllWeights) {
  for (const char* system : {"stronghold", "slideformer", "megatrain"}) {
    const json strategy = {{"system", system}};
    EXPECT_EQ(with(strategy).program, std::string("the authors' code of ") + system);
    for (const char* method : {"lora", "qlora"})
      EXPECT_EQ(with(strategy, {std::string("training.method=") + method}).program,
                "spillway alone")
          << system << " " << method;
  }
  EXPECT_EQ(with({{"system", "resident"}}, {"training.method=lora"}).program, "PyTorch");
}

// DeepSpeed's engine has the two together from 0.19.4 on (pull request 8168); no program runs
// the schedule of an earlier version then.
TEST(RunsWith, TheVersionThatSharesTensorsAtZeroStage3) {
  for (const char* system : {"zero_infinity", "zero_offload"}) {
    const std::string two = "parallel.tensor=2";
    EXPECT_EQ(with({{"system", system}, {"preset", "deepspeed_0.19"}}, {two}).program,
              "DeepSpeed >= 0.19.4");
    for (const char* preset : {"deepspeed_0.16", "deepspeed_0.19"})
      EXPECT_EQ(with({{"system", system}, {"preset", preset}}).program, "DeepSpeed");
    EXPECT_EQ(with({{"system", system}, {"preset", "deepspeed_0.16"}}, {two}).program,
              "spillway alone");
  }
}

TEST(RunsWith, WhoKeepsAllOnTheGpusDependsOnHowTheyShare) {
  EXPECT_EQ(with({{"system", "resident"}}).program, "PyTorch");
  EXPECT_EQ(with({{"system", "resident"}}, {"parallel.data=2"}).program,
            "PyTorch (FSDP), DeepSpeed");
  const json offloads = {{"system", "resident"}, {"activations", {{"policy", "offload"}}}};
  EXPECT_EQ(with(offloads, {"parallel.data=2"}).program, "PyTorch (FSDP)");
  const std::vector<std::string> cut{"parallel.tensor=2"};
  EXPECT_THAT(with({{"system", "resident"}}, cut).program,
              testing::StartsWith("Megatron-LM with --grad-reduce-in-bf16"));
  const json as_megatron = {{"main_gradients", true}, {"accumulation", "fp32"}};
  EXPECT_THAT(with({{"system", "resident"}, {"gradients", as_megatron}}, cut).program,
              testing::MatchesRegex("Megatron-LM(, DeepSpeed)?"));
  // what an import of its own keys gives
  const json as_deepspeed = {
      {"overlap", false}, {"reduce_bucket", "5e8 params"}, {"memory", "at_start"}};
  EXPECT_THAT(with({{"system", "resident"}, {"gradients", as_deepspeed}}, cut).program,
              testing::HasSubstr(", DeepSpeed"));
}

TEST(RunsWith, WhoTrainsAdaptersOfRanksThatShareAModel) {
  const auto who = [](std::vector<std::string> overrides) {
    return with({{"system", "resident"}}, overrides).program;
  };
  const std::string lora = "training.method=lora", qlora = "training.method=qlora";
  const std::string stages = "parallel.pipeline=2", several = "training.gradient_accumulation=4";
  const std::string in_turn = "parallel.schedule=sequential";
  EXPECT_EQ(who({lora, stages, several}), "Megatron-Bridge");
  EXPECT_EQ(who({qlora, stages, several}), "spillway alone");
  EXPECT_EQ(who({qlora, stages, several, in_turn}), "Transformers with device_map auto");
  EXPECT_EQ(who({qlora, stages}), "Transformers with device_map auto");
  EXPECT_EQ(who({stages, several, in_turn}), "Transformers with device_map auto");
  EXPECT_EQ(who({qlora, "parallel.context=2"}), "Axolotl");
  EXPECT_EQ(who({lora, "parallel.context=2", "training.mlp_tiles=4"}), "Axolotl");
  const std::string fp8 = "training.precision=fp8", rate = "machine.gpu.compute.fp8=300 TFLOPS";
  EXPECT_EQ(who({fp8, rate}), "PyTorch with Transformer Engine");
  EXPECT_EQ(who({fp8, rate, lora}), "Megatron-Bridge");
  EXPECT_EQ(who({fp8, rate, lora, "parallel.context=2"}), "Megatron-Bridge");
}

// LoRA in 16 bits, with layers of its own on each card.
TEST(RunsWith, WhoHasTheCpuMultiplyByExperts) {
  const auto program = [](const std::vector<std::string>& overrides) {
    const json scenario = {
        {"model", "qwen3-30b-a3b"},
        {"machine", "amx_server_2x4090"},
        {"training", {{"method", "lora"}, {"precision", "bf16_mixed"}}},
        {"strategy", {{"system", "resident"}, {"weights", {{"experts", "cpu"}}}}}};
    return runs_with(scenarios::read_scenario(scenario, overrides, known_systems()).scenario)
        .program;
  };
  for (const char* cards : {"parallel.data=2", "parallel.pipeline=2"})
    EXPECT_EQ(program({cards}), "KTransformers with LLaMA-Factory") << cards;
  for (const char* other : {"parallel.tensor=2", "training.lora.base=nf4"})
    EXPECT_EQ(program({other}), "spillway alone") << other;
}

TEST(RunsWith, EverySystemOfTheCatalogueHasAnAnswer) {
  std::size_t runnable = 0;
  for (const strategies::System& system : strategies::catalogue()) {
    EXPECT_FALSE(runs_with(system).program.empty()) << system.name;
    runnable += runs_with(system).runnable;
  }
  // resident, zero_offload, zero_infinity, colossal_gemini, superoffload, zenflow
  EXPECT_EQ(runnable, 6u);
}

}  // namespace
}  // namespace spillway::explore
