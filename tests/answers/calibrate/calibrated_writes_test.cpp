#include "scenarios/document/read_machine.hpp"
#include "tests/answers/calibrate/calibrated.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>

namespace spillway::answers::calibrated_writes_test {
namespace {

using description::MachineFile;
using evidence::Evidence;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A job of fio that only writes.
struct Job {
  double bytes, rate;
  std::string more = {};  ///< options
};

std::string text_of(const Job& job, int group) {
  return R"({"jobname":"w","groupid":)" + std::to_string(group) +
         R"(,"error":0,"job options":{"rw":"write","bs":"1M","iodepth":"32","direct":"1",)"
         R"("ioengine":"libaio")" +
         job.more + R"(},"read":{"bw_bytes":0},"write":{"io_bytes":)" +
         std::to_string(static_cast<std::uint64_t>(job.bytes)) + R"(,"bw_bytes":)" +
         std::to_string(static_cast<std::uint64_t>(job.rate)) + R"(,"runtime":)" +
         std::to_string(static_cast<std::uint64_t>(1e3 * job.bytes / job.rate)) + "}}";
}

Evidence of_jobs(const std::vector<Job>& jobs, const std::string& name = "fio.json",
                 const std::string& others = "") {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + name;
  std::string text;
  int group = 0;
  for (const Job& job : jobs) text += (text.empty() ? "" : ",") + text_of(job, group++);
  std::ofstream(file) << R"({"fio version":"fio-3.33","jobs":[)" << text << others << "]}";
  Evidence found = evidence::read_evidence(file);
  std::remove(file.c_str());
  return found;
}

description::StorageSpec drive_of(const answer::Calibration& answer) {
  return again(answer).storage[0];
}

double folded_of(const answer::Calibration& answer) {
  return drive_of(answer).slc_cache->folded_write.value();
}

/// Its 990 PRO takes 226 GB at 6.9 GB/s.
MachineFile machine() { return scenarios::read_machine("gaming_4090"); }

double cache() { return static_cast<double>(machine().storage[0].slc_cache_size().value()); }

const Job ten_minutes{1.2e12, 2.0e9};
const Job burst{107e9, 6.71e9};
const Job sustained{1.61e12, 1.70e9};

TEST(CalibratedWrites, OfAJobPastTheCacheAreTheRateBehindIt) {
  const answer::Calibration answer = with(machine(), {of_jobs({ten_minutes})});
  EXPECT_EQ(drive_of(answer).write, machine().storage[0].write);
  const double fast = machine().storage[0].write.value();
  EXPECT_NEAR(folded_of(answer), (1.2e12 - cache()) / (600 - cache() / fast), 1e4);
  // The machine takes as long for these bytes as the job did.
  const auto again = drive_of(answer).sustained_write(description::Bytes(1'200'000'000'000),
                                                      description::Seconds(1e6));
  EXPECT_NEAR(again.value(), 2.0e9, 1e5);
  EXPECT_THAT(
      answer.moved,
      ElementsAre(AllOf(Field(&answer::MovedParameter::path, "storage.nvme.slc_cache.folded_write"),
                        Field(&answer::MovedParameter::source,
                              AllOf(testing::StartsWith("measured: "), HasSubstr("1.20 TB"),
                                    HasSubstr("less 226.0 GB"))))));
  EXPECT_THAT(answer.kept, IsEmpty());
}

TEST(CalibratedWrites, OfABurstAndALongJobAreBothRates) {
  const Evidence first = of_jobs({burst}, "burst.json"), second = of_jobs({sustained}, "long.json");
  const double folded = (1.61e12 - cache()) / (1.61e12 / 1.70e9 - cache() / 6.71e9);
  for (const auto& files :
       {std::vector{of_jobs({burst, sustained})}, std::vector{of_jobs({sustained, burst})},
        std::vector{first, second}, std::vector{second, first}}) {
    const answer::Calibration answer = with(machine(), files);
    EXPECT_EQ(drive_of(answer).write.value(), 6.71e9);
    EXPECT_NEAR(folded_of(answer), folded, 1e6);
    EXPECT_THAT(answer.kept, IsEmpty());
  }
}

TEST(CalibratedWrites, OfSeveralDrivesAreThoseOfOne) {
  MachineFile two = machine();
  two.storage[0].count = 2;
  const std::string drives = R"(,"filename":"/dev/nvme0n1:/dev/nvme1n1")";
  const answer::Calibration answer = with(two, {of_jobs({{2.4e12, 4.0e9, drives}})});
  EXPECT_NEAR(folded_of(answer), folded_of(with(machine(), {of_jobs({ten_minutes})})), 1e5);
  // All of them together take no more than the array does.
  two.storage[0].array_write = description::BytesPerSecond(8e9);
  EXPECT_NEAR(folded_of(with(two, {of_jobs({{2.4e12, 4.0e9, drives}})})),
              (1.2e12 - cache()) / (600 - cache() / 4e9), 1e5);
}

TEST(CalibratedWrites, OfADriveThatBecomesNoSlowerSayThatNothingFollows) {
  const answer::Calibration answer = with(machine(), {of_jobs({{1.2e12, 7.0e9}})});
  EXPECT_EQ(drive_of(answer).write.value(), 7.0e9);
  EXPECT_EQ(folded_of(answer), machine().storage[0].slc_cache->folded_write.value());
  EXPECT_THAT(
      answer.kept,
      ElementsAre(AllOf(Field(&answer::KeptParameter::path, "storage.nvme.slc_cache.folded_write"),
                        Field(&answer::KeptParameter::why, HasSubstr("no slower")))));
}

TEST(CalibratedWrites, OfAJobALittlePastTheCacheAreNoRate) {
  const answer::Calibration answer = with(machine(), {of_jobs({{300e9, 3.0e9}})});
  EXPECT_THAT(answer.moved, IsEmpty());
  EXPECT_THAT(answer.kept,
              ElementsAre(AllOf(Field(&answer::KeptParameter::path, "storage.nvme.write"),
                                Field(&answer::KeptParameter::why, HasSubstr("is a mean of")))));
}

// What fio does not count has gone to the cache before.
TEST(CalibratedWrites, OfAJobWithARampAreTheRateOfAFullCacheOrNone) {
  const answer::Calibration full =
      with(machine(), {of_jobs({{90e9, 1.5e9, R"(,"ramp_time":"5m")"}})});
  EXPECT_EQ(folded_of(full), 1.5e9);
  EXPECT_EQ(drive_of(full).write, machine().storage[0].write);
  const answer::Calibration some =
      with(machine(), {of_jobs({{900e9, 1.5e9, R"(,"ramp_time":"30")"}})});
  EXPECT_THAT(some.moved, IsEmpty());
  EXPECT_THAT(some.kept, ElementsAre(Field(&answer::KeptParameter::why, HasSubstr("ramp_time"))));
  EXPECT_EQ(drive_of(with(machine(), {of_jobs({{30e9, 6.0e9, R"(,"ramp_time":"10s")"}})})).write,
            description::BytesPerSecond(6.0e9));
}

TEST(CalibratedWrites, OfJobsThatDoNotCountSaySo) {
  const answer::Calibration two = with(machine(), {of_jobs({burst, {50e9, 5e9}})});
  EXPECT_EQ(drive_of(two).write.value(), 6.71e9);
  EXPECT_THAT(two.kept, ElementsAre(Field(&answer::KeptParameter::why,
                                          AllOf(HasSubstr("5.00 GB/s"), HasSubstr("6.71 GB/s")))));
  const answer::Calibration longer = with(machine(), {of_jobs({ten_minutes, sustained})});
  EXPECT_THAT(longer.kept,
              ElementsAre(AllOf(Field(&answer::KeptParameter::why, HasSubstr("1.20 TB")))));
  // Where the machine file knows no cache the fastest job counts.
  MachineFile plain = machine();
  plain.storage[0].slc_cache.reset();
  const answer::Calibration both = with(plain, {of_jobs({sustained, burst})});
  EXPECT_EQ(drive_of(both).write.value(), 6.71e9);
  EXPECT_THAT(both.kept, ElementsAre(Field(&answer::KeptParameter::why,
                                           HasSubstr("give storage.nvme slc_cache"))));
}

// A long job leaves a full cache to the next one.
TEST(CalibratedWrites, OfAJobThatFoundTheCacheFullAreNoFastRate) {
  const Job late{107e9, 1.45e9};
  for (const auto& jobs : {std::vector{sustained, late}, std::vector{late, sustained}}) {
    const answer::Calibration answer = with(machine(), {of_jobs(jobs)});
    EXPECT_EQ(drive_of(answer).write, machine().storage[0].write);
    EXPECT_EQ(folded_of(answer), folded_of(with(machine(), {of_jobs({sustained})})));
    EXPECT_THAT(answer.kept,
                ElementsAre(AllOf(Field(&answer::KeptParameter::path, "storage.nvme.write"),
                                  Field(&answer::KeptParameter::why, HasSubstr("a full one")))));
  }
}

// r/R + w/W with a mean of two rates as W is none of a mix.
TEST(CalibratedWrites, OfAMixPastTheCacheFollowNoCosts) {
  const std::string reads =
      R"(,{"jobname":"r","groupid":8,"error":0,"job options":{"rw":"read","bs":"1M","direct":"1",
         "iodepth":"32","ioengine":"libaio"},"read":{"bw_bytes":7000000000},
         "write":{"bw_bytes":0}})";
  const auto mix = [](const std::string& runtime) {
    return R"(,{"jobname":"m","groupid":9,"error":0,"job options":{"rw":"rw","bs":"1M","direct":"1",
         "iodepth":"32","ioengine":"libaio"},"read":{"bw_bytes":2500000000,"runtime":)" +
           runtime + R"(},"write":{"bw_bytes":2500000000,"runtime":)" + runtime + "}}";
  };
  const auto path = Field(&answer::MovedParameter::path, "storage.nvme.mixed_efficiency");
  EXPECT_THAT(with(machine(), {of_jobs({burst}, "mix.json", reads + mix("30000"))}).moved,
              Contains(path));
  for (const Evidence& past : {of_jobs({burst}, "mix.json", reads + mix("300000")),
                               of_jobs({sustained}, "mix.json", reads + mix("30000"))}) {
    const answer::Calibration answer = with(machine(), {past});
    EXPECT_THAT(answer.moved, Not(Contains(path)));
    EXPECT_THAT(answer.kept,
                Contains(Field(&answer::KeptParameter::path, "storage.nvme.mixed_efficiency")));
  }
}

TEST(CalibratedWrites, ThatNobodyMeasuredAreNamed) {
  const std::string path = "storage.nvme.slc_cache.folded_write";
  EXPECT_THAT(still_assumed(machine()), Contains(path));
  EXPECT_THAT(still_assumed(with(machine(), {of_jobs({burst})}).machine), Contains(path));
  EXPECT_THAT(still_assumed(with(machine(), {of_jobs({sustained})}).machine), Not(Contains(path)));
}

}  // namespace
}  // namespace spillway::answers::calibrated_writes_test
