#include "answers/fit/search.hpp"
#include "explore/outcome/runs_with.hpp"
#include "scenarios/deepspeed/trainer.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/answers/fit/fit_questions.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>

/// Which way `fit` finds among those of several systems.
namespace spillway::answers::fit_search_test {
namespace {

const std::vector<std::string> fused = {"training.loss=fused", "training.fused_kernels=true"};

nlohmann::json job_on(const std::string& model, const BoxWords& box) {
  return {{"model", model},
          {"machine", box_of(box, scenarios::part_catalogue()).machine},
          {"training", scenarios::plain_training("bf16_mixed", 2048)},
          {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
}

/// The fastest way that people can run; nothing where none fits, or the systems do not go with it.
Found found_with(const nlohmann::json& job, const std::vector<std::string>& overrides,
                 const std::vector<std::string>& systems) {
  try {
    return search(sim(), candidates_of(job, overrides, systems), true);
  } catch (const description::ScenarioError&) {
    return {};
  }
}

double rate_of(const Found& found) { return found.runnable ? found.runnable->tokens_per_s : 0; }

/// What bounds do not tell apart (worth_simulating).
constexpr double nearly = 1 / 1.02;

/// No system alone is faster than all of them.
void expect_no_worse_with_more(const std::string& model, const BoxWords& box,
                               const std::vector<std::string>& overrides) {
  const nlohmann::json job = job_on(model, box);
  const Found all = found_with(job, overrides, {});
  for (const strategies::System& system : strategies::catalogue()) {
    if (strategies::plans_steps(system.name)) continue;
    const Found alone = found_with(job, overrides, {system.name});
    EXPECT_GE(rate_of(all), nearly * rate_of(alone))
        << model << " on " << box.gpu << ", " << box.ram << ": " << system.name << " "
        << alone.runnable_way << " alone, " << (all.runnable ? all.runnable->system : "nothing")
        << all.runnable_way << " of all";
  }
}

// A dozen simulations go to other splits of few systems; each system has its turn all the same.
TEST(Search, TriesEachOtherSystemOnce) {
  const nlohmann::json job = job_on("mistral-7b", {"4090x2", "128G", "2Tx2"});
  const Found all = search(sim(), candidates_of(job, {}, {}), false);
  const Found alone = search(sim(), candidates_of(job, {}, {"slideformer"}), false);
  ASSERT_TRUE(all.best && alone.best);
  EXPECT_GE(all.best->tokens_per_s, nearly * alone.best->tokens_per_s);
  EXPECT_FALSE(all.left_out.count("slideformer"));
}

// fp32 gradients of an 8B have no room in 192 GiB in any micro-batch, and Gemini is faster than
// the bound of a small one: who asks for both systems has to hear of 16-bit gradients as well.
TEST(Search, TriesSmallerGradientsWhereAnotherSystemIsFasterThanTheirWay) {
  const nlohmann::json job = job_on("llama-3.1-8b", {"4090", "192G", "2T"});
  const Found alone = found_with(job, fused, {"zero_offload"});
  const Found other = found_with(job, fused, {"colossal_gemini"});
  const Found both = found_with(job, fused, {"zero_offload", "colossal_gemini"});
  ASSERT_TRUE(alone.runnable && other.runnable && both.runnable);
  ASSERT_GT(alone.runnable->tokens_per_s, 2 * other.runnable->tokens_per_s);
  EXPECT_EQ(alone.runnable_way, "zero_offload + gradients.accumulation fp16");
  EXPECT_EQ(both.runnable_way, alone.runnable_way);
  EXPECT_DOUBLE_EQ(both.runnable->tokens_per_s, alone.runnable->tokens_per_s);
}

// 188.7 GiB of 160 with weights in host memory, however small its gradients are; ZeRO-2 keeps the
// 15.3 GiB of weights on the GPU.
TEST(Search, KeepsWeightsOnTheGpuWhereHostMemoryIsShort) {
  nlohmann::json job = job_on("qwen3-8b", {"5090", "64G", ""});
  job["machine"] = {
      {"name", "m160"}, {"extends", "gaming_5090"}, {"host", {{"memory", "160 GiB"}}}};
  const Found found = found_with(job, {}, {"zero_offload"});
  ASSERT_TRUE(found.runnable);
  EXPECT_EQ(found.runnable_way, "zero_offload with weights on the GPU (ZeRO-2)");
  const nlohmann::json& scenario = found.runnable->scenario;
  EXPECT_EQ(scenario.at("strategy").at("weights").at("home"), "gpu");
  EXPECT_EQ(scenario.at("parallel").at("zero_stage"), 2);
  EXPECT_EQ(found.runnable->runs_with->program, "DeepSpeed");
}

/// By cards, and whether loss and kernels are fused.
class WithMoreSystems : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(WithMoreSystems, IsNoWorse) {
  LONG_TEST();
  const auto& [cards, is_fused] = GetParam();
  const bool is_one = cards == "4090";
  const BoxWords box{cards, is_one ? "192G" : "128G", is_one ? "2T" : "2Tx2"};
  for (const char* model : {"llama-3.1-8b", "qwen3-8b", "qwen3-4b"})
    expect_no_worse_with_more(model, box, is_fused ? fused : std::vector<std::string>());
}

std::string name_of(const testing::TestParamInfo<std::tuple<std::string, bool>>& of) {
  return "On" + std::get<0>(of.param) + (std::get<1>(of.param) ? "Fused" : "Plain");
}

INSTANTIATE_TEST_SUITE_P(Search, WithMoreSystems,
                         testing::Combine(testing::Values(std::string("4090"), "3090x2"),
                                          testing::Bool()),
                         name_of);

}  // namespace
}  // namespace spillway::answers::fit_search_test
