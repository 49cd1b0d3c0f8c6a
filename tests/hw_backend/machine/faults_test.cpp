#include "tests/hw_backend/faulty_device.hpp"
#include "tests/hw_backend/training.hpp"
#include "tests/long_test.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

/// Trainings in which drives and devices fail on purpose: each ends right or says what failed.
namespace spillway::hw_backend {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

#ifdef SPILLWAY_SANITIZED
constexpr std::uint64_t default_seeds = 20;
#else
constexpr std::uint64_t default_seeds = 100;
#endif

#ifdef __SANITIZE_THREAD__
constexpr double silence_s = 5;  // each access is looked at: operations take tens of times as long
#else
constexpr double silence_s = 0.5;
#endif

std::string replay(std::uint64_t seed) {
  return fmt::format(
      "replay: SPILLWAY_FAULT_FIRST={} SPILLWAY_FAULT_SEEDS=1 test_hw_backend "
      "--gtest_filter='Faults.*Seeds*'",
      seed);
}

/// Ends the process when it lives too long: a hang would not say which seed it is of.
class Limit {
 public:
  explicit Limit(std::uint64_t seed)
      : thread_([this, seed] {
          std::unique_lock lock(mutex_);
          if (over_.wait_for(lock, std::chrono::minutes(1), [this] { return done_; })) return;
          std::cerr << "seed " << seed << " hangs; " << replay(seed) << std::endl;
          std::abort();
        }) {}
  ~Limit() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  Limit(const Limit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

/// What befalls a seed's run.
struct Ailment {
  std::string system;
  const char* io_engine = "file";
  FaultPlan storage;
  DevicePlan device;
};

/// One in four: devices instead of drives, since one fault hides the other.
Ailment ailment_of(std::uint64_t seed) {
  Ailment all;
  const std::vector<std::string> systems{"zero_infinity", "memascend", "mlp_offload"};
  all.system = systems[seed % systems.size()];
  if (seed / 3 % 2 == 1) all.io_engine = "direct";
  all.storage.seed = all.device.seed = seed;
  all.storage.partial = 0.1;
  all.storage.slow = 0.1;
  all.storage.slow_s = 0.002;
  if (seed % 4 == 3) {
    all.device.throws = all.device.fails = all.device.silent = 0.0007;
    return all;
  }
  all.storage.eio = all.storage.enospc = 0.001;
  all.storage.torn = all.storage.stale = all.storage.bit_flip = 0.002;
  all.storage.never = 0.0005;
  return all;
}

description::Scenario training_of(const Ailment& ailment) {
  return small_training(ailment.system,
                        {std::string("strategy.io_engine=") + ailment.io_engine, "run.steps=2"},
                        {.blocks = 1, .feed_forward = 2048});
}

/// The error that ended the run, or nothing: it ended as the reference does.
std::string outcome(std::uint64_t seed) {
  const Ailment ailment = ailment_of(seed);
  const description::Scenario scenario = training_of(ailment);
  const RealRun& reference = reference_run(scenario, "faults");
  RealRunOptions options;
  options.engine = {.watchdog_s = 0.6 * silence_s, .faults = ailment.storage};
  options.answer_s = silence_s;
  options.make_device = [&](std::uint32_t) {
    return std::make_unique<FaultyDevice>(std::make_unique<HostDevice>(true), ailment.device);
  };
  const Limit limit(seed);
  try {
    const RealRun run = train_for_real(scenario, options);
    EXPECT_TRUE(run.result.feasible());
    EXPECT_EQ(different(run.trained, reference.trained), 0u) << "silent corruption";
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    return {};
  } catch (const description::DeviceError& error) {
    return error.what();
  }
}

std::size_t entries(const char* directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    count += entry.exists() || entry.is_symlink();
  return count;
}

/// SPILLWAY_FAULT_SEEDS=10000 runs that many; SPILLWAY_FAULT_FIRST=n begins with seed n.
TEST(Faults, AHundredSeedsEndRightOrWithAClearError) {
  LONG_TEST();
  const std::uint64_t seeds = number_from("SPILLWAY_FAULT_SEEDS", default_seeds);
  const std::uint64_t first = number_from("SPILLWAY_FAULT_FIRST", 0);
  outcome(first);  // what a process has once is there from now on
  const std::size_t descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  std::uint64_t right = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE(replay(seed));
    const std::string error = outcome(seed);
    if (seeds == 1)
      std::cout << "seed " << seed << ": " << (error.empty() ? "right" : error) << '\n';
    right += error.empty() ? 1 : 0;
    if (!error.empty()) {
      EXPECT_THAT(error, AnyOf(HasSubstr("injected, seed"), HasSubstr("read check: "),
                               HasSubstr(fmt::format("no answer for {:g} s", 0.6 * silence_s)),
                               HasSubstr(fmt::format("nothing ended for {:g} s", silence_s))));
    }
  }
  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
  // a thread that was joined stands in the list until the kernel has put it away
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (entries("/proc/self/task") > threads && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_LE(entries("/proc/self/task"), threads);
  if (seeds < 20) return;
  // both ways to end are tried
  EXPECT_GT(right, seeds / 5);
  EXPECT_LT(right, seeds * 4 / 5);
}

TEST(Faults, ASeedEndsAgainAsItEnded) {
  LONG_TEST();
  // of the seeds whose storages fail; "no answer" depends on time
  std::size_t failed = 0;
  for (const std::uint64_t seed : {0u, 1u, 2u, 4u, 5u, 6u}) {
    const std::string error = outcome(seed), again = outcome(seed);
    EXPECT_EQ(error.empty(), again.empty()) << error << again;
    failed += error.empty() ? 0 : 1;
  }
  EXPECT_GT(failed, 0u);
}

}  // namespace
}  // namespace spillway::hw_backend
