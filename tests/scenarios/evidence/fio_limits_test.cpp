#include "scenarios/evidence/evidence.hpp"
#include "tests/text/words_of.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <fstream>

namespace spillway::evidence::fio_limits_test {
namespace {

using testing::HasSubstr;

Evidence of_job_with(const std::string& option) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "fio_limits.json";
  std::ofstream(file) << R"({"fio version":"fio-3.33","jobs":[{"jobname":"r","error":0,
    "job options":{"rw":"read","bs":"1M","iodepth":"32","ioengine":"libaio","direct":"1")"
                      << option << R"(},"read":{"bw_bytes":105000000},"write":{"bw_bytes":0}}]})";
  Evidence read = read_evidence(file);
  std::remove(file.c_str());
  return read;
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

}  // namespace
}  // namespace spillway::evidence::fio_limits_test
