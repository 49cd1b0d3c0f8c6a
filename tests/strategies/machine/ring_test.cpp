#include "strategies/machine/ring.hpp"
#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>
#include <set>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

template <class Kind>
class Ring : public MachineContract<Kind> {};
TYPED_TEST_SUITE(Ring, Machines);

using Slots = std::vector<const Block*>;

BufferRing host_ring(Machine& machine, std::uint64_t count) {
  return BufferRing(machine, TierId::pinned, rank0, count, Bytes(mib), Purpose::host_pool);
}

Task<> take_one(BufferRing* ring, Slots* taken) {
  const Buffer buffer = co_await ring->take();
  taken->push_back(buffer.view().block.get());
}

/// The second and third of three buffers are free, the first is not.
Task<> go_round(Machine* machine, Slots* taken) {
  BufferRing ring = host_ring(*machine, 3);
  const Stored from = co_await extent(*machine, mib);
  Buffer first = co_await ring.take();
  taken->push_back(first.view().block.get());
  for (int other = 0; other < 2; ++other) co_await take_one(&ring, taken);
  Pending<> fourth = machine->spawn(take_one(&ring, taken));
  Pending<> fifth = machine->spawn(take_one(&ring, taken));
  const Buffer elsewhere = host_buffer(*machine, mib);
  co_await machine->read(rank0, from, {0, mib}, elsewhere.view(0, mib));
  EXPECT_THAT(*taken, SizeIs(3)) << "a later buffer was lent out of its turn";
  first.reset();
  co_await fourth;
  co_await fifth;
}

TYPED_TEST(Ring, LendsInItsOrderAndWaitsForTheNextThoughOthersAreFree) {
  Slots taken;
  this->run(go_round(&this->machine(), &taken));
  ASSERT_THAT(taken, SizeIs(5));
  EXPECT_EQ(std::set<const Block*>(taken.begin(), taken.begin() + 3).size(), 3u);
  EXPECT_EQ(taken[3], taken[0]);
  EXPECT_EQ(taken[4], taken[1]);
  EXPECT_EQ(this->machine().usage(TierId::pinned, rank0).used, 0u);
}

/// A buffer is dropped while a read into it is under way.
Task<> read_around(Machine* machine, std::vector<bool>* over) {
  BufferRing ring = host_ring(*machine, 2);
  const Stored from = co_await extent(*machine, mib);
  std::vector<Op> reads;
  for (int i = 0; i < 4; ++i) {
    const Buffer buffer = co_await ring.take();
    if (i >= 2) over->push_back(reads[reads.size() - 2].done());
    reads.push_back(machine->read(rank0, from, {0, mib}, buffer.view(0, mib)));
  }
  for (const Op& read : reads) co_await read;
}

TYPED_TEST(Ring, BuffersComeBackWhenTheirOperationsEnd) {
  std::vector<bool> over;
  this->run(read_around(&this->machine(), &over));
  EXPECT_THAT(over, ElementsAre(true, true));
}

Task<> no_buffers(Machine* machine) {
  const BufferRing ring = host_ring(*machine, 0);
  co_return;
}

TYPED_TEST(Ring, OfNoBuffersIsAnError) {
  EXPECT_THROW(this->run(no_buffers(&this->machine())), InternalError);
}

}  // namespace
}  // namespace spillway::strategies
