#include "scenarios/evidence/evidence.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <fstream>

namespace spillway::evidence::fio_limits_test {
namespace {

using testing::HasSubstr;

Evidence of_job(const std::string& options, double read, double written) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "fio_limits.json";
  std::ofstream(file) << R"({"fio version":"fio-3.33","jobs":[{"jobname":"r","error":0,
    "job options":{"iodepth":"32","ioengine":"libaio",)"
                      << options << R"(},"read":{"bw_bytes":)" << read
                      << R"(},"write":{"bw_bytes":)" << written << "}}]}";
  Evidence found = read_evidence(file);
  std::remove(file.c_str());
  return found;
}

Evidence of_job_with(const std::string& option) {
  return of_job(R"("rw":"read","bs":"1M","direct":"1")" + option, 105e6, 0);
}

Evidence of_write_with(const std::string& option) {
  return of_job(R"("rw":"write","bs":"1M","direct":"1")" + option, 0, 300e6);
}

TEST(FioLimits, AJobThatWasHeldBackSaysNotWhatTheDriveCanDo) {
  EXPECT_EQ(of_job_with("").readings.size(), 1u);
  for (const char* option :
       {R"(,"rate":"100m")", R"(,"rate_iops":"100")", R"(,"thinktime":"1ms")"}) {
    const Evidence held = of_job_with(option);
    EXPECT_TRUE(held.readings.empty()) << option;
    ASSERT_EQ(held.notes.size(), 1u);
    EXPECT_THAT(text::words(held.notes[0]), HasSubstr("held it back")) << option;
  }
}

TEST(FioLimits, AnEngineThatMovesNothingMeasuresNoDrive) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "fio_null.json";
  std::ofstream(file) << R"({"fio version":"fio-3.33","jobs":[{"jobname":"r","error":0,
    "job options":{"rw":"read","bs":"1M","direct":"1","iodepth":"32","ioengine":"null"},
    "read":{"bw_bytes":40000000000},"write":{"bw_bytes":0}}]})";
  EXPECT_TRUE(read_evidence(file).readings.empty());
  std::remove(file.c_str());
}

// A flush behind each write waits for it, whatever depth a job has.
TEST(FioLimits, AJobThatFlushesItsWritesHasNoDepth) {
  EXPECT_EQ(of_write_with("").readings.size(), 1u);
  for (const char* option : {R"(,"fsync":"1")", R"(,"fsync":"32")", R"(,"fdatasync":"1")",
                             R"(,"sync":"1")", R"(,"sync":"sync")", R"(,"sync":"dsync")"}) {
    const Evidence held = of_write_with(option);
    EXPECT_TRUE(held.readings.empty()) << option;
    ASSERT_EQ(held.notes.size(), 1u) << option;
    EXPECT_THAT(text::words(held.notes[0]), HasSubstr("held it back")) << option;
    EXPECT_EQ(of_job_with(option).readings.size(), 1u) << option;  // reads flush nothing
  }
  // One flush at the end, of writes that are at the drive, says nothing of depth.
  for (const char* option : {R"(,"fsync":"0")", R"(,"sync":"0")", R"(,"sync":"none")",
                             R"(,"fdatasync":"0")", R"(,"end_fsync":"1")"})
    EXPECT_EQ(of_write_with(option).readings.size(), 1u) << option;
}

// fio 2 leaves out what its command line said; what was counted says how deep the queue was.
TEST(FioLimits, TheDepthOfAJobThatNamesNoneIsTheOneThatWasCounted) {
  const auto of_levels = [](const char* levels, const std::string& more = "") {
    const std::string file = testing::TempDir() + std::to_string(getpid()) + "fio_levels.json";
    std::ofstream(file) << R"({"fio version":"fio-2.16","jobs":[{"jobname":"r","error":0,
      "job options":{"rw":"read","bs":"1M","direct":"1")"
                        << more << R"(},"iodepth_level":)" << levels
                        << R"(,"read":{"bw":1000000},"write":{"bw":0}}]})";
    Evidence found = read_evidence(file);
    std::remove(file.c_str());
    return found;
  };
  EXPECT_EQ(of_levels(R"({"1":0.1,"2":0.1,"16":0.3,"32":99.5,">=64":0})").readings.size(), 1u);
  EXPECT_EQ(of_levels(R"({"1":0.1,"32":0.2,">=64":99.7})").readings.size(), 1u);
  EXPECT_TRUE(of_levels(R"({"1":100,"2":0,"32":0})").readings.empty());
  EXPECT_TRUE(of_levels(R"({"1":99.9,"2":0.1})", R"(,"iodepth":"32","ioengine":"libaio")")
                  .readings.empty());
}

TEST(FioLimits, AJobOfSeveralSizesIsOneOfItsSmallest) {
  const auto of_sizes = [](const std::string& sizes) {
    return of_job(R"("rw":"randread","direct":"1",)" + sizes, 900e6, 0);
  };
  for (const char* small :
       {R"("bs":"1M","bssplit":"4k/90:1m/10")", R"("bssplit":"1m/10:4k/90")",
        R"("bssplit":"1m:4k")", R"("bs":"1M","bsrange":"4k-1M")", R"("bsrange":"4k-1M")"}) {
    const Evidence split = of_sizes(small);
    EXPECT_TRUE(split.readings.empty()) << small;
    ASSERT_EQ(split.notes.size(), 1u) << small;
    EXPECT_THAT(text::words(split.notes[0]), HasSubstr("randread of 4.00 KiB")) << small;
  }
  for (const char* large :
       {R"("bssplit":"1m/50:2m/50")", R"("bssplit":"4k/0:1m/100")", R"("bsrange":"1M-4M")"}) {
    const Evidence split = of_sizes(large);
    ASSERT_EQ(split.readings.size(), 1u) << large;
    EXPECT_THAT(split.readings[0].how, HasSubstr("randread of 1.00 MiB")) << large;
  }
}

// buffered is direct the other way round.
TEST(FioLimits, AJobWithoutBuffersIsADirectOne) {
  const auto of_way = [](const std::string& way) {
    return of_job(R"("rw":"read","bs":"1M")" + way, 3e9, 0);
  };
  for (const char* direct : {R"(,"buffered":"0")", R"(,"buffered":"0","direct":"1")"})
    EXPECT_EQ(of_way(direct).readings.size(), 1u) << direct;
  for (const char* cached : {"", R"(,"buffered":"1")", R"(,"direct":"0")"}) {
    const Evidence held = of_way(cached);
    EXPECT_TRUE(held.readings.empty()) << cached;
    ASSERT_EQ(held.notes.size(), 1u) << cached;
    EXPECT_THAT(text::words(held.notes[0]), HasSubstr("page cache")) << cached;
  }
}

TEST(FioLimits, OfSeveralJobsThatReadTheOneThatCountsIsNamed) {
  const auto job = [](int group, const char* depth, const char* rate) {
    return R"({"jobname":"r","groupid":)" + std::to_string(group) +
           R"(,"error":0,"job options":{"rw":"read","bs":"1m","direct":"1","ioengine":"libaio",
             "iodepth":")" +
           depth + R"("},"read":{"bw_bytes":)" + rate + R"(},"write":{"bw_bytes":0}})";
  };
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "fio_reads.json";
  std::ofstream(file) << R"({"fio version":"fio-3.33","jobs":[)" << job(0, "4", "3000000000") << ","
                      << job(1, "32", "7000000000") << "]}";
  const Evidence reads = read_evidence(file);
  std::remove(file.c_str());
  ASSERT_EQ(reads.readings.size(), 1u);
  EXPECT_EQ(reads.readings[0].value, 7e9);
  ASSERT_EQ(reads.notes.size(), 1u);
  EXPECT_THAT(text::words(reads.notes[0]), HasSubstr("depth 4 reached 3.00 GB/s"));
  EXPECT_THAT(text::words(reads.notes[0]), HasSubstr("depth 32 reached 7.00 GB/s, and counts"));
}

}  // namespace
}  // namespace spillway::evidence::fio_limits_test
