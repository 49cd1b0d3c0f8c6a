#include "reports/result/what_if.hpp"

#include <gtest/gtest.h>

namespace spillway::result::what_if_test {
namespace {

/// 40 s a step, the GPU busy for 10 of them and the processor for none.
Result sample() {
  Result result;
  result.scenario = {{"machine", {{"storage", {{{"name", "nvme"}, {"kind", "ssd"}}}}}}};
  result.step_time_s = 40;
  result.utilization.gpu = 0.25;
  result.utilization.storage["nvme"] = 0.9;
  result.bottleneck = "gpu";
  return result;
}

TEST(LimitedBy, IsTheSameWordInTheJson) {
  Result result = sample();
  EXPECT_FALSE(nlohmann::json(result)["bottleneck"].contains("limited_by"));  // nobody asked
  add_what_ifs(result, {{"one more ssd", {30.0}}, {"twice the gpu rate", {35.0}}});
  EXPECT_EQ(limited_by(result), "nvme");
  const nlohmann::json said = nlohmann::json(result)["bottleneck"];
  EXPECT_EQ(said["limited_by"], "nvme");
  EXPECT_EQ(said["resource"], "gpu");                      // the busiest
  add_what_ifs(result, {{"twice the gpu rate", {39.9}}});  // 0.25 %
  EXPECT_TRUE(nlohmann::json(result)["bottleneck"]["limited_by"].is_null());
}

/// A fifth drive takes 0.19 off the step's logarithm with 0.22 of its own, twice the GPU 0.22 with
/// 0.69: twice the drives would do more.
TEST(LimitedBy, CountsWhatEachAdds) {
  Result result = sample();
  result.scenario["machine"]["storage"][0]["count"] = 4;
  add_what_ifs(result, {{"one more ssd", {33.0}}, {"twice the gpu rate", {32.0}}});
  EXPECT_EQ(limited_by(result), "nvme");
  result.scenario["machine"]["storage"][0]["count"] = 1;
  EXPECT_EQ(limited_by(result), "gpu");
}

/// The plan of the machine as it is runs on a better one too: 41 s and no room at all are 40 s.
TEST(AddWhatIfs, NeverMakesBetterHardwareSlower) {
  Result result = sample();
  add_what_ifs(result, {{"twice the pcie rate", {41.0}},
                        {"twice the cpu rate", {}},
                        {"twice the gpu rate", {40.0}},
                        {"without sata", {39.0}}});
  EXPECT_EQ(result.next.at("twice the pcie rate").step_time_s, 40.0);
  EXPECT_EQ(result.next.at("twice the cpu rate").step_time_s, 40.0);
  EXPECT_EQ(result.next.at("twice the cpu rate").why, "a plan for it is no better than this one");
  EXPECT_EQ(result.next.at("twice the gpu rate").why,
            "gpu works 25 % of a step, and others keep it waiting");
  ASSERT_TRUE(result.next.at("twice the gpu rate").why.number());
  EXPECT_EQ(result.next.at("twice the gpu rate").why.number()->value, result.utilization.gpu);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(
      result.notes[0],
      "a step is shorter without sata: all drives are one stripe, which waits for the slowest");
}

/// Sooner updates are what faster hardware brings there, and they may cost a step time.
TEST(AddWhatIfs, LeaveStepsAloneThatDoNotWaitForUpdates) {
  Result result = sample();
  result.staleness = Staleness{};
  result.staleness->max = 3;
  add_what_ifs(result, {{"one more ssd", {41.0}}});
  EXPECT_EQ(result.next.at("one more ssd").step_time_s, 41.0);
  EXPECT_EQ(result.next.at("one more ssd").why,
            "updates that no step waits for meet other steps, which is no cost of it");
}

}  // namespace
}  // namespace spillway::result::what_if_test
