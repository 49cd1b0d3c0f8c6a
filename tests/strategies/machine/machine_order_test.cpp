#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

template <class Kind>
using MachineOrder = MachineContract<Kind>;
TYPED_TEST_SUITE(MachineOrder, Machines);

Task<> chain_and_bystander(Machine& m, std::vector<int>* log) {
  Stored stored = co_await extent(m, 8 * mib);
  Buffer large = host_buffer(m, 8 * mib);
  Buffer small = host_buffer(m, 4096);
  Buffer other = host_buffer(m, 4096);
  Op first = m.read(rank0, stored, {0, 8 * mib}, large.view());
  Op then = m.read(rank0, stored, {0, 4096}, small.view(), first);
  Op bystander = m.read(rank0, stored, {4096, 4096}, other.view());
  EXPECT_FALSE(then.done());
  std::vector<Task<>> watchers;
  watchers.push_back(note_end(then, log, 2));
  watchers.push_back(note_end(first, log, 1));
  watchers.push_back(note_end(bystander, log, 3));
  co_await when_all(m.scheduler(), std::move(watchers));
  EXPECT_GE(then.timing().started_s, first.timing().finished_s);
}

TYPED_TEST(MachineOrder, AnOperationStartsWhenItsAfterIsDone) {
  std::vector<int> log;
  this->run(chain_and_bystander(this->machine(), &log));
  // the bystander need not wait for the first, the chained one must
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log.back(), 2);
}

Task<> three_requests(Machine& m, bool in_turn) {
  Stored stored = co_await extent(m, 64 * mib);
  Buffer one = host_buffer(m, 32 * mib), other = host_buffer(m, 32 * mib);
  Buffer written = host_buffer(m, 32 * mib);
  Stored elsewhere = co_await extent(m, 32 * mib);
  Op first = m.read(rank0, stored, {0, 32 * mib}, one.view());
  Op second = m.read(rank0, stored, {32 * mib, 32 * mib}, other.view());
  Op write = m.write(rank0, elsewhere, {0, 32 * mib}, written.view());
  co_await first;
  EXPECT_FALSE(in_turn && second.done());
  co_await second;
  co_await write;
  if (in_turn) {
    EXPECT_GE(second.timing().started_s, first.timing().finished_s);
    EXPECT_LE(write.timing().started_s, first.timing().finished_s) << "reads keep no write waiting";
  } else {
    EXPECT_LE(second.timing().started_s, first.timing().finished_s);
  }
}

TYPED_TEST(MachineOrder, RequestsToAHandleOfDeepSpeedAreServedOneByOne) {
  this->box.strategy.io_engine = description::IoEngine::file;
  this->run(three_requests(this->machine(), true));
}

TYPED_TEST(MachineOrder, RequestsToOtherEnginesShareTheDrives) {
  this->box.strategy.io_engine = description::IoEngine::gds;
  this->run(three_requests(this->machine(), false));
}

Task<> after_several(Machine& m, std::vector<int>* log) {
  Stored stored = co_await extent(m, 64 * mib);
  std::vector<Buffer> buffers;
  std::vector<Op> reads;
  // the largest first: the join must not be satisfied by the last or by the smallest
  for (int i = 0; i < 8; ++i) {
    buffers.push_back(host_buffer(m, (8 - i) * mib));
    reads.push_back(m.read(rank0, stored, {0, (8 - i) * mib}, buffers.back().view()));
  }
  std::vector<GpuKernel> kernels(1, kernel_of(1));
  Op all = m.run(rank0, kernels, reads);
  Op two = m.run(rank1, kernels, {reads[0], reads[7], Op()});
  co_await two;
  EXPECT_TRUE(reads[0].done());
  EXPECT_TRUE(reads[7].done());
  co_await all;
  for (const Op& read : reads) EXPECT_TRUE(read.done());
  log->push_back(1);
}

TYPED_TEST(MachineOrder, AfterWaitsForEachOfSeveralAndIgnoresEmptyOnes) {
  std::vector<int> log;
  this->run(after_several(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(1));
}

Task<> await_nothing(std::vector<int>* log) {
  const Op empty;
  EXPECT_TRUE(empty.done());
  co_await empty;
  log->push_back(1);
}

TYPED_TEST(MachineOrder, AnEmptyOperationIsDone) {
  std::vector<int> log;
  this->run(await_nothing(&log));
  EXPECT_THAT(log, ElementsAre(1));
}

Task<> compute_stream(Machine& m, std::vector<int>* log) {
  Stored stored = co_await extent(m, 8 * mib);
  Buffer buffer = host_buffer(m, 8 * mib);
  std::vector<GpuKernel> kernels(3, kernel_of(3e10));  // 30 ms each
  std::vector<GpuKernel> small(1, kernel_of(1e6));
  Op read = m.read(rank0, stored, {0, 8 * mib}, buffer.view());
  Op first = m.run(rank0, kernels, read);
  Op second = m.run(rank0, std::span(kernels).first(1));
  Op elsewhere = m.run(rank1, small);
  std::vector<Task<>> watchers;
  watchers.push_back(note_end(second, log, 3));
  watchers.push_back(note_end(first, log, 2));
  watchers.push_back(note_end(elsewhere, log, 1));
  co_await when_all(m.scheduler(), std::move(watchers));
  EXPECT_GE(second.timing().started_s, first.timing().finished_s);
}

TYPED_TEST(MachineOrder, KernelsOfARankRunInOrderAndThoseOfAnotherBesideThem) {
  std::vector<int> log;
  this->run(compute_stream(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(1, 2, 3));
}

Task<> equal_copies(Machine& m, std::vector<int>* log) {
  std::vector<Buffer> buffers;
  std::vector<Op> copies;
  for (int i = 0; i < 4; ++i) {
    const Rank rank{static_cast<std::uint32_t>(i % 2)};
    buffers.push_back(gpu_buffer(m, rank, mib));
    buffers.push_back(host_buffer(m, mib));
    copies.push_back(m.copy(rank, buffers[2 * i].view(), buffers[2 * i + 1].view()));
  }
  std::vector<Task<>> watchers;
  for (int i = 4; i-- > 0;) watchers.push_back(note_end(copies[i], log, i));
  co_await when_all(m.scheduler(), std::move(watchers));
}

TYPED_TEST(MachineOrder, TiesResumeInStartOrder) {
  if (bytes_are_real) GTEST_SKIP() << "no two things end at one instant";
  // two equal copies on each of two equal links end at one instant
  std::vector<int> log;
  this->run(equal_copies(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(0, 1, 2, 3));
}

Task<> returns_at_once(Machine& m) {
  Buffer from = host_buffer(m, mib);
  Buffer into = gpu_buffer(m, rank0, mib);
  Op copy = m.copy(rank0, into.view(), from.view());
  EXPECT_FALSE(copy.done());
  co_await copy;
  EXPECT_TRUE(copy.done());
  EXPECT_EQ(copy.timing().bytes, mib);
  co_await copy;  // already finished: goes on at once
}

TYPED_TEST(MachineOrder, VerbsReturnBeforeTheirWorkIsDone) {
  this->run(returns_at_once(this->machine()));
}

Task<> nothing_to_move(Machine& m) {
  Stored stored = co_await extent(m, 4096);
  Buffer host = host_buffer(m, 0);
  Buffer gpu = gpu_buffer(m, rank0, 0);
  Buffer peer = gpu_buffer(m, rank1, 0);
  EXPECT_TRUE(m.read(rank0, stored, {0, 0}, host.view()).done());
  EXPECT_TRUE(m.write(rank0, stored, {0, 0}, host.view()).done());
  EXPECT_TRUE(m.copy(rank0, gpu.view(), host.view()).done());
  EXPECT_TRUE(m.send(rank0, rank1, gpu.view(), peer.view()).done());
  Buffer large = host_buffer(m, mib);
  Buffer target = gpu_buffer(m, rank0, mib);
  Op busy = m.copy(rank0, target.view(), large.view());
  // touches no byte of what is in flight
  EXPECT_TRUE(m.copy(rank0, large.view(64, 0), gpu.view()).done());
  Op chained = m.copy(rank0, gpu.view(), host.view(), busy);
  EXPECT_FALSE(chained.done());
  co_await chained;
  EXPECT_TRUE(busy.done());
}

TYPED_TEST(MachineOrder, TransfersOfZeroBytesFinishAtOnce) {
  this->run(nothing_to_move(this->machine()));
}

Task<> long_chain(Machine& m) {
  Buffer large = host_buffer(m, mib);
  Buffer target = gpu_buffer(m, rank0, mib);
  Buffer host = host_buffer(m, 0);
  Buffer gpu = gpu_buffer(m, rank0, 0);
  Op last = m.copy(rank0, target.view(), large.view());
  for (int i = 0; i < 100'000; ++i) last = m.copy(rank0, gpu.view(), host.view(), last);
  co_await last;
}

TYPED_TEST(MachineOrder, AChainOfThingsThatEndAtOnceDoesNotGrowTheStack) {
  this->run(long_chain(this->machine()));
}

Task<> unawaited(Machine& m, Op* kept) {
  Buffer from = host_buffer(m, mib);
  Buffer into = gpu_buffer(m, rank0, mib);
  *kept = m.copy(rank0, into.view(), from.view());
  co_return;
}

TYPED_TEST(MachineOrder, ARunEndsWhenTheLastUnawaitedOperationHasEnded) {
  Op copy;
  this->run(unawaited(this->machine(), &copy));
  EXPECT_TRUE(copy.done());
  EXPECT_EQ(this->machine().usage(TierId::gpu, rank0).used, 0u);
}

Task<> six(Machine& m) {
  Buffer from = host_buffer(m, mib);
  Buffer into = gpu_buffer(m, rank0, mib);
  const Op none;
  const Op copy = m.copy(rank0, into.view(), from.view());
  std::vector<GpuKernel> kernels(1, kernel_of(1));
  co_await m.run(rank1, kernels, {none, none, none, none, none, copy});
  EXPECT_TRUE(copy.done());
}

TYPED_TEST(MachineOrder, SixOperationsCanBeListedInPlace) { this->run(six(this->machine())); }

}  // namespace
}  // namespace spillway::strategies
