#include "models/program/stages.hpp"

#include "tests/models/configs.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace spillway::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* tied_llama = R"({"model_type": "llama", "hidden_size": 64,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 100, "tie_word_embeddings": true})";
constexpr const char* tiny_dit = R"({"model_type": "dit", "depth": 2, "hidden_size": 64,
    "num_heads": 4, "mlp_ratio": 4, "in_channels": 4, "patch_size": 2, "learn_sigma": true,
    "num_classes": 10})";

/// A model with its step, cut before the given layers.
struct Cut {
  Model model;
  StepProgram program;
  std::vector<PipelineStage> stages;
  Cut(const char* config, const std::vector<std::uint32_t>& first_layers)
      : model(from_config(config)),
        program(build_step_program(model, small())),
        stages(cut_into_stages(model, program, first_layers)) {}

  static Workload small() {
    Workload w;
    w.micro_batch = 2;
    w.sequence = 16;
    return w;
  }
  std::vector<std::string> names(const std::vector<TensorId>& tensors) const {
    std::vector<std::string> all;
    for (const TensorId id : tensors) all.push_back(program.tensors[id].name);
    return all;
  }
};

TEST(Stages, HaveEveryPassOnceAndTheUpdateOfWhatTheyHold) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_t5, tiny_mixtral, tied_llama}) {
    const Cut cut(config, {0, 2});
    std::vector<std::string> passes;
    for (const PipelineStage& stage : cut.stages)
      for (const Span span : {stage.program.forward, stage.program.backward})
        for (std::uint32_t i = span.first; i < span.last; ++i)
          passes.push_back(stage.program.operators[i].name);
    std::vector<std::string> whole;
    for (std::uint32_t i = 0; i < cut.program.backward.last; ++i)
      whole.push_back(cut.program.operators[i].name);
    EXPECT_THAT(passes, ::testing::UnorderedElementsAreArray(whole));
    std::size_t held = 0, updated = 0, tied = 0;
    for (const PipelineStage& stage : cut.stages) {
      for (const Layer& layer : stage.model.layers) held += layer.weights.size();
      updated += stage.program.update.last - stage.program.update.first;
      tied += stage.tied.size();
    }
    EXPECT_EQ(held, updated);
    EXPECT_EQ(held, cut.model.weights.size() + tied / 2);  // a copy more of each tied one
    for (const PipelineStage& stage : cut.stages)
      for (const LayerSpan& layer : stage.program.layers)
        for (std::uint32_t i = layer.backward.first; i < layer.backward.last; ++i)
          EXPECT_EQ(stage.program.operators[i].layer,
                    stage.program.operators[layer.forward.first].layer);
  }
}

TEST(Stages, OfADecoderHandOverItsHiddenStatesAndTheirGradients) {
  const Cut cut(tiny_llama, {0, 2});  // embedding and block 0; block 1 and head
  const Crossings &first = cut.stages[0].pieces.front().crossings,
                  &second = cut.stages[1].pieces.front().crossings;
  EXPECT_THAT(first.sends_forward, ElementsAre(*cut.program.layers[1].output));
  EXPECT_EQ(first.sends_forward, second.receives_forward);
  EXPECT_THAT(second.sends_backward, ElementsAre(*cut.program.layers[1].output_gradient));
  EXPECT_EQ(second.sends_backward, first.receives_backward);
  EXPECT_THAT(first.receives_forward, IsEmpty());
  EXPECT_THAT(second.sends_forward, IsEmpty());
  EXPECT_THAT(cut.stages[0].tied, IsEmpty());
}

TEST(Stages, PassOnWhatOnlyStagesFurtherAwayNeed) {
  // embedding, encoder 0 | encoder 1, norm | decoder 0 | decoder 1, head
  const Cut cut(tiny_t5, {0, 2, 4, 5});
  for (std::size_t i = 0; i + 1 < cut.stages.size(); ++i) {
    EXPECT_EQ(cut.stages[i].pieces.front().crossings.sends_forward,
              cut.stages[i + 1].pieces.front().crossings.receives_forward);
    EXPECT_EQ(cut.stages[i].pieces.front().crossings.receives_backward,
              cut.stages[i + 1].pieces.front().crossings.sends_backward);
  }
  // the decoder's first hidden states are made with the encoder's
  const TensorId encoder = *cut.program.layers[3].output;
  const auto& past_encoders = cut.stages[1].pieces.front().crossings;
  EXPECT_EQ(past_encoders.receives_forward.size(), 2u);
  EXPECT_EQ(past_encoders.sends_forward.size(), 2u);
  EXPECT_EQ(
      std::count(past_encoders.sends_forward.begin(), past_encoders.sends_forward.end(), encoder),
      1);
  EXPECT_THAT(cut.stages[2].pieces.front().crossings.sends_forward,
              ::testing::UnorderedElementsAre(encoder, *cut.program.layers[4].output));
  // encoder 1 adds the bias of encoder 0's table, decoder 1 that of decoder 0's
  ASSERT_EQ(cut.stages[1].tied.size(), 1u);
  EXPECT_THAT(cut.stages[1].tied.front().stages, ElementsAre(0, 1));
  std::vector<std::vector<std::uint32_t>> last;
  for (const TiedWeight& tied : cut.stages[3].tied) last.push_back(tied.stages);
  EXPECT_THAT(last, ElementsAre(ElementsAre(0, 3), ElementsAre(2, 3)));  // the words; the table
}

TEST(Stages, OfADiffusionTransformerAllHaveTheCondition) {
  const Cut cut(tiny_dit, {0, 2});
  EXPECT_EQ(cut.stages[1].pieces.front().crossings.receives_forward.size(), 2u);
  EXPECT_EQ(cut.stages[1].pieces.front().crossings.sends_backward.size(), 2u);
}

TEST(Stages, TiedEmbeddingsBelongToBothEnds) {
  const Cut cut(tied_llama, {0, 2, 3});
  const std::uint32_t words = cut.model.layers.front().weights.front();
  for (const std::size_t end : {0u, 2u}) {
    ASSERT_EQ(cut.stages[end].tied.size(), 1u);
    EXPECT_EQ(cut.stages[end].tied.front().weight, words);
    EXPECT_THAT(cut.stages[end].tied.front().stages, ElementsAre(0, 2));
  }
  EXPECT_THAT(cut.stages[1].tied, IsEmpty());
  const Layer& head = cut.stages[2].model.layers.back();
  EXPECT_EQ(head.weights.back(), words);
  EXPECT_THAT(head.borrowed, IsEmpty());
  const Cut whole(tied_llama, {0});
  EXPECT_THAT(whole.stages[0].tied, IsEmpty());
  EXPECT_THAT(whole.stages[0].model.layers.back().borrowed, ElementsAre(words));
  EXPECT_EQ(whole.stages[0].model.parameters, whole.model.parameters);
}

}  // namespace
}  // namespace spillway::models
