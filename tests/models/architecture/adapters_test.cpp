#include "models/architecture/adapters.hpp"

#include "models/program/check.hpp"
#include "models/program/formats.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"
#include "tests/models/type_configs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>

namespace spillway::models {
namespace {

using description::AdapterType;
using description::BaseType;
using description::Method;
using description::ScenarioError;
using description::Training;

Training lora(std::vector<std::string> targets, std::uint64_t rank = 8) {
  Training training;
  training.method = Method::lora;
  training.lora.rank = rank;
  training.lora.targets = std::move(targets);
  return training;
}

Training freezing(std::vector<std::string> names) {
  Training training;
  training.method = Method::frozen;
  training.frozen = std::move(names);
  return training;
}

Workload workload_of(const Training& training, bool fused = true) {
  Workload w;
  w.sequence = 16;
  w.fused_kernels = fused;
  w.adapters = training.lora.adapters;
  w.base = training.lora.base;
  return w;
}

std::string complaint_about(const Model& model, const Training& training) {
  try {
    as_trained(model, training);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

// What PEFT prints of tloen/alpaca-lora: trainable params 4,194,304, all 6,742,609,920.
TEST(Adapters, AreAsManyAsPeftCounts) {
  const Model model = as_trained(from_library("llama-2-7b"), lora({"q_proj", "v_proj"}));
  EXPECT_EQ(model.trained_parameters().value(), 4'194'304u);
  EXPECT_EQ(model.parameters.value(), 6'742'609'920u);
}

TEST(Adapters, StandBehindTheirModules) {
  const Model model = as_trained(from_config(tiny_llama), lora({"k_proj"}, 4));
  const std::uint32_t key = model.layers[1].weights[1];
  EXPECT_EQ(model.weights[key].name, "model.layers.0.self_attn.k_proj.weight");
  EXPECT_EQ(model.weights[key].adapter, key + 1);
  const WeightTensor &down = model.weights[key + 1], &up = model.weights[key + 2];
  EXPECT_EQ(down.name, "model.layers.0.self_attn.k_proj.lora_A.weight");
  EXPECT_EQ(up.name, "model.layers.0.self_attn.k_proj.lora_B.weight");
  EXPECT_THAT(down.shape, testing::ElementsAre(4, 64));  // h 64, 2 KV heads of 16
  EXPECT_THAT(up.shape, testing::ElementsAre(32, 4));
  EXPECT_TRUE(model.weights[key].frozen);
  EXPECT_FALSE(down.frozen || up.frozen);
}

TEST(Adapters, BehindABiasBelongToItsMatrix) {
  const Model model = as_trained(from_config(tiny_gpt2), lora({"all_linear"}, 4));
  const Model plain = from_config(tiny_gpt2);
  EXPECT_EQ(model.weights.size(), plain.weights.size() + 2 * 4 * 2);  // 2 blocks of 4 matrices
  const std::uint32_t both = model.layers[1].weights[2];              // behind a norm
  EXPECT_EQ(model.weights[both].name, "transformer.h.0.attn.c_attn.weight");
  EXPECT_EQ(model.weights[both].adapter, both + 2);
  EXPECT_THAT(model.weights[both + 2].shape, testing::ElementsAre(4, 64));
  EXPECT_THAT(model.weights[both + 3].shape, testing::ElementsAre(192, 4));
  EXPECT_EQ(model.layers.back().borrowed, std::vector<std::uint32_t>{0});  // the tied embedding
}

TEST(Adapters, KeepThePromisesOfAStepProgram) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_bert, tiny_t5, tiny_mixtral, narrow_opt})
    for (const ExpertLayout experts : {ExpertLayout::stacked, ExpertLayout::separate})
      for (const char* targets : {"attention", "all_linear"})
        for (const BaseType base : {BaseType::bf16, BaseType::nf4})
          for (const bool fused : {true, false}) {
            Training training = lora({targets});
            training.lora.base = base;
            const Model model = as_trained(from_config(config, experts), training);
            EXPECT_NO_THROW(check(build_step_program(model, workload_of(training, fused))))
                << config << targets;
          }
}

// PEFT refuses out_proj of Mamba 2 in types whose kernels multiply by it themselves.
TEST(Adapters, LeaveOutWhatKernelsOfStateSpacesMultiplyBy) {
  const Model plain = from_config(config_of("nemotron_h"));
  const Model model = as_trained(plain, lora({"all_linear"}));
  std::set<std::string> names;
  for (const WeightTensor& weight : model.weights)
    if (weight.adapter && weight.layer == 1) names.insert(weight.name);
  EXPECT_THAT(names, testing::ElementsAre("backbone.layers.0.mixer.in_proj.weight"));
  EXPECT_THAT(complaint_about(plain, lora({"out_proj"})),
              testing::HasSubstr("PEFT gives out_proj of nemotron_h no adapter"));
}

// Of one block of tiny_llama, 16 tokens: query and output 64 x 64, key and value 64 x 32, three
// matrices 64 x 96, so 30,720 weights; the head 64 x 100. Backward multiplies each once, for its
// input; attention, twice what forward does, stays.
TEST(Adapters, HalveTheProductsOfBackward) {
  const Training training = lora({"v_proj"}, 4);
  const StepProgram whole = build_step_program(from_config(tiny_llama), workload_of(Training()));
  const StepProgram program =
      build_step_program(as_trained(from_config(tiny_llama), training), workload_of(training));
  const double frozen = 2 * 16.0 * (2 * 30720 + 6400);
  const double adapters = 2 * 16.0 * 2 * (64 * 4 + 4 * 32);
  EXPECT_DOUBLE_EQ(program.forward_flops().value(), whole.forward_flops().value() + adapters);
  EXPECT_DOUBLE_EQ(program.flops(program.backward).value(),
                   whole.flops(whole.backward).value() - frozen + 2 * adapters);
}

// An adapter saves what it reads, and what is between its matrices; a frozen matrix saves nothing.
TEST(Adapters, SaveWhatTheyReadAlone) {
  const auto saved = [](const Training& training) {
    const Model model = as_trained(from_config(tiny_llama), training);
    const StepProgram program = build_step_program(model, workload_of(training));
    std::vector<std::string> names;
    for (const TensorId id : program.saved_by(1)) names.push_back(program.tensors[id].name);
    return names;
  };
  using testing::Contains;
  using testing::Not;
  const auto value = saved(lora({"v_proj"}));
  EXPECT_THAT(value, Contains("layers.0.attention.norm.output"));
  EXPECT_THAT(value, Contains("layers.0.attention.value.adapter"));
  EXPECT_THAT(value, Not(Contains("layers.0.ffn.norm.output")));
  EXPECT_THAT(value, Not(Contains("layers.0.ffn.product")));
  const auto down = saved(lora({"down_proj"}));
  EXPECT_THAT(down, Not(Contains("layers.0.attention.norm.output")));
  EXPECT_EQ(saved(Training()).size(), saved(lora({"all_linear"})).size() - 7);
}

/// One of the first block, under its name there.
const Operator& of_first_block(const StepProgram& program, const std::string& name) {
  for (const Operator& one : program.operators)
    if (one.name == "layers.0." + name) return one;
  throw std::invalid_argument(name);
}

Training dora(std::vector<std::string> targets, std::uint64_t rank) {
  Training training = lora(std::move(targets), rank);
  training.lora.dora = true;
  return training;
}

// Values of 16 tokens: 64 inputs, 32 outputs, rank 4, numbers of 2 B and norms of 4. Scratch is the
// identity of the inputs, B A, its scaled copy and the sum; the identity is written and read, of
// the others B A is written and read, the scaled copy too, the sum too.
TEST(Magnitudes, TakeTheNormsOfWholeMatrices) {
  const Training training = dora({"v_proj"}, 4);
  const Model model = as_trained(from_config(tiny_llama), training);
  const StepProgram program = build_step_program(model, workload_of(training));
  constexpr std::uint64_t in = 64, out = 32, rank = 4, tokens = 16;
  const Operator& norms = of_first_block(program, "attention.value.weight_norms");
  EXPECT_EQ(norms.workspace, Bytes(2 * (in * in + 3 * in * out)));
  EXPECT_EQ(norms.flops.value(), 2.0 * rank * in * in + 2.0 * rank * in * out);
  EXPECT_EQ(norms.bytes, Bytes(2 * (out * in + rank * in + out * rank) + 4 * out +
                               2 * (2 * in * in + 6 * in * out)));
  EXPECT_TRUE(norms.saved.empty());
  const Operator& scaled = of_first_block(program, "attention.value.magnitude");
  EXPECT_EQ(scaled.bytes, Bytes(3 * 2 * tokens * out + 2 * out + 4 * out));
  const StepProgram plain = build_step_program(
      as_trained(from_config(tiny_llama), lora({"v_proj"}, 4)), workload_of(lora({"v_proj"}, 4)));
  const auto saved = [](const StepProgram& of) {
    std::uint64_t bytes = 0;
    for (const TensorId id : of.saved_by(1)) bytes += of.tensors[id].bytes.value();
    return bytes;
  };
  EXPECT_EQ(saved(program) - saved(plain), 2 * 2 * tokens * out + 4 * out);
}

TEST(Magnitudes, AreOneTrainedNumberAnOutput) {
  const Model plain = as_trained(from_config(tiny_llama), lora({"all_linear"}, 4));
  const Model model = as_trained(from_config(tiny_llama), dora({"all_linear"}, 4));
  // of two blocks: query and output 64, key and value 32, gate and up 96, down 64
  EXPECT_EQ(model.trained_parameters().value() - plain.trained_parameters().value(),
            2u * (2 * 64 + 2 * 32 + 2 * 96 + 64));
  const std::uint32_t key = model.layers[1].weights[4];
  EXPECT_EQ(model.weights[key].name, "model.layers.0.self_attn.k_proj.weight");
  EXPECT_EQ(model.weights[key + 3].name,
            "model.layers.0.self_attn.k_proj.lora_magnitude_vector.weight");
  EXPECT_THAT(model.weights[key + 3].shape, testing::ElementsAre(32));
}

TEST(Magnitudes, KeepThePromisesOfAStepProgram) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_bert, tiny_t5, tiny_mixtral, narrow_opt})
    for (const BaseType base : {BaseType::bf16, BaseType::nf4})
      for (const AdapterType adapters : {AdapterType::bf16, AdapterType::fp32}) {
        Training training = dora({"all_linear"}, 4);
        training.lora.base = base;
        training.lora.adapters = adapters;
        const Model model = as_trained(from_config(config), training);
        EXPECT_NO_THROW(check(build_step_program(model, workload_of(training)))) << config;
      }
}

TEST(Adapters, HaveStatesThatTheFrozenModelHasNot) {
  Training training = lora({"all_linear"});
  training.method = Method::qlora;
  training.lora.base = BaseType::nf4;
  training.lora.adapters = description::AdapterType::fp32;
  const Model model = as_trained(from_config(tiny_llama), training);
  const Formats formats(training);
  const std::uint32_t query = model.layers[1].weights[0];
  const WeightFormats base = formats.of(model.weights[query]);
  EXPECT_FALSE(base.gradient);
  EXPECT_TRUE(base.states.empty());
  // 4096 numbers of 4 bits, 64 scales of 8 bits, one fp32 scale for up to 256 of those
  EXPECT_EQ(base.weight.bytes(64 * 64), 2048u + 64 + 4);
  const WeightFormats adapter = formats.of(model.weights[query + 1]);
  EXPECT_EQ(adapter.weight, fp32_numbers);
  EXPECT_EQ(adapter.gradient, fp32_numbers);
  EXPECT_EQ(adapter.states.size(), 2u);  // no other master
  // embeddings and head stay as kernels read them
  EXPECT_EQ(formats.of(model.weights.front()).weight, NumberFormat(ElementType::bf16));
  EXPECT_EQ(formats.of(model.weights.back()).weight, NumberFormat(ElementType::bf16));
}

// QLoRA (2023), 3: double quantisation leaves 0.127 bits a parameter for scales.
TEST(Formats, OfDoubleQuantisationTakeAnEighthOfABitForScales) {
  Training training = lora({"attention"});
  training.lora.base = BaseType::nf4;
  WeightTensor matrix;
  matrix.kind = WeightKind::query;
  matrix.shape = {1 << 12, 1 << 12};
  matrix.frozen = true;
  const double bits = 8.0 * static_cast<double>(Formats(training).of(matrix).weight.bytes(1 << 24));
  EXPECT_NEAR(bits / (1 << 24), 4.127, 0.0005);
  training.lora.base = BaseType::int8;  // a byte each, an fp32 scale a row
  EXPECT_EQ(Formats(training).of(matrix).weight.bytes(1 << 24), (1u << 24) + 4 * (1u << 12));
}

TEST(Frozen, LayersAtTheBottomHaveNoBackward) {
  const Model model = as_trained(from_config(tiny_llama), freezing({"embeddings", "layers.0"}));
  EXPECT_EQ(model.first_trained_layer(), 2u);
  const StepProgram program = build_step_program(model, workload_of(Training()));
  EXPECT_NO_THROW(check(program));
  for (const std::uint32_t layer : {0u, 1u}) {
    EXPECT_EQ(program.layers[layer].backward.first, program.layers[layer].backward.last);
    EXPECT_TRUE(program.saved_by(layer).empty());
  }
  std::size_t trained = 0;
  for (const WeightTensor& weight : model.weights) trained += !weight.frozen;
  EXPECT_EQ(program.update.last - program.update.first, trained);
}

TEST(Frozen, LayersInTheMiddlePassGradientsOn) {
  const Model model = as_trained(from_config(tiny_llama), freezing({"layers.1", "lm_head"}));
  EXPECT_EQ(model.first_trained_layer(), 0u);
  EXPECT_NO_THROW(check(build_step_program(model, workload_of(Training()))));
  EXPECT_NO_THROW(check(build_step_program(model, workload_of(Training(), false))));
}

TEST(Names, ThatFitNothingAreRefusedWithWhatIsNear) {
  const Model llama = from_config(tiny_llama);
  EXPECT_EQ(complaint_about(llama, lora({"q_prj"})),
            "training.lora.targets: no matrix of a block of test is named \"q_prj\"; did you mean "
            "\"q_proj\"? known: all_linear, attention, down_proj, gate_proj, k_proj, o_proj, "
            "q_proj, up_proj, v_proj");
  EXPECT_THAT(complaint_about(llama, lora({"lm_head"})),
              testing::HasSubstr("no matrix of a block"));
  EXPECT_THAT(complaint_about(llama, freezing({"layer.0"})),
              testing::HasSubstr("has no weight that \"layer.0\" names"));
  EXPECT_THAT(complaint_about(llama, freezing({"model", "lm_head"})),
              testing::HasSubstr("nothing is left to train"));
  EXPECT_EQ(complaint_about(from_config(tiny_gpt2), freezing({"c_attn.weight"})),
            "training.frozen: half of transformer.h.0.attn.c_attn is frozen; name the module, "
            "without weight or bias");
}

}  // namespace
}  // namespace spillway::models
