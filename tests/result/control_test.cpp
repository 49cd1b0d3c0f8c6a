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

}  // namespace
}  // namespace spillway::result::control_test
