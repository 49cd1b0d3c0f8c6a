#include "strategies/machine/pool.hpp"
#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

template <class Kind>
class Pool : public MachineContract<Kind> {};
TYPED_TEST_SUITE(Pool, Machines);

BufferPool host_pool(Machine& machine, std::uint64_t count, std::uint64_t bytes) {
  return BufferPool(machine, TierId::pinned, rank0, count, Bytes(bytes), Purpose::host_pool);
}

struct Loans {
  std::vector<int> taken;
  std::vector<Op> reads;
  std::vector<bool> second_last_was_over;  ///< when a buffer was taken
};

/// Takes a buffer, reads into it and drops it at once.
Task<> borrow(Machine* machine, BufferPool* pool, Stored* from, Loans* loans, int id) {
  Buffer buffer = co_await pool->take();
  const std::size_t before = loans->reads.size();
  loans->taken.push_back(id);
  if (before >= 2) loans->second_last_was_over.push_back(loans->reads[before - 2].done());
  loans->reads.push_back(machine->read(rank0, *from, {0, mib}, buffer.view(0, mib)));
  const Op read = loans->reads.back();
  buffer.reset();
  co_await read;
}

Task<> borrow_five_times(Machine* machine, Loans* loans) {
  BufferPool pool = host_pool(*machine, 2, mib);
  Stored from = co_await extent(*machine, mib);
  std::vector<Pending<>> borrowers;
  for (int id = 1; id <= 5; ++id)
    borrowers.push_back(machine->spawn(borrow(machine, &pool, &from, loans, id)));
  for (Pending<>& each : borrowers) co_await each;
}

TYPED_TEST(Pool, LendsFirstComeFirstServedWhenOperationsEnd) {
  Loans loans;
  this->run(borrow_five_times(&this->machine(), &loans));
  EXPECT_THAT(loans.taken, ElementsAre(1, 2, 3, 4, 5));
  // two buffers: the third comes back when the first read ends, though nobody holds its buffer
  EXPECT_THAT(loans.second_last_was_over, ElementsAre(true, true, true));
  EXPECT_EQ(this->machine().usage(TierId::pinned, rank0).used, 0u);
  loans.reads.clear();
}

Task<> outlive(Machine* machine, std::vector<std::uint64_t>* used) {
  const auto note = [&] { used->push_back(machine->usage(TierId::pinned, rank0).used); };
  auto pool = std::make_unique<BufferPool>(*machine, TierId::pinned, rank0, 3, Bytes(mib),
                                           Purpose::host_pool);
  Stored from = co_await extent(*machine, mib);
  Buffer kept = co_await pool->take();
  Buffer busy = co_await pool->take();
  const Op read = machine->read(rank0, from, {0, mib}, busy.view(0, mib));
  busy.reset();
  note();
  pool.reset();
  note();  // its memory lives as long as one lent buffer does
  co_await read;
  note();
  kept.reset();
  note();
}

TYPED_TEST(Pool, MemoryOutlivesItsOwnerUntilTheLastLoanIsBack) {
  std::vector<std::uint64_t> used;
  this->run(outlive(&this->machine(), &used));
  EXPECT_THAT(used, ElementsAre(3 * mib, 3 * mib, 3 * mib, 0));
}

Task<> too_large(Machine* machine) {
  BufferPool pool = host_pool(*machine, 3, 100 * mib);
  co_return;
}

TYPED_TEST(Pool, ThatDoesNotFitNamesTheBufferAndLeavesNothing) {
  // 256 MiB of host memory hold two buffers of 100 MiB
  try {
    this->run(too_large(&this->machine()));
    FAIL() << "three fit";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.request().tier, "host");
    EXPECT_EQ(error.request().asked_bytes, 100 * mib);
    EXPECT_EQ(error.request().free_bytes, 56 * mib);
  }
  EXPECT_EQ(this->machine().usage(TierId::pinned, rank0).used, 0u);
}

Task<> odd_size(Machine* machine, std::uint64_t* bytes) {
  BufferPool pool = host_pool(*machine, 1, 5000);
  const Buffer buffer = co_await pool.take();
  *bytes = buffer.size().value();
}

TYPED_TEST(Pool, BuffersAreAsLargeAsWhatTheAllocatorGave) {
  std::uint64_t bytes = 0;
  this->run(odd_size(&this->machine(), &bytes));
  EXPECT_EQ(bytes, 8192u);  // exact allocators round to pages
}

struct Several {
  std::vector<int> log;  ///< id when taken, -id when given back
};

/// Takes `count` buffers, reads into the first, and gives all back when that is done.
Task<> borrow_several(Machine* machine, BufferPool* pool, Stored* from, Several* several,
                      std::uint64_t count, int id) {
  std::vector<Buffer> buffers = co_await pool->take(count);
  several->log.push_back(id);
  EXPECT_EQ(buffers.size(), count);
  const Op read = machine->read(rank0, *from, {0, mib}, buffers[0].view(0, mib));
  co_await read;
  several->log.push_back(-id);
}

Task<> borrow_three_of_four(Machine* machine, Several* several) {
  BufferPool pool = host_pool(*machine, 4, mib);
  Stored from = co_await extent(*machine, mib);
  std::vector<Pending<>> borrowers;
  for (const auto& [count, id] : {std::pair{3, 1}, {3, 2}, {1, 3}, {4, 4}})
    borrowers.push_back(machine->spawn(
        borrow_several(machine, &pool, &from, several, static_cast<std::uint64_t>(count), id)));
  for (Pending<>& each : borrowers) co_await each;
}

TYPED_TEST(Pool, WhoWantsSeveralTakesThemTogetherOrWaits) {
  // 1 leaves one buffer: with it, 2 would have some of what it wants and so block 1's like. It
  // waits for all three, and 3, for whom the one would do, waits behind it
  Several several;
  this->run(borrow_three_of_four(&this->machine(), &several));
  EXPECT_EQ(std::vector<int>(several.log.begin(), several.log.begin() + 2), (std::vector{1, -1}));
  std::vector<int> taken;
  for (const int id : several.log)
    if (id > 0) taken.push_back(id);
  EXPECT_THAT(taken, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(several.log, ElementsAre(1, -1, 2, 3, -2, -3, 4, -4));
  EXPECT_EQ(this->machine().usage(TierId::pinned, rank0).used, 0u);
}

Task<> too_many(Machine* machine) {
  BufferPool pool = host_pool(*machine, 4, mib);
  EXPECT_EQ((co_await pool.take(0)).size(), 0u);
  const std::vector<Buffer> all = co_await pool.take(4);
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ((co_await pool.take(0)).size(), 0u);  // nothing is always there
  const std::vector<Buffer> never = co_await pool.take(5);
}

TYPED_TEST(Pool, MoreThanItHoldsIsAnErrorNotAHang) {
  EXPECT_THROW(this->run(too_many(&this->machine())), InternalError);
}

Task<> nothing_to_lend(Machine* machine) {
  BufferPool pool = host_pool(*machine, 0, mib);
  const Buffer never = co_await pool.take();
}

TYPED_TEST(Pool, EmptyPoolIsAnErrorNotAHang) {
  EXPECT_THROW(this->run(nothing_to_lend(&this->machine())), InternalError);
}

}  // namespace
}  // namespace spillway::strategies
