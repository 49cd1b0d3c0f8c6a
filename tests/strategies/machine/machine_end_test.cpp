#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies::machine_end_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Kind>
using MachineEnd = MachineContract<Kind>;
TYPED_TEST_SUITE(MachineEnd, Machines);

/// A moment in the machine's own time: later than anything that starts and ends now.
Task<> a_moment(Machine& m, Rank rank) {
  co_await m.run(rank, std::vector<GpuKernel>(1, kernel_of(1e9)));
}

Task<> waits_for_ever(Machine& m) {
  Live here;
  Event never(m.scheduler());
  co_await never;
}

TYPED_TEST(MachineEnd, NothingHangsADeadlockIsABugThatSaysSo) {
  EXPECT_THAT(message_of<InternalError>([&] { this->run(waits_for_ever(this->machine())); }),
              HasSubstr("nothing can happen any more"));
  EXPECT_EQ(Live::count, 0);
}

Task<> asks(Machine& m, Rank rank, std::uint64_t bytes, Purpose purpose) {
  Buffer held = co_await in_turn(m, TierId::pinned, rank, bytes, purpose);
  Event never(m.scheduler());
  co_await never;
}

TYPED_TEST(MachineEnd, AnAllocationThatWaitsForEverIsOutOfMemoryOfTheHeadOfTheQueue) {
  Machine& m = this->machine();
  m.enter(rank1, Phase::update);
  try {
    this->run(asks(m, rank0, 200 * mib, Purpose::host_pool),
              asks(m, rank1, 100 * mib, Purpose::master_weights),
              asks(m, rank0, 90 * mib, Purpose::swap_out_buffer));
    FAIL() << "390 MiB fitted into 256";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.request().tier, "host");
    EXPECT_EQ(error.request().rank, 1u);
    EXPECT_EQ(error.request().purpose, "master_weights");
    EXPECT_EQ(error.request().phase, "update");
    EXPECT_EQ(error.request().asked_bytes, 100 * mib);
    EXPECT_EQ(error.request().free_bytes, 56 * mib);
    EXPECT_EQ(error.request().capacity_bytes, 256 * mib);
  }
  EXPECT_EQ(m.usage(TierId::pinned, rank0).used, 0u);
}

Task<> stores_too_much(Machine& m) {
  Stored first = co_await extent(m, 10 * mib);
  Stored second = co_await extent(m, 7 * mib);
}

TYPED_TEST(MachineEnd, AFullStorageIsOutOfMemoryToo) {
  this->box.machine.storage[0].capacity = 16_MiB;
  try {
    this->run(stores_too_much(this->machine()));
    FAIL() << "17 MiB fitted into 16";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.request().tier, "ssd");
    EXPECT_EQ(error.request().purpose, "weights");
    EXPECT_EQ(error.request().free_bytes, 6 * mib);
  }
}

Task<> fails(Machine& m, std::string why) {
  co_await a_moment(m, rank0);
  throw std::runtime_error(why);
}

Task<> catches(Machine& m, std::vector<int>* log) {
  try {
    co_await fails(m, "expected");
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "expected");
    log->push_back(1);
  }
  co_await a_moment(m, rank0);
  log->push_back(2);
}

TYPED_TEST(MachineEnd, AnErrorIsRethrownWhereTheTaskIsAwaited) {
  std::vector<int> log;
  this->run(catches(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(1, 2));
}

Task<> spawns_a_failure(Machine& m, std::vector<int>* log) {
  Live here;
  Pending<> failing = m.spawn(fails(m, "spawned"));
  Event never(m.scheduler());
  co_await never;
  log->push_back(1);
}

TYPED_TEST(MachineEnd, AnErrorInASpawnedCoroutineThatNobodyAwaitsEndsTheRun) {
  std::vector<int> log;
  EXPECT_EQ(
      message_of<std::runtime_error>([&] { this->run(spawns_a_failure(this->machine(), &log)); }),
      "spawned");
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(Live::count, 0);
}

Task<> drops(Machine& m) {
  { Pending<> dropped = m.spawn(a_moment(m, rank0)); }
  co_await a_moment(m, rank1);
  ADD_FAILURE() << "the run went on";
}

TYPED_TEST(MachineEnd, DroppingAPendingThatStillRunsFailsTheRun) {
  EXPECT_THAT(message_of<InternalError>([&] { this->run(drops(this->machine())); }),
              HasSubstr("Pending was dropped"));
}

Task<> long_work(Machine& m, std::vector<int>* log) {
  Live here;
  Buffer buffer = gpu_buffer(m, rank1, mib);
  for (int i = 0; i < 1000; ++i) co_await a_moment(m, rank1);
  log->push_back(99);
}

Task<> fails_fast(Machine& m, std::vector<int>* log) {
  std::vector<Task<>> all;
  all.push_back(long_work(m, log));
  all.push_back(fails(m, "fast"));
  all.push_back(long_work(m, log));
  try {
    co_await when_all(m.scheduler(), std::move(all));
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "fast");
  }
  EXPECT_EQ(Live::count, 0) << "the others still live";
  EXPECT_EQ(m.usage(TierId::gpu, rank1).used, 0u);
  co_await a_moment(m, rank0);  // and the run goes on
  log->push_back(1);
}

TYPED_TEST(MachineEnd, WhenAllFailsFastAndDestroysTheRest) {
  std::vector<int> log;
  this->run(fails_fast(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(1));
}

Task<> ends_at_once(std::vector<int>* log) {
  log->push_back(1);
  co_return;
}

TYPED_TEST(MachineEnd, RanksThatNeverWaitAreARunToo) {
  std::vector<int> log;
  this->run(ends_at_once(&log), ends_at_once(&log));
  this->machine().run_ranks({});
  EXPECT_THAT(log, ElementsAre(1, 1));
}

TYPED_TEST(MachineEnd, AMachineRunsAgainAfterAFailure) {
  std::vector<int> log;
  EXPECT_THROW(this->run(waits_for_ever(this->machine())), InternalError);
  this->run(catches(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(1, 2));
}

}  // namespace
}  // namespace spillway::strategies::machine_end_test
