#include "hw_backend/arithmetic/execute.hpp"
#include "strategies/layout/prepared.hpp"
#include "strategies/run/numerics.hpp"
#include "tests/hw_backend/training.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <tuple>

/// Mixtures of experts, whose tokens go where the declared load says.
namespace spillway::hw_backend::experts_training_test {
namespace {

/// Four experts of a size that is swapped, two of them a token's.
const Overrides mixtral{"model.model_type=mixtral", "model.num_local_experts=4",
                        "model.num_experts_per_tok=2", "model.intermediate_size=512"};
/// A dense block, and one of experts beside shared ones; shares that do not add up to 1.
const Overrides qwen{"model.model_type=qwen2_moe",
                     "model.num_experts=6",
                     "model.num_experts_per_tok=2",
                     "model.moe_intermediate_size=512",
                     "model.shared_expert_intermediate_size=256",
                     "model.decoder_sparse_step=2",
                     "model.intermediate_size=1024"};

/// A dense block, and one of experts by sigmoids beside shared ones.
const Overrides glm{"model.model_type=glm4_moe",     "model.n_routed_experts=6",
                    "model.num_experts_per_tok=2",   "model.moe_intermediate_size=512",
                    "model.first_k_dense_replace=1", "model.use_qk_norm=true",
                    "model.intermediate_size=1024"};

struct Way {
  const char* name;
  Overrides overrides;
  std::uint64_t ranks = 1;
};

/// `system` ends where resident training of the same does.
void expect_the_references_end(const std::string& system, const Way& way) {
  SCOPED_TRACE(system + ", " + way.name);
  expect_its_references_end(
      small_training(system, way.overrides, {.feed_forward = 4096 * way.ranks}), way.name);
}

const Way ways[] = {
    {"mixtral", mixtral},
    {"mixtral_apart", joined(mixtral, {"training.experts=separate", "training.precision=fp32"})},
    {"mixtral_uneven", joined(mixtral, {R"(training.expert_load={"zipf": 1.2})",
                                        "training.gradient_accumulation=2"})},
    {"qwen", joined(qwen, {"training.precision=fp16_mixed"})},
    {"qwen_of_two_ranks", joined(qwen, {"parallel.data=2", "training.gradient_accumulation=2"}), 2},
    {"glm", glm},
};

TEST(Experts, EndWhereTheReferenceDoes) {
  for (const char* system : {"zero_offload", "zero_infinity"})
    for (const Way& way : {ways[0], ways[3], ways[5]}) expect_the_references_end(system, way);
}

class ExpertsInEverySystem : public ::testing::TestWithParam<Way> {};

TEST_P(ExpertsInEverySystem, EndWhereTheReferenceDoes) {
  MANY_SYSTEMS_TEST();
  for (const std::string& system : systems_under_test()) {
    const bool plans = system == "teraio" || system == "g10";
    if (GetParam().ranks > 1 && plans) continue;  // one rank alone
    expect_the_references_end(system, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Training, ExpertsInEverySystem, ::testing::Values(ways[2], ways[4]),
                         [](const auto& way) { return way.param.name; });

/// Experts leave the GPU and all else stays, or all but those of a cache.
TEST(ExpertsAlone, EndWhereTheReferenceDoes) {
  const Overrides alone =
      joined(mixtral, {"training.experts=separate", "strategy.weights.experts=alone"});
  for (const char* system : {"zero_offload", "zero_infinity"}) {
    expect_the_references_end(system, {"alone", alone});
    // 8 of 24 matrices of 256 KiB, those of the experts that most tokens choose
    expect_the_references_end(system,
                              {"cached", joined(alone, {"strategy.weights.expert_cache=2 MiB",
                                                        R"(training.expert_load={"zipf": 1.2})"})});
  }
}

/// 16 experts of matrices that are swapped, for few tokens.
Overrides few_chosen(const std::string& tokens) {
  return joined(mixtral, {"model.num_local_experts=16", "model.intermediate_size=2048",
                          "training.experts=separate", "strategy.weights.experts=alone",
                          "training.sequence=" + tokens});
}

// 6 of the experts, or fewer, other ones in each block and micro-batch: the others do not come.
TEST(ExpertsAlone, EndWhereTheReferenceDoesWhereFewTokensChooseSome) {
  LONG_TEST();
  const std::tuple<const char*, const char*, const char*> ways[] = {
      {"zero_offload", R"("even")", "0 B"},
      {"zero_infinity", R"("even")", "12 MiB"},
      {"zero_infinity", R"({"zipf": 1.2})", "0 B"}};
  for (const auto& [system, load, cache] : sampled(ways)) {
    SCOPED_TRACE(std::string(system) + " " + load);
    const description::Scenario scenario = small_training(
        system,
        joined(few_chosen("3"),
               {"training.gradient_accumulation=2", "strategy.activations.policy=checkpoint_gpu",
                std::string("training.expert_load=") + load,
                std::string("strategy.weights.expert_cache=") + cache}),
        {.feed_forward = 16384});
    const Trained own = train_for_real(scenario).trained;
    const Trained other = train_for_real(strategies::reference_of(scenario)).trained;
    EXPECT_EQ(own.losses, other.losses);
    EXPECT_EQ(different(own, other), 0u);
  }
}

// Each matrix of the chosen ones goes up once a pass: with 3 tokens of 6 of 16, with 24 of all.
TEST(ExpertsAlone, ComeForRealWhereATokenChoosesThem) {
  LONG_TEST();
  const auto h2d = [](const char* tokens) {
    const RealRun run = train_for_real(
        small_training("zero_infinity", few_chosen(tokens), {.feed_forward = 16384}));
    return static_cast<double>(run.result.io.h2d);
  };
  const double matrices = 2 * 16 * 3, matrix = 2048 * 256 * 2, passes = 2;
  EXPECT_NEAR(h2d("24") - h2d("3"), passes * matrices * 10 / 16 * matrix, matrix);
}

/// Each of the tokens' copies goes to the rank that has its expert and comes back.
const Overrides shared_by_two{"parallel.data=2", "parallel.expert=2"};

TEST(ExpertsOfTwoRanks, EndWhereTheReferenceDoes) {
  for (const char* system : {"zero_offload", "zero_infinity"})
    for (const Overrides& model : {mixtral, qwen})
      expect_the_references_end(
          system, {model == mixtral ? "mixtral" : "qwen",
                   joined(model, joined(shared_by_two, {"training.sequence=48"})), 2});
}

class SystemWithSharedExperts : public ::testing::TestWithParam<std::string> {};

TEST_P(SystemWithSharedExperts, EndsWhereTheReferenceDoes) {
  MANY_SYSTEMS_TEST();
  if (GetParam() == "teraio" || GetParam() == "g10")
    GTEST_SKIP() << "SKIP plans for one GPU a stage";
  if (selects_columns(GetParam())) GTEST_SKIP() << "SKIP columns are of whole weights";
  if (GetParam() == "colossal_gemini") GTEST_SKIP() << "SKIP chunks have weights of one group";
  expect_the_references_end(
      GetParam(),
      {"many", joined(mixtral, joined(shared_by_two, {"training.gradient_accumulation=2"})), 2});
}

INSTANTIATE_TEST_SUITE_P(On, SystemWithSharedExperts, ::testing::ValuesIn(systems_under_test()),
                         [](const auto& system) { return system.param; });

// The group's kernels add the ranks' tokens up in the order in which a reduction adds their
// gradients: in fp32, where neither rounds, to the same bits.
TEST(ExpertsOfTwoRanks, EndWhereTwoRanksWithAllExpertsDo) {
  const auto trained = [](const Overrides& more) {
    return train_for_real(
               small_training("resident", joined(mixtral, joined(more, {"training.precision=fp32",
                                                                        "parallel.data=2"}))))
        .trained;
  };
  // 192 copies of a rank's tokens, 5 of each 8 for the first rank's two experts in the second run
  for (const char* load : {R"("even")", "[3, 2, 1, 2]"}) {
    const Overrides loaded{std::string("training.expert_load=") + load};
    const Trained shared = trained(joined(loaded, {"parallel.expert=2"})), whole = trained(loaded);
    EXPECT_EQ(shared.losses, whole.losses) << load;
    EXPECT_EQ(different(shared, whole), 0u) << load;
  }
}

// What only one of the ranks has no room for, the rest of its buffer, is read by nobody.
TEST(ExpertsOfTwoRanks, EndWhereTheReferenceDoesWithUnequalParts) {
  LONG_TEST();
  for (const char* system : {"zero_offload", "zero_infinity"})
    for (const char* load : {"[3, 2, 1, 2]", "[1, 1, 0, 0]"})
      expect_the_references_end(
          system,
          {load,
           joined(mixtral, joined(shared_by_two, {std::string("training.expert_load=") + load,
                                                  "training.sequence=50"})),
           2});
}

const Overrides by_cpu{"strategy.weights.experts=cpu",       "machine.host.compute.bf16=1 TFLOPS",
                       "machine.host.compute.fp32=1 TFLOPS", "training.method=lora",
                       "training.lora.targets=attention",    "training.learning_rate=0.01"};

// Its products are those of the host device, and what they make lies where it looks for it: with
// several micro-batches in a step, with blocks that run again, and in two stages.
TEST(ExpertsOfTheCpu, EndWhereThoseOfTheGpuDo) {
  const std::pair<const char*, Overrides> more[] = {
      {"plain", {}},
      {"accumulated", {"training.gradient_accumulation=3", "training.precision=fp32"}},
      {"again", {"strategy.activations.policy=checkpoint_gpu"}},
      {"uneven", {R"(training.expert_load={"zipf": 1.2})"}},
      {"two_stages", {"parallel.pipeline=2", "training.gradient_accumulation=3"}}};
  for (const auto& [name, overrides] : more) {
    SCOPED_TRACE(name);
    Overrides of_gpu = joined(mixtral, joined(by_cpu, overrides));
    const Trained by_it =
        train_for_real(small_training("resident", of_gpu, {.feed_forward = 4096})).trained;
    of_gpu.emplace_back("strategy.weights.experts=as_others");
    const Trained by_gpu =
        train_for_real(small_training("resident", of_gpu, {.feed_forward = 4096})).trained;
    EXPECT_LT(by_it.losses.back(), by_it.losses.front());
    EXPECT_EQ(by_it.losses, by_gpu.losses);
    EXPECT_EQ(different(by_it, by_gpu), 0u);
  }
}

TEST(ExpertsOfTheCpu, EndWhereTheReferenceDoesInSystemsThatStream) {
  for (const char* system : {"zero_infinity", "zero_offload", "megatrain", "superoffload"})
    expect_the_references_end(system, {"mixtral", joined(mixtral, by_cpu)});
  expect_the_references_end("zero_infinity", {"qwen", joined(qwen, by_cpu)});
}

// Two groups, each of whose experts has its gradients reduced over both.
TEST(ExpertsOfFourRanks, EndWhereTheReferenceDoes) {
  LONG_TEST();
  for (const char* system : {"zero_offload", "zero_infinity"})
    expect_the_references_end(
        system, {"four",
                 joined(mixtral, {"parallel.data=4", "parallel.expert=2", "machine.gpu.count=4",
                                  "machine.host.memory=16 GiB"}),
                 4});
  expect_the_references_end(
      "resident",
      {"two_stages",
       joined(mixtral, joined(shared_by_two, {"parallel.pipeline=2", "parallel.zero_stage=1",
                                              "machine.gpu.count=4", "machine.host.memory=16 GiB",
                                              "training.expert_load=[3, 2, 1, 2]",
                                              "training.gradient_accumulation=2"})),
       4});
}

// The declared load is what a run does: another one ends elsewhere, and so does each expert's part.
TEST(ExpertLoad, DecidesWhereARunEnds) {
  const auto trained = [](const Overrides& load) {
    return train_for_real(small_training("resident", joined(mixtral, load))).trained;
  };
  const Trained even = trained({});
  EXPECT_EQ(different(even, trained({})), 0u);
  EXPECT_NE(even.losses, trained({R"(training.expert_load={"zipf": 1.2})"}).losses);
}

// Adam has nothing to do for an expert that no token went to.
TEST(ExpertLoad, LeavesAnExpertWithoutTokensAsItWas) {
  const description::Scenario scenario = small_training(
      "zero_offload",
      joined(mixtral, {"training.experts=separate", "training.expert_load=[4, 0, 3, 2]"}));
  const models::Model model = strategies::prepare(scenario).model;
  const Trained trained = train_for_real(scenario).trained;
  std::size_t idle = 0, used = 0;
  for (std::uint32_t weight = 0; weight < model.weights.size(); ++weight) {
    if (!model.weights[weight].routed) continue;
    const std::vector<float>& now = trained.masters[weight];
    std::vector<float> before(now.size());
    initial_values(model, scenario.run.seed, weight, 0, before.size(),
                   {reinterpret_cast<std::byte*>(before.data()), Element::fp32, false});
    const bool is_idle = model.weights[weight].expert == 1;
    EXPECT_EQ(now == before, is_idle) << model.weights[weight].name;
    ++(is_idle ? idle : used);
  }
  EXPECT_EQ(idle, 6u);  // three matrices of each of two blocks
  EXPECT_EQ(used, 18u);
}

}  // namespace
}  // namespace spillway::hw_backend::experts_training_test
