#include "hw_backend/probe/smart_log.hpp"

#include <gtest/gtest.h>

namespace spillway::hw_backend {
namespace {

TEST(SmartLog, NumbersAreLittleEndian) {
  EXPECT_EQ(wide_number({0x01, 0x02}), 0x0201);
  EXPECT_EQ(wide_number({}), 0);
  EXPECT_EQ(wide_number({0, 0, 0, 0, 0, 0, 0, 0, 1}), 18446744073709551616.0);  // 2^64
}

TEST(SmartLog, RatesADriveByWhatItUsedUp) {
  // 60 TB were 20 %: 300 TB
  EXPECT_EQ(rated_bytes({20, 60e12}), 300e12);
  EXPECT_EQ(rated_bytes({10, 60e12}), 600e12);
  EXPECT_EQ(rated_bytes({9, 60e12}), std::nullopt);  // too roughly rounded
  EXPECT_EQ(rated_bytes({254, 508e12}), 200e12);
  EXPECT_EQ(rated_bytes({255, 508e12}), std::nullopt);  // anything above 254
  EXPECT_EQ(rated_bytes({20, 0}), std::nullopt);
}

TEST(SmartLog, IsMissingWhereThereIsNoNvmeDrive) {
  EXPECT_EQ(read_smart_log(""), std::nullopt);
  EXPECT_EQ(read_smart_log("sda"), std::nullopt);
  EXPECT_EQ(read_smart_log("nvme-of-nobody"), std::nullopt);
}

}  // namespace
}  // namespace spillway::hw_backend
