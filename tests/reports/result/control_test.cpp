#include "reports/result/control.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace spillway::result::control_test {
namespace {

using nlohmann::json;

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

// One rank has nobody to share with, and a stage that is set brings nothing more.
TEST(Shrinks, NamesAHigherZeroStageOnlyWhereItIsOne) {
  const auto words = [](const char* purpose, std::uint64_t ranks, std::uint64_t stage) {
    return shrinks_with("gpu", purpose, {{"parallel", {{"data", ranks}, {"zero_stage", stage}}}});
  };
  const std::string moved = "weights at home in host memory or on SSD";
  EXPECT_EQ(words("weights", 4, 2), "ZeRO stage 3, " + moved);
  EXPECT_EQ(words("weights", 4, 3), moved);
  EXPECT_EQ(words("weights", 1, 3), moved);
  EXPECT_EQ(words("weights", 1, 0), moved);
  EXPECT_EQ(words("optimizer_states", 2, 0).find("ZeRO stage 1, an update on the CPU"), 0u);
  EXPECT_EQ(words("optimizer_states", 2, 1).find("an update on the CPU"), 0u);
  EXPECT_EQ(words("optimizer_states", 1, 0).find("an update on the CPU"), 0u);
  EXPECT_EQ(words("norm_copies", 2, 3), "norms in place");
  EXPECT_EQ(words("logits", 4, 0).find("ZeRO"), std::string::npos);
  // ranks that share a sample share the model too
  const nlohmann::json of_context = {{"data", 1}, {"context", 2}, {"zero_stage", 0}};
  EXPECT_EQ(shrinks_with("gpu", "weights", {{"parallel", of_context}}), "ZeRO stage 3, " + moved);
}

}  // namespace
}  // namespace spillway::result::control_test
