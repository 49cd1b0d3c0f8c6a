#include "hw_backend/machine/other_work.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>

namespace spillway::hw_backend {
namespace {

TEST(OtherWork, IsWhatIsBusyAndNotOurOwn) {
  // 2 cores for 10 s; 11 s of them busy, 5 s with us: 6 of 20 s are others'
  const ProcessorTimes before{100, 50, 7}, after{120, 61, 12};
  EXPECT_DOUBLE_EQ(other_share(before, after), 0.3);
  EXPECT_EQ(other_work(before, after, "it ran"),
            "other processes took 30 % of the processors while it ran: times of an idle machine "
            "differ");
}

TEST(OtherWork, IsNotMentionedWhenItIsLittle) {
  EXPECT_EQ(other_work({0, 0, 0}, {20, 6.9, 5}, "it ran"), "");
  EXPECT_NE(other_work({0, 0, 0}, {20, 7, 5}, "it ran"), "");
}

TEST(OtherWork, IsNoneWithoutTimeAndNeverNegative) {
  EXPECT_EQ(other_share({5, 5, 5}, {5, 5, 5}), 0);
  EXPECT_EQ(other_share({0, 0, 0}, {10, 2, 3}), 0);  // clocks of different ticks
}

TEST(OtherWork, ReadsTheKernelsTicksOfAllCores) {
  const ScratchDirectory place;
  std::filesystem::create_directory(place.path() / "proc");
  // user, nice, system, idle, waiting, irq, softirq, stolen, guest, guest nice
  std::ofstream(place.path() / "proc/stat") << "cpu  100 20 30 500 50 1 2 7 9 9\n"
                                               "cpu0 1 1 1 1 1 1 1 1 1 1\n";
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const ProcessorTimes times = processor_times(place.path());
  EXPECT_DOUBLE_EQ(times.busy_s, 160 / ticks);
  EXPECT_DOUBLE_EQ(times.all_s, 710 / ticks);
  EXPECT_GT(times.own_s, 0);
}

TEST(OtherWork, IsUnknownWithoutProc) {
  const ScratchDirectory place;
  EXPECT_EQ(processor_times(place.path()).all_s, 0);
}

}  // namespace
}  // namespace spillway::hw_backend
