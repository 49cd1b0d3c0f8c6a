#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Kind>
using GpuStreams = MachineContract<Kind>;
TYPED_TEST_SUITE(GpuStreams, Machines);

/// On a stream of rank 0.
Op on(Machine& m, GpuStream stream, const std::vector<GpuKernel>& kernels,
      const After& after = {}) {
  return m.run(rank0, kernels, after, stream);
}

Task<> side_by_side(Machine& m, std::vector<int>* log) {
  const std::vector<GpuKernel> kernels(1, kernel_of(1e6));
  const std::vector<GpuKernel> slow(1, kernel_of(3e10));  // 30 ms
  Op elsewhere;  // four, one after the other: who counts rounds has fewer of them on each stream
  for (int i = 0; i < 4; ++i) elsewhere = m.run(rank1, slow, elsewhere);
  Op held_up = on(m, GpuStream::compute, kernels, elsewhere);
  Op behind_it = on(m, GpuStream::compute, kernels);
  Op first = on(m, GpuStream::side, kernels);
  Op second = on(m, GpuStream::side, kernels);
  std::vector<Task<>> watchers;
  watchers.push_back(note_end(behind_it, log, 4));
  watchers.push_back(note_end(held_up, log, 3));
  watchers.push_back(note_end(second, log, 2));
  watchers.push_back(note_end(first, log, 1));
  co_await when_all(m.scheduler(), std::move(watchers));
  EXPECT_GE(second.timing().started_s, first.timing().finished_s);
}

TYPED_TEST(GpuStreams, EachRunsInOrderAndNeitherWaitsForTheOther) {
  std::vector<int> log;
  this->run(side_by_side(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(1, 2, 3, 4));
}

Task<> of_two_ranks(Machine& m, std::vector<int>* log) {
  const std::vector<GpuKernel> kernels(1, kernel_of(1e6));
  const std::vector<GpuKernel> slow(1, kernel_of(1e11));  // 100 ms
  Op computed = m.run(rank0, slow);
  Op held_up = m.run(rank0, kernels, computed, GpuStream::side);
  Op elsewhere = m.run(rank1, kernels, {}, GpuStream::side);
  std::vector<Task<>> watchers;
  watchers.push_back(note_end(held_up, log, 2));
  watchers.push_back(note_end(elsewhere, log, 1));
  co_await when_all(m.scheduler(), std::move(watchers));
}

TYPED_TEST(GpuStreams, EveryRankHasASideStreamOfItsOwn) {
  std::vector<int> log;
  this->run(of_two_ranks(this->machine(), &log));
  EXPECT_THAT(log, ElementsAre(1, 2));
}

/// `first` on the compute stream and `second` on the side stream work on the same bytes.
Task<> share(Machine& m, Access first, Access second, bool ordered) {
  Buffer buffer = gpu_buffer(m, rank0, mib);
  Op computed = on(m, GpuStream::compute, kernel_on(buffer.view(), first));
  co_await on(m, GpuStream::side, kernel_on(buffer.view(), second),
              ordered ? After(computed) : After());
  co_await computed;
}

TYPED_TEST(GpuStreams, WhatBothWorkOnIsAConflictUnlessItIsOrdered) {
  const auto conflict = [this](Access first, Access second, bool ordered) {
    return message_of<InternalError>(
        [&] { this->run(share(this->machine(), first, second, ordered)); });
  };
  EXPECT_THAT(conflict(Access::write, Access::read, false),
              HasSubstr("operations in flight conflict on workspace"));
  EXPECT_THAT(conflict(Access::read, Access::write, false), HasSubstr("are not ordered"));
  EXPECT_EQ(conflict(Access::read, Access::read, false), "");
  EXPECT_EQ(conflict(Access::write, Access::read_write, true), "");
}

Task<> back_and_forth(Machine& m, bool back) {
  Buffer buffer = gpu_buffer(m, rank0, mib);
  const auto kernels = kernel_on(buffer.view(), Access::write);
  Op made = on(m, GpuStream::compute, kernels);
  Op added = on(m, GpuStream::side, kernels, made);
  Op next = on(m, GpuStream::compute, kernels, back ? After(added) : After());
  co_await next;
  co_await added;
}

TYPED_TEST(GpuStreams, OrderOnOneStreamSaysNothingAboutTheOther) {
  EXPECT_THAT(message_of<InternalError>([&] { this->run(back_and_forth(this->machine(), false)); }),
              HasSubstr("conflict"));
  EXPECT_NO_THROW(this->run(back_and_forth(this->machine(), true)));
}

}  // namespace
}  // namespace spillway::strategies
