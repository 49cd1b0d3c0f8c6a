#include "scenarios/description/errors.hpp"
#include "strategies/coroutines/sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace spillway::strategies {
namespace {

using description::InternalError;
using ::testing::ElementsAre;

Task<int> number(int value) { co_return value; }

Task<int> fails() {
  throw std::runtime_error("no number");
  co_return 0;
}

Task<int> number_after(Event* event, int value) {
  co_await *event;
  co_return value;
}

Task<> store(Task<int> task, int* into) { *into = co_await std::move(task); }

Task<> sums_a_million(std::uint64_t* sum) {
  for (int i = 0; i < 1'000'000; ++i) *sum += static_cast<std::uint64_t>(co_await number(1));
}

TEST(Task, StartsWhenItIsAwaited) {
  Scheduler scheduler;
  int got = 0;
  {
    Task<> never = store(number(3), &got);
    EXPECT_EQ(got, 0);
  }
  Pending<> run = spawn(scheduler, store(number(3), &got));
  EXPECT_TRUE(run.done());
  EXPECT_EQ(got, 3);
}

TEST(Task, ALoopOverTasksThatNeverSuspendDoesNotGrowTheStack) {
  Scheduler scheduler;
  std::uint64_t sum = 0;
  Pending<> run = spawn(scheduler, sums_a_million(&sum));
  EXPECT_EQ(sum, 1'000'000u);
}

Task<int> depth(Event* event, int levels) {
  if (levels == 0) {
    co_await *event;
    co_return 0;
  }
  co_return 1 + co_await depth(event, levels - 1);
}

TEST(Task, ResumesItsParentWhenItEndsLater) {
  Scheduler scheduler;
  Event event(scheduler);
  int got = 0;
  Pending<> run = spawn(scheduler, store(depth(&event, 50), &got));
  EXPECT_FALSE(run.done());
  event.set();
  EXPECT_FALSE(run.done()) << "set() resumed a waiter inline";
  scheduler.drain();
  EXPECT_TRUE(run.done());
  EXPECT_EQ(got, 50);
}

Task<std::unique_ptr<int>> owned() { co_return std::make_unique<int>(7); }

Task<> takes_owned(int* into) { *into = *co_await owned(); }

TEST(Task, HandsOverValuesThatOnlyMove) {
  Scheduler scheduler;
  int got = 0;
  Pending<> run = spawn(scheduler, takes_owned(&got));
  EXPECT_EQ(got, 7);
}

Task<> awaits_moved(std::string* error) {
  Task<int> task = number(1);
  Task<int> thief = std::move(task);
  try {
    co_await std::move(task);
  } catch (const InternalError& caught) {
    *error = caught.what();
  }
  co_await std::move(thief);
}

TEST(Task, AwaitingWhatWasMovedFromIsABug) {
  Scheduler scheduler;
  std::string error;
  Pending<> run = spawn(scheduler, awaits_moved(&error));
  EXPECT_THAT(error, ::testing::HasSubstr("empty Task"));
}

Task<> joins(Pending<int>* pending, std::vector<int>* log) {
  try {
    log->push_back(co_await *pending);
  } catch (const std::runtime_error&) {
    log->push_back(-1);
  } catch (const InternalError&) {
    log->push_back(-2);
  }
}

TEST(Pending, StartsAtOnceAndIsJoinedLater) {
  Scheduler scheduler;
  Event event(scheduler);
  std::vector<int> log;
  Pending<int> early = spawn(scheduler, number(1));
  Pending<int> late = spawn(scheduler, number_after(&event, 2));
  EXPECT_TRUE(early.done());
  Pending<> first = spawn(scheduler, joins(&late, &log));
  Pending<> second = spawn(scheduler, joins(&early, &log));
  EXPECT_THAT(log, ElementsAre(1));
  event.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1, 2));
}

TEST(Pending, AnErrorGoesToWhoJoins) {
  Scheduler scheduler;
  Event event(scheduler);
  std::vector<int> log;
  const auto later = [](Event* when) -> Task<int> {
    co_await *when;
    co_return co_await fails();
  };
  Pending<int> failing = spawn(scheduler, later(&event));
  Pending<> joiner = spawn(scheduler, joins(&failing, &log));
  event.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(-1));
  EXPECT_FALSE(scheduler.failure());
}

TEST(Pending, AnErrorThatNobodyWaitsForFailsTheRunAtOnce) {
  Scheduler scheduler;
  Event event(scheduler);
  int got = 0;
  Pending<> other = spawn(scheduler, store(number_after(&event, 1), &got));
  event.set();
  Pending<int> failing = spawn(scheduler, fails());
  ASSERT_TRUE(scheduler.failure());
  EXPECT_THROW(std::rethrow_exception(scheduler.failure()), std::runtime_error);
  scheduler.drain();
  EXPECT_EQ(got, 0) << "a coroutine ran in a failed run";
  scheduler.forget_failure();
  scheduler.drain();
  EXPECT_EQ(got, 1);
}

TEST(Pending, TheFirstErrorCounts) {
  Scheduler scheduler;
  scheduler.fail(std::make_exception_ptr(std::runtime_error("first")));
  scheduler.fail(std::make_exception_ptr(std::logic_error("second")));
  EXPECT_THROW(std::rethrow_exception(scheduler.failure()), std::runtime_error);
}

TEST(Pending, DroppingOneThatRunsFailsTheRunAndDestroysIt) {
  Scheduler scheduler;
  Event event(scheduler);
  const auto held = std::make_shared<int>(1);
  const auto holds = [](Event* when, std::shared_ptr<int>) -> Task<> { co_await *when; };
  Pending<> running = spawn(scheduler, holds(&event, held));
  EXPECT_EQ(held.use_count(), 2);
  running.reset();
  EXPECT_EQ(held.use_count(), 1);
  ASSERT_TRUE(scheduler.failure());
  EXPECT_THROW(std::rethrow_exception(scheduler.failure()), InternalError);
}

TEST(Pending, DroppingOneThatIsDoneOrWhileTheRunStopsIsFine) {
  Scheduler scheduler;
  Event event(scheduler);
  { Pending<int> done = spawn(scheduler, number(1)); }
  int got = 0;
  Pending<> running = spawn(scheduler, store(number_after(&event, 1), &got));
  scheduler.set_stopping(true);
  running.reset();
  scheduler.set_stopping(false);
  EXPECT_FALSE(scheduler.failure());
  EXPECT_FALSE(running);
}

TEST(Pending, ReleasesWhatItsCoroutineHeldWhenThatEnds) {
  Scheduler scheduler;
  const auto held = std::make_shared<int>(1);
  const auto holds = [](std::shared_ptr<int>) -> Task<> { co_return; };
  Pending<> ended = spawn(scheduler, holds(held));
  EXPECT_TRUE(ended.done());
  EXPECT_EQ(held.use_count(), 1) << "a lease lives until the Pending is dropped";
}

TEST(Pending, TwoCannotJoinOneAndNobodyJoinsNone) {
  Scheduler scheduler;
  Event event(scheduler);
  std::vector<int> log;
  Pending<int> shared = spawn(scheduler, number_after(&event, 5));
  Pending<int> none;
  Pending<> first = spawn(scheduler, joins(&shared, &log));
  Pending<> second = spawn(scheduler, joins(&shared, &log));
  Pending<> third = spawn(scheduler, joins(&none, &log));
  EXPECT_THAT(log, ElementsAre(-2, -2));
  event.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(-2, -2, 5));
}

TEST(Pending, MayDieBeforeWhoJoinsIt) {
  Scheduler scheduler;
  Event event(scheduler);
  std::vector<int> log;
  auto joined = std::make_unique<Pending<int>>(spawn(scheduler, number_after(&event, 5)));
  Pending<> joiner = spawn(scheduler, joins(joined.get(), &log));
  scheduler.set_stopping(true);
  joined.reset();
  joiner.reset();  // must not touch the frame that is gone
  EXPECT_TRUE(log.empty());
}

TEST(Scheduler, ResumesInTheOrderOfPosting) {
  Scheduler scheduler;
  Event one(scheduler), two(scheduler);
  std::vector<int> log;
  const auto note = [](Event* event, std::vector<int>* into, int id) -> Task<> {
    co_await *event;
    into->push_back(id);
  };
  Pending<> a = spawn(scheduler, note(&one, &log, 1));
  Pending<> b = spawn(scheduler, note(&two, &log, 2));
  Pending<> c = spawn(scheduler, note(&one, &log, 3));
  two.set();
  one.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(2, 1, 3));
  EXPECT_TRUE(scheduler.idle());
}

}  // namespace
}  // namespace spillway::strategies
