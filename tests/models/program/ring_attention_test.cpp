#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"
#include "tests/models/type_configs.hpp"

#include <gmock/gmock.h>

/// Ranks that pass keys and values on.
namespace spillway::models::ring_attention_test {
namespace {

Workload workload(std::uint64_t ranks, std::uint64_t sequence = 48) {
  Workload w;
  w.sequence = sequence;
  w.context = ranks;
  w.context_in_ring = true;
  w.causal_skip = true;
  return w;
}

struct Shifts {
  std::uint64_t bytes = 0, number = 0, beside = 0;
};

Shifts shifts(const StepProgram& program, Span span) {
  Shifts found;
  for (std::uint32_t i = span.first; i < span.last; ++i) {
    const Operator& op = program.operators[i];
    if (op.kind != OperatorKind::ring_shift) continue;
    found.bytes += program.tensors[op.operands.front().tensor].bytes.value();
    ++found.number;
    found.beside += op.beside;
  }
  return found;
}

TEST(RingAttention, SendsKeysAndValuesRoundOnceAndTheirGradientsHome) {
  const Model model = from_config(tiny_llama);
  for (const std::uint64_t ranks : {2u, 3u, 4u}) {
    const StepProgram program = build_step_program(model, workload(ranks));
    check(program);
    // a rank's 48 / c tokens, 2 KV heads of 16, 2 B, of keys and of values
    const std::uint64_t block = 48 / ranks * 2 * 16 * 2 * 2;
    const Shifts forward = shifts(program, program.layers[1].forward);
    EXPECT_EQ(forward.bytes, (ranks - 1) * block);
    EXPECT_EQ(forward.number, forward.beside);
    // once more, and c times the gradients, of which the last transfer is beside nothing
    const Shifts backward = shifts(program, program.layers[1].backward);
    EXPECT_EQ(backward.bytes, (ranks - 1) * block + ranks * block);
    EXPECT_EQ(backward.number, backward.beside + 2);
  }
}

TEST(RingAttention, ComputesAsMuchAsTheWholeInEqualBlocks) {
  const Model model = from_config(tiny_llama);
  const StepProgram whole = build_step_program(model, workload(1));
  const StepProgram ring = build_step_program(model, workload(4));
  EXPECT_DOUBLE_EQ(ring.forward_flops().value() * 4, whole.forward_flops().value());
  std::vector<double> blocks;
  const Span span = ring.layers[1].forward;
  for (std::uint32_t i = span.first; i < span.last; ++i)
    if (ring.operators[i].function == OperatorFunction::attention_block)
      blocks.push_back(ring.operators[i].flops.value());
  // scores: 2 x 2 x 48 x 48 / 2 x 64 of causal attention, over 4 ranks and 4 blocks
  EXPECT_THAT(blocks, ::testing::Each(::testing::DoubleEq(2.0 * 2 * 48 * 48 / 2 * 64 / 16)));
  EXPECT_EQ(blocks.size(), 4u);
}

TEST(RingAttention, NeverHasAllTokensKeysOnARank) {
  const StepProgram program = build_step_program(from_config(tiny_llama), workload(4));
  for (const Tensor& tensor : program.tensors)
    if (tensor.name.find("attention") != std::string::npos &&
        tensor.name.find("key") != std::string::npos && !tensor.weight) {
      EXPECT_EQ(tensor.elements, 48u / 4 * 2 * 16) << tensor.name;
    }
  // what forward saves of a block is what one of as many tokens saves
  Workload alone = workload(1, 12);
  const StepProgram short_one = build_step_program(from_config(tiny_llama), alone);
  const auto saved = [](const StepProgram& of) {
    std::uint64_t bytes = 0;
    for (const TensorId id : of.saved_by(1)) bytes += of.tensors[id].bytes.value();
    return bytes;
  };
  EXPECT_EQ(saved(program), saved(short_one));
}

TEST(RingAttention, EveryTypeHasAProgramThatHoldsOrSaysWhyNot) {
  std::size_t shared = 0;
  for (const TypeConfig& type : type_configs) {
    SCOPED_TRACE(type.name);
    try {
      check(build_step_program(from_config(type.json), workload(2, 16)));
      ++shared;
    } catch (const description::ScenarioError& error) {
      EXPECT_NE(std::string(error.what()).find("parallel."), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(shared, 20u);
}

TEST(RingAttention, AsksForTwoPiecesARankAndForFlashAttention) {
  const auto refusal = [](const Workload& w) {
    try {
      build_step_program(from_config(tiny_llama), w);
    } catch (const description::ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal(workload(4, 20)), ::testing::HasSubstr("two pieces each of 20 tokens"));
  Workload scores = workload(2);
  scores.attention = Attention::materialized;
  EXPECT_THAT(refusal(scores), ::testing::HasSubstr("materialized scores: write ulysses"));
  scores.context = 3;  // over which ulysses cannot share 4 heads
  EXPECT_THAT(refusal(scores), ::testing::HasSubstr("scores: write parallel.context 1"));
  Workload packed = workload(2);
  packed.document = 8;
  EXPECT_THAT(refusal(packed), ::testing::HasSubstr("documents"));
  // heads stay whole: 2 KV heads over 3 ranks
  EXPECT_EQ(refusal(workload(3)), "");
}

}  // namespace
}  // namespace spillway::models::ring_attention_test
