#include "scenarios/document/read_machine.hpp"
#include "tests/answers/calibrate/calibrated.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::answers::calibrated_drives_test {
namespace {

using description::MachineFile;
using evidence::Evidence;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Of the first storage, before this run, the most first.
std::vector<std::uint64_t> written_to_drives(const answer::Calibration& answer) {
  std::vector<std::uint64_t> bytes;
  for (const description::Bytes each : again(answer).storage.at(0).written_before())
    bytes.push_back(each.value());
  return bytes;
}

TEST(Calibration, TakesTheDriveOfAStorageThatWearsOutFirst) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  const Evidence worn = of_drive("worn.json", 40, 400e12, 2e12);
  const Evidence fresh = of_drive("fresh.json", 10, 90e12, 2e12);
  for (const auto& order : {std::vector{worn, fresh}, std::vector{fresh, worn}}) {
    const answer::Calibration both = with(machine, order);
    EXPECT_THAT(written_to_drives(both), ElementsAre(400'000'000'000'000u));
    EXPECT_THAT(both.moved, SizeIs(2));
    EXPECT_THAT(both.kept, ElementsAre(testing::AllOf(
                               Field(&answer::KeptParameter::file, "fresh.json"),
                               Field(&answer::KeptParameter::why, HasSubstr("worn.json")))));
  }
}

// The file counts what was written against the rating: another drive may say that more is used up.
TEST(Calibration, TakesTheDriveWithLeastLeftByWhatTheFileCounts) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  const Evidence written = of_drive("written.json", 30, 800e12, 2e12);
  const Evidence used = of_drive("used.json", 50, 300e12, 2e12);
  for (const auto& order : {std::vector{written, used}, std::vector{used, written}}) {
    const answer::Calibration both = with(machine, order);
    EXPECT_THAT(written_to_drives(both), ElementsAre(800'000'000'000'000u));
    EXPECT_THAT(both.kept, ElementsAre(Field(&answer::KeptParameter::file, "used.json")));
  }
  // of drives that the rating is not of, what they say themselves: 320 TB and 300 TB left
  const Evidence one = of_drive("one.json", 20, 80e12, 4e12);
  const Evidence other = of_drive("other.json", 50, 300e12, 4e12);
  EXPECT_THAT(written_to_drives(with(machine, {one, other})), ElementsAre(300'000'000'000'000u));
}

/// A box with four drives of 3.84 TB.
MachineFile with_four_drives() {
  MachineFile machine = scenarios::read_machine("gaming_4090");
  machine.storage[0].count = 4;
  return machine;
}

// 400 + 90 + 100 + 10 TB are 600 TB, not four times 400.
TEST(Calibration, TakesOfEachDriveWhatWasWrittenToIt) {
  const answer::Calibration all =
      with(with_four_drives(),
           {of_drive("a.json", 10, 90e12, 2e12), of_drive("b.json", 40, 400e12, 2e12),
            of_drive("c.json", 11, 100e12, 2e12), of_drive("d.json", 1, 10e12, 2e12)});
  EXPECT_THAT(written_to_drives(all), ElementsAre(400'000'000'000'000u, 100'000'000'000'000u,
                                                  90'000'000'000'000u, 10'000'000'000'000u));
  EXPECT_EQ(all.moved.back().path, "storage.nvme.endurance.written");
  EXPECT_DOUBLE_EQ(all.moved.back().after, 600e12);
  EXPECT_EQ(all.moved.back().source,
            "measured: b.json, c.json, a.json, d.json, what the drives say, added up");
  EXPECT_THAT(all.kept, IsEmpty());
  // what was said of them before adds up too
  const answer::Calibration later = with(again(all), {of_drive("b.json", 41, 410e12, 2e12)});
  EXPECT_DOUBLE_EQ(later.moved.back().before.value(), 600e12);
}

TEST(Calibration, TakesDrivesWithoutAFileToBeAsWornAsTheWorst) {
  const answer::Calibration two = with(with_four_drives(), {of_drive("a.json", 10, 90e12, 2e12),
                                                            of_drive("b.json", 40, 400e12, 2e12)});
  EXPECT_THAT(written_to_drives(two), ElementsAre(400'000'000'000'000u, 400'000'000'000'000u,
                                                  400'000'000'000'000u, 90'000'000'000'000u));
  EXPECT_THAT(two.kept, ElementsAre(Field(&answer::KeptParameter::why,
                                          HasSubstr("2 of the 4 drives of nvme have no file"))));
}

TEST(Calibration, LeavesTheRoomOfTheFullestOfTheDrives) {
  Evidence worn = of_drive("worn.json", 40, 400e12, 2e12);
  Evidence full = of_drive("full.json", 10, 90e12, 2e12);
  worn.readings.push_back({"storage.endurance.held", "bytes", 1e11, "what the drive says"});
  full.readings.push_back({"storage.endurance.held", "bytes", 1e12, "what the drive says"});
  EXPECT_EQ(again(with(with_four_drives(), {worn, full})).storage[0].endurance->held.value(),
            1'000'000'000'000u);
}

}  // namespace
}  // namespace spillway::answers::calibrated_drives_test
