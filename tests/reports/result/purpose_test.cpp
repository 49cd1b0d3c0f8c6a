#include "reports/result/purpose.hpp"

#include "scenarios/description/scenario.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace spillway::result::purpose_test {
namespace {

TEST(Purpose, HasANameOfItsOwnForEveryValue) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < purpose_count; ++i) {
    const std::string_view name = to_string(static_cast<Purpose>(i));
    EXPECT_FALSE(name.empty()) << i;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Purpose, KeepsNamesAndValuesInTheSameOrder) {
  EXPECT_EQ(to_string(Purpose::weights), "weights");
  EXPECT_EQ(to_string(Purpose::gpu_rounding), "gpu_rounding");
  EXPECT_EQ(to_string(Purpose::parameter_pool), "parameter_pool");
  EXPECT_EQ(to_string(Purpose::swap_out_buffer), "swap_out_buffer");
  EXPECT_EQ(to_string(Purpose::runtime_base), "runtime_base");
}

TEST(PurposeRow, EveryPurposeHasOneAndNoTierHasTwo) {
  std::set<std::pair<std::string_view, Purpose>> seen;
  for (const PurposeRow& row : purpose_rows()) {
    EXPECT_TRUE(seen.insert({row.tier, row.purpose}).second) << to_string(row.purpose);
    EXPECT_FALSE(row.knobs.empty()) << to_string(row.purpose);
    EXPECT_FALSE(row.smaller.empty()) << to_string(row.purpose);
    EXPECT_TRUE(row.tier == "gpu" || row.tier == "host" || row.tier == "ssd");
  }
  for (std::size_t i = 0; i < purpose_count; ++i)
    EXPECT_NE(row_of("host", to_string(static_cast<Purpose>(i))), nullptr) << i;
}

TEST(PurposeRow, NamesPathsThatEveryScenarioHas) {
  const nlohmann::json scenario = description::Scenario{};
  for (const PurposeRow& row : purpose_rows())
    for (const Knob& knob : row.knobs) {
      std::string pointer = "/" + std::string(knob.path);
      std::replace(pointer.begin(), pointer.end(), '.', '/');
      EXPECT_TRUE(scenario.contains(nlohmann::json::json_pointer(pointer))) << knob.path;
    }
}

TEST(PurposeRow, IsThatOfAnotherTierWhereAPurposeHasNoneOfItsOwn) {
  EXPECT_EQ(row_of("gpu", "weights")->tier, "gpu");
  EXPECT_EQ(row_of("ssd", "weights")->tier, "ssd");
  EXPECT_EQ(row_of("ssd", "process_base")->tier, "host");
  EXPECT_EQ(row_of("host", "no such purpose"), nullptr);
}

TEST(Phase, IsFoundByTheNameItPrints) {
  for (std::size_t i = 0; i < phase_count; ++i) {
    const Phase phase = static_cast<Phase>(i);
    EXPECT_EQ(phase_named(to_string(phase)), phase);
  }
  EXPECT_EQ(phase_named("overflow_check"), Phase::overflow_check);
}

TEST(Phase, IsNotFoundByAnyOtherName) {
  EXPECT_EQ(phase_named(""), std::nullopt);
  EXPECT_EQ(phase_named("Forward"), std::nullopt);
  EXPECT_EQ(phase_named("forward "), std::nullopt);
}

}  // namespace
}  // namespace spillway::result::purpose_test
