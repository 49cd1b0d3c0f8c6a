#include "tests/sim/fixture.hpp"

namespace spillway::sim::test {
namespace {

using description::Bytes;
using result::Trace;
using result::TraceSpan;

Trace traced(const Body& body) {
  SimMachine machine(one_gpu(), true);
  std::vector<Task<>> ranks;
  ranks.push_back(body(machine, Rank{0}));
  machine.run_ranks(std::move(ranks));
  return machine.recorder().trace();
}

/// Writes 3 GB from the GPU's buffer by way of the host and loads them again.
Task<> there_and_back(Machine& machine, Rank rank) {
  const std::uint64_t bytes = sectors(3 * GB);
  Stored extent = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::activations);
  Buffer gpu = on_gpu(machine, rank, bytes), host = pinned(machine, rank, bytes);
  Op out = machine.copy(rank, host.view(), gpu.view());
  Op write = machine.write(rank, extent, {0, bytes}, host.view(), out);
  co_await write;
  Op read = machine.read(rank, extent, {0, bytes}, host.view());
  co_await machine.copy(rank, gpu.view(), host.view(), read);
}

TEST(SimTrace, KnowsWhatEachOperationWaitedFor) {
  const Trace trace = traced(there_and_back);
  ASSERT_EQ(trace.spans.size(), 4u);
  const TraceSpan &out = trace.spans[0], &write = trace.spans[1], &read = trace.spans[2],
                  &in = trace.spans[3];
  EXPECT_EQ(out.after, 0u);                // nothing came before
  EXPECT_EQ(write.after, out.operation);   // its dependency
  EXPECT_EQ(read.after, write.operation);  // whose end resumed the schedule
  EXPECT_EQ(in.after, read.operation);
  EXPECT_EQ(write.asked_s, 0);  // it waited for the copy: 3 GB at 20 GB/s
  EXPECT_NEAR(write.start_s, 0.15, 1e-6);
  EXPECT_EQ(read.asked_s, read.start_s);
}

TEST(SimTrace, KnowsWhoseDataATransferMoves) {
  const Trace trace = traced(there_and_back);
  ASSERT_EQ(trace.spans.size(), 4u);
  EXPECT_EQ(trace.spans[0].from, 0u);  // nobody wrote the GPU's buffer
  EXPECT_EQ(trace.spans[1].from, trace.spans[0].operation);
  EXPECT_EQ(trace.spans[2].from, trace.spans[1].operation);  // from the store to its load
  EXPECT_EQ(trace.spans[3].from, trace.spans[2].operation);
}

TEST(SimTrace, ForgetsTheWritersOfWhatWasFreed) {
  const Trace trace = traced([](Machine& machine, Rank rank) -> Task<> {
    for (int i = 0; i < 2; ++i) {  // the second buffers are the same blocks
      Buffer gpu = on_gpu(machine, rank, GB), host = pinned(machine, rank, GB);
      co_await machine.copy(rank, gpu.view(), host.view());
      co_await machine.copy(rank, host.view(), gpu.view());
    }
  });
  ASSERT_EQ(trace.spans.size(), 4u);
  EXPECT_EQ(trace.spans[2].from, 0u);
}

TEST(SimTrace, HasEveryBufferFromItsBirthToItsEnd) {
  const Trace trace = traced([](Machine& machine, Rank rank) -> Task<> {
    Buffer first = on_gpu(machine, rank, GB), host = pinned(machine, rank, 2 * GB);
    co_await machine.copy(rank, first.view(), host.view(0, GB));  // 1 GB at 20 GB/s: 0.05 s
    first.reset();
    Buffer second = on_gpu(machine, rank, GB / 2);
    co_await machine.copy(rank, second.view(), host.view(0, GB / 2));  // until 0.075 s
  });
  ASSERT_EQ(trace.buffers.size(), 3u);
  EXPECT_EQ(trace.buffers[0].tier, "gpu 0");
  EXPECT_EQ(trace.buffers[0].asked_bytes, GB);
  EXPECT_EQ(trace.buffers[0].born_s, 0);
  EXPECT_NEAR(trace.buffers[0].freed_s.value(), 0.05, 1e-6);
  EXPECT_EQ(trace.buffers[1].tier, "host");
  EXPECT_TRUE(trace.buffers[1].pinned);
  EXPECT_NEAR(trace.buffers[2].born_s, 0.05, 1e-6);
  EXPECT_NEAR(trace.buffers[2].freed_s.value(), 0.075, 1e-6);
}

}  // namespace
}  // namespace spillway::sim::test
