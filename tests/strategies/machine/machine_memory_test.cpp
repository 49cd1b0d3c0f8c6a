#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

template <class Kind>
using MachineMemory = MachineContract<Kind>;
TYPED_TEST_SUITE(MachineMemory, Machines);

Task<> take(Machine& m, std::uint64_t bytes, std::vector<int>* log, int id, Event* release) {
  Buffer buffer = co_await in_turn(m, TierId::gpu, rank0, bytes, Purpose::weights);
  log->push_back(id);
  if (release) co_await *release;
}

Task<> first_come_first_served(Machine& m, std::vector<int>* log) {
  Event release(m.scheduler());
  Buffer most = gpu_buffer(m, rank0, 60 * mib);  // 4 MiB are free
  Pending<> large = m.spawn(take(m, 10 * mib, log, 1, &release));
  Pending<> small = m.spawn(take(m, 1 * mib, log, 2, nullptr));
  Pending<> exact = m.spawn(take(m, 55 * mib, log, 3, nullptr));
  EXPECT_TRUE(log->empty());
  // prefetch never queues in front of who waits, however little it asks for
  EXPECT_FALSE(m.try_allocate(TierId::gpu, rank0, Bytes(1), Purpose::weights));
  // compute does not wait for them
  Buffer now = m.allocate_now(TierId::gpu, rank0, Bytes(4 * mib), Purpose::weights);
  EXPECT_EQ(m.usage(TierId::gpu, rank0).free, 0u);
  now.reset();
  most.reset();  // 64 free: 10, then 1; then 55 does not fit until the first is gone
  EXPECT_TRUE(log->empty()) << "a waiter was resumed inside reset()";
  co_await small;
  EXPECT_THAT(*log, ElementsAre(1, 2));
  release.set();
  co_await large;
  co_await exact;
}

TYPED_TEST(MachineMemory, AllocationsWaitFirstComeFirstServed) {
  std::vector<int> log;
  this->run(first_come_first_served(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(1, 2, 3));
}

Task<> charged_as_said(Machine& m) {
  for (const std::uint64_t bytes : {std::uint64_t{1000}, mib + 1, 3 * mib}) {
    const std::uint64_t before = m.usage(TierId::gpu, rank0).free;
    const Buffer buffer = m.allocate_now(TierId::gpu, rank0, Bytes(bytes), Purpose::weights);
    EXPECT_EQ(before - m.usage(TierId::gpu, rank0).free, m.gpu_charge(bytes)) << bytes;
  }
  co_return;
}

TYPED_TEST(MachineMemory, ABufferTakesOfTheGpuWhatIsSaidBefore) {
  this->run(charged_as_said(this->machine()));
}
TYPED_TEST(MachineMemory, ABufferTakesWhatIsSaidOfAGpuWhoseAllocatorRoundsToo) {
  this->box.strategy.gpu_allocator = description::GpuAllocator::caching;
  this->run(charged_as_said(this->machine()));
}

Task<> exactly_full(Machine& m) {
  Buffer all = co_await in_turn(m, TierId::gpu, rank1, 64 * mib, Purpose::weights);
  EXPECT_EQ(m.usage(TierId::gpu, rank1).free, 0u);
  EXPECT_EQ(m.usage(TierId::gpu, rank0).free, 64 * mib);
  EXPECT_FALSE(m.try_allocate(TierId::gpu, rank1, Bytes(1), Purpose::weights));
  all.reset();
  EXPECT_TRUE(m.try_allocate(TierId::gpu, rank1, Bytes(64 * mib), Purpose::weights));
}

TYPED_TEST(MachineMemory, ATierCanBeFilledToTheLastByte) {
  this->run(exactly_full(this->machine()));
}

TYPED_TEST(MachineMemory, AllocateNowSaysWhatDidNotFit) {
  Machine& m = this->machine();
  m.enter(rank1, Phase::backward);
  Buffer some = gpu_buffer(m, rank1, 60 * mib);
  try {
    Buffer more = m.allocate_now(TierId::gpu, rank1, Bytes(5 * mib), Purpose::activations);
    FAIL() << "5 MiB fitted into 4";
  } catch (const OutOfMemory& error) {
    const result::Infeasible& request = error.request();
    EXPECT_EQ(request.tier, "gpu");
    EXPECT_EQ(request.rank, 1u);
    EXPECT_EQ(request.purpose, "activations");
    EXPECT_EQ(request.phase, "backward");
    EXPECT_EQ(request.asked_bytes, 5 * mib);
    EXPECT_EQ(request.free_bytes, 4 * mib);
    EXPECT_EQ(request.capacity_bytes, 64 * mib);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("activations asks for 5242880 B in backward"));
  }
  EXPECT_EQ(m.usage(TierId::gpu, rank1).used, 60 * mib);
}

TYPED_TEST(MachineMemory, WhatATierCanNeverGiveDoesNotWait) {
  const auto ask = [&](TierId tier, std::uint64_t bytes) {
    return [this, tier, bytes]() {
      Machine& m = this->machine();
      this->run([](Machine& machine, TierId where, std::uint64_t size) -> Task<> {
        Buffer buffer = co_await in_turn(machine, where, rank0, size, Purpose::weights);
      }(m, tier, bytes));
    };
  };
  EXPECT_THROW(ask(TierId::gpu, 64 * mib + 1)(), OutOfMemory);
  EXPECT_THROW(ask(TierId::pinned, 256 * mib + 1)(), OutOfMemory);
  EXPECT_THROW(ask(TierId::pageable, 256 * mib + 1)(), OutOfMemory);
  EXPECT_NO_THROW(ask(TierId::pageable, 256 * mib)());
  EXPECT_THROW(this->run([](Machine& machine) -> Task<> {
    Stored stored = co_await extent(machine, 1024 * mib + 1);
  }(this->machine())),
               OutOfMemory);
}

Task<> one_host(Machine& m) {
  Buffer pinned = m.allocate_now(TierId::pinned, rank0, Bytes(100 * mib), Purpose::host_pool);
  Buffer pageable = m.allocate_now(TierId::pageable, rank1, Bytes(100), Purpose::host_pool);
  // exact pinned memory takes whole pages, pageable memory what was asked
  EXPECT_EQ(m.usage(TierId::pinned, rank1).used, 100 * mib + 100);
  EXPECT_EQ(m.usage(TierId::pageable, rank0).used, 100 * mib + 100);
  Buffer page = m.allocate_now(TierId::pinned, rank0, Bytes(4097), Purpose::host_pool);
  EXPECT_EQ(m.usage(TierId::pinned, rank0).used, 100 * mib + 100 + 8192);
  EXPECT_EQ(page.size(), Bytes(4097));
  pinned.reset();
  const Usage left = m.usage(TierId::pinned, rank0);
  EXPECT_EQ(left.used, 8292u);
  EXPECT_EQ(left.peak, 100 * mib + 100 + 8192);
  EXPECT_EQ(left.free, 256 * mib - 8292);
  co_return;
}

TYPED_TEST(MachineMemory, PinnedAndPageableShareTheHostsMemory) {
  this->run(one_host(this->machine()));
}

Task<> stored_dies(Machine& m) {
  {
    Stored stored = co_await m.store(ssd, rank1, Bytes(5000), Purpose::optimizer_states);
    EXPECT_EQ(stored.size(), Bytes(5000));
    EXPECT_EQ(m.usage(ssd).used, 8192u);  // two sectors
    Stored rest = co_await extent(m, 16 * mib - 8192);
    EXPECT_EQ(m.usage(ssd).free, 0u);
  }
  EXPECT_EQ(m.usage(ssd).used, 0u);
  EXPECT_EQ(m.usage(ssd).peak, 16 * mib);
}

TYPED_TEST(MachineMemory, AnExtentIsFreedWhenItDies) {
  this->box.machine.storage[0].capacity = 16_MiB;
  this->run(stored_dies(this->machine()));
}

Task<> lives_on(Machine& m) {
  Stored stored = co_await extent(m, mib);
  Buffer buffer = host_buffer(m, mib);
  Op read = m.read(rank0, stored, {0, mib}, buffer.view());
  Op write = m.write(rank0, stored, {0, mib}, buffer.view(), read);
  buffer.reset();
  stored = Stored();
  EXPECT_EQ(m.usage(TierId::pinned, rank0).used, mib);
  co_await read;
  EXPECT_EQ(m.usage(TierId::pinned, rank0).used, mib);
  EXPECT_EQ(m.usage(ssd).used, mib);
  co_await write;
  EXPECT_EQ(m.usage(TierId::pinned, rank0).used, 0u);
  EXPECT_EQ(m.usage(ssd).used, 0u);
}

TYPED_TEST(MachineMemory, OperationsInFlightKeepTheirMemory) {
  this->run(lives_on(this->machine()));
}

Task<> take_two(Machine& m, std::vector<Buffer>* taken) {
  std::vector<Wanted> wanted{{Bytes(20 * mib), Purpose::weights},
                             {Bytes(30 * mib), Purpose::activations}};
  *taken = co_await m.allocate(TierId::gpu, rank0, std::move(wanted));
}

Task<> both_or_none(Machine& m) {
  std::vector<Buffer> taken;
  Buffer held = gpu_buffer(m, rank0, 20 * mib);  // 44 MiB are free: room for either, not for both
  Pending<> waiting = m.spawn(take_two(m, &taken));
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(m.usage(TierId::gpu, rank0).free, 44 * mib);
  EXPECT_FALSE(m.try_allocate(TierId::gpu, rank0, Bytes(mib), Purpose::weights));
  held.reset();
  co_await waiting;
  EXPECT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken.front().size(), Bytes(20 * mib));
  EXPECT_EQ(taken.back().size(), Bytes(30 * mib));
  EXPECT_EQ(m.usage(TierId::gpu, rank0).used, 50 * mib);
  taken.front().reset();  // each is given back by itself
  EXPECT_EQ(m.usage(TierId::gpu, rank0).free, 34 * mib);
}

TYPED_TEST(MachineMemory, WhoWaitsForTwoBuffersHoldsNoneUntilThereIsRoomForBoth) {
  this->run(both_or_none(this->machine()));
}

Task<> left_free(Machine& m) {
  Semaphore::Lock headroom = m.leave_free(TierId::gpu, rank0, Bytes(4 * mib));
  EXPECT_EQ(m.usage(TierId::gpu, rank0).free, 60 * mib);
  EXPECT_EQ(m.usage(TierId::gpu, rank0).used, 0u);
  EXPECT_EQ(m.usage(TierId::gpu, rank1).free, 64 * mib);
  EXPECT_FALSE(m.try_allocate(TierId::gpu, rank0, Bytes(60 * mib + 1), Purpose::weights));
  EXPECT_TRUE(m.try_allocate(TierId::gpu, rank0, Bytes(60 * mib), Purpose::weights));
  EXPECT_THROW((void)m.leave_free(TierId::gpu, rank0, Bytes(60 * mib + 1)), OutOfMemory);
  headroom.release();
  EXPECT_EQ(m.usage(TierId::gpu, rank0).free, 64 * mib);
  EXPECT_EQ(m.usage(TierId::gpu, rank0).peak, 60 * mib);
  co_return;
}

TYPED_TEST(MachineMemory, WhatIsLeftFreeIsInNoBookAndNobodyGetsIt) {
  this->run(left_free(this->machine()));
}

TYPED_TEST(MachineMemory, AnUnlimitedGpuHoldsWhatNoGpuHolds) {
  if (bytes_are_real) GTEST_SKIP() << "no memory is unlimited";
  this->box.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  Machine& m = this->machine();
  Buffer huge = gpu_buffer(m, rank0, 1'000'000 * mib);
  EXPECT_EQ(m.usage(TierId::gpu, rank0).used, 1'000'000 * mib);
}

TYPED_TEST(MachineMemory, ZeroBytesTakeNothing) {
  Machine& m = this->machine();
  Buffer none = gpu_buffer(m, rank0, 0);
  EXPECT_TRUE(none);
  EXPECT_EQ(none.size(), Bytes(0));
  EXPECT_EQ(m.usage(TierId::gpu, rank0).used, 0u);
}

TYPED_TEST(MachineMemory, MemoryHasARankAndStorageIsNotAllocated) {
  Machine& m = this->machine();
  EXPECT_THROW((void)m.usage(TierId::gpu, Rank{2}), InternalError);
  EXPECT_THROW((void)gpu_buffer(m, Rank{2}, 1), InternalError);
  EXPECT_THROW((void)m.allocate_now(TierId::storage, rank0, Bytes(1), Purpose::weights),
               InternalError);
}

}  // namespace
}  // namespace spillway::strategies
