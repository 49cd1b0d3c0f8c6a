#include "strategies/machine/setup.hpp"
#include "strategies/run/numerics.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gtest/gtest.h>

/// Trainings whose products multiply 8-bit copies.
namespace spillway::strategies::fp8_test {
namespace {

/// A GPU on which every product is bound by its rate: 1 and 2 GFLOP/s, 1 GB/s of memory.
const Overrides slow{"machine.gpu.compute.bf16=1 GFLOPS", "machine.gpu.compute.fp16=1 GFLOPS",
                     "machine.gpu.compute.fp8=2 GFLOPS",  "machine.gpu.memory_rate=1 GB/s",
                     "machine.gpu.matrix_half=0",         "machine.gpu.launch=0 s"};

description::Scenario training(const std::string& system, const std::string& precision,
                               Overrides more = {}) {
  more.insert(more.end(), slow.begin(), slow.end());
  more.push_back("training.precision=" + precision);
  more.emplace_back("strategy.overflow_check=none");
  return small_model("llama", system, more);
}

/// Of the matrices of blocks, and their number.
struct Blocks {
  std::uint64_t parameters = 0, matrices = 0;
  explicit Blocks(const models::Model& model) {
    for (const models::WeightTensor& weight : model.weights) {
      if (!weight.multiplies_in_block()) continue;
      parameters += weight.parameters.value();
      ++matrices;
    }
  }
};

/// Of each matrix 1024 maxima of five tensors, a scale and its inverse, 4 B each.
constexpr std::uint64_t scales = 5 * (1024 + 2) * 4;

TEST(Fp8, KeepsTwoCopiesOfWeightsThatStayOnTheGpu) {
  const description::Scenario scenario = training("resident", "fp8");
  const Blocks blocks(model_of(scenario));
  EXPECT_EQ(at_peak(count(scenario).result.gpu, "weight_copies"),
            2 * blocks.parameters + blocks.matrices * scales);
  const description::Scenario once = training("resident", "fp8", {"training.fp8.transposes=false"});
  EXPECT_EQ(at_peak(count(once).result.gpu, "weight_copies"),
            blocks.parameters + blocks.matrices * scales);
}

// Masters and states are those of bf16_mixed; so are weights and gradients.
TEST(Fp8, HasTheStatesOfMixedPrecision) {
  const result::PeakBytes narrow = count(training("resident", "fp8")).result.gpu;
  const result::PeakBytes wide = count(training("resident", "bf16_mixed")).result.gpu;
  for (const char* purpose : {"weights", "gradients", "optimizer_states"})
    EXPECT_EQ(at_peak(narrow, purpose), at_peak(wide, purpose)) << purpose;
  EXPECT_LT(at_peak(narrow, "activations"), at_peak(wide, "activations"));
}

TEST(Fp8, KeepsNoCopiesOfWeightsThatComeAndGo) {
  for (const char* system : {"zero_infinity", "memascend", "lohan"}) {
    const description::Scenario scenario = training(system, "fp8");
    EXPECT_EQ(scenario.training.fp8.weight_copies, description::WeightCopies::per_use) << system;
    const Blocks blocks(model_of(scenario));
    const result::Result result = count(scenario).result;
    EXPECT_EQ(at_peak(result.gpu, "weight_copies"), blocks.matrices * scales) << system;
  }
}

const Overrides lora{"training.method=lora", "training.lora.targets=all_linear"};

// A frozen matrix goes back through its transposed copy, too; adapters have none, and gradients and
// states as in 16 bits.
TEST(Fp8, KeepsTwoCopiesOfAFrozenBase) {
  const description::Scenario scenario = training("resident", "fp8", lora);
  const Blocks blocks(model_of(scenario));
  const result::PeakBytes narrow = count(scenario).result.gpu;
  EXPECT_EQ(at_peak(narrow, "weight_copies"), 2 * blocks.parameters + blocks.matrices * scales);
  const result::PeakBytes wide = count(training("resident", "bf16_mixed", lora)).result.gpu;
  for (const char* purpose : {"weights", "gradients", "optimizer_states"})
    EXPECT_EQ(at_peak(narrow, purpose), at_peak(wide, purpose)) << purpose;
  // of two equal blocks the lower one has no backward
  const description::Scenario lower =
      training("resident", "fp8",
               {"training.method=frozen", R"(training.frozen=["embeddings","layers.0"])"});
  EXPECT_EQ(at_peak(count(lower).result.gpu, "weight_copies"),
            (1 + 2) * blocks.parameters / 2 + blocks.matrices * scales);
}

/// What fp8 adds to a step of bf16_mixed.
double longer_s(std::uint64_t micro_batches, const Overrides& method = {}) {
  Overrides some{"training.gradient_accumulation=" + std::to_string(micro_batches)};
  some.insert(some.end(), method.begin(), method.end());
  return simulate(training("resident", "fp8", some)).step_time_s -
         simulate(training("resident", "bf16_mixed", some)).step_time_s;
}

/// What 8 bits change in time: of a micro-batch what products save and copies of what they read and
/// of gradients take, of a step copies of weights, seconds.
struct EightBitSeconds {
  double saved, of_a_micro_batch, of_a_step;
};
///   products  of a matrix
///   bytes     that making a copy of one number reads and writes
EightBitSeconds seconds_of(const description::Scenario& scenario, double products, double bytes) {
  const models::Model model = model_of(scenario);
  const models::Architecture& a = model.architecture;
  const auto parameters = static_cast<double>(Blocks(model).parameters);
  const double tokens =
      static_cast<double>(scenario.training.micro_batch * scenario.training.sequence);
  const auto copied = static_cast<double>(
      a.layers * (2 * a.hidden + a.attention_width() + a.ffn +  // inputs
                  a.query_width() + 2 * a.kv_width() + 2 * a.hidden + 2 * a.ffn));
  return {products * 2 * tokens * parameters / 1e9 / 2, bytes * tokens * copied / 1e9,
          4 * parameters / 1e9};
}

// Three products a matrix take half of the time. Copies are read in 2 B and written in 1 + 1: of
// weights once a step; of what products read, the outputs of two norms, of attention and of the
// gated product; of the gradients of all they write.
TEST(Fp8, HalvesTheProductsAndMakesCopies) {
  const auto [saved, of_a_micro_batch, of_a_step] = seconds_of(training("resident", "fp8"), 3, 4);
  const double once = longer_s(1);
  EXPECT_NEAR(once, of_a_step + of_a_micro_batch - saved, 1e-6 * saved);
  EXPECT_LT(once, 0);
  EXPECT_NEAR(longer_s(2), of_a_step + 2 * (of_a_micro_batch - saved), 1e-6 * saved);
}

// Of a frozen base two products a matrix take half of the time, and what they read has one copy:
// read in 2 B, written in 1. What an adapter multiplies takes what it takes in 16 bits.
TEST(Fp8, BesideAdaptersHalvesTheProductsOfTheBase) {
  const auto [saved, of_a_micro_batch, of_a_step] =
      seconds_of(training("resident", "fp8", lora), 2, 3);
  EXPECT_NEAR(longer_s(1, lora), of_a_step + of_a_micro_batch - saved, 1e-6 * saved);
  EXPECT_NEAR(longer_s(2, lora), of_a_step + 2 * (of_a_micro_batch - saved), 1e-6 * saved);
}

TEST(Fp8, BesideAdaptersRunsWhereverTheyDo) {
  std::size_t ran = 0;
  for (const char* system : {"resident", "zero_offload", "zero_infinity", "memascend", "ssdtrain"})
    for (const char* dora : {"false", "true"}) {
      SCOPED_TRACE(std::string(system) + " " + dora);
      Overrides more = lora;
      more.push_back(std::string("training.lora.dora=") + dora);
      const description::Scenario scenario = training(system, "fp8", more);
      EXPECT_TRUE(count(scenario).result.feasible());
      EXPECT_TRUE(simulate(scenario).feasible());
      ++ran;
    }
  EXPECT_EQ(ran, 10u);
}

// Made for each of three uses: the weight is read in 2 B, its copy written and read in 1 B; what
// stays would be read in 1 B. Products hide neither.
TEST(Fp8, WaitsForCopiesThatAreMadeForEachUse) {
  const Blocks blocks(model_of(training("resident", "fp8")));
  const double kept = simulate(training("resident", "fp8")).step_time_s;
  const double made =
      simulate(training("resident", "fp8", {"training.fp8.weight_copies=per_use"})).step_time_s;
  // forward and the product of the input's gradient; the weight's gradient reads no weight
  const double each = 3 * static_cast<double>(blocks.parameters) / 1e9;
  EXPECT_NEAR(made - kept, 2 * each - 4 * static_cast<double>(blocks.parameters) / 1e9, 1e-6);
}

TEST(Fp8, LeavesAttentionAndTheHeadAtTheRateOfBf16) {
  const description::Scenario scenario = training("resident", "fp8");
  EXPECT_EQ(compute_rate(scenario), 1e9);
  EXPECT_EQ(fp8_rate(scenario), 2e9);
  EXPECT_EQ(attention_rate(scenario), 1e9);
  EXPECT_EQ(fastest_rate(scenario), 2e9);
}

}  // namespace
}  // namespace spillway::strategies::fp8_test
