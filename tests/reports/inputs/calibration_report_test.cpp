#include "reports/inputs/calibration_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CalibrationReport, SaysBothPredictionsInOneUnit) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  answer::Calibration all;
  all.scenario = "tiny";
  all.runs = {{"log", "DeepSpeed", 1, {{"GPU memory", "bytes", 4 * gib, 8 * gib, 6 * gib}}, {}}};
  const std::string report = calibration_report(all, {});
  EXPECT_THAT(report, HasSubstr("8.00 GiB"));
  EXPECT_THAT(report, HasSubstr("6.00 GiB"));
  EXPECT_THAT(report, Not(HasSubstr(" GB")));
}

}  // namespace
}  // namespace spillway::reports
