#include "reports/result/purpose.hpp"

#include <gtest/gtest.h>
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
