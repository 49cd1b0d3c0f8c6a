#include "strategies/run/finished_run.hpp"

#include <gtest/gtest.h>

namespace spillway::strategies {
namespace {

using description::Scenario;
using result::FinishedRun;
using result::Result;

/// Two cards, one drive of 1 GB/s; power and prices are round numbers.
Scenario two_cards(double tokens) {
  Scenario scenario;
  scenario.machine.gpu.count = 2;
  scenario.parallel.data = 2;
  description::StorageSpec& drive = scenario.machine.storage.emplace_back();
  drive.name = "nvme";
  drive.write = description::BytesPerSecond(1e9);
  scenario.machine.power = description::Power{400, 100, 200, 10};
  scenario.machine.prices_usd = description::Prices{0, 0, 0, 0, 0.5, 0.2};
  scenario.run.tokens = tokens;
  scenario.run.checkpoint_every = description::Seconds(0);
  return scenario;
}

/// 1000 tokens in 10 s, the GPUs half busy.
Result ten_seconds() {
  Result result;
  result.step_time_s = 10;
  result.tokens_per_s = 100;
  result.utilization.gpu = 0.5;
  return result;
}

TEST(FinishedRun, TakesItsStepsInDaysAndRoundsThemUp) {
  // 8,640,000 tokens / 1000 a step = 8640 steps x 10 s = 1 day
  const FinishedRun run = *finished_run(two_cards(8'640'000), ten_seconds(), 0);
  EXPECT_EQ(run.steps, 8640);
  EXPECT_DOUBLE_EQ(run.days, 1);
  EXPECT_EQ(finished_run(two_cards(8'640'001), ten_seconds(), 0)->steps, 8641);
}

TEST(FinishedRun, CountsCardsBusyAndWaitingTheHostAndTheDrives) {
  // a day: cards 2 x (400 + 100) / 2 W = 500 W, host 200 W, drive 10 W: 24 h x 710 W = 17.04 kWh
  const FinishedRun run = *finished_run(two_cards(8'640'000), ten_seconds(), 0);
  EXPECT_NEAR(run.gpu_kwh.value(), 12, 1e-9);
  EXPECT_NEAR(run.host_kwh.value(), 4.8, 1e-9);
  EXPECT_NEAR(run.ssd_kwh.value(), 0.24, 1e-9);
  EXPECT_NEAR(run.kwh.value(), 17.04, 1e-9);
  EXPECT_NEAR(run.usd.energy.value(), 17.04 * 0.2, 1e-9);
  EXPECT_NEAR(run.usd.rented.value(), 2 * 24 * 0.5, 1e-9);
}

TEST(FinishedRun, WaitsForEachCheckpointAtTheRateOfTheSlowerOfRanksAndDrives) {
  // 14 B of each of 1e9 parameters = 14 GB; two ranks write 2 GB/s, the drive takes 1: 14 s each;
  // one an hour of 86,400 s of training: 24
  Scenario scenario = two_cards(8'640'000);
  scenario.run.checkpoint_every.reset();
  const FinishedRun run = *finished_run(scenario, ten_seconds(), 1e9);
  EXPECT_EQ(run.checkpoints.count, 24);
  EXPECT_DOUBLE_EQ(run.checkpoints.bytes, 14e9);
  EXPECT_DOUBLE_EQ(run.checkpoints.seconds, 14);
  EXPECT_NEAR(run.days, (86400 + 24 * 14) / 86400.0, 1e-12);
  // a fuller cache sets the pace: 0.5 GB/s, 28 s
  scenario.machine.storage[0].slc_cache = {description::Bytes(1), description::BytesPerSecond(5e8)};
  EXPECT_DOUBLE_EQ(finished_run(scenario, ten_seconds(), 1e9)->checkpoints.seconds, 28);
  // a rank that writes 0.1 GB/s: 14 GB / 0.2 GB/s = 70 s
  scenario.run.checkpoint_rate = description::BytesPerSecond(1e8);
  EXPECT_DOUBLE_EQ(finished_run(scenario, ten_seconds(), 1e9)->checkpoints.seconds, 70);
}

/// Two nodes of a card and a drive each.
Scenario two_nodes(double tokens) {
  Scenario scenario = two_cards(tokens);
  scenario.machine.nodes = 2;
  scenario.machine.gpu.count = 1;
  scenario.machine.storage[0].endurance.emplace();
  scenario.machine.storage[0].endurance->rated = description::Bytes(1'000'000'000'000'000);
  scenario.run.checkpoint_every.reset();
  return scenario;
}

/// What drives take of a step: a node's own, or of both nodes those that they share.
Result of_drives(double written) {
  Result result = ten_seconds();
  result.wear.emplace();
  result.wear->storage = "nvme";
  result.wear->write_bytes_per_step = written;
  result.wear->rated_write_bytes = 1e15;
  return result;
}

TEST(FinishedRun, SaysOfSeveralNodesWhatAllTheirDrivesTake) {
  // 8640 steps x 1e11 and 24 x 14 GB / 2 of checkpoints on each of two drives
  const FinishedRun run = *finished_run(two_nodes(8'640'000), of_drives(1e11), 1e9);
  EXPECT_DOUBLE_EQ(run.drives->written_bytes, 2 * (8640 * 1e11 + 12 * 14e9));
  EXPECT_NEAR(run.drives->warranties.value(), 0.864168, 1e-9);
  EXPECT_DOUBLE_EQ(run.checkpoints.seconds, 7);  // each drive half of it, at 1 GB/s
  EXPECT_NEAR(run.ssd_kwh.value(), 2 * 10e-3 * run.days * 24, 1e-9);
}

TEST(FinishedRun, WritesEverythingToDrivesThatNodesShare) {
  Scenario scenario = two_nodes(8'640'000);
  scenario.machine.storage[0].shared_by_nodes = true;
  const FinishedRun run = *finished_run(scenario, of_drives(2e11), 1e9);
  EXPECT_DOUBLE_EQ(run.drives->written_bytes, 8640 * 2e11 + 24 * 14e9);
  EXPECT_EQ(run.drives->replaced, 1);             // 1.73 ratings are written
  EXPECT_DOUBLE_EQ(run.checkpoints.seconds, 14);  // one drive takes all of it
  EXPECT_NEAR(run.ssd_kwh.value(), 10e-3 * run.days * 24, 1e-9);
}

TEST(FinishedRun, SaysWhatItTakesOfTheDrivesWarranty) {
  Result result = ten_seconds();
  result.wear.emplace();
  result.wear->storage = "nvme";
  result.wear->write_bytes_per_step = 1e11;
  result.wear->rated_write_bytes = 1.2e15;
  result.wear->lifetime_write_bytes = 3e15;
  result.wear->usd_per_million_tokens = 2;
  // 8640 steps x 100 GB = 864 TB of 1200 that the warranty allows
  const FinishedRun run = *finished_run(two_cards(8'640'000), result, 0);
  EXPECT_DOUBLE_EQ(run.drives->written_bytes, 8.64e14);
  EXPECT_DOUBLE_EQ(run.drives->warranties.value(), 0.72);
  EXPECT_DOUBLE_EQ(run.drives->used_up.value(), 0.288);
  EXPECT_DOUBLE_EQ(run.usd.drives.value(), 8.64 * 2);
}

/// 8640 steps of 100 GB each on drives that are rated for 200 TB and stand 400 TB.
Result that_writes(double drives) {
  Result result = ten_seconds();
  result.price_usd = 1000;
  result.wear.emplace();
  result.wear->storage = "nvme";
  result.wear->write_bytes_per_step = 1e11;
  result.wear->waf = 0.5;  // of what the rating assumes: twice as many bytes as rated
  result.wear->rated_write_bytes = 2e14 * drives;
  result.wear->lifetime_write_bytes = 4e14 * drives;
  result.wear->usd_per_million_tokens = 100 * 1e11 / 4e14 / 1000 * 1e6;  // 1000 tokens a step
  return result;
}

Scenario on_drives(std::uint64_t count, double usd) {
  Scenario scenario = two_cards(8'640'000);
  description::StorageSpec& drive = scenario.machine.storage[0];
  drive.count = count;
  drive.price_usd = usd;
  drive.endurance.emplace();
  drive.endurance->rated = description::Bytes(200'000'000'000'000);
  return scenario;
}

TEST(FinishedRun, BuysTheDrivesThatItUsesUpBeyondThoseOfTheMachine) {
  // 864 TB over 200 TB a drive: the fifth is in use at the end, four are bought
  const FinishedRun one = *finished_run(on_drives(1, 100), that_writes(1), 0);
  EXPECT_EQ(one.drives->replaced, 4);
  EXPECT_DOUBLE_EQ(one.usd.replacements.value(), 400);
  // three drives share them, 1.44 ratings each: three are replaced, each once
  const FinishedRun three = *finished_run(on_drives(3, 100), that_writes(3), 0);
  EXPECT_EQ(three.drives->replaced, 3);
  EXPECT_DOUBLE_EQ(three.usd.replacements.value(), 300);
  // within the warranty nothing is bought
  EXPECT_EQ(finished_run(on_drives(5, 100), that_writes(5), 0)->usd.replacements.value(), 0);
  // the machine's price of a drive stands where the storage has none of its own
  Scenario listed = on_drives(1, 100);
  listed.machine.storage[0].price_usd.reset();
  EXPECT_FALSE(finished_run(listed, that_writes(1), 0)->usd.replacements);
  listed.machine.prices_usd->ssd = 50;
  EXPECT_DOUBLE_EQ(finished_run(listed, that_writes(1), 0)->usd.replacements.value(), 200);
}

TEST(FinishedRun, BuysADriveThatWasWrittenBeyondItsRatingOnce) {
  // 864 TB are 4.32 ratings: with the used-up one six drives, however much it had written before
  for (const std::uint64_t before : {200'000'000'000'000u, 900'000'000'000'000u}) {
    Scenario scenario = on_drives(1, 100);
    scenario.machine.storage[0].endurance->written = {description::Bytes(before)};
    EXPECT_EQ(finished_run(scenario, that_writes(1), 0)->drives->replaced, 5) << before;
  }
}

// 864 TB are 216 TB on each of four drives of 200 TB, which had 150, 90, 10 and 0 TB before.
TEST(FinishedRun, BuysOfUnevenlyWornDrivesEachByItsOwnHistory) {
  Scenario scenario = on_drives(4, 100);
  scenario.machine.storage[0].endurance->written = {description::Bytes(90'000'000'000'000),
                                                    description::Bytes(150'000'000'000'000),
                                                    description::Bytes(10'000'000'000'000)};
  // 366, 306, 226 and 216 TB: one more of each
  EXPECT_EQ(finished_run(scenario, that_writes(1), 0)->drives->replaced, 4);
  // 190 TB make 406 TB: two more of that one
  scenario.machine.storage[0].endurance->written[1] = description::Bytes(190'000'000'000'000);
  EXPECT_EQ(finished_run(scenario, that_writes(1), 0)->drives->replaced, 5);
}

TEST(FinishedRun, BuysDrivesOfEachStorageAndForEachNode) {
  Scenario scenario = on_drives(1, 100);
  scenario.machine.storage.push_back(scenario.machine.storage[0]);
  scenario.machine.storage[1].name = "other";
  scenario.machine.storage[1].price_usd = 10;
  Result result = that_writes(1);
  result.io.by_storage["other"].write = 50'000'000'000;  // 432 TB: two more
  EXPECT_DOUBLE_EQ(finished_run(scenario, result, 0)->usd.replacements.value(), 400 + 20);
}

TEST(FinishedRun, DrivesLoseValueByCheckpointsToo) {
  Scenario scenario = on_drives(1, 100);
  // 864 TB of 400 that the flash stands, 100 dollars each
  EXPECT_NEAR(finished_run(scenario, that_writes(1), 1e9)->usd.drives.value(), 216, 1e-9);
  scenario.run.checkpoint_every.reset();
  // 24 checkpoints of 14 GB more
  const FinishedRun run = *finished_run(scenario, that_writes(1), 1e9);
  EXPECT_DOUBLE_EQ(run.drives->written_bytes, 864e12 + 24 * 14e9);
  EXPECT_NEAR(run.usd.drives.value(), 100 * run.drives->used_up.value(), 1e-9);
}

TEST(FinishedRun, WritesWhatIsLaidOnDrivesBeforeTheFirstStepToo) {
  Result result = that_writes(1);
  result.placed["nvme"] = 36'000'000'000'000;
  const FinishedRun run = *finished_run(on_drives(1, 100), result, 0);
  EXPECT_DOUBLE_EQ(run.drives->written_bytes, 900e12);
  EXPECT_DOUBLE_EQ(run.drives->placed_bytes, 36e12);
  EXPECT_DOUBLE_EQ(run.drives->warranties.value(), 4.5);
  EXPECT_NEAR(run.usd.drives.value(), 100 * 900e12 / 400e12, 1e-9);
}

/// A frozen model on drives, as adapters are trained beside: no step writes.
TEST(FinishedRun, OfStepsThatWriteNothingWritesTheModelOnce) {
  Result result = that_writes(1);
  result.wear->write_bytes_per_step = 0;
  result.wear->usd_per_million_tokens.reset();
  result.placed["nvme"] = 140'000'000'000;
  const FinishedRun run = *finished_run(on_drives(1, 100), result, 0);
  EXPECT_DOUBLE_EQ(run.drives->written_bytes, 140e9);
  EXPECT_NEAR(run.usd.drives.value(), 100 * 140e9 / 400e12, 1e-12);
  EXPECT_EQ(run.drives->replaced, 0);
}

TEST(FinishedRun, OfTwoNodesLaysAModelOnTheDrivesOfEach) {
  Result result = of_drives(2e11);
  result.placed["nvme"] = 1'000'000'000;
  Scenario scenario = two_nodes(8'640'000);
  const double apart = finished_run(scenario, result, 1e9)->drives->placed_bytes;
  scenario.machine.storage[0].shared_by_nodes = true;
  EXPECT_DOUBLE_EQ(apart, 2e9);
  EXPECT_DOUBLE_EQ(finished_run(scenario, result, 1e9)->drives->placed_bytes, 2e9);
}

TEST(FinishedRun, IsNothingWithoutTokensOrWhenItDoesNotFit) {
  Scenario scenario = two_cards(1);
  scenario.run.tokens.reset();
  EXPECT_FALSE(finished_run(scenario, ten_seconds(), 0));
  Result full = ten_seconds();
  full.infeasible.emplace();
  EXPECT_FALSE(finished_run(two_cards(1), full, 0));
}

TEST(FinishedRun, HasNoEnergyWhereTheMachineSaysNoPower) {
  Scenario scenario = two_cards(1000);
  scenario.machine.power.reset();
  const FinishedRun run = *finished_run(scenario, ten_seconds(), 0);
  EXPECT_FALSE(run.kwh);
  EXPECT_FALSE(run.usd.energy);
}

TEST(CheckpointBytes, AreWeightsMastersAndStates) {
  using namespace description;
  Training training;  // bf16_mixed, Adam in fp32: 2 + 4 + 8
  EXPECT_EQ(checkpoint_bytes(training, 1), 14);
  training.optimizer_state = StateWidth::bf16;  // 2 + 4 + 4
  EXPECT_EQ(checkpoint_bytes(training, 1), 10);
  training.precision = Precision::fp32;
  training.optimizer = OptimizerKind::sgd;
  EXPECT_EQ(checkpoint_bytes(training, 1), 4);
}

// Checkpoints of 14 GB on a drive of 100 GB: one is kept until the next is whole.
TEST(FinishedRun, SaysWhereItsCheckpointsHaveNoRoom) {
  Scenario scenario = two_cards(8'640'000);
  scenario.run.checkpoint_every.reset();
  scenario.machine.storage[0].capacity = description::Bytes(100'000'000'000);
  const auto notes_beside = [&](std::uint64_t bytes) {
    Result result = ten_seconds();
    result.ssd.total = bytes;
    result.run = finished_run(scenario, result, 1e9);
    note_room_of_checkpoints(scenario, result);
    return result.notes.empty() ? "" : text::words(result.notes[0]);
  };
  EXPECT_EQ(notes_beside(72'000'000'000), "");
  EXPECT_EQ(notes_beside(73'000'000'000).substr(0, 92),
            "nvme has 27.0 GB left beside what the run keeps there, and two checkpoints of 14.0 GB "
            "do not");
  EXPECT_EQ(
      notes_beside(87'000'000'000).substr(0, 86),
      "nvme has 13.0 GB left beside what the run keeps there, and a checkpoint takes 14.0 GB;");
  scenario.run.checkpoint_every = description::Seconds(0);
  EXPECT_EQ(notes_beside(87'000'000'000), "");
}

}  // namespace
}  // namespace spillway::strategies
