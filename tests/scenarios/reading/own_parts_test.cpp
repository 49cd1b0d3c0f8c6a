#include "scenarios/reading/own_parts.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios::own_parts_test {
namespace {

using nlohmann::json;

json read(const json& scenario, const std::vector<std::string>& overrides = {}) {
  return read_scenario(scenario, overrides, test_systems()).scenario;
}

const json resolved = read({{"model", "gpt2"},
                            {"machine", "memascend_c1"},
                            {"training", {{"precision", "fp16_mixed"}}},
                            {"strategy", {{"system", "zero_infinity"}}}},
                           {"strategy.optimizer.buffers=8"});

TEST(OwnParts, AreLeftOutAndReadAgainAsTheSame) {
  const json brief = with_own_parts(resolved, test_systems());
  EXPECT_EQ(brief.at("strategy"),
            (json{{"system", "zero_infinity"}, {"optimizer", {{"buffers", 8}}}}));
  EXPECT_EQ(read(brief), resolved);
}

TEST(OwnParts, DoNotStayWhereAnotherSystemIsNamed) {
  const std::vector<std::string> other = {"strategy.system=memascend"};
  const json brief = read(with_own_parts(resolved, test_systems()), other);
  EXPECT_EQ(brief.at("strategy").at("weights").at("pool"), "adaptive");
  EXPECT_EQ(brief.at("strategy").at("optimizer").at("buffers"), 8);
  EXPECT_EQ(read(resolved, other).at("strategy").at("weights").at("pool"), "monolithic");
}

TEST(OwnParts, OfASystemThatNobodyKnowsStay) {
  json unknown = resolved;
  unknown["strategy"]["system"] = "other";
  EXPECT_EQ(with_own_parts(unknown, test_systems()), unknown);
}

}  // namespace
}  // namespace spillway::scenarios::own_parts_test
