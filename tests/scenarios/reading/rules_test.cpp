#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strategies/systems/catalogue.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios {
namespace {

using namespace description;

/// gpt2 (768 wide, 12 heads, 1024 positions, tied vocabulary of 50257) on two GPUs without
/// GPUDirect.
Resolved read(const std::string& system, const std::vector<std::string>& overrides) {
  std::vector<std::string> all{"strategy.system=" + system};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const auto scenario = parse_located(R"({"model": "gpt2", "machine": "memascend_c1",
    "training": {"precision": "fp16_mixed"}, "strategy": {}})",
                                      "a.json");
  return read_scenario(scenario, all, test_systems());
}

std::string refusal(const std::string& system, const std::vector<std::string>& overrides) {
  return complaints_of([&] { read(system, overrides); });
}

TEST(Contradictions, MoreRanksThanGpus) {
  EXPECT_EQ(refusal("resident", {"parallel.data=2"}), "");
  EXPECT_EQ(refusal("resident", {"parallel.data=3"}),
            "--set parallel.data=3: parallel: data 3 x tensor 1 x pipeline 1 makes 3 ranks, but "
            "memascend_c1 has 2 GPUs; lower one of them or raise machine.gpu.count or "
            "machine.nodes");
}

TEST(Contradictions, ASequenceLongerThanTheModelsPositions) {
  EXPECT_EQ(refusal("resident", {"training.sequence=1024"}), "");
  EXPECT_EQ(
      refusal("resident", {"training.sequence=1025"}),
      "--set training.sequence=1025: training.sequence: 1025 tokens, but gpt2 has 1024 positions; "
      "write at most 1024");
}

TEST(Contradictions, ExpertsApartThatNobodyKeepsApart) {
  EXPECT_EQ(refusal("resident", {"model=mixtral-8x7b", "training.experts=separate"}), "");
  EXPECT_EQ(refusal("resident", {"model=gpt-oss-20b"}), "");
  EXPECT_EQ(refusal("resident", {"model=gpt-oss-20b", "training.experts=separate"}),
            "--set training.experts=separate: training.experts: gpt_oss keeps all experts in one "
            "tensor in every release of Hugging Face transformers; leave it out or write "
            "\"stacked\"");
}

TEST(Contradictions, OfWhatIsTrained) {
  EXPECT_EQ(refusal("resident", {"training.lora.rank=8"}),
            "--set training.lora.rank=8: training.lora: training.method full trains no adapters; "
            "write \"lora\" or \"qlora\" as training.method, or leave training.lora out");
  EXPECT_EQ(refusal("resident", {R"(training.frozen=["wte"])"}),
            "--set training.frozen=[\"wte\"]: training.frozen: training.method full trains every "
            "weight; write \"frozen\" as training.method");
  EXPECT_EQ(refusal("resident", {"training.method=frozen"}),
            "a.json:2:17: training.frozen: training.method frozen needs names of "
            "what is not trained; write a list, such as [\"embeddings\", \"layers.0\"], or the "
            "method full");
  EXPECT_EQ(refusal("resident", {"training.method=lora", R"(training.lora.targets=["c_atn"])"}),
            "--set training.lora.targets=[\"c_atn\"]: training.lora.targets: no matrix of a block "
            "of gpt2 is named \"c_atn\"; did you mean \"c_attn\"? known: all_linear, attention, "
            "c_attn, c_fc, c_proj");
  EXPECT_EQ(refusal("resident", {"training.method=lora"}), "");
}

TEST(Contradictions, TensorRanksThatDoNotDivideTheModel) {
  EXPECT_EQ(
      refusal("resident", {"machine.gpu.count=8", "parallel.tensor=8"}),
      "--set parallel.tensor=8: parallel.tensor: 8 does not divide the 12 attention heads of gpt2\n"
      "--set parallel.tensor=8: parallel.tensor: 8 does not divide the 12 key and value heads of "
      "gpt2");
}

TEST(Contradictions, MoreStagesThanBlocks) {
  EXPECT_EQ(refusal("resident", {"machine.gpu.count=13", "parallel.pipeline=13"}),
            "--set parallel.pipeline=13: parallel.pipeline: 13 stages, but gpt2 has 12 blocks");
}

TEST(Contradictions, APoolWithoutWeightsOnSsd) {
  const std::string why =
      "weights.pool \"adaptive\" contradicts weights.home \"gpu\": a pool buffers weights that "
      "come from "
      "SSD; set weights.home to \"ssd\" or weights.pool to \"none\"";
  EXPECT_EQ(refusal("resident", {"strategy.weights.pool=adaptive"}),
            "--set strategy.weights.pool=adaptive: strategy.weights.pool: " + why);
  // a pool that only the system's defaults name goes away by itself
  EXPECT_EQ(read("memascend", {"strategy.weights.home=gpu"}).scenario.strategy.weights.pool,
            PoolKind::none);
}

TEST(Contradictions, WeightsFromSsdWithoutAPool) {
  EXPECT_EQ(
      refusal("memascend", {"strategy.weights.pool=none"}),
      "--set strategy.weights.pool=none: strategy.weights.pool: weights.pool \"none\" contradicts "
      "weights.home \"ssd\": weights from SSD need host buffers to land in; set weights.pool to "
      "\"monolithic\", \"adaptive\" or \"ring\"");
  EXPECT_EQ(read("zero_offload", {"strategy.weights.home=ssd"}).scenario.strategy.weights.pool,
            PoolKind::monolithic);
}

TEST(Contradictions, ABufferBelowTheLargestTensorOfARank) {
  // 50257 x 768 = 38,597,376 elements on one rank, half of them on each of two
  EXPECT_EQ(refusal("zero_infinity", {"strategy.weights.buffer_size=38597376 params"}), "");
  EXPECT_EQ(
      refusal("zero_infinity", {"strategy.weights.buffer_size=38597375 params"}),
      "--set strategy.weights.buffer_size=38597375 params: strategy.weights.buffer_size: "
      "38597375 params is below the largest tensor of a rank, 38597376 params; raise it or write "
      "\"auto\"");
  EXPECT_EQ(
      refusal("zero_infinity", {"parallel.data=2", "strategy.weights.buffer_size=19298688 params"}),
      "");
}

TEST(Contradictions, FewerBuffersThanTheBlocksInFlightNeed) {
  EXPECT_EQ(refusal("zero_infinity", {"strategy.weights.buffer_count=9"}), "");
  EXPECT_EQ(
      refusal("zero_infinity", {"strategy.weights.buffer_count=8"}),
      "--set strategy.weights.buffer_count=8: strategy.weights.buffer_count: weights.buffer_count "
      "8 contradicts weights.prefetch_blocks 1: 2 vocabulary tensors and 7 of each block in flight "
      "need 9 buffers; raise buffer_count or write \"auto\"");
}

TEST(Contradictions, PipeliningWithFewerThanEightBuffers) {
  EXPECT_EQ(refusal("zero_infinity",
                    {"strategy.optimizer.pipeline_read=true", "strategy.optimizer.buffers=8"}),
            "");
  EXPECT_EQ(
      refusal("zero_infinity",
              {"strategy.optimizer.pipeline_read=true", "strategy.optimizer.buffers=7"}),
      "--set strategy.optimizer.pipeline_read=true: strategy.optimizer.pipeline_read: "
      "optimizer.pipeline_read true contradicts optimizer.buffers 7: a sub-group in flight needs a "
      "set of 4 buffers beside the one being updated; set optimizer.buffers to 8 or more");
}

TEST(Contradictions, ActiveGradientsWithAnOverflowCheck) {
  EXPECT_EQ(
      refusal("memascend", {"strategy.gradients.policy=active"}),
      "--set strategy.gradients.policy=active: strategy.gradients.policy: overflow_check \"fused\" "
      "contradicts gradients.policy \"active\": an overflow is known after the last gradient, when "
      "the first are applied already; set overflow_check to \"none\" or gradients.policy to "
      "\"ssd_fp32\"");
  // states in host memory have no gradients on SSD, and can be taken back
  const std::string host = refusal("zero_offload", {"strategy.gradients.policy=active"});
  EXPECT_THAT(host, testing::HasSubstr("; set overflow_check to \"none\" or optimizer.roll_back "
                                       "to true"));
  EXPECT_EQ(refusal("zero_offload",
                    {"strategy.gradients.policy=active", "strategy.optimizer.roll_back=true"}),
            "");
  EXPECT_EQ(
      refusal("zero_offload", {"strategy.gradients.policy=active", "strategy.overflow_check=none"}),
      "");
  EXPECT_EQ(
      refusal("memascend", {"strategy.gradients.policy=active", "training.precision=bf16_mixed"}),
      "");
}

/// With every system, and refused also for want of a schedule.
Resolved read_any(const std::string& system, std::vector<std::string> overrides) {
  std::vector<SystemInfo> systems;
  for (const strategies::System& one : strategies::catalogue())
    systems.push_back({one.name, one.defaults()});
  overrides.insert(overrides.begin(), "strategy.system=" + system);
  return read_scenario(parse_located(R"({"model": "gpt2", "machine": "memascend_c1",
    "training": {"precision": "fp16_mixed", "gradient_clipping": 1}, "strategy": {}})",
                                     "a.json"),
                       overrides, systems, Refuse::what_cannot_run);
}

TEST(Schedules, ClipNoNormThatIsKnownTooLate) {
  const auto refused = [](const std::string& system, const std::vector<std::string>& more = {}) {
    return complaints_of([&] { read_any(system, more); });
  };
  const std::string bf16 = "training.precision=bf16_mixed";
  for (const char* system : {"resident", "zero_offload", "zero_infinity", "superoffload"})
    EXPECT_EQ(refused(system), "") << system;
  EXPECT_THAT(refused("lohan", {bf16}),
              testing::HasSubstr("training.gradient_clipping: the norm is known after the last "
                                 "gradient, when the first are applied already; use 0; or "
                                 "zero_offload, zero_infinity or resident, or superoffload, which "
                                 "takes a step back where its norm is too long"));
  EXPECT_THAT(refused("resident", {bf16, "training.optimizer_in_backward=true"}),
              testing::HasSubstr("when the first are applied already"));
  EXPECT_THAT(refused("zero_offload", {"strategy.gradients.convert=cpu"}),
              testing::HasSubstr("nothing takes a norm of gradients on their way to host memory"));
  EXPECT_THAT(refused("zenflow", {bf16}),
              testing::HasSubstr("before all gradients of a step are there"));
  EXPECT_THAT(refused("teraio", {bf16}),
              testing::HasSubstr("teraio plans steps that take no norm of all gradients"));
  EXPECT_THAT(refused("superoffload", {"strategy.overflow_check=chained"}),
              testing::HasSubstr("taken back to copies of old values, which chained keeps none of; "
                                 "use fused"));
}

TEST(Settle, ASpeculatedStepThatIsClippedKeepsOldValues) {
  EXPECT_EQ(read_any("superoffload", {}).scenario.strategy.overflow_check, OverflowCheck::fused);
  EXPECT_EQ(
      read_any("superoffload", {"training.gradient_clipping=0"}).scenario.strategy.overflow_check,
      OverflowCheck::chained);
}

TEST(Contradictions, GdsWithoutGpuDirect) {
  EXPECT_EQ(refusal("resident", {"strategy.io_engine=gds"}),
            "--set strategy.io_engine=gds: strategy.io_engine: io_engine \"gds\" contradicts "
            "machine.gpu.gpudirect false: SSDs cannot reach GPU memory on memascend_c1; write "
            "\"direct\"; "
            "bytes then pass a pinned bounce buffer");
  const Resolved resolved = read("ssdtrain", {});  // gds by default
  EXPECT_EQ(resolved.scenario.strategy.io_engine, IoEngine::direct);
  ASSERT_EQ(resolved.warnings.size(), 1u);
}

TEST(Contradictions, HomesOnSsdWithoutADrive) {
  EXPECT_EQ(
      refusal("memascend", {"machine.storage=[]"}),
      "a.json:2:58: strategy.gradients.policy: gradients.policy \"ssd_fp32\" needs a storage of "
      "kind \"ssd\", but memascend_c1 has none; choose another home or add one to machine.storage\n"
      "a.json:2:58: strategy.optimizer.home: optimizer.home \"ssd\" needs a storage of kind "
      "\"ssd\", but memascend_c1 has none; choose another home or add one to machine.storage\n"
      "a.json:2:58: strategy.weights.home: weights.home \"ssd\" needs a storage of kind \"ssd\", "
      "but memascend_c1 has none; choose another home or add one to machine.storage");
}

TEST(Contradictions, APathToAStorageThatIsNotThere) {
  EXPECT_EQ(
      refusal("memascend", {"strategy.optimizer.lanes.nvm=2"}),
      "--set strategy.optimizer.lanes.nvm=2: strategy.optimizer.lanes.nvm: no \"nvm\"; did you "
      "mean \"nvme\"? known: nvme");
  EXPECT_EQ(
      refusal("memascend", {"strategy.optimizer.paths.nvm=1"}),
      "--set strategy.optimizer.paths.nvm=1: strategy.optimizer.paths.nvm: no \"nvm\"; did you "
      "mean \"nvme\"? known: nvme");
}

TEST(Contradictions, StatesOfAnOptimizerThatHasNone) {
  EXPECT_EQ(
      refusal("zero_infinity", {"training.optimizer=sgd", "training.precision=bf16"}),
      "a.json:2:58: strategy.optimizer.home: optimizer.home \"ssd\" contradicts training.optimizer "
      "\"sgd\": without momentum and master weights there are no states to keep there; set "
      "optimizer.home to \"gpu\" or training.optimizer to \"adam\"");
}

TEST(Contradictions, APrecisionWithoutARate) {
  EXPECT_EQ(
      refusal("resident", {"training.precision=fp32"}),
      "--set training.precision=fp32: training.precision: \"fp32\" needs machine.gpu.compute.fp32, "
      "which memascend_c1 does not have; add its rate, of fp32 or tf32, or train in another "
      "precision");
}

TEST(Contradictions, Fp8WithoutARateOrWithCopiesThatCannotStay) {
  EXPECT_EQ(
      refusal("resident", {"training.precision=fp8"}),
      "--set training.precision=fp8: training.precision: \"fp8\" needs "
      "machine.gpu.compute.fp8, which memascend_c1 does not have; add its rate (of a card that "
      "multiplies in 8 bits: Ada, Hopper or later), or train in bf16_mixed");
  EXPECT_EQ(
      refusal("zero_infinity", {"training.precision=fp8", "machine.gpu.compute.fp8=300 TFLOPS",
                                "training.fp8.weight_copies=kept"}),
      "--set training.fp8.weight_copies=kept: training.fp8.weight_copies: weights that come "
      "to the GPU for their layer, or that a plan moves, are copied there each time; write "
      "per_use");
  EXPECT_EQ(refusal("resident", {"training.fp8.transposes=false"}),
            "--set training.fp8.transposes=false: training.fp8: training.precision fp16_mixed "
            "multiplies nothing in 8 bits; write \"fp8\" as training.precision, or leave "
            "training.fp8 out");
}

TEST(Contradictions, AnUpdateInsideDrivesThatCannotCompute) {
  EXPECT_EQ(
      refusal("zero_infinity", {"strategy.optimizer.device=near_storage"}),
      "--set strategy.optimizer.device=near_storage: strategy.optimizer.device: optimizer.device "
      "\"near_storage\" needs a storage with near_storage, but memascend_c1 has none; add "
      "storage[].near_storage or set optimizer.device to \"cpu\"");
}

TEST(Contradictions, CancellingWithoutForwarding) {
  EXPECT_EQ(
      refusal("ssdtrain",
              {"strategy.activations.cancel=always", "strategy.activations.forwarding=false"}),
      "--set strategy.activations.cancel=always: strategy.activations.cancel: activations.cancel "
      "\"always\" contradicts activations.forwarding false: only a store whose tensor was "
      "forwarded "
      "can be cancelled; set activations.cancel to \"never\" or activations.forwarding to true");
}

TEST(Settle, Bf16LeavesNothingToCheckForOverflow) {
  const Resolved quiet = read("memascend", {"training.precision=bf16_mixed"});
  EXPECT_EQ(quiet.scenario.strategy.overflow_check, OverflowCheck::none);
  EXPECT_TRUE(quiet.warnings.empty());
  const Resolved told =
      read("memascend", {"training.precision=bf16_mixed", "strategy.overflow_check=fused"});
  EXPECT_EQ(told.scenario.strategy.overflow_check, OverflowCheck::none);
  EXPECT_EQ(
      told.warnings.at(0),
      "strategy.overflow_check: bf16_mixed has no loss scale, so nothing is checked for overflow");
}

TEST(Settle, ABf16OptimizerSendsNoGradientToSsd) {
  const Resolved resolved = read("memascend", {"training.optimizer_state=bf16"});
  EXPECT_EQ(resolved.scenario.strategy.gradients.policy, GradientPolicy::host_fp32);
  EXPECT_EQ(
      resolved.warnings.at(0),
      "training.optimizer_state: bf16 states with fp16_mixed weights lose range or precision at "
      "every step");
}

TEST(Settle, PresetFieldsWithoutUseAreIgnored) {
  // the preset names the storage "nvme" for states on SSD; here they are in the host
  const std::vector<std::string> host{"strategy.preset=deepspeed_zero3_nvme_optimizer",
                                      "strategy.optimizer.home=host",
                                      "strategy.gradients.policy=host_fp32"};
  EXPECT_TRUE(read("zero_offload", host).scenario.strategy.optimizer.paths.empty());
  const Resolved resolved = read("zero_infinity", {"strategy.preset=deepspeed_zero3_nvme_optimizer",
                                                   "machine.storage.nvme.name=scratch"});
  EXPECT_TRUE(resolved.scenario.strategy.optimizer.paths.empty());
}

TEST(Settle, AStarIsEveryStorageThatHasNoWeightOfItsOwn) {
  const auto paths = [](const char* written) {
    return read("zero_infinity", {std::string("strategy.optimizer.paths=") + written})
        .scenario.strategy.optimizer.paths;
  };
  using Paths = std::map<std::string, std::optional<double>>;
  EXPECT_EQ(paths(R"({"*": "auto"})"), (Paths{{"nvme", std::nullopt}}));
  EXPECT_EQ(paths(R"({"*": 1, "nvme": 3})"), (Paths{{"nvme", 3.0}}));
}

TEST(Settle, WarnsAboutAKnobThatTheSystemDoesNotHave) {
  EXPECT_EQ(read("memascend", {"strategy.activations.keep_last=layer"}).warnings.at(0),
            "strategy.activations.keep_last: memascend has no such knob, it changes nothing");
}

TEST(Settle, WarnsOfWhatIsComputedAgainAllTheSame) {
  const auto warnings = [](const std::vector<std::string>& overrides) {
    return read("zero_offload", overrides).warnings;
  };
  const std::string checkpoints = "strategy.activations.policy=checkpoint_gpu";
  EXPECT_TRUE(warnings({checkpoints}).empty());
  EXPECT_TRUE(warnings({"training.recompute=none", "strategy.activations.policy=keep"}).empty());
  EXPECT_THAT(warnings({"training.recompute=none", checkpoints}),
              testing::ElementsAre(
                  "training.recompute: activations.policy \"checkpoint_gpu\" keeps blocks' inputs "
                  "alone, so that backward computes blocks again all the same: activations.policy "
                  "keep does not"));
}

TEST(Settle, WarnsOfTilesAndPiecesThatChangeNothing) {
  const auto warnings = [](const std::vector<std::string>& overrides) {
    return read("resident", overrides).warnings;
  };
  EXPECT_TRUE(warnings({"training.sequence=64", "training.mlp_tiles=64"}).empty());
  EXPECT_THAT(warnings({"training.sequence=64", "training.mlp_tiles=65"}),
              testing::ElementsAre("training.mlp_tiles: a rank has 64 tokens in a pass, and a tile "
                                   "one at least: more tiles change nothing"));
  EXPECT_THAT(warnings({"parallel.pipeline=2", "parallel.virtual_stages=3"}),
              testing::ElementsAre("parallel.virtual_stages: only stages of parallel.schedule "
                                   "interleaved have pieces: it changes nothing"));
}

TEST(Settle, KeepsAKnobThatTheSystemHas) {
  const Resolved resolved =
      read("ssdtrain", {"machine.gpu.gpudirect=true", "strategy.activations.keep_last=layer"});
  EXPECT_TRUE(resolved.warnings.empty());
  EXPECT_EQ(resolved.scenario.strategy.activations.keep_last, description::KeepLast::layer);
}

}  // namespace
}  // namespace spillway::scenarios
