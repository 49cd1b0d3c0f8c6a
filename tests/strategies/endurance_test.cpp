#include "strategies/endurance.hpp"
#include "scenarios/read_machine.hpp"
#include "scenarios/shipped.hpp"
#include "tests/strategies/machines.hpp"

#include <cmath>

namespace spillway::strategies {
namespace {

using description::Seconds;
constexpr double day = 86400, year = 365 * day, pb = 1e15;

TEST(Endurance, OneDayInsteadOfThreeYearsIsWorthAFactorOf86) {
  EXPECT_DOUBLE_EQ(retention_relaxation(Seconds(day), Seconds(3 * year)), 86);
  EXPECT_DOUBLE_EQ(retention_relaxation(Seconds(3 * year), Seconds(3 * year)), 1);
  EXPECT_DOUBLE_EQ(retention_relaxation(Seconds(3 * year), Seconds(day)), 1.0 / 86);
  // half way on the logarithm: sqrt(86)
  const double middle = std::sqrt(3 * year * day);
  EXPECT_NEAR(retention_relaxation(Seconds(middle), Seconds(3 * year)), std::sqrt(86.0), 1e-9);
  EXPECT_EQ(retention_relaxation(Seconds(0), Seconds(3 * year)), 1);
  EXPECT_EQ(retention_relaxation(Seconds(day), Seconds(0)), 1);
}

/// SSDTrain's projection: four 1 TB drives of 600 TB each, a day's retention.
description::MachineFile ssdtrain() {
  return scenarios::read_machine(
      scenarios::shipped_file("scenarios/machines", "ssdtrain_estimate"));
}

TEST(Endurance, SsdTrainsDrivesTake516PetabytesAndLast2Point7Years) {
  const description::MachineFile machine = ssdtrain();
  // 4 x 600 TB x 2.5 x 86 = 516 PB
  EXPECT_NEAR(lifetime_writes(machine.storage[0]).value(), 516 * pb, 1e-6 * pb);
  // 12.1 GB/s, half of it writing: 516 PB / 6.05 GB/s = 85.3e6 s = 2.70 years of 365 days
  const auto step = static_cast<std::uint64_t>(6.05e9);
  const std::optional<result::Wear> wear = wear_of(machine, {{step, step}}, 1.0);
  ASSERT_TRUE(wear);
  EXPECT_NEAR(wear->lifetime_years.value(), 2.70, 0.005);
  EXPECT_NEAR(wear->write_bytes_per_day, 6.05e9 * day, 1);
  EXPECT_NEAR(wear->rated_write_bytes, 2.4 * pb, 1);
  EXPECT_EQ(wear->storage, "nvme");
}

TEST(Endurance, NothingWrittenOrNothingRatedHasNoLifetime) {
  description::MachineFile machine = ssdtrain();
  EXPECT_FALSE(wear_of(machine, {{5, 0}}, 1.0)->lifetime_years);
  EXPECT_FALSE(wear_of(machine, {{5, 5}}, 0.0)->lifetime_years);
  machine.storage[0].endurance.reset();
  EXPECT_FALSE(lifetime_writes(machine.storage[0]));
  EXPECT_FALSE(wear_of(machine, {{5, 5}}, 1.0)->lifetime_years);
  machine.storage.clear();
  EXPECT_FALSE(wear_of(machine, {}, 1.0));
}

TEST(Endurance, TheStorageThatWearsOutFirstIsReported) {
  description::MachineFile machine = ssdtrain();
  machine.storage.push_back(machine.storage[0]);
  machine.storage[1].name = "second";
  EXPECT_EQ(wear_of(machine, {{0, 10}, {0, 20}}, 1.0)->storage, "second");
  EXPECT_EQ(wear_of(machine, {{0, 20}, {0, 10}}, 1.0)->storage, "nvme");
  EXPECT_EQ(wear_of(machine, {{0, 20}, {0, 20}}, 1.0)->storage, "nvme");  // a tie
  machine.storage[0].kind = description::StorageKind::remote;
  EXPECT_EQ(wear_of(machine, {{0, 20}, {0, 10}}, 1.0)->storage, "second");
}

}  // namespace
}  // namespace spillway::strategies
