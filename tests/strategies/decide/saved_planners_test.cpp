#include "strategies/decide/saved_planners.hpp"
#include "strategies/decide/lohan_plan.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// FlashNeuron, Capuchin and Checkmate as whole systems, and as planners of others.
namespace spillway::strategies::saved_planners_test {
namespace {

using ::testing::HasSubstr;

const char* const posix = "strategy.io_engine=file";

std::uint64_t number(const result::Result& result, const char* key) {
  return result.plan.at(key).get<std::uint64_t>();
}

std::uint64_t peak_of(const description::Scenario& scenario) {
  const Prepared prepared = prepare(scenario);
  return profile_saved(scenario, prepared, counting_probe()).peak_bytes;
}

/// The small model on a GPU that lacks `lacking` bytes.
description::Scenario cramped(const std::string& model, const std::string& system,
                              std::uint64_t lacking, Overrides more = {}) {
  more.insert(more.end(), {"machine.gpu.gpudirect=true", "parallel.data=1", "run.steps=1"});
  const std::uint64_t peak = peak_of(small_model(model, system, more));
  more.push_back("machine.gpu.memory=" + std::to_string(peak - lacking) + " B");
  return small_model(model, system, more);
}

/// One and a half billion parameters on LoHan's server.
description::Scenario xl(const std::string& system, const Overrides& more = {}) {
  Overrides all{"model=gpt2-xl", "training.micro_batch=1", "training.sequence=1024",
                R"(strategy={"system":")" + system + "\"}"};
  all.insert(all.end(), more.begin(), more.end());
  return example("lohan_13b_batch32", all);
}

description::Scenario lohan_with(const std::string& planner, const Overrides& more = {}) {
  Overrides all{"strategy.activations.policy=plan", "strategy.activations.planner=" + planner,
                R"(strategy.activations.homes=["host"])"};
  all.insert(all.end(), more.begin(), more.end());
  return example("lohan_13b_batch32", all);
}

TEST(SavedItems, AreMadeFromWhatComesBeforeThem) {
  for (const std::string& model : small_models()) {
    const description::Scenario scenario = small_model(model, "capuchin");
    const Prepared prepared = prepare(scenario);
    const SavedProfile profile = profile_saved(scenario, prepared, counting_probe());
    ASSERT_GT(profile.items.size(), 8u) << model;
    for (std::uint32_t i = 0; i < profile.items.size(); ++i) {
      const SavedItem& item = profile.items[i];
      EXPECT_LT(item.last_forward_s, item.first_backward_s) << model << i;
      for (const std::uint32_t source : item.sources) {
        EXPECT_LT(source, i) << model;
        EXPECT_EQ(profile.items[source].layer, item.layer);
      }
    }
  }
}

/// What the planners count is what really runs again, whichever items are not there.
TEST(SavedItems, TakeAsLongAgainAsTheOperatorsThatMakeThem) {
  for (const std::string& model : small_models()) {
    const description::Scenario scenario = small_model(model, "capuchin");
    const Prepared prepared = prepare(scenario);
    const SavedProfile profile = profile_saved(scenario, prepared, counting_probe());
    for (unsigned pattern = 1; pattern < 12; ++pattern) {
      ActivationPlan plan = keep_everything(prepared.program);
      double planned = 0, run = 0;
      for (std::uint32_t i = 0; i < profile.items.size(); ++i) {
        const SavedItem& item = profile.items[i];
        if (!item.recomputable || i * pattern % 7 < 3) continue;
        for (const models::TensorId tensor : item.tensors) plan.fates[tensor] = Fate::recompute;
        planned += item.again_s;
      }
      for (std::uint32_t layer = 0; layer < prepared.program.layers.size(); ++layer)
        for (const std::uint32_t i : operators_to_rerun(prepared.program, layer, plan))
          run += profile.operator_s[i];
      EXPECT_NEAR(run, planned, 1e-10) << model << " " << pattern;
    }
  }
}

TEST(FlashNeuron, MovesOnlyWhatTheGpuLacksStraightToTheDrives) {
  for (const std::string& model : small_models()) {
    SCOPED_TRACE(model);
    const std::uint64_t lacking = 1 << 20;
    const description::Scenario scenario = cramped(model, "flashneuron", lacking);
    const result::Result run = simulate(scenario);
    ASSERT_TRUE(run.feasible());
    const std::uint64_t moved = number(run, "bytes_to_ssd");
    EXPECT_GE(moved, lacking);
    EXPECT_LE(run.gpu.total, scenario.machine.gpu.memory.value());
    EXPECT_NEAR(static_cast<double>(run.io.ssd_write) / static_cast<double>(moved), 1, 0.02);
    EXPECT_EQ(run.io.ssd_read, run.io.ssd_write);  // once out, once in
    EXPECT_EQ(run.io.gpu_direct, run.io.ssd_read + run.io.ssd_write);
    EXPECT_EQ(run.io.h2d + run.io.d2h, 0u);
    EXPECT_EQ(run.phase_bytes.at("forward").gpu_direct_write, run.io.ssd_write);
    EXPECT_EQ(run.phase_bytes.at("backward").gpu_direct_read, run.io.ssd_read);
    const Counted counted = count(scenario);
    ASSERT_TRUE(counted.result.feasible());
    EXPECT_EQ(counted.result.io.ssd_write, run.io.ssd_write);
  }
}

/// Two ranks reduce gradients from buffers of their own, and the head's is the largest: 100,000 x
/// 1024 x 2 B = 205 MB. Drives so slow that all that leaves is still there when backward begins.
TEST(FlashNeuron, WaitsForWhatLeavesBeforeItMakesAGradient) {
  const Overrides more{"machine.gpu.gpudirect=true", "parallel.data=2",
                       "machine.gpu.count=2",        "run.steps=1",
                       "model.vocab_size=100000",    "machine.storage.nvme.write=10 MB/s"};
  const std::uint64_t peak = peak_of(small_model("llama", "flashneuron", more));
  for (const std::uint64_t lacking : {2 << 20, 4 << 20, 8 << 20}) {
    Overrides less = more;
    less.push_back("machine.gpu.memory=" + std::to_string(peak - lacking) + " B");
    const result::Result run = simulate(small_model("llama", "flashneuron", less));
    ASSERT_TRUE(run.feasible()) << lacking << " " << run.infeasible->purpose;
    EXPECT_GE(number(run, "bytes_to_ssd"), lacking);
  }
}

TEST(FlashNeuron, ThatFitsMovesNothing) {
  const result::Result run = simulate(cramped("llama", "flashneuron", 0));
  ASSERT_TRUE(run.feasible());
  EXPECT_EQ(number(run, "swap_bytes"), 0u);
  EXPECT_EQ(run.io.ssd_read + run.io.ssd_write, 0u);
}

TEST(FlashNeuron, ByPosixCallsPassesTwoBuffersOfTheLargestTensor) {
  const description::Scenario scenario = cramped("llama", "flashneuron", 1 << 20, {posix});
  const Prepared prepared = prepare(scenario);
  const ActivationPlan plan = plan_fates(scenario, prepared, counting_probe()).activations;
  std::uint64_t largest = 0;
  for (models::TensorId id = 0; id < plan.fates.size(); ++id)
    if (plan.of(id) == Fate::ssd)
      largest = std::max(largest, sectors(prepared.program.tensors[id].bytes.value()));
  const result::Result run = simulate(scenario);
  ASSERT_TRUE(run.feasible());
  EXPECT_EQ(at_peak(run.host, "activation_staging"), 2 * largest);
  EXPECT_EQ(run.io.d2h, run.io.ssd_write);
  EXPECT_EQ(run.io.h2d, run.io.ssd_read);
  EXPECT_EQ(run.io.gpu_direct, 0u);
}

TEST(FlashNeuron, HasItsLargestModelWhateverTheHostHas) {
  // states: 16 B x 1.56e9 = 24.9 GB of the 25.8 GB of a GPU with 24 GiB; 6B would be 100 GB
  const result::Result roomy = simulate(xl("flashneuron"));
  const result::Result poor = simulate(xl("flashneuron", {"machine.host.memory=4 GiB"}));
  ASSERT_TRUE(roomy.feasible());
  ASSERT_TRUE(poor.feasible());
  EXPECT_EQ(roomy.step_time_s, poor.step_time_s);
  EXPECT_FALSE(simulate(xl("resident", {"strategy.gradients.memory=at_start"})).feasible());
  for (const char* batch : {"1", "8", "64"}) {
    const result::Result six = simulate(
        xl("flashneuron", {"model=lohan-6b", std::string("training.micro_batch=") + batch}));
    ASSERT_FALSE(six.feasible()) << batch;
    EXPECT_EQ(six.infeasible->tier, "gpu");
    EXPECT_EQ(six.infeasible->purpose, "optimizer_states");
  }
  EXPECT_TRUE(simulate(xl("lohan", {"model=lohan-6b"})).feasible());
}

TEST(FlashNeuron, IsTheFastestOnDrivesWhereItFits) {
  const double own = simulate(xl("flashneuron")).step_time_s;
  for (const char* other : {"lohan", "zero_infinity", "memascend"})
    EXPECT_LT(own, simulate(xl(other)).step_time_s) << other;
}

TEST(Capuchin, MovesBetweenGpuAndHostOnlyAndAsMuchBackAsOut) {
  for (const std::string& model : small_models()) {
    SCOPED_TRACE(model);
    const description::Scenario scenario = cramped(model, "capuchin", 1 << 20);
    const result::Result run = simulate(scenario);
    ASSERT_TRUE(run.feasible());
    EXPECT_LE(run.gpu.total, scenario.machine.gpu.memory.value());
    EXPECT_EQ(run.io.ssd_read + run.io.ssd_write, 0u);
    EXPECT_EQ(run.io.h2d, run.io.d2h);
    EXPECT_NEAR(static_cast<double>(run.io.d2h), static_cast<double>(number(run, "bytes_to_host")),
                0.02 * 0x1p20);
    EXPECT_EQ(count(scenario).result.io.d2h, run.io.d2h);
  }
}

TEST(Capuchin, RecomputesWhereTheLinkIsSlow) {
  // a block of two saves 9 MB; half of one must go, and 1 ms hides 100 kB
  const std::uint64_t lacking = 4 << 20;
  const Overrides slow{"machine.pcie.h2d=100 MB/s", "machine.pcie.d2h=100 MB/s"};
  const result::Result run = simulate(cramped("llama", "capuchin", lacking, slow));
  ASSERT_TRUE(run.feasible());
  EXPECT_LT(number(run, "bytes_to_host"), lacking / 4);
  EXPECT_GE(number(run, "bytes_to_host") + number(run, "recomputed_bytes"), lacking);
  EXPECT_GT(run.plan.at("recompute_flops"), 0);
}

/// LoHan's point: Capuchin sees the GPU's link and kernels; what weights and states do on the
/// drives changes LoHan's plan and not this one.
TEST(Capuchin, IsBlindToTheTrafficOfWeightsAndStates) {
  const Overrides one_drive{"machine.storage.nvme.count=1"};
  const description::Scenario fast = lohan_with("capuchin"),
                              slow = lohan_with("capuchin", one_drive);
  const Prepared prepared = prepare(fast);
  EXPECT_EQ(plan_fates(fast, prepared, counting_probe()).activations.fates,
            plan_fates(slow, prepared, counting_probe()).activations.fates);
  const auto lohan = [&](const Overrides& more) {
    return choose_swap(example("lohan_13b_batch32", more), prepared, counting_probe());
  };
  EXPECT_NE(lohan({}).plan.bytes, lohan(one_drive).plan.bytes);
}

TEST(Capuchin, AsLohansPlannerIsSlowerThanItsOwn) {
  for (const char* batch : {"training.micro_batch=32", "training.micro_batch=64"}) {
    const result::Result run = simulate(lohan_with("capuchin", {batch}));
    ASSERT_TRUE(run.feasible());
    EXPECT_GT(run.step_time_s, 1.05 * simulate(example("lohan_13b_batch32", {batch})).step_time_s);
    EXPECT_GT(run.io.ssd_read, 0u);  // weights and states stay where LoHan has them
  }
}

TEST(Checkmate, MakesAgainWhatTheGpuLacksAndMovesNothing) {
  for (const std::string& model : small_models()) {
    SCOPED_TRACE(model);
    const description::Scenario scenario = cramped(model, "checkmate", 1 << 16);
    const result::Result run = simulate(scenario);
    ASSERT_TRUE(run.feasible());
    EXPECT_LE(run.gpu.total, scenario.machine.gpu.memory.value());
    EXPECT_EQ(run.io.h2d + run.io.d2h + run.io.ssd_read + run.io.ssd_write, 0u);
    EXPECT_GT(number(run, "recomputed_bytes"), 0u);
    EXPECT_EQ(run.plan.at("gap"), 0.0);
    EXPECT_EQ(run.plan.at("proven"), true);
    for (const text::Text& note : run.notes)  // what the plan is for, or what the model leaves out
      EXPECT_THAT(words(note), testing::Not(HasSubstr("plan")));
    EXPECT_TRUE(count(scenario).result.feasible());
  }
}

TEST(Checkmate, ThatFitsComputesNothingAgain) {
  const result::Result run = simulate(cramped("gpt2", "checkmate", 0));
  ASSERT_TRUE(run.feasible());
  EXPECT_EQ(number(run, "recomputed_bytes"), 0u);
}

TEST(Checkmate, WithHostMemoryMovesWhatTheKernelsHide) {
  const Overrides host{R"(strategy.activations.homes=["host"])"};
  const result::Result run = simulate(xl("checkmate", host));
  ASSERT_TRUE(run.feasible());
  EXPECT_GT(number(run, "bytes_to_host"), 0u);
  EXPECT_LT(run.plan.at("recompute_flops"), simulate(xl("checkmate")).plan.at("recompute_flops"));
}

TEST(Checkmate, SaysThatNoPlanFits) {
  const result::Result run = simulate(xl("checkmate", {"training.micro_batch=64"}));
  ASSERT_FALSE(run.feasible());
  EXPECT_EQ(run.infeasible->tier, "gpu");
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_THAT(words(run.notes[0]), HasSubstr("no plan fits"));
}

TEST(Checkmate, AsLohansPlannerIsSlowerThanItsOwnWhereHostMemoryIsScarce) {
  const Overrides scarce{"model=lohan-70b", "machine=lohan_4090_128g"};
  const result::Result run = simulate(lohan_with("checkmate", scarce));
  ASSERT_TRUE(run.feasible());
  EXPECT_GT(run.step_time_s, simulate(example("lohan_13b_batch32", scarce)).step_time_s);
}

const Overrides both_homes{R"(strategy.activations.homes=["host","ssd"])"};

/// LoHan+G10 of LoHan's ablation: states stay on drives and the CPU updates.
TEST(G10, AsLohansPlannerMovesWhatTheGpuLacksAndMakesNothingAgain) {
  const description::Scenario scenario = lohan_with("g10", both_homes);
  const result::Result run = simulate(scenario);
  ASSERT_TRUE(run.feasible());
  EXPECT_LE(run.gpu.total, scenario.machine.gpu.memory.value());
  EXPECT_EQ(number(run, "recomputed_bytes"), 0u);
  EXPECT_GE(number(run, "swap_bytes"), number(run, "needed_bytes"));
  EXPECT_EQ(number(run, "bytes_to_host") + number(run, "bytes_to_ssd"), number(run, "swap_bytes"));
  EXPECT_GT(run.io.ssd_read, 0u);
  EXPECT_LT(simulate(example("lohan_13b_batch32", {})).step_time_s, run.step_time_s);
}

TEST(G10, AsAPlannerGoesWhereItMay) {
  const auto bytes = [](const Overrides& homes) {
    const result::Result run = simulate(lohan_with("g10", homes));
    return std::pair(number(run, "bytes_to_host"), number(run, "bytes_to_ssd"));
  };
  EXPECT_EQ(bytes({}).second, 0u);
  EXPECT_EQ(bytes({R"(strategy.activations.homes=["ssd"])"}).first, 0u);
}

TEST(G10, AsAPlannerMovesNothingWhereAllFits) {
  const result::Result run =
      simulate(cramped("llama", "capuchin", 0, {"strategy.activations.planner=g10"}));
  ASSERT_TRUE(run.feasible());
  EXPECT_EQ(number(run, "swap_bytes"), 0u);
}

TEST(Planners, AreRefusedWhereTheyCannotBeCarriedOut) {
  const auto refusal = [](const std::string& system, const Overrides& overrides) {
    try {
      small_model("llama", system, overrides);
    } catch (const description::ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("lohan", {"strategy.activations.policy=plan"}),
              HasSubstr("activations.policy plan has no activations.planner"));
  EXPECT_THAT(
      refusal("lohan", {"strategy.activations.policy=plan", "strategy.activations.planner=teraio"}),
      HasSubstr("no schedule that streams layers has the activations.planner \"teraio\""));
  EXPECT_THAT(refusal("teraio", {"strategy.activations.planner=capuchin"}),
              HasSubstr("has its own planner"));
  EXPECT_THAT(refusal("capuchin", {R"(strategy.activations.homes=["host","ssd"])"}),
              HasSubstr("moves activations to host only"));
  EXPECT_THAT(refusal("flashneuron", {R"(strategy.activations.homes=["host"])"}),
              HasSubstr("moves activations to ssd only"));
  EXPECT_THAT(refusal("checkmate", {R"(strategy.activations.homes=["ssd"])"}),
              HasSubstr("moves activations to host only"));
  EXPECT_THAT(refusal("lohan", {"strategy.activations.policy=plan", "strategy.activations.homes=[]",
                                "strategy.activations.planner=g10"}),
              HasSubstr("nowhere to go"));
  EXPECT_THAT(refusal("resident", {"strategy.activations.policy=plan", "parallel.pipeline=2",
                                   "strategy.activations.planner=capuchin",
                                   R"(strategy.activations.homes=["host"])"}),
              HasSubstr("several micro-batches of a pipeline stage"));
  EXPECT_EQ(
      refusal("lohan", {"strategy.activations.policy=plan", "strategy.activations.planner=capuchin",
                        R"(strategy.activations.homes=["host"])"}),
      "");
}

}  // namespace
}  // namespace spillway::strategies::saved_planners_test
