#include "scenarios/evidence/evidence.hpp"
#include "tests/text/words_of.hpp"

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

}  // namespace
}  // namespace spillway::evidence::fio_limits_test
