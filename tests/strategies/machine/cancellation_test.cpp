#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies::cancellation_test {
namespace {

template <class Kind>
using Cancellation = MachineContract<Kind>;
TYPED_TEST_SUITE(Cancellation, Machines);

/// What the coroutines below wait for; lives longer than they do.
struct Shared {
  Semaphore locks, one;
  Event never;
  Barrier barrier;
  explicit Shared(Machine& m)
      : locks(m.scheduler(), 2),
        one(m.scheduler(), 1),
        never(m.scheduler()),
        barrier(m.scheduler(), 1000) {}
};

Task<> reads_on(Machine& m, Rank rank) {
  Live here;
  Stored stored = co_await m.store(ssd, rank, Bytes(mib), Purpose::weights);
  Buffer buffer = m.allocate_now(TierId::pinned, rank, Bytes(mib), Purpose::host_pool);
  for (;;) co_await m.read(rank, stored, {0, mib}, buffer.view());
}

Task<> copies_on(Machine& m, Rank rank) {
  Live here;
  Buffer host = m.allocate_now(TierId::pageable, rank, Bytes(mib), Purpose::host_pool);
  Buffer gpu = gpu_buffer(m, rank, mib);
  for (;;) {
    Op up = m.copy(rank, gpu.view(), host.view());
    co_await m.copy(rank, host.view(), gpu.view(), up);
  }
}

Task<> computes_on(Machine& m, Rank rank) {
  Live here;
  Buffer gpu = gpu_buffer(m, rank, mib);
  for (;;) co_await m.run(rank, kernel_on(gpu.view(), Access::read_write));
}

Task<> locks_on(Machine& m, Rank rank, Shared* shared) {
  Live here;
  Semaphore::Lock lock = co_await shared->locks.acquire();
  for (;;) co_await m.run(rank, std::vector<GpuKernel>(1, kernel_of(1e6)));
}

Task<> waits(Shared* shared, int how) {
  Live here;
  if (how == 0) co_await shared->never;
  if (how == 1) co_await shared->barrier.arrive();
  if (how == 2) {
    const Semaphore::Lock only = co_await shared->one.acquire();
    co_await shared->never;
  }
}

Task<> allocates_twice(Machine& m, Rank rank) {
  Live here;
  Buffer first = co_await in_turn(m, TierId::pinned, rank, mib, Purpose::host_pool);
  Buffer second = co_await in_turn(m, TierId::pinned, rank, 256 * mib, Purpose::host_pool);
}

Task<> half_a_collective(Machine& m, Buffer gpu) {
  Live here;
  co_await m.collective(rank0, m.topology().world(), Collective::all_reduce, gpu.view(),
                        gpu.view());
}

Task<> member(Machine& m, Shared* shared, int which);

Task<> nested(Machine& m, Shared* shared, int which) {
  Live here;
  Pending<> inner = m.spawn(member(m, shared, which));
  co_await inner;
}

Task<> joins_another(Pending<>* other) {
  Live here;
  co_await *other;
}

/// Owns a Pending that another coroutine of the same frame waits for.
Task<> crossed(Machine& m, Shared* shared) {
  Live here;
  Pending<> waits_long = m.spawn(waits(shared, 0));
  Pending<> joins = m.spawn(joins_another(&waits_long));
  co_await shared->never;
}

Task<> several(Machine& m, Shared* shared, int which) {
  Live here;
  std::vector<Task<>> all;
  for (int i = 1; i <= 3; ++i) all.push_back(member(m, shared, (which + i) % 7));
  co_await when_all(m.scheduler(), std::move(all));
}

Task<> member(Machine& m, Shared* shared, int which) {
  const Rank rank{static_cast<std::uint32_t>(which % 2)};
  switch (which) {
    case 0:
      return reads_on(m, rank);
    case 1:
      return copies_on(m, rank);
    case 2:
      return computes_on(m, rank);
    case 3:
      return locks_on(m, rank, shared);
    case 4:
      return waits(shared, 0);
    case 5:
      return waits(shared, 1);
    case 6:
      return waits(shared, 2);
    case 7:
      return nested(m, shared, 0);
    case 8:
      return several(m, shared, 2);
    default:
      return crossed(m, shared);
  }
}

/// Some work, then more memory than there is.
Task<> runs_out(Machine& m) {
  Live here;
  for (int i = 0; i < 20; ++i) co_await m.run(rank1, std::vector<GpuKernel>(1, kernel_of(1e8)));
  Buffer too_large = gpu_buffer(m, rank1, 65 * mib);
}

std::vector<Task<>> forty_and_one(Machine& m, Shared* shared) {
  std::vector<Task<>> all;
  for (int i = 0; i < 38; ++i) all.push_back(member(m, shared, i % 10));
  all.push_back(allocates_twice(m, rank0));
  all.push_back(half_a_collective(m, gpu_buffer(m, rank0, mib)));
  all.push_back(runs_out(m));
  return all;
}

template <class Expected>
void expect_nothing_left(Machine& m, Shared& shared, Expected use) {
  EXPECT_EQ(Live::count, 0);
  EXPECT_EQ(shared.locks.used(), 0u);
  EXPECT_FALSE(shared.locks.has_waiters());
  EXPECT_EQ(m.usage(ssd).used, use);
  for (const Rank rank : {rank0, rank1}) {
    EXPECT_EQ(m.usage(TierId::gpu, rank).used, use);
    EXPECT_EQ(m.usage(TierId::gpu, rank).free, 64 * mib);
    EXPECT_TRUE(m.try_allocate(TierId::gpu, rank, Bytes(64 * mib), Purpose::weights));
  }
  EXPECT_EQ(m.usage(TierId::pinned, rank0).used, use);
  EXPECT_EQ(m.usage(TierId::pinned, rank0).free, 256 * mib);
}

TYPED_TEST(Cancellation, OutOfMemoryInOneOfManyLeavesNothingBehind) {
  Machine& m = this->machine();
  Shared shared(m);
  for (int again = 0; again < 3; ++again) {
    EXPECT_THROW(m.run_ranks(forty_and_one(m, &shared)), OutOfMemory);
    expect_nothing_left(m, shared, 0u);
  }
}

Task<> tries_and_goes_on(Machine& m, Shared* shared, int* caught) {
  for (int again = 0; again < 3; ++again) {
    std::vector<Task<>> all = forty_and_one(m, shared);
    all.erase(all.end() - 2);  // half a collective stays open after its coroutine is gone
    try {
      co_await when_all(m.scheduler(), std::move(all));
    } catch (const OutOfMemory&) {
      ++*caught;
    }
    EXPECT_EQ(Live::count, 0);
    EXPECT_EQ(shared->locks.used(), 0u);
    // what was in flight keeps its memory until it has ended
    for (int i = 0; i < 200; ++i) co_await m.run(rank1, std::vector<GpuKernel>(1, kernel_of(1e8)));
    expect_nothing_left(m, *shared, 0u);
  }
}

TYPED_TEST(Cancellation, ARunThatCatchesItGoesOnWithEverythingBack) {
  Machine& m = this->machine();
  Shared shared(m);
  int caught = 0;
  std::vector<Task<>> ranks;
  ranks.push_back(tries_and_goes_on(m, &shared, &caught));
  m.run_ranks(std::move(ranks));
  EXPECT_EQ(caught, 3);
}

Task<> queue_head(Machine& m) {
  Buffer all = co_await in_turn(m, TierId::gpu, rank0, 60 * mib, Purpose::weights);
}

Task<> fails_soon(Machine& m) {
  co_await m.run(rank0, std::vector<GpuKernel>(1, kernel_of(1e6)));
  throw std::runtime_error("soon");
}

Task<> small(Machine& m, std::vector<int>* log) {
  Buffer little = co_await in_turn(m, TierId::gpu, rank0, 2 * mib, Purpose::weights);
  log->push_back(1);
}

Task<> cancels_the_head(Machine& m, std::vector<int>* log) {
  Buffer held = gpu_buffer(m, rank0, 10 * mib);
  std::vector<Task<>> doomed;
  doomed.push_back(queue_head(m));
  doomed.push_back(fails_soon(m));
  Pending<> failing = m.spawn(when_all(m.scheduler(), std::move(doomed)));
  Pending<> behind = m.spawn(small(m, log));  // 54 MiB are free, but it is not its turn
  EXPECT_TRUE(log->empty());
  EXPECT_THROW(co_await failing, std::runtime_error);
  co_await behind;  // nothing was freed: the queue alone moved up
}

TYPED_TEST(Cancellation, WhoGivesUpAtTheHeadOfAQueueLetsTheNextOnesIn) {
  std::vector<int> log;
  this->run(cancels_the_head(this->machine(), &log));
  EXPECT_THAT(log, ::testing::ElementsAre(1));
}

}  // namespace
}  // namespace spillway::strategies::cancellation_test
