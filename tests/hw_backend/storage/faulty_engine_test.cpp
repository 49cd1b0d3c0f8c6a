#include "hw_backend/storage/checked_engine.hpp"
#include "hw_backend/storage/open_engine.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <cerrno>
#include <cstdlib>
#include <random>

namespace spillway::hw_backend::faulty_engine_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t bytes = 4 * 4096;

class FaultyEngineTest : public testing::Test {
 protected:
  /// Writes `bytes` and reads them back with that fault on every transfer; the first error.
  std::string with(const FaultPlan& plan) {
    const auto engine = open_engine({.watchdog_s = plan.never > 0 ? 0.2 : 60, .faults = plan});
    Pages memory(bytes), into(bytes);
    memory.fill(plan.seed + 1);
    std::string error = move(*engine, transfer(true, memory));
    if (error.empty()) error = move(*engine, transfer(false, into));
    const bool equal = std::equal(memory.begin(), memory.end(), into.begin());
    EXPECT_TRUE(equal || !error.empty());
    return error;
  }
  Transfer transfer(bool write, const Pages& memory, std::uint64_t offset = 0) {
    return {&file_->target(), write, offset, memory.data(), bytes, nullptr};
  }
  /// Writes 8 extents and reads them back, three times; all errors of the first pass that has any,
  /// in alphabetical order.
  std::string run(std::uint64_t seed, double never, double watchdog_s);

  ScratchDirectory scratch_;
  StoreDirectory store_{scratch_.path(), 0};
  std::unique_ptr<StoreFile> file_ = store_.create("0", 8 * bytes);
};

TEST_F(FaultyEngineTest, EveryFaultEndsInAnErrorOrInTheRightBytes) {
  EXPECT_EQ(with({.seed = 1}), "");
  EXPECT_THAT(with({.seed = 1, .eio = 1}),
              AllOf(HasSubstr("write: "), HasSubstr("EIO"), HasSubstr("injected, seed 1")));
  EXPECT_THAT(with({.seed = 1, .enospc = 1}), HasSubstr("ENOSPC"));
  EXPECT_EQ(with({.seed = 1, .partial = 1}), "");
  EXPECT_EQ(with({.seed = 1, .slow = 1}), "");
  EXPECT_THAT(with({.seed = 2, .torn = 1}), HasSubstr("at 8192: generation 1 expected"));
  EXPECT_THAT(with({.seed = 3, .stale = 1}), HasSubstr("at 0: generation 1 expected"));
  EXPECT_THAT(with({.seed = 1, .bit_flip = 1}), HasSubstr("torn or changed"));
  EXPECT_THAT(with({.seed = 1, .never = 1}), HasSubstr("no answer for 0.2 s"));
}

TEST_F(FaultyEngineTest, FaultsFollowFromTheSeedAndNotFromTheOrder) {
  const FaultPlan plan{.seed = 5, .eio = 0.1, .partial = 0.2, .torn = 0.3};
  const Pages memory(bytes);
  const Transfer first = transfer(true, memory), second = transfer(true, memory, bytes);
  std::vector<Fault> drawn, again;
  for (std::uint64_t i = 0; i < 100; ++i) {
    drawn.push_back(draw_fault(plan, first, i));
    draw_fault(plan, second, i);
    again.push_back(draw_fault(plan, first, i));
  }
  EXPECT_EQ(drawn, again);
  // Shares: of 100 draws, 10 +- 9 (3 sigma) fail with EIO.
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), Fault::eio)), 10, 9);
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), Fault::torn)), 30, 14);
  const FaultPlan other{.seed = 6, .eio = 0.1, .partial = 0.2, .torn = 0.3};
  std::vector<Fault> of_other;
  for (std::uint64_t i = 0; i < 100; ++i) of_other.push_back(draw_fault(other, first, i));
  EXPECT_NE(drawn, of_other);
}

TEST_F(FaultyEngineTest, ReadsAreNeitherTornNorOutOfSpace) {
  const Pages memory(bytes);
  const FaultPlan plan{.seed = 1, .enospc = 0.5, .torn = 0.25, .stale = 0.25};
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(draw_fault(plan, transfer(false, memory), i), Fault::none);
    EXPECT_NE(draw_fault(plan, transfer(true, memory), i), Fault::none);
  }
}

std::string FaultyEngineTest::run(std::uint64_t seed, double never, double watchdog_s) {
  EngineOptions options{.uring = {.queue_depth = 4, .block_size = 8192}, .watchdog_s = watchdog_s};
  options.faults = FaultPlan{.seed = seed,
                             .eio = 0.002,
                             .enospc = 0.002,
                             .partial = 0.2,
                             .slow = 0.1,
                             .torn = 0.002,
                             .stale = 0.002,
                             .bit_flip = 0.002,
                             .never = never,
                             .slow_s = 0.001};
  std::mt19937_64 below(seed);
  options.uring.answer = [&](const Transfer&, std::uint64_t, std::uint64_t, int result) {
    // One request in five is cut short, one in five turned away.
    const std::uint64_t which = below() % 5;
    if (which == 0) return -EAGAIN;
    return which == 1 && result > 4096 ? 4096 : result;
  };
  const auto engine = open_engine(options);
  const auto all_errors = [&] {
    std::vector<std::string> errors = finish(*engine);
    std::sort(errors.begin(), errors.end());
    return fmt::format("{}", fmt::join(errors, "\n"));
  };
  std::vector<std::unique_ptr<Pages>> memory, into;
  for (std::uint64_t i = 0; i < 8; ++i) {
    memory.push_back(std::make_unique<Pages>(bytes));
    into.push_back(std::make_unique<Pages>(bytes));
  }
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 8; ++i) {
      memory[i]->fill(seed * 100 + round * 10 + i);
      engine->submit(transfer(true, *memory[i], i * bytes));
    }
    std::string errors = all_errors();
    if (!errors.empty()) return errors;
    for (std::uint64_t i = 0; i < 8; ++i) engine->submit(transfer(false, *into[i], i * bytes));
    errors = all_errors();
    if (!errors.empty()) return errors;
    for (std::uint64_t i = 0; i < 8; ++i) {
      EXPECT_TRUE(std::equal(memory[i]->begin(), memory[i]->end(), into[i]->begin())) << seed;
    }
  }
  return {};
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// SPILLWAY_FAULT_SEEDS=10000 runs that many; SPILLWAY_FAULT_FIRST=n begins with seed n.
TEST_F(FaultyEngineTest, AHundredSeedsEndRightOrWithAClearError) {
  const std::uint64_t seeds = number_from("SPILLWAY_FAULT_SEEDS", 100);
  const std::uint64_t first = number_from("SPILLWAY_FAULT_FIRST", 0);
  double right = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("SPILLWAY_FAULT_FIRST=" + std::to_string(seed));
    const std::string error = run(seed, 0.002, 0.1);
    right += error.empty() ? 1 : 0;
    if (error.empty()) continue;
    EXPECT_THAT(error, testing::AnyOf(HasSubstr("injected"), HasSubstr("generation"),
                                      HasSubstr("no answer for")));
    EXPECT_THAT(error, HasSubstr(file_->path().string()));
  }
  // 24 writes fail with 1.2 % each and 24 reads with 0.6 %: e^-0.43 = 65 % end right.
  EXPECT_NEAR(right / static_cast<double>(seeds), 0.65, seeds < 100 ? 1 : 0.15);
}

TEST_F(FaultyEngineTest, ASeedFailsAgainAsItFailed) {
  std::size_t failed = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string error = run(seed, 0, 60);
    EXPECT_EQ(run(seed, 0, 60), error) << seed;
    failed += error.empty() ? 0 : 1;
  }
  EXPECT_GT(failed, 0u);
}

}  // namespace
}  // namespace spillway::hw_backend::faulty_engine_test
