#include "strategies/run/packed_base.hpp"

#include "tests/reports/text/words_of.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// What trainers make of a base in 4 or 8 bits that is counted otherwise.
namespace spillway::strategies::packed_base_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const auto says = Contains(HasSubstr("prepare_model_for_kbit_training makes them fp32"));

description::Scenario on_base(const std::string& base, Overrides more = {}) {
  more.insert(more.begin(), {"training.method=qlora", "training.lora.base=" + base});
  return small_model("llama", "resident", more);
}

std::vector<std::string> notes_of(const description::Scenario& scenario) {
  return text::words_of(count(scenario).result.notes);
}

// Two bytes more for each number of what is not in a matrix of a block; a scale of each 64 numbers
// in 4 bytes in place of 1, and none of each 256 scales.
TEST(PackedBase, TellsWhatPlainTrainersTakeMore) {
  const description::Scenario scenario = on_base("nf4");
  const models::Model model = model_of(scenario);
  std::uint64_t others = 0, packed = 0;
  for (const models::WeightTensor& weight : model.weights)
    if (!weight.is_adapter())
      (weight.multiplies_in_block() ? packed : others) += weight.parameters.value();
  const UncountedOfBase more = uncounted_of_base(scenario.training, model);
  EXPECT_EQ(more.widened, 2 * others);
  EXPECT_EQ(more.plain_scales, packed / 64 * 3 - packed / 64 / 256 * 4);
  EXPECT_THAT(notes_of(scenario), says);
  EXPECT_THAT(notes_of(scenario), Contains(HasSubstr("without bnb_4bit_use_double_quant")));
}

// Two bytes more for each number of the experts as well, which are a tensor of each layer.
TEST(PackedBase, NamesExpertsThatAreOneTensor) {
  const auto with = [](const std::string& experts) {
    return small_model("mixtral", "resident",
                       {"training.method=qlora", "training.experts=" + experts});
  };
  const models::Model model = model_of(with("stacked"));
  std::uint64_t experts = 0;
  for (const models::WeightTensor& weight : model.weights)
    if (weight.is_stacked()) experts += weight.parameters.value();
  ASSERT_GT(experts, 0u);
  const UncountedOfBase more = uncounted_of_base(with("stacked").training, model);
  EXPECT_EQ(more.widened_experts, 2 * experts);
  EXPECT_GT(more.widened, more.widened_experts);
  const auto named = Contains(HasSubstr("head, and experts that are one tensor of each layer,"));
  EXPECT_THAT(notes_of(with("stacked")), named);
  EXPECT_THAT(notes_of(with("stacked")), Contains(HasSubstr("of which is the experts")));
  EXPECT_THAT(notes_of(with("separate")), says);
  EXPECT_THAT(notes_of(with("separate")), Not(named));
}

TEST(PackedBase, InEightBitsHasScalesOfOneKind) {
  const description::Scenario scenario = on_base("int8");
  EXPECT_EQ(uncounted_of_base(scenario.training, model_of(scenario)).plain_scales, 0u);
  EXPECT_THAT(notes_of(scenario), says);
  EXPECT_THAT(notes_of(scenario), Not(Contains(HasSubstr("double_quant"))));
}

TEST(PackedBase, IsSaidOfNoOther) {
  EXPECT_THAT(notes_of(small_model("llama", "resident", {"training.method=lora"})), Not(says));
  EXPECT_THAT(notes_of(small_model("llama", "resident")), Not(says));
}

TEST(PackedBase, SaysThatItDoesNotFitThen) {
  const auto on_card = [](std::uint64_t bytes) {
    return on_base("nf4", {"machine.gpu.memory=" + std::to_string(bytes) + " B"});
  };
  const std::uint64_t peak = count(on_base("nf4")).result.gpu.total;
  const UncountedOfBase more = uncounted_of_base(on_base("nf4").training, model_of(on_base("nf4")));
  const auto warns = Contains(HasSubstr("; that does not fit: a GPU then needs"));
  EXPECT_THAT(notes_of(on_card(peak)), warns);
  EXPECT_THAT(notes_of(on_card(peak + more.widened + more.plain_scales)), Not(warns));
}

}  // namespace
}  // namespace spillway::strategies::packed_base_test
