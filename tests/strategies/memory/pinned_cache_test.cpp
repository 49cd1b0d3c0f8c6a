#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

/// With PyTorch's caching pinned allocator.
template <class Kind>
class PinnedCache : public MachineContract<Kind> {
 protected:
  void SetUp() override {
    this->box.strategy.pinned = description::PinnedPolicy::power_of_two;
    this->box.strategy.gpu_allocator = description::GpuAllocator::caching;
  }
  std::uint64_t used() { return this->machine().usage(TierId::pinned, rank0).used; }
  Buffer take(std::uint64_t bytes, Rank rank = rank0, TierId tier = TierId::pinned) {
    return this->machine().allocate_now(tier, rank, Bytes(bytes), Purpose::host_pool);
  }
};
TYPED_TEST_SUITE(PinnedCache, Machines);

TYPED_TEST(PinnedCache, NeverReturnsSoEachClassCostsItsOwnPeak) {
  // 3 + 3 + 5 MiB asked as classes of 4, 4 and 8 MiB: 16; what is freed stays charged
  Buffer a = this->take(3 * mib), b = this->take(3 * mib), c = this->take(5 * mib);
  EXPECT_EQ(this->used(), 16 * mib);
  a.reset();
  b.reset();
  c.reset();
  EXPECT_EQ(this->used(), 16 * mib);
  // 4 MiB and 1 B over 4 MiB come from what was kept, a third of 4 MiB class does not
  a = this->take(4 * mib);
  c = this->take(4 * mib + 1);
  EXPECT_EQ(this->used(), 16 * mib);
  b = this->take(2 * mib + 1);
  Buffer d = this->take(4 * mib);
  EXPECT_EQ(this->used(), 20 * mib);
  EXPECT_EQ(a.size(), Bytes(4 * mib));
}

TYPED_TEST(PinnedCache, KeptBlocksAreTheirRanksOwn) {
  this->take(4 * mib).reset();
  Buffer other = this->take(4 * mib, rank1);
  EXPECT_EQ(this->used(), 8 * mib);
}

TYPED_TEST(PinnedCache, PageableAndGpuMemoryIsGivenBack) {
  this->take(4 * mib).reset();
  Buffer pageable = this->take(4 * mib, rank0, TierId::pageable);
  EXPECT_EQ(this->used(), 8 * mib) << "a pinned block served pageable memory";
  pageable.reset();
  EXPECT_EQ(this->used(), 4 * mib);
  Machine& m = this->machine();
  Buffer gpu =
      m.allocate_now(TierId::gpu, rank0, Bytes(4 * mib), Purpose::weights, Rounding::power_of_two);
  EXPECT_EQ(m.usage(TierId::gpu, rank0).used, 4 * mib);
  gpu.reset();
  EXPECT_EQ(m.usage(TierId::gpu, rank0).used, 0u);
}

TYPED_TEST(PinnedCache, KeptBlocksStayChargedToTheirLastPurposeUntilTheyAreTaken) {
  Machine& m = this->machine();
  const auto purpose_of_peak = [&] { return m.ledger().peak(m.host_tier()).entries.at(0).purpose; };
  this->take(4 * mib).reset();
  EXPECT_EQ(purpose_of_peak(), "host_pool");
  EXPECT_FALSE(m.ledger().peak(m.host_tier()).entries.at(0).kept);  // the peak was before
  m.enter(rank0, Phase::update);
  Buffer reused =
      m.allocate_now(TierId::pinned, rank0, Bytes(3 * mib), Purpose::optimizer_swap_buffers);
  Buffer more = this->take(1);  // a new peak, of which the block is now part
  const Peak peak = m.ledger().peak(m.host_tier());
  EXPECT_EQ(peak.charged, 4 * mib + 1);
  EXPECT_EQ(peak.phase, Phase::update);
  EXPECT_EQ(peak.entries.at(0).purpose, "optimizer_swap_buffers");
  EXPECT_EQ(peak.entries.at(0).asked_bytes, 3 * mib);
  EXPECT_EQ(peak.entries.at(0).charged_bytes, 4 * mib);
  EXPECT_EQ(peak.entries.at(0).phase, "update");  // born anew with its purpose
  EXPECT_FALSE(peak.entries.at(0).kept);
}

TYPED_TEST(PinnedCache, AKeptBlockIsNobodysAtALaterPeak) {
  Machine& m = this->machine();
  this->take(4 * mib).reset();
  Buffer other = this->take(1);
  const Peak peak = m.ledger().peak(m.host_tier());
  ASSERT_EQ(peak.entries.size(), 2u);
  EXPECT_TRUE(peak.entries[0].kept);
  EXPECT_FALSE(peak.entries[1].kept);
}

TYPED_TEST(PinnedCache, AnAllocatorOfOnesOwnIsNotCached) {
  Machine& m = this->machine();
  Buffer exact =
      m.allocate_now(TierId::pinned, rank0, Bytes(5000), Purpose::host_pool, Rounding::page);
  EXPECT_EQ(this->used(), 8192u);
  exact.reset();
  EXPECT_EQ(this->used(), 0u);
}

TYPED_TEST(PinnedCache, TheCudaAllocatorRoundsAndGivesBack) {
  Machine& m = this->machine();
  Buffer small = gpu_buffer(m, rank0, 513);
  Buffer large = gpu_buffer(m, rank0, mib + 1);
  EXPECT_EQ(m.usage(TierId::gpu, rank0).used, 1024 + 2 * mib);
  small.reset();
  large.reset();
  EXPECT_EQ(m.usage(TierId::gpu, rank0).used, 0u);
}

Task<> takes(Machine& m, Rank rank, std::uint64_t bytes, std::vector<int>* log, int id) {
  Buffer buffer = co_await in_turn(m, TierId::pinned, rank, bytes, Purpose::host_pool);
  log->push_back(id);
}

Task<> full_host(Machine& m, std::vector<int>* log) {
  Buffer half =
      m.allocate_now(TierId::pinned, rank0, Bytes(128 * mib), Purpose::parameter_flat_buffer);
  Buffer rest = m.allocate_now(TierId::pinned, rank0, Bytes(128 * mib), Purpose::host_pool);
  Pending<> same = m.spawn(takes(m, rank0, 128 * mib, log, 1));
  Pending<> too = m.spawn(takes(m, rank0, 100 * mib, log, 2));
  EXPECT_TRUE(log->empty());
  half.reset();  // kept by the cache, were it not just what the head of the queue waits for
  co_await same;
  co_await too;
  EXPECT_EQ(m.usage(TierId::pinned, rank0).used, 256 * mib);
}

TYPED_TEST(PinnedCache, WhoWaitsForAFullHostGetsTheBlockOfItsClassThatComesBack) {
  std::vector<int> log;
  this->run(full_host(this->machine(), &log));
  EXPECT_THAT(log, ::testing::ElementsAre(1, 2));
}

}  // namespace
}  // namespace spillway::strategies
