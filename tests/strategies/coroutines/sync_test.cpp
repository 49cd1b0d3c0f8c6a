#include "strategies/coroutines/sync.hpp"
#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::strategies {
namespace {

using description::InternalError;
using ::testing::ElementsAre;

/// A scheduler, and a log of what ran.
class Sync : public ::testing::Test {
 protected:
  void start(Task<> task) { running.push_back(spawn(scheduler, std::move(task))); }
  /// Destroys what still runs, as the end of a run does; what it waits for must still be there.
  void cancel() {
    scheduler.set_stopping(true);
    running.clear();
    scheduler.set_stopping(false);
  }
  void TearDown() override { cancel(); }
  Scheduler scheduler;
  std::vector<int> log;
  std::vector<Pending<>> running;
};

Task<> wait(Event* event, std::vector<int>* log, int id) {
  co_await *event;
  log->push_back(id);
}

TEST_F(Sync, AnEventWakesAllWhoWaitAndStaysSetUntilItIsReset) {
  Event event(scheduler);
  start(wait(&event, &log, 1));
  start(wait(&event, &log, 2));
  event.set();
  EXPECT_TRUE(log.empty());
  event.reset();  // those already woken go on
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1, 2));
  start(wait(&event, &log, 3));
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1, 2));
  event.set();
  start(wait(&event, &log, 4));  // set: goes on at once
  EXPECT_THAT(log, ElementsAre(1, 2, 4));
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1, 2, 4, 3));
}

Task<> hold(Semaphore* semaphore, std::uint64_t amount, Event* release, std::vector<int>* log,
            int id) {
  Semaphore::Lock lock = co_await semaphore->acquire(amount);
  log->push_back(id);
  co_await *release;
}

TEST_F(Sync, ASemaphoreServesInTheOrderOfAsking) {
  Semaphore semaphore(scheduler, 3);
  Event release(scheduler);
  start(hold(&semaphore, 2, &release, &log, 1));
  start(hold(&semaphore, 2, &release, &log, 2));  // 1 is free
  start(hold(&semaphore, 1, &release, &log, 3));  // would fit, and waits its turn
  EXPECT_THAT(log, ElementsAre(1));
  EXPECT_TRUE(semaphore.has_waiters());
  EXPECT_FALSE(semaphore.try_acquire(1));
  EXPECT_TRUE(semaphore.try_overtake(1));
  EXPECT_FALSE(semaphore.try_overtake(2));
  release.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1, 2, 3));
  EXPECT_EQ(semaphore.used(), 0u);
}

TEST_F(Sync, ASemaphoreIsTakenToTheLastAndNotBeyond) {
  Semaphore semaphore(scheduler, 3);
  Semaphore::Lock all = semaphore.try_acquire(3);
  EXPECT_TRUE(all);
  EXPECT_EQ(semaphore.free(), 0u);
  EXPECT_FALSE(semaphore.try_acquire(1));
  EXPECT_TRUE(semaphore.try_acquire(0));
  EXPECT_THROW((void)semaphore.acquire(4), InternalError);
  all.release();
  all.release();  // a second time changes nothing
  EXPECT_EQ(semaphore.used(), 0u);
}

TEST_F(Sync, ALockMovesAndReleasesWhatItHeld) {
  Semaphore one(scheduler, 5), two(scheduler, 5);
  Semaphore::Lock a = one.try_acquire(2);
  Semaphore::Lock b = two.try_acquire(3);
  b = std::move(a);
  EXPECT_EQ(one.used(), 2u);
  EXPECT_EQ(two.used(), 0u);
  EXPECT_FALSE(a);
  EXPECT_EQ(b.amount(), 2u);
}

TEST_F(Sync, WhoGivesUpInASemaphoresQueueLetsTheOthersThrough) {
  Semaphore semaphore(scheduler, 3);
  Event release(scheduler);
  Semaphore::Lock held = semaphore.try_acquire(1);
  start(hold(&semaphore, 3, &release, &log, 1));
  start(hold(&semaphore, 2, &release, &log, 2));
  scheduler.set_stopping(true);
  running.erase(running.begin());
  scheduler.set_stopping(false);
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(2));
  cancel();
  EXPECT_EQ(semaphore.used(), 1u);
}

TEST_F(Sync, WhoIsGrantedAndDestroyedBeforeItRunsGivesBack) {
  Semaphore semaphore(scheduler, 1);
  Event release(scheduler);
  Semaphore::Lock held = semaphore.try_acquire(1);
  start(hold(&semaphore, 1, &release, &log, 1));
  held.release();  // granted, not resumed
  EXPECT_EQ(semaphore.used(), 1u);
  cancel();
  EXPECT_EQ(semaphore.used(), 0u);
  EXPECT_TRUE(scheduler.idle());
}

Task<> arrive(Barrier* barrier, int rounds, std::vector<int>* log, int id) {
  for (int round = 0; round < rounds; ++round) {
    co_await barrier->arrive();
    log->push_back(10 * round + id);
  }
}

TEST_F(Sync, ABarrierLetsAllThroughTogetherRoundAfterRound) {
  Barrier barrier(scheduler, 3);
  start(arrive(&barrier, 2, &log, 1));
  start(arrive(&barrier, 2, &log, 2));
  scheduler.drain();
  EXPECT_TRUE(log.empty());
  start(arrive(&barrier, 2, &log, 3));
  scheduler.drain();
  // the last to come goes on first; the others follow as they came; then the second round
  EXPECT_THAT(log, ElementsAre(3, 1, 2, 12, 13, 11));
}

TEST_F(Sync, ABarrierOfOneHoldsNobody) {
  Barrier barrier(scheduler, 1);
  start(arrive(&barrier, 2, &log, 1));
  EXPECT_THAT(log, ElementsAre(1, 11));
}

TEST_F(Sync, WhoIsDestroyedAtABarrierHasNotArrived) {
  Barrier barrier(scheduler, 2);
  start(arrive(&barrier, 1, &log, 1));
  cancel();
  start(arrive(&barrier, 1, &log, 2));
  scheduler.drain();
  EXPECT_TRUE(log.empty());
  start(arrive(&barrier, 1, &log, 3));
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(3, 2));
}

Task<> fail_when(Event* event) {
  co_await *event;
  throw std::runtime_error("told to");
}

Task<> together(Scheduler* scheduler, std::vector<Task<>> tasks, std::vector<int>* log) {
  try {
    co_await when_all(*scheduler, std::move(tasks));
    log->push_back(100);
  } catch (const std::runtime_error&) {
    log->push_back(-100);
  }
}

TEST_F(Sync, WhenAllWaitsForAllAndStartsThemInOrder) {
  Event event(scheduler), other(scheduler);
  event.set();
  std::vector<Task<>> tasks;
  tasks.push_back(wait(&other, &log, 1));
  tasks.push_back(wait(&event, &log, 2));
  tasks.push_back(wait(&event, &log, 3));
  start(together(&scheduler, std::move(tasks), &log));
  EXPECT_THAT(log, ElementsAre(2, 3));
  other.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(2, 3, 1, 100));
}

TEST_F(Sync, WhenAllOfNothingEndsAtOnce) {
  start(together(&scheduler, {}, &log));
  EXPECT_THAT(log, ElementsAre(100));
}

TEST_F(Sync, WhenAllStartsNobodyAfterAFailureAndDestroysWhoRuns) {
  Event event(scheduler), never(scheduler);
  event.set();
  std::vector<Task<>> tasks;
  tasks.push_back(wait(&never, &log, 1));
  tasks.push_back(fail_when(&event));
  tasks.push_back(wait(&event, &log, 2));
  start(together(&scheduler, std::move(tasks), &log));
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(-100));
  never.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(-100));
}

TEST_F(Sync, OfTwoFailuresWhenAllThrowsTheFirst) {
  Event event(scheduler);
  std::vector<Task<>> tasks;
  tasks.push_back(fail_when(&event));
  tasks.push_back([](Event* when) -> Task<> {
    co_await *when;
    throw std::logic_error("too late");
  }(&event));
  start(together(&scheduler, std::move(tasks), &log));
  event.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(-100));
}

}  // namespace
}  // namespace spillway::strategies
