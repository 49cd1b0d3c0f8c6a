#include "hw_backend/storage/watched_engine.hpp"
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
  // 40 transfers one after the other, each late by 10 ms on average: all together take 0.4 s,
  // longer than the watchdog waits.
  EngineOptions options{.watchdog_s = 0.3};
  options.faults = FaultPlan{.seed = 1, .slow = 1, .slow_s = 0.02};
  const auto engine = open_engine(options);
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(move(*engine, write(4096 * i)), "");
}

TEST_F(WatchedEngineTest, DoesNotCountTimeSpentElsewhere) {
  EngineOptions options{.watchdog_s = 0.2};
  const auto engine = open_engine(options);
  engine->submit(write(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
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

/// A kernel that neither ends transfers nor lets go of them.
class HungEngine final : public IoEngine {
 public:
  void submit(const Transfer&) override {}
  std::vector<Completion> wait(std::optional<double> timeout_s) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(timeout_s.value_or(0)));
    return {};
  }
  void wake() noexcept override {}
  [[nodiscard]] bool cancel_all() noexcept override { return false; }
  std::size_t in_flight() const override { return 1; }
  void register_memory(std::byte*, std::uint64_t) override {}
  void unregister_memory(std::byte*) override {}
  void attach(Target&) override {}
  void detach(Target&) override {}
  void forget(const Target&, std::uint64_t, std::uint64_t) override {}
  IoCounters counters() const override { return {}; }
  std::vector<std::string> notes() const override { return {}; }
};

TEST_F(WatchedEngineTest, SaysSoWhenTheKernelKeepsTheMemory) {
  WatchedEngine engine(std::make_unique<HungEngine>(), 0.01);
  engine.submit(write(4096));
  EXPECT_THAT(finish(engine), ElementsAre(testing::HasSubstr("for 0.01 s, and no cancelling it")));
  EXPECT_FALSE(engine.cancel_all());
}

TEST_F(WatchedEngineTest, ACallersShorterTimeoutsAddUp) {
  WatchedEngine engine(std::make_unique<HungEngine>(), 0.02);
  engine.submit(write(0));
  std::size_t ended = 0;
  for (int i = 0; i < 100 && ended == 0; ++i) ended = engine.wait(0.001).size();
  EXPECT_EQ(ended, 1u);
}

}  // namespace
}  // namespace spillway::hw_backend
