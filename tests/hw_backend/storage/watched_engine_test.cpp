#include "hw_backend/storage/open_engine.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gmock/gmock.h>
#include <chrono>
#include <thread>

namespace spillway::hw_backend {
namespace {

using testing::ElementsAre;

class WatchedEngineTest : public testing::Test {
 protected:
  Transfer write(std::uint64_t offset) {
    return {&file_->target(), true, offset, memory_.data(), 4096, nullptr};
  }

  ScratchDirectory scratch_;
  StoreDirectory store_{scratch_.path(), 0};
  std::unique_ptr<StoreFile> file_ = store_.create("0", 1 << 20);
  Pages memory_{4096};
};

TEST_F(WatchedEngineTest, EndsTransfersThatNeverDo) {
  EngineOptions options{.watchdog_s = 0.05};
  options.faults = FaultPlan{.seed = 1, .never = 1};
  const auto engine = open_engine(options);
  engine->submit(write(8192));
  engine->submit(write(0));
  const auto text = [&](int offset) {
    return "write " + file_->path().string() + ", 4096 bytes at " + std::to_string(offset) +
           ": no answer for 0.05 s; look at dmesg for its device";
  };
  EXPECT_THAT(finish(*engine), ElementsAre(text(8192), text(0)));
  EXPECT_TRUE(engine->cancel_all());
}

TEST_F(WatchedEngineTest, IsPatientWhileRequestsEnd) {
  // 20 transfers one after the other, each late by less than the watchdog's time: all together take
  // longer than it.
  EngineOptions options{.watchdog_s = 0.1};
  options.faults = FaultPlan{.seed = 1, .slow = 1, .slow_s = 0.02};
  const auto engine = open_engine(options);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(move(*engine, write(4096 * i)), "");
}

TEST_F(WatchedEngineTest, DoesNotCountTimeSpentElsewhere) {
  EngineOptions options{.watchdog_s = 0.05};
  const auto engine = open_engine(options);
  engine->submit(write(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  EXPECT_TRUE(finish(*engine).empty());
}

TEST_F(WatchedEngineTest, NothingInFlightMayWaitForLong) {
  const auto engine = open_engine({.watchdog_s = 0.01});
  EXPECT_TRUE(engine->wait(0.05).empty());
  std::thread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    engine->wake();
  });
  EXPECT_TRUE(engine->wait({}).empty());
  waker.join();
}

}  // namespace
}  // namespace spillway::hw_backend
