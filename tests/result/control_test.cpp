#include "reports/result/control.hpp"

#include "scenarios/description/scenario.hpp"

#include <gtest/gtest.h>
#include <set>

namespace spillway::result::control_test {
namespace {

using nlohmann::json;

TEST(Control, EveryPurposeHasOneAndNoTierHasTwo) {
  std::set<std::pair<std::string_view, Purpose>> seen;
  for (const Control& control : controls()) {
    EXPECT_TRUE(seen.insert({control.tier, control.purpose}).second) << to_string(control.purpose);
    EXPECT_FALSE(control.knobs.empty()) << to_string(control.purpose);
    EXPECT_FALSE(control.smaller.empty()) << to_string(control.purpose);
    EXPECT_TRUE(control.tier == "gpu" || control.tier == "host" || control.tier == "ssd");
  }
  for (std::size_t i = 0; i < purpose_count; ++i)
    EXPECT_NE(control_of("host", to_string(static_cast<Purpose>(i))), nullptr) << i;
}

TEST(Control, NamesPathsThatEveryScenarioHas) {
  const json scenario = description::Scenario{};
  for (const Control& control : controls())
    for (const Knob& knob : control.knobs) {
      std::string pointer = "/" + std::string(knob.path);
      std::replace(pointer.begin(), pointer.end(), '.', '/');
      EXPECT_TRUE(scenario.contains(json::json_pointer(pointer))) << knob.path;
    }
}

TEST(Control, IsThatOfAnotherTierWhereAPurposeHasNoneOfItsOwn) {
  EXPECT_EQ(control_of("gpu", "weights")->tier, "gpu");
  EXPECT_EQ(control_of("ssd", "weights")->tier, "ssd");
  EXPECT_EQ(control_of("ssd", "process_base")->tier, "host");
  EXPECT_EQ(control_of("host", "no such purpose"), nullptr);
}

TEST(Setting, TellsTheValuesInForce) {
  json scenario = {{"strategy", {{"optimizer", {{"buffers", 5}, {"subgroup", "1e8 params"}}}}}};
  EXPECT_EQ(setting_of("host", "optimizer_swap_buffers", scenario, 5),
            "strategy.optimizer.buffers = 5, strategy.optimizer.subgroup = 1e8 params");
  scenario["strategy"]["optimizer"]["buffers"] = "auto";
  EXPECT_EQ(setting_of("host", "optimizer_swap_buffers", scenario, 4),
            "strategy.optimizer.buffers = 4 (auto), strategy.optimizer.subgroup = 1e8 params");
}

TEST(Setting, LeavesOutWhatHasNoSay) {
  json weights = {{"buffer_count", "auto"}, {"pool", "monolithic"}, {"prefetch_blocks", 1}};
  EXPECT_EQ(setting_of("host", "parameter_pool", {{"strategy", {{"weights", weights}}}}, 9),
            "strategy.weights.buffer_count = 9 (auto), strategy.weights.pool = monolithic, "
            "strategy.weights.prefetch_blocks = 1");
  weights["pool"] = "adaptive";  // counts its own buffers, by shape
  EXPECT_EQ(setting_of("host", "parameter_pool", {{"strategy", {{"weights", weights}}}}, 2),
            "strategy.weights.pool = adaptive, strategy.weights.prefetch_blocks = 1");
}

TEST(Setting, OfNothingKnownIsEmpty) {
  EXPECT_EQ(setting_of("host", "no such purpose", {{"strategy", 1}}, 1), "");
  EXPECT_EQ(setting_of("host", "parameter_pool", nullptr, 1), "");
  EXPECT_EQ(setting_of("host", "parameter_pool", {{"strategy", "lohan"}}, 1), "");
}

}  // namespace
}  // namespace spillway::result::control_test
