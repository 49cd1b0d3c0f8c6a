#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "tests/models/configs.hpp"
#include "tests/models/type_configs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>

namespace spillway::models::experts_test {
namespace {

using testing::ElementsAre;

/// The types with experts that lie apart in transformers 4.
std::vector<TypeConfig> separable() {
  std::vector<TypeConfig> types{{"mixtral", tiny_mixtral}};
  for (const TypeConfig& type : type_configs) {
    const Model model = from_config(type.json);
    const Architecture& a = model.architecture;
    if (model.active_parameters < model.parameters && refusal(a, ExpertLayout::separate).empty())
      types.push_back(type);
  }
  return types;
}

const WeightTensor& named(const Model& model, const std::string& name) {
  const auto found = std::find_if(model.weights.begin(), model.weights.end(),
                                  [&](const WeightTensor& weight) { return weight.name == name; });
  if (found == model.weights.end()) throw std::runtime_error("no weight " + name);
  return *found;
}

Workload workload() {
  Workload w;
  w.micro_batch = 2;
  w.sequence = 16;
  return w;
}

std::uint64_t saved_bytes(const StepProgram& program) {
  std::uint64_t bytes = 0;
  for (std::uint32_t layer = 0; layer < program.layers.size(); ++layer)
    for (const TensorId id : program.saved_by(layer)) bytes += program.tensors[id].bytes.value();
  return bytes;
}

class BothLayouts : public testing::TestWithParam<TypeConfig> {
 protected:
  const Model stacked_ = from_config(GetParam().json);
  const Model separate_ = from_config(GetParam().json, ExpertLayout::separate);
};

TEST_P(BothLayouts, HaveTheSameParametersAndActiveOnes) {
  EXPECT_EQ(stacked_.parameters, separate_.parameters);
  EXPECT_EQ(stacked_.active_parameters, separate_.active_parameters);
  ASSERT_EQ(stacked_.layers.size(), separate_.layers.size());
  const auto of_layer = [](const Model& model, std::size_t layer) {
    std::uint64_t parameters = 0;
    for (const std::uint32_t weight : model.layers[layer].weights)
      parameters += model.weights[weight].parameters.value();
    return parameters;
  };
  for (std::size_t layer = 0; layer < stacked_.layers.size(); ++layer)
    EXPECT_EQ(of_layer(stacked_, layer), of_layer(separate_, layer));
}

TEST_P(BothLayouts, ComputeAndSaveTheSame) {
  const StepProgram stacked = build_step_program(stacked_, workload());
  const StepProgram separate = build_step_program(separate_, workload());
  for (const Span StepProgram::*pass : {&StepProgram::forward, &StepProgram::backward})
    EXPECT_EQ(stacked.flops(stacked.*pass).value(), separate.flops(separate.*pass).value());
  EXPECT_EQ(saved_bytes(stacked), saved_bytes(separate));
}

TEST_P(BothLayouts, DifferInTensorsByTwoAMatrixAndExpertOfABlock) {
  // 4 experts of 3 matrices (2 where nothing gates) in 2 tensors
  const std::size_t apart =
      stacked_.architecture.experts * (stacked_.architecture.gated_ffn ? 3 : 2);
  std::size_t blocks = 0;
  for (const WeightTensor& weight : stacked_.weights) blocks += weight.kind == WeightKind::router;
  ASSERT_GT(blocks, 0u);
  EXPECT_EQ(separate_.weights.size() - stacked_.weights.size(), blocks * (apart - 2));
}

INSTANTIATE_TEST_SUITE_P(Types, BothLayouts, testing::ValuesIn(separable()),
                         [](const auto& type) { return std::string(type.param.name); });

TEST(Experts, LieApartInTransformers4InThirteenOfTheTypesHere) {
  std::vector<std::string> names;
  for (const TypeConfig& type : separable()) names.emplace_back(type.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("mixtral", "qwen2_moe", "qwen3_moe", "phimoe",
                                                   "deepseek_v2", "deepseek_v3", "deepseek_v32",
                                                   "dots1", "qwen3_next", "mimo_v2_flash",
                                                   "nemotron_h", "lfm2_moe", "kimi_linear"));
}

TEST(Experts, StackedAreAsTransformers5NamesAndShapesThem) {
  // 4 experts of 96 columns: gate and up 2 x 96 x 64, down 64 x 96
  const Model model = from_config(tiny_mixtral);
  const std::string block = "model.layers.0.mlp.";
  EXPECT_THAT(named(model, block + "experts.gate_up_proj").shape, ElementsAre(4, 192, 64));
  EXPECT_THAT(named(model, block + "experts.down_proj").shape, ElementsAre(4, 64, 96));
  EXPECT_THAT(named(model, block + "gate.weight").shape, ElementsAre(4, 64));
  // q, k, v, o, router, 2 norms
  EXPECT_EQ(model.layers[1].weights.size(), 4u + 1 + 2 + 2);
}

TEST(Experts, SeparateAreAsTransformers4NamesAndShapesThem) {
  const Model model = from_config(tiny_mixtral, ExpertLayout::separate);
  const std::string block = "model.layers.1.block_sparse_moe.";
  EXPECT_THAT(named(model, block + "experts.3.w1.weight").shape, ElementsAre(96, 64));
  EXPECT_THAT(named(model, block + "experts.3.w2.weight").shape, ElementsAre(64, 96));
  EXPECT_THAT(named(model, block + "gate.weight").shape, ElementsAre(4, 64));
  EXPECT_EQ(model.layers[1].weights.size(), 4u + 1 + 4 * 3 + 2);
}

TEST(Experts, ThatNothingGatesAreStackedByWhatTheyReadAndWrite) {
  // 4 experts of 32 columns, between latents of 40
  const Model model = from_config(config_of("nemotron_h"));
  const std::string block = "backbone.layers.3.mixer.experts.";
  EXPECT_THAT(named(model, block + "up_proj").shape, ElementsAre(4, 32, 40));
  EXPECT_THAT(named(model, block + "down_proj").shape, ElementsAre(4, 40, 32));
}

TEST(Experts, OfGptOssAreStackedInputsFirst) {
  const Model model = from_config(config_of("gpt_oss"));
  const std::string block = "model.layers.0.mlp.experts.";
  EXPECT_THAT(named(model, block + "gate_up_proj").shape, ElementsAre(4, 64, 192));
  EXPECT_THAT(named(model, block + "gate_up_proj_bias").shape, ElementsAre(4, 192));
  EXPECT_THAT(named(model, block + "down_proj").shape, ElementsAre(4, 96, 64));
}

TEST(Experts, StackedDecideTheLargestTensor) {
  // Qwen3-30B-A3B: 128 experts, gate and up of 768 x 2048 each; apart: the words, 151936 x 2048
  const Model stacked = from_library("qwen3-30b-a3b");
  EXPECT_EQ(stacked.largest_tensor(), Params(128ull * 2 * 768 * 2048));
  EXPECT_EQ(stacked.weights.size(), 48u * (2 + 9) + 3);
  Architecture a = stacked.architecture;
  a.expert_layout = ExpertLayout::separate;
  const Model separate = build_model(a);
  EXPECT_EQ(separate.largest_tensor(), Params(151936ull * 2048));
  EXPECT_EQ(separate.weights.size(), 48u * (3 * 128 + 9) + 3);
}

TEST(Experts, StackedMakeNoMoreOperatorsTheMoreThereAre) {
  const auto operators = [](int experts, ExpertLayout layout) {
    nlohmann::json json = nlohmann::json::parse(tiny_mixtral);
    json["num_local_experts"] = experts;
    return build_step_program(from_config(json.dump().c_str(), layout), workload())
        .operators.size();
  };
  EXPECT_EQ(operators(4, ExpertLayout::stacked), operators(256, ExpertLayout::stacked));
  // apart each matrix has an update of its own, 3 in each of 2 blocks
  EXPECT_EQ(operators(256, ExpertLayout::separate) - operators(4, ExpertLayout::separate),
            2u * 3 * 252);
}

TEST(Experts, OfTypesThatAlwaysStackThemCannotLieApart) {
  for (const char* type : {"gpt_oss", "llama4", "dbrx", "granitemoe", "gemma4_moe"}) {
    const Architecture a = from_config(config_of(type)).architecture;
    EXPECT_THAT(refusal(a, ExpertLayout::separate), testing::HasSubstr("one tensor")) << type;
    EXPECT_EQ(refusal(a, ExpertLayout::stacked), "");
  }
  EXPECT_EQ(refusal(from_config(tiny_llama).architecture, ExpertLayout::separate), "");
}

const Operator& operator_named(const StepProgram& program, const std::string& name) {
  const auto found = std::find_if(program.operators.begin(), program.operators.end(),
                                  [&](const Operator& op) { return op.name == name; });
  if (found == program.operators.end()) throw std::runtime_error("no operator " + name);
  return *found;
}

std::size_t all_to_alls(const StepProgram& program, Span span) {
  std::size_t count = 0;
  for (std::uint32_t i = span.first; i < span.last; ++i)
    count += program.operators[i].kind == OperatorKind::all_to_all;
  return count;
}

TEST(Experts, OfTwoRanksMeetTwiceABlockAndDirection) {
  const Model model = from_config(tiny_mixtral);
  Workload shared = workload();
  shared.expert = 2;
  const StepProgram alone = build_step_program(model, workload());
  const StepProgram program = build_step_program(model, shared);
  EXPECT_EQ(all_to_alls(alone, {0, alone.update.last}), 0u);
  // 2 blocks: tokens to their experts and back, each way
  EXPECT_EQ(all_to_alls(program, program.forward), 4u);
  EXPECT_EQ(all_to_alls(program, program.backward), 4u);
  // 32 tokens go to 2 experts each, 64 wide, 2 B: read and written
  EXPECT_EQ(operator_named(program, "layers.0.experts.dispatch").bytes, Bytes(2ull * 64 * 64 * 2));
  // 2 of the 4 experts are here, with as many copies of tokens from both ranks
  const Operator& product = operator_named(program, "layers.0.ffn.gate_up");
  EXPECT_EQ(product.gemm.batch, 2u);
  EXPECT_EQ(product.gemm.m, 32u);
  EXPECT_EQ(program.forward_flops().value(), alone.forward_flops().value());
  for (std::uint32_t i = 0; i < model.weights.size(); ++i)
    EXPECT_EQ(alone.tensors[i].elements,
              program.tensors[i].elements * (model.weights[i].routed ? 2 : 1))
        << model.weights[i].name;
  EXPECT_NO_THROW(check(program));
}

TEST(Experts, ThatAreChosenMoreOftenGiveTheirRankMoreToDo) {
  const Model model = from_config(tiny_mixtral);
  Workload w = workload();
  w.expert = 2;
  // 5, 3, 1, 1 of 10: the first rank gets 8 of 10, and at most half of each token's copies go to
  // one expert: 1/2, 3/10, 1/10, 1/10
  w.expert_load.counts = {5, 3, 1, 1};
  const StepProgram program = build_step_program(model, w);
  // of a rank's 64 copies 32, 19, 7 and 6: 51 from each of both ranks
  EXPECT_THAT(program.to_expert_ranks, ElementsAre(51, 13));
  EXPECT_EQ(operator_named(program, "layers.0.ffn.gate_up").gemm.m, 51u);  // 102 / 2
  const Operator& dispatch = operator_named(program, "layers.0.experts.dispatch");
  EXPECT_EQ(program.tensors[dispatch.operands[0].tensor].elements, 64u * 64);
  EXPECT_EQ(program.tensors[dispatch.operands[1].tensor].elements, 102u * 64);
  w.expert_load.counts = {7, 7, 7, 7};
  const StepProgram even = build_step_program(model, w);
  EXPECT_EQ(operator_named(even, "layers.0.ffn.gate_up").gemm.m, 32u);
  w.expert = 1;
  w.expert_load.counts = {5, 3, 1, 1};
  EXPECT_EQ(build_step_program(model, w).forward_flops().value(), even.forward_flops().value());
}

TEST(Experts, OfTheCpuNeedNoCopiesOfTokensOnTheGpu) {
  const Model model = from_config(tiny_mixtral);
  Workload w = workload();
  w.experts_on_cpu = true;
  const StepProgram program = build_step_program(model, w);
  const Operator& forward = operator_named(program, "layers.0.experts.cpu");
  // 64 copies of tokens by 3 matrices of 64 x 96
  EXPECT_EQ(forward.flops.value(), 2.0 * 64 * 64 * 96 * 3);
  // an expert that each of 32 tokens leaves out with 1/2 is read all the same; copies in and out
  const double used = 1 - std::pow(0.5, 32);
  EXPECT_NEAR(static_cast<double>(forward.bytes.value()),
              used * 4 * 3 * 64 * 96 * 2 + 2 * 64 * 64 * 2, 1);
  EXPECT_NO_THROW(check(program));
  EXPECT_EQ(forward.cpu_keeps, Bytes(64 * (3 * 96 + 64) * 2));  // gate, up, product; output
  EXPECT_EQ(operator_named(program, "layers.0.experts.cpu.backward").flops.value(),
            forward.flops.value());
  for (const Operator& op : program.operators)
    EXPECT_EQ(op.name.find("experts.input"), std::string::npos);
}

}  // namespace
}  // namespace spillway::models::experts_test
