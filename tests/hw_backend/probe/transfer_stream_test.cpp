#include "hw_backend/probe/transfer_stream.hpp"

#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/storage/open_engine.hpp"
#include "hw_backend/storage/store_directory.hpp"

#include <gtest/gtest.h>
#include <csignal>
#include <set>

namespace spillway::hw_backend {
namespace {

constexpr std::uint64_t transfer = TransferStream::transfer_bytes;

/// A file of eight transfers in a directory of its own.
class Stream : public testing::Test {
 protected:
  Stream() { engine_->attach(file_->target()); }
  ~Stream() override {
    engine_->detach(file_->target());
    file_.reset();
  }

  std::vector<TargetOffset> places() {
    std::vector<TargetOffset> all;
    for (std::uint64_t i = 0; i < 8; ++i) all.push_back({&file_->target(), i * transfer});
    return all;
  }

  /// The first word of every sector of the file; the second is never 0.
  void collect_sectors(std::set<std::uint64_t>& firsts) {
    PinnedMemory memory(8 * transfer, nullptr, nullptr);
    engine_->submit({&file_->target(), false, 0, memory.data(), memory.bytes(), nullptr});
    while (engine_->in_flight() > 0)
      for (const Completion& ended : engine_->wait(1.0)) ASSERT_FALSE(ended.error);
    for (std::uint64_t i = 0; i < memory.bytes(); i += 4096) {
      std::uint64_t words[2];
      std::memcpy(words, memory.data() + i, sizeof words);
      firsts.insert(words[0]);
      ASSERT_NE(words[1], 0u);
    }
  }

  std::unique_ptr<IoEngine> engine_ = open_engine({});
  StoreDirectory directory_{testing::TempDir(), 0};
  std::unique_ptr<StoreFile> file_ = directory_.create("stream", 8 * transfer);
  TransferStream stream_{*engine_};
};

TEST_F(Stream, FillsEveryPlaceOnceWithSectorsThatAllDiffer) {
  EXPECT_EQ(stream_.fill({true, places()}, 60), 8u);
  EXPECT_EQ(stream_.bytes_written(), 8 * transfer);
  std::set<std::uint64_t> firsts;
  collect_sectors(firsts);
  EXPECT_EQ(firsts.size(), 8 * transfer / 4096);
}

TEST_F(Stream, WritesNoSectorThatAnEarlierOneWrote) {
  std::set<std::uint64_t> firsts;
  stream_.fill({true, places()}, 60);
  collect_sectors(firsts);
  TransferStream next(*engine_, stream_.bytes_written());
  next.fill({true, places()}, 60);
  collect_sectors(firsts);
  EXPECT_EQ(firsts.size(), 2 * 8 * transfer / 4096);
  EXPECT_EQ(next.bytes_written(), 2 * 8 * transfer);
}

TEST_F(Stream, GivesUpFillingWhenItsTimeIsOver) {
  EXPECT_EQ(stream_.fill({true, places()}, 0), 0u);
}

TEST_F(Stream, CountsWhatMovedInEachInterval) {
  stream_.fill({true, places()}, 60);
  const auto three = [](const std::vector<Interval>& all) { return all.size() >= 3; };
  const auto intervals = stream_.run({{false, places()}}, 60, 4.0 * transfer, three);
  ASSERT_EQ(intervals.size(), 3u);
  for (const Interval& each : intervals) {
    EXPECT_GE(each.read, 4.0 * transfer);
    EXPECT_EQ(each.written, 0);
    EXPECT_GT(each.seconds, 0);
    EXPECT_EQ(each.read_rate(), each.read / each.seconds);
  }
  EXPECT_EQ(engine_->in_flight(), 0u);
}

TEST_F(Stream, ReadsAndWritesAtOnce) {
  stream_.fill({true, places()}, 60);
  std::vector<TargetOffset> first = places(), second = places();
  first.resize(4);
  second.erase(second.begin(), second.begin() + 4);
  const auto two = [](const std::vector<Interval>& all) { return all.size() >= 2; };
  double read = 0, written = 0;
  for (const Interval& each :
       stream_.run({{false, first}, {true, second}}, 60, 16.0 * transfer, two)) {
    read += each.read;
    written += each.written;
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(written, 0);
}

TEST_F(Stream, LeavesNothingInFlightWhenTheUserStops) {
  const InterruptGuard guard;
  const auto stop = [](const std::vector<Interval>& all) {
    if (all.size() == 1) std::raise(SIGINT);
    return false;
  };
  EXPECT_THROW(stream_.run({{true, places()}}, 60, 2.0 * transfer, stop), Interrupted);
  EXPECT_EQ(engine_->in_flight(), 0u);
}

}  // namespace
}  // namespace spillway::hw_backend
