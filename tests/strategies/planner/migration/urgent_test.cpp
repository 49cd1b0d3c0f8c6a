#include "strategies/coroutines/sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// The two queues of a semaphore, and locks that are split.
namespace spillway::strategies::urgent_test {
namespace {

using description::InternalError;
using ::testing::ElementsAre;

Task<> hold(Semaphore* semaphore, std::uint64_t amount, Event* release, std::vector<int>* log,
            int id) {
  Semaphore::Lock lock = co_await semaphore->acquire(amount);
  log->push_back(id);
  co_await *release;
}

Task<> hold_urgently(Semaphore* semaphore, std::uint64_t amount, Event* release,
                     std::vector<int>* log, int id) {
  Semaphore::Lock lock = co_await semaphore->acquire_urgent(amount);
  log->push_back(id);
  co_await *release;
}

/// A semaphore of 3; those who come wait for `release` with what they hold.
class Urgent : public ::testing::Test {
 protected:
  void ask(std::uint64_t amount, int id) {
    running.push_back(spawn(scheduler, hold(&semaphore, amount, &release, &log, id)));
  }
  void ask_urgently(std::uint64_t amount, int id) {
    running.push_back(spawn(scheduler, hold_urgently(&semaphore, amount, &release, &log, id)));
  }
  void cancel(std::size_t which) {
    scheduler.set_stopping(true);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    scheduler.set_stopping(false);
  }
  void TearDown() override {
    while (!running.empty()) cancel(0);
  }
  Scheduler scheduler;
  Semaphore semaphore{scheduler, 3};
  Event release{scheduler};
  std::vector<int> log;
  std::vector<Pending<>> running;
};

TEST_F(Urgent, AreServedBeforeTheOthersAndAmongThemselvesInTheirOrder) {
  Semaphore::Lock all = semaphore.try_acquire(3);
  ask(3, 1);
  ask(3, 2);
  ask_urgently(3, 3);
  ask_urgently(3, 4);
  release.set();
  all.release();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(3, 4, 1, 2));
  EXPECT_EQ(semaphore.used(), 0u);
}

TEST_F(Urgent, PassTheQueueOfTheOthersWhenThereIsEnough) {
  Semaphore::Lock one = semaphore.try_acquire(1);
  ask(3, 1);           // waits
  ask_urgently(2, 2);  // 2 are free
  EXPECT_THAT(log, ElementsAre(2));
  EXPECT_EQ(semaphore.free(), 0u);
  ask_urgently(1, 3);
  EXPECT_THAT(log, ElementsAre(2));
}

TEST_F(Urgent, NobodyOvertakesTheirHeadHoweverSmall) {
  Semaphore::Lock two = semaphore.try_acquire(2);
  ask_urgently(2, 1);  // 1 is free
  ask_urgently(1, 2);
  ask(1, 3);
  EXPECT_FALSE(semaphore.try_acquire(1));
  EXPECT_TRUE(log.empty());
  two.release();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1, 2));  // 3 of 3: the other one waits
  release.set();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1, 2, 3));
}

TEST_F(Urgent, WhoGivesUpAtTheHeadLetsBothQueuesThrough) {
  Semaphore::Lock two = semaphore.try_acquire(2);
  ask_urgently(2, 1);
  ask(1, 2);
  cancel(0);
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(2));
  EXPECT_FALSE(semaphore.has_waiters());
  EXPECT_EQ(semaphore.used(), 3u);
}

TEST_F(Urgent, WhoGivesUpInTheMiddleChangesNothingForTheHead) {
  Semaphore::Lock two = semaphore.try_acquire(2);
  ask_urgently(3, 1);
  ask_urgently(1, 2);
  ask_urgently(2, 3);
  cancel(1);
  scheduler.drain();
  EXPECT_TRUE(log.empty());
  release.set();
  two.release();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1, 3));
}

TEST_F(Urgent, WhoIsGrantedAndDestroyedBeforeItRunsGivesBack) {
  Semaphore::Lock all = semaphore.try_acquire(3);
  ask_urgently(3, 1);
  ask(2, 2);
  all.release();  // granted to 1, which is not resumed
  EXPECT_EQ(semaphore.used(), 3u);
  cancel(0);
  EXPECT_EQ(semaphore.used(), 2u);
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(2));
}

TEST_F(Urgent, NobodyAsksForMoreThanThereIs) {
  EXPECT_THROW((void)semaphore.acquire_urgent(4), InternalError);
  ask_urgently(3, 1);  // exactly all
  EXPECT_THAT(log, ElementsAre(1));
}

TEST_F(Urgent, ALockIsSplitIntoPartsThatAreReleasedAlone) {
  Semaphore::Lock all = semaphore.try_acquire(3);
  Semaphore::Lock one = all.split(1);
  EXPECT_EQ(one.amount(), 1u);
  EXPECT_EQ(all.amount(), 2u);
  EXPECT_EQ(semaphore.used(), 3u);  // by both together
  ask(1, 1);
  one.release();
  scheduler.drain();
  EXPECT_THAT(log, ElementsAre(1));
  Semaphore::Lock rest = all.split(2);  // all of it: what is left holds nothing
  all.release();
  EXPECT_EQ(semaphore.used(), 3u);
  EXPECT_THROW((void)rest.split(3), InternalError);
  rest.release();
  EXPECT_EQ(semaphore.used(), 1u);
}

}  // namespace
}  // namespace spillway::strategies::urgent_test
