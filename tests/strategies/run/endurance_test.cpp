#include "strategies/run/endurance.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/shipped.hpp"
#include "tests/strategies/machine/machines.hpp"

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

/// One step of a second and a million tokens that wrote so much on each storage, in one write.
StepWrites writing(const std::vector<std::uint64_t>& bytes, double seconds = 1) {
  StepWrites step{{}, seconds, 1e6, 1};
  for (const std::uint64_t each : bytes) step.by_storage.emplace_back().add(each);
  return step;
}

TEST(Endurance, SsdTrainsDrivesTake516PetabytesAndLast2Point7Years) {
  const description::MachineFile machine = ssdtrain();
  // 4 x 600 TB x 2.5 x 86 = 516 PB
  EXPECT_NEAR(lifetime_writes(machine.storage[0], 1).value(), 516 * pb, 1e-6 * pb);
  // 12.1 GB/s, half of it writing: 516 PB / 6.05 GB/s = 85.3e6 s = 2.70 years of 365 days
  const std::optional<result::Wear> wear = wear_of(machine, writing({6'050'000'000}));
  ASSERT_TRUE(wear);
  EXPECT_NEAR(wear->lifetime_years.value(), 2.70, 0.005);
  EXPECT_NEAR(wear->write_bytes_per_day, 6.05e9 * day, 1);
  EXPECT_NEAR(wear->rated_write_bytes, 2.4 * pb, 1);
  EXPECT_EQ(wear->storage, "nvme");
  EXPECT_EQ(wear->waf, 1);  // stated, whatever the sizes
  EXPECT_EQ(wear->drives, 4u);
  EXPECT_NEAR(wear->lifetime_write_bytes.value(), 516 * pb, 1e-6 * pb);
  EXPECT_NEAR(wear->write_bytes_per_day_per_drive, 6.05e9 * day / 4, 1);
  EXPECT_NEAR(wear->drive_writes_per_day, 6.05e9 * day / 4 / 1e12, 1e-9);
  EXPECT_FALSE(wear->rated_drive_writes_per_day);
  // four drives of 90 USD wear off 6.05 GB / 516 PB of themselves in a step of a million tokens
  EXPECT_NEAR(wear->usd_per_million_tokens.value(), 4 * 90 * 6.05e9 / (516 * pb), 1e-12);
}

TEST(Endurance, TeraIosDrivesTakeTheStatesOf11300Steps) {
  description::MachineFile machine =
      scenarios::read_machine(scenarios::shipped_file("scenarios/machines", "teraio_2xh100"));
  for (description::StorageSpec& array : machine.storage) {
    array.endurance->rated = description::Bytes(1'200'000'000'000'000);  // its four drives, each
    array.endurance->rating_waf = 1;                                     // bytes as rated
    array.endurance->waf = 1;
    array.endurance->retention = array.endurance->rated_retention;
  }
  // 12 B a parameter of Llama3-70B in all, half of it on each array: 4.8 PB / 423 GB = 11,340
  const auto half = static_cast<std::uint64_t>(6 * 70.55e9);
  const result::Wear wear = *wear_of(machine, writing({half, half}));
  EXPECT_NEAR(*wear.lifetime_write_bytes / wear.write_bytes_per_step, 11'300, 50);
}

TEST(Endurance, TheMostWornDriveEndsFirstAndEachCountsWithItsOwnBytes) {
  description::MachineFile machine = ssdtrain();  // four drives of 600 TB
  const double fresh = *wear_of(machine, writing({1'000'000}))->lifetime_years;
  const auto tb = [](std::uint64_t number) {
    return description::Bytes(number * 1'000'000'000'000);
  };
  machine.storage[0].endurance->written = {tb(150), tb(300), tb(60)};
  const result::Wear worn = *wear_of(machine, writing({1'000'000}));
  EXPECT_DOUBLE_EQ(worn.written_before_bytes, 510e12);
  EXPECT_DOUBLE_EQ(worn.most_worn_bytes, 300e12);
  EXPECT_DOUBLE_EQ(*worn.lifetime_years, fresh / 2);  // half of the most worn one is left
  // one more is new: five share the writes, and the first ends as if all had half left
  machine.storage[0].count = 5;
  const result::Wear more = *wear_of(machine, writing({1'000'000}));
  EXPECT_DOUBLE_EQ(more.written_before_bytes, 510e12);
  EXPECT_DOUBLE_EQ(*more.lifetime_years, fresh / 2 * 5 / 4);
  // of two drives those of the list stay that are worn least
  machine.storage[0].count = 2;
  EXPECT_DOUBLE_EQ(wear_of(machine, writing({1'000'000}))->written_before_bytes, 210e12);
  EXPECT_DOUBLE_EQ(wear_of(machine, writing({1'000'000}))->most_worn_bytes, 150e12);
}

TEST(Endurance, NothingWrittenOrNothingRatedHasNoLifetime) {
  description::MachineFile machine = ssdtrain();
  EXPECT_FALSE(wear_of(machine, writing({0}))->lifetime_years);
  EXPECT_FALSE(wear_of(machine, writing({0}))->usd_per_million_tokens);
  EXPECT_FALSE(wear_of(machine, writing({5}, 0))->lifetime_years);
  machine.prices_usd->ssd = 0;  // inside the server's price
  EXPECT_FALSE(wear_of(machine, writing({5}))->usd_per_million_tokens);
  machine.prices_usd->ssd = 90;
  machine.storage[0].endurance.reset();
  EXPECT_FALSE(lifetime_writes(machine.storage[0], 1));
  EXPECT_FALSE(wear_of(machine, writing({5}))->lifetime_years);
  EXPECT_FALSE(wear_of(machine, writing({5}))->usd_per_million_tokens);
  machine.storage.clear();
  EXPECT_FALSE(wear_of(machine, {}));
}

TEST(Endurance, TheStorageThatWearsOutFirstIsReported) {
  description::MachineFile machine = ssdtrain();
  machine.storage.push_back(machine.storage[0]);
  machine.storage[1].name = "second";
  EXPECT_EQ(wear_of(machine, writing({10, 20}))->storage, "second");
  EXPECT_EQ(wear_of(machine, writing({20, 10}))->storage, "nvme");
  EXPECT_EQ(wear_of(machine, writing({20, 20}))->storage, "nvme");  // a tie
  // the price is that of both: four drives of 90 USD each, 30 bytes of 516 PB
  EXPECT_NEAR(wear_of(machine, writing({20, 10}))->usd_per_million_tokens.value(),
              4 * 90 * 30 / (516 * pb), 1e-22);
  machine.storage[0].kind = description::StorageKind::remote;
  EXPECT_EQ(wear_of(machine, writing({20, 10}))->storage, "second");
}

TEST(Endurance, OfDrivesWithoutARatingThatTakeMostNobodyKnowsHowLongTheyLast) {
  description::MachineFile machine = ssdtrain();
  machine.storage.push_back(machine.storage[0]);
  machine.storage[1].name = "unrated";
  machine.storage[1].endurance.reset();
  for (const std::uint64_t more : {10, 20}) {  // or as much
    const result::Wear wear = *wear_of(machine, writing({10, more}));
    EXPECT_EQ(wear.storage, "unrated");
    EXPECT_FALSE(wear.lifetime_years || wear.usd_per_million_tokens);
  }
  EXPECT_EQ(wear_of(machine, writing({10, 5}))->storage, "nvme");
  EXPECT_EQ(wear_of(machine, writing({0, 0}))->storage, "nvme");
  machine.storage[1].count *= 4;  // each of them less
  EXPECT_EQ(wear_of(machine, writing({10, 20}))->storage, "nvme");
}

TEST(Endurance, EachNodeThatWritesWearsOffItsOwnDrives) {
  StepWrites step = writing({6'050'000'000});
  step.nodes = 8;
  EXPECT_NEAR(wear_of(ssdtrain(), step)->usd_per_million_tokens.value(),
              8 * 4 * 90 * 6.05e9 / (516 * pb), 1e-11);
}

TEST(Endurance, DrivesThatNodesShareTakeWhatAllOfThemWrite) {
  description::MachineFile machine = ssdtrain();
  StepWrites step = writing({6'050'000'000});
  const result::Wear own = *wear_of(machine, step);
  machine.storage[0].shared_by_nodes = true;
  step.nodes = 8;
  step.live_bytes = {1e11};
  const result::Wear shared = *wear_of(machine, step);
  EXPECT_DOUBLE_EQ(shared.write_bytes_per_step, 8 * 6.05e9);
  EXPECT_DOUBLE_EQ(shared.write_bytes_per_day, 8 * own.write_bytes_per_day);
  EXPECT_NEAR(shared.lifetime_years.value(), own.lifetime_years.value() / 8, 1e-9);
  // there are four drives in all
  EXPECT_NEAR(shared.usd_per_million_tokens.value(), 4 * 90 * 8 * 6.05e9 / (516 * pb), 1e-11);
  // 8 x 1e11 of 4 x 1e12 bytes, beside flash that is no capacity
  EXPECT_NEAR(shared.filled, 0.2, 1e-9);
}

// ---- Warranty

TEST(Endurance, TheWarrantyCountsTheBytesOfTheHostAndNothingElse) {
  description::MachineFile machine = ssdtrain();
  machine.storage[0].endurance->warranty = Seconds(5 * year);
  const result::Wear wear = *wear_of(machine, writing({6'050'000'000}));
  // 4 x 600 TB at 6.05 GB/s: 396,694 s, whatever the flash could stand
  EXPECT_NEAR(wear.warranty_years.value(), 2.4e15 / 6.05e9 / year, 1e-9);
  EXPECT_DOUBLE_EQ(wear.warranty_limit_years.value(), 5);
  EXPECT_LT(*wear.warranty_years, *wear.lifetime_years);
  EXPECT_FALSE(wear_of(machine, writing({0}))->warranty_years);
}

TEST(Endurance, SaysHowFullADriveIsOfTheRunAndOfOthers) {
  description::MachineFile machine = ssdtrain();  // four drives of 1 TB
  StepWrites step = writing({1'000'000'000});
  step.live_bytes = {400e9};
  EXPECT_DOUBLE_EQ(wear_of(machine, step)->filled, 0.1);
  machine.storage[0].endurance->held = description::Bytes(300'000'000'000);
  EXPECT_DOUBLE_EQ(wear_of(machine, step)->filled, 0.4);
  machine.storage[0].endurance->trimmed = false;
  EXPECT_DOUBLE_EQ(wear_of(machine, step)->filled, 1);
}

TEST(Endurance, WhatWritesShortensTheLife) {
  description::MachineFile machine = ssdtrain();
  description::StorageSpec& drive = machine.storage[0];
  drive.count = 1;
  drive.endurance->waf.reset();
  drive.endurance->over_provisioning = 0.1;
  drive.endurance->erase_block = 1_GiB;
  drive.endurance->mapping_unit = 4_KiB;
  drive.endurance->retention = drive.endurance->rated_retention;
  StepWrites step = writing({});
  WriteSizes& writes = step.by_storage.emplace_back();
  for (int i = 0; i < 1000; ++i) writes.add(64 << 10);
  step.live_bytes = {1e12};
  const double waf = random_write_waf(1 / 1.1);  // 16,385 parts a block
  const result::Wear wear = *wear_of(machine, step);
  EXPECT_DOUBLE_EQ(wear.waf, waf);
  EXPECT_NEAR(wear.lifetime_years.value(), 600e12 * 2.5 / waf / (65.536e6 * day * 365), 1e-9);
}

TEST(Endurance, SaysWhatCachesThereAreAndWhichDriveIsTakenToNeedNone) {
  description::MachineFile machine = ssdtrain();  // 600 TB behind 1 TB: 0.33 drive writes a day
  result::Result result;
  result.io.by_storage["nvme"] = {0, 5};
  note_caches(machine, result);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(
      result.notes[0],
      "nvme is taken to sustain its rate of 5.00 GB/s for writes: it is rated as a consumer "
      "drive and has no slc_cache; give it slc_cache, with size and folded_write, or name its "
      "\"part\"");
  EXPECT_TRUE(result.slc_caches.empty());
  machine.storage[0].slc_cache = {description::Bytes(100'000'000'000),
                                  description::BytesPerSecond(1e9)};
  result.notes.clear();
  note_caches(machine, result);
  EXPECT_TRUE(result.notes.empty());
  EXPECT_EQ(result.slc_caches.at("nvme").size_bytes, 400e9);  // four drives
  EXPECT_EQ(result.slc_caches.at("nvme").folded_write_bytes_per_s, 4e9);
  machine.storage[0].endurance->held = description::Bytes(400'000'000'000);
  note_caches(machine, result);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0],
            "400.0 GB of each drive of nvme are others' (endurance.held): a run has the other "
            "600.0 GB");
  machine.storage[0].endurance->held = {};
  result.notes.clear();
  machine.storage[0].slc_cache.reset();
  machine.storage[0].endurance->rated = description::Bytes(1'825'000'000'000'000);  // one a day
  note_caches(machine, result);
  EXPECT_TRUE(result.notes.empty());
  // nobody says what the drive is: it may be one that slows down
  machine.storage[0].endurance.reset();
  note_caches(machine, result);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(
      words(result.notes[0]).substr(0, 88),
      "nvme is taken to sustain its rate of 5.00 GB/s for writes: it has neither slc_cache nor ");
}

TEST(WriteSizes, CountsEqualSizesTogetherInAscendingOrder) {
  WriteSizes sizes;
  for (const std::uint64_t bytes : {8, 4, 8, 8, 2, 4, 0}) sizes.add(bytes);
  ASSERT_EQ(sizes.all().size(), 3u);
  EXPECT_EQ(sizes.all()[0].bytes, 2u);
  EXPECT_EQ(sizes.all()[1].count, 2u);
  EXPECT_EQ(sizes.all()[2].bytes, 8u);
  EXPECT_EQ(sizes.all()[2].count, 3u);
}

}  // namespace
}  // namespace spillway::strategies
