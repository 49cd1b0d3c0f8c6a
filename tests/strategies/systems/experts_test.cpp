#include "models/program/expert_choice.hpp"
#include "strategies/decide/tensors.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <set>

/// Experts that ranks share, that tokens choose unequally, that lie outside the GPU. The model has
/// 2 blocks of 4 experts of 3 matrices, 1024 x 4096 each, of which a token goes to 2.
namespace spillway::strategies::experts_test {
namespace {

Overrides with(Overrides overrides, const Overrides& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

/// `data` ranks, of which `expert` share experts; nothing is computed twice.
Overrides shared(const char* data, const char* expert, const char* zero_stage) {
  return {std::string("parallel.data=") + data, std::string("parallel.expert=") + expert,
          std::string("parallel.zero_stage=") + zero_stage, "strategy.activations.policy=keep",
          "machine.gpu.count=4"};
}

/// Sum over weights of what one rank holds, `width` B a number, padded to `unit`.
///   ways  ranks that spread what is no expert's, and experts
std::uint64_t held(const models::Model& model, std::uint64_t expert, std::uint64_t width,
                   std::uint64_t unit, std::uint64_t ways = 1, std::uint64_t expert_ways = 1) {
  std::uint64_t bytes = 0;
  for (const models::WeightTensor& weight : model.weights) {
    const std::uint64_t parts = weight.routed ? expert * expert_ways : ways;
    const std::uint64_t elements =
        description::divide_up(weight.parameters.value(), parts * 32) * 32;
    const std::uint64_t own = parts == 1 ? weight.parameters.value() : elements;
    bytes += description::divide_up(own * width, unit) * unit;
  }
  return bytes;
}

struct Parameters {
  double routed = 0, others = 0;
};
Parameters parameters_of(const models::Model& model) {
  Parameters sum;
  for (const models::WeightTensor& weight : model.weights)
    (weight.routed ? sum.routed : sum.others) += static_cast<double>(weight.parameters.value());
  return sum;
}

TEST(ExpertParallel, RanksHoldTheirExpertsAndAllOfTheRest) {
  description::Scenario scenario = small_model("mixtral", "resident", shared("2", "2", "0"));
  scenario.strategy.gradients.memory = description::GradientMemory::at_start;
  const models::Model model = model_of(scenario);
  const result::PeakBytes gpu = count(scenario).result.gpu;
  EXPECT_EQ(at_peak(gpu, "weights"), held(model, 2, 2, 4096));
  EXPECT_EQ(at_peak(gpu, "gradients"), held(model, 2, 2, 4096));
  EXPECT_EQ(at_peak(gpu, "optimizer_states"), held(model, 2, 12, 64));
}

TEST(ExpertParallel, GradientsOfExpertsAreSummedByThoseThatHoldThem) {
  // a rank sends of an all-reduce of n bytes among G 2 n (G-1)/G, and of 4 all-to-alls a block
  // half of 128 tokens x 2 copies x 1024 x 2 B each
  const double exchanged = 2 * 4 * 128 * 2 * 1024 * 2 / 2.0;
  const auto sent = [](const char* data, double ranks) {
    return static_cast<double>(count(small_model("mixtral", "resident", shared(data, "2", "0")))
                                   .result.io.network) /
           ranks;
  };
  const Parameters n = parameters_of(model_of(small_model("mixtral", "resident")));
  // nobody else has this rank's experts; among 4 one other has
  const double two = n.others * 2 * 2 * 1 / 2 + exchanged;
  const double four = n.others * 2 * 2 * 3 / 4 + n.routed / 2 * 2 * 2 * 1 / 2 + exchanged;
  EXPECT_NEAR(sent("2", 2), two, 1e-3 * two);  // tensors are padded to 4 KiB
  EXPECT_NEAR(sent("4", 4), four, 1e-3 * four);
}

TEST(ExpertParallel, StagesOfZeroSpreadExpertsOverThoseThatHoldThem) {
  for (const char* stage : {"1", "2", "3"}) {
    SCOPED_TRACE(stage);
    const description::Scenario scenario =
        small_model("mixtral", "resident", shared("4", "2", stage));
    const models::Model model = model_of(scenario);
    const Counted run = count(scenario);
    EXPECT_TRUE(run.result.feasible());
    EXPECT_EQ(at_peak(run.result.gpu, "optimizer_states"), held(model, 2, 12, 64, 4, 2));
    for (const TensorTable& table : decide_tensors(scenario, prepare(scenario)))
      for (std::uint32_t weight = 0; weight < table.size(); ++weight)
        EXPECT_EQ(table.row(weight).shards.ways, model.weights[weight].routed ? 2u : 4u);
    EXPECT_TRUE(simulate(scenario).feasible());
  }
}

TEST(ExpertParallel, WorksWhereWeightsStreamFromOutsideTheGpu) {
  for (const char* system : {"zero_offload", "zero_infinity", "memascend", "lohan"}) {
    SCOPED_TRACE(system);
    const result::Result run = simulate(small_model(
        "mixtral", system, {"parallel.data=4", "parallel.expert=2", "machine.gpu.count=4"}));
    EXPECT_TRUE(run.feasible());
    EXPECT_GT(run.step_time_s, 0);
  }
}

TEST(ExpertParallel, AnEqualLoadIsNoLoadToSpeakOf) {
  const Overrides ranks = shared("4", "4", "0");
  const result::Result even = simulate(small_model("mixtral", "resident", ranks));
  const result::Result counted = simulate(
      small_model("mixtral", "resident", with(ranks, {"training.expert_load=[3, 3, 3, 3]"})));
  EXPECT_EQ(even.step_time_s, counted.step_time_s);
  EXPECT_EQ(even.gpu.total, counted.gpu.total);
  const result::Result skewed = simulate(
      small_model("mixtral", "resident", with(ranks, {R"(training.expert_load={"zipf": 2})"})));
  EXPECT_GT(skewed.step_time_s, even.step_time_s);
  EXPECT_GT(skewed.gpu.total, even.gpu.total);
  // one rank has all experts, whatever tokens choose
  const result::Result alone = simulate(small_model("mixtral", "resident"));
  const result::Result same =
      simulate(small_model("mixtral", "resident", {R"(training.expert_load={"zipf": 2})"}));
  EXPECT_EQ(alone.step_time_s, same.step_time_s);
}

const Overrides lora{"training.method=lora", "strategy.activations.policy=keep",
                     "strategy.overflow_check=none", "training.precision=bf16_mixed"};

TEST(ExpertsOutside, AloneLeaveTheGpuAndComeBackTwiceAStep) {
  const Overrides alone = with(lora, {"strategy.weights.home=host", "strategy.weights.pool=none",
                                      "strategy.weights.experts=alone"});
  const description::Scenario scenario = small_model("mixtral", "zero_infinity", alone);
  const models::Model model = model_of(scenario);
  const Parameters n = parameters_of(model);
  const Counted run = count(scenario);
  ASSERT_TRUE(run.result.feasible());
  // forward and backward; what else crosses are adapters, updated by the CPU
  EXPECT_NEAR(static_cast<double>(run.result.io.h2d), 2 * 2 * n.routed, 0.02 * 4 * n.routed);
  // the experts of the first block stay: half of all, in whole tensors
  const auto half = static_cast<std::uint64_t>(n.routed);
  const Counted cached = count(
      small_model("mixtral", "zero_infinity",
                  with(alone, {"strategy.weights.expert_cache=" + std::to_string(half) + " B"})));
  EXPECT_NEAR(static_cast<double>(cached.result.io.h2d), 2 * n.routed, 0.02 * 4 * n.routed);
  EXPECT_EQ(at_peak(cached.result.gpu, "weights"), at_peak(run.result.gpu, "weights") + half);
}

TEST(ExpertsOutside, SeparateOnesAreCachedAsTokensChooseThem) {
  // of 4 experts the first is chosen most: one expert of each block stays
  const std::uint64_t expert = 3ull * 1024 * 4096 * 2;
  const description::Scenario scenario = small_model(
      "mixtral", "zero_infinity",
      with(lora, {"strategy.weights.home=host", "strategy.weights.pool=none",
                  "strategy.weights.experts=alone", "training.experts=separate",
                  R"(training.expert_load={"zipf": 1})",
                  "strategy.weights.expert_cache=" + std::to_string(2 * expert) + " B"}));
  const models::Model model = model_of(scenario);
  const TensorTable table = decide_tensors(scenario, prepare(scenario)).at(0);
  for (std::uint32_t weight = 0; weight < table.size(); ++weight)
    if (model.weights[weight].routed) {
      EXPECT_EQ(table.row(weight).home == description::Home::gpu, model.weights[weight].expert == 0)
          << model.weights[weight].name;
    }
}

/// Of separate experts outside the GPU, 2 of 16 for a token.
Overrides sixteen_alone(const Overrides& more) {
  return with(with(lora, {"model.num_local_experts=16", "strategy.weights.home=host",
                          "strategy.weights.pool=none", "strategy.weights.experts=alone",
                          "training.experts=separate", "training.micro_batch=1"}),
              more);
}

/// Experts that the micro-batch's tokens choose in both blocks, `left_out` not counted.
std::uint64_t chosen_experts(const description::Scenario& scenario,
                             const std::set<std::uint32_t>& left_out = {}) {
  const Prepared prepared = prepare(scenario);
  const models::Model model = model_of(scenario);
  std::set<std::pair<std::uint32_t, std::uint32_t>> chosen;
  for (const models::WeightTensor& weight : model.weights)
    if (weight.routed && !left_out.contains(weight.expert) &&
        models::copies_of_experts(model.architecture, prepared.program.workload, weight.layer,
                                  0)[weight.expert] > 0)
      chosen.emplace(weight.layer, weight.expert);
  return chosen.size();
}

TEST(ExpertsOutside, SeparateOnesComeWhereATokenChoosesThem) {
  const double expert = 3.0 * 1024 * 4096 * 2;  // three matrices in 16 bits
  const auto h2d = [](const Overrides& more) {
    return static_cast<double>(
        count(small_model("mixtral", "zero_infinity", sixteen_alone(more))).result.io.h2d);
  };
  const std::string few = "training.sequence=4", many = "training.sequence=128";
  // 8 copies of 4 tokens: as many experts of each block; forward and backward, beside adapters
  const double adapters = h2d({many}) - 2 * 2 * 16 * expert;
  EXPECT_LT(adapters, expert / 10);
  EXPECT_NEAR(h2d({few}), 2 * 2 * 8 * expert + adapters, expert / 100);
  // tokens that choose unequally choose fewer
  const Overrides uneven{few, R"(training.expert_load={"zipf": 1.5})"};
  const auto chosen =
      chosen_experts(small_model("mixtral", "zero_infinity", sixteen_alone(uneven)));
  EXPECT_LT(chosen, 2 * 8u);
  EXPECT_NEAR(h2d(uneven), 2.0 * static_cast<double>(chosen) * expert + adapters, expert / 100);
  // all of one tensor come
  EXPECT_NEAR(h2d({few, "training.experts=stacked"}), 2 * 2 * 16 * expert + adapters, expert / 100);
}

// It has four experts of each of two blocks, those that are chosen most often.
TEST(ExpertsOutside, SeparateOnesOfACacheSpareMoreWhereTokensChooseUnequally) {
  const double expert = 3.0 * 1024 * 4096 * 2;
  const auto spared = [&](const std::string& load) {
    const Overrides job{"training.sequence=4", "training.expert_load=" + load};
    const auto h2d = [&](const Overrides& more) {
      return static_cast<double>(
          count(small_model("mixtral", "zero_infinity", sixteen_alone(with(job, more))))
              .result.io.h2d);
    };
    const std::string cache = std::to_string(static_cast<std::uint64_t>(8 * expert)) + " B";
    return (h2d({}) - h2d({"strategy.weights.expert_cache=" + cache})) / (2 * expert);
  };
  EXPECT_NEAR(spared("\"even\""), 2 * 2, 0.01);  // every second expert has one of the 8 copies
  // of 8 copies the four have 3.8, 1.3, 0.7 and 0.5 in the mean: 3.2 of them are chosen
  EXPECT_GT(spared(R"({"zipf": 1.5})"), 2 * 2.2);
}

TEST(ExpertsOutside, OfTheCpuStayInHostMemoryOnceANode) {
  const Overrides cpu =
      with(lora, {"strategy.weights.experts=cpu", R"(machine.host.compute={"bf16": "2 TFLOPS"})"});
  const description::Scenario scenario = small_model("mixtral", "resident", cpu);
  const Parameters n = parameters_of(model_of(scenario));
  const Counted run = count(scenario);
  ASSERT_TRUE(run.result.feasible());
  const auto routed = static_cast<std::uint64_t>(2 * n.routed);
  EXPECT_EQ(at_peak(run.result.host, "weights"), routed);
  const Counted two = count(
      small_model("mixtral", "resident", with(cpu, {"parallel.data=2", "machine.gpu.count=2"})));
  EXPECT_EQ(at_peak(two.result.host, "weights"), routed);
  const Counted halves = count(
      small_model("mixtral", "resident", with(cpu, {"parallel.tensor=2", "machine.gpu.count=2"})));
  EXPECT_EQ(at_peak(halves.result.host, "weights"), routed);
  // a block's experts: 128 tokens x 1024 x 2 B there and back, and 2 shares of 4 B a token; back
  // again with the gradient of what came
  const double there = 2 * (128 * 1024 * 2 + 128 * 2 * 4);
  EXPECT_EQ(static_cast<double>(run.result.io.d2h), there + 2 * (2 * 128 * 1024 * 2 + 128 * 2 * 4));
  EXPECT_EQ(static_cast<double>(run.result.io.h2d), 2 * 128 * 1024 * 2 + there);
}

TEST(ExpertsOutside, OfTheCpuTakeWhatItsMemoryOrItsProductsTake) {
  const auto seconds = [](const char* memory_rate, const char* compute) {
    return simulate(small_model("mixtral", "resident",
                                with(lora, {"strategy.weights.experts=cpu",
                                            std::string("machine.host.memory_rate=") + memory_rate,
                                            std::string(R"(machine.host.compute={"bf16": ")") +
                                                compute + R"("})"})))
        .step_time_s;
  };
  // forward 3 products, backward as many, of 128 tokens x 2 copies x 1024 x 4096, in 2 blocks
  const double flops = 6.0 * 2 * 2 * 128 * 2 * 1024 * 4096;
  const double slow = seconds("10 TB/s", "0.05 TFLOPS"), fast = seconds("10 TB/s", "0.1 TFLOPS");
  EXPECT_NEAR(slow - fast, flops / 0.1e12, 1e-3 * flops / 0.1e12);
  // each of them reads its matrix of all 4 experts, 2 B a number, and copies of tokens
  const double bytes = 6.0 * 2 * 4 * 1024 * 4096 * 2 + 2 * 2 * 2.0 * 256 * 1024 * 2;
  const double narrow = seconds("10 GB/s", "1000 TFLOPS"), wide = seconds("20 GB/s", "1000 TFLOPS");
  EXPECT_NEAR(narrow - wide, bytes / 20e9, 1e-2 * bytes / 20e9);
}

}  // namespace
}  // namespace spillway::strategies::experts_test
