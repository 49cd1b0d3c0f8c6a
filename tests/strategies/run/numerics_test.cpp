#include "strategies/run/numerics.hpp"
#include "tests/reports/text/words_of.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies::numerics_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// What a result says of its numbers.
std::vector<std::string> notes(const std::string& system, const Overrides& overrides) {
  return text::words_of(count(small_model("llama", system, overrides)).result.notes);
}

TEST(Numerics, SayHowStatesOf16BitsAreRounded) {
  const Overrides narrow = {"training.precision=bf16_mixed", "training.optimizer_state=bf16"};
  const auto says = Contains(HasSubstr("the nearest number of 16 bits, ties to even"));
  EXPECT_THAT(notes("zero_offload", narrow), says);
  EXPECT_THAT(notes("resident", narrow), says);
  EXPECT_THAT(notes("zero_offload", {"training.precision=bf16_mixed"}), Not(says));
}

TEST(Numerics, SayThatNoSimulatedStepIsTakenBack) {
  const Overrides clipped = {"training.precision=bf16_mixed", "training.gradient_clipping=1"};
  const auto says = Contains(HasSubstr("simulated steps are never taken back"));
  EXPECT_THAT(notes("superoffload", clipped), says);
  EXPECT_THAT(notes("zero_offload", clipped), Not(says));
  EXPECT_THAT(notes("superoffload", {"training.precision=bf16_mixed"}), Not(says));
}

}  // namespace
}  // namespace spillway::strategies::numerics_test
