#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

template <class Kind>
using MachineHazard = MachineContract<Kind>;
TYPED_TEST_SUITE(MachineHazard, Machines);

/// Memory and an extent that operations work on.
struct Stage {
  Stored stored, second;
  Buffer host, other_host, gpu, other_gpu;
  Stage() = default;
};

Task<Stage> stage(Machine& m) {
  Stage s;
  s.stored = co_await extent(m, 8 * mib);
  s.second = co_await extent(m, 8 * mib);
  s.host = host_buffer(m, 8 * mib);
  s.other_host = host_buffer(m, 8 * mib);
  s.gpu = gpu_buffer(m, rank0, 8 * mib);
  s.other_gpu = gpu_buffer(m, rank0, 8 * mib);
  co_return s;
}

using Issue = Op (*)(Machine&, Stage&, const After&);

Op read_host(Machine& m, Stage& s, const After& after) {
  return m.read(rank0, s.stored, {0, 8 * mib}, s.host.view(), after);
}
Op read_second(Machine& m, Stage& s, const After& after) {
  return m.read(rank1, s.second, {0, 4096}, s.host.view(8 * mib - 4096, 4096), after);
}
Op read_elsewhere(Machine& m, Stage& s, const After& after) {
  return m.read(rank1, s.stored, {0, 4096}, s.other_host.view(0, 4096), after);
}
Op write_host(Machine& m, Stage& s, const After& after) {
  return m.write(rank0, s.second, {0, 4096}, s.host.view(0, 4096), after);
}
Op overwrite(Machine& m, Stage& s, const After& after) {
  return m.write(rank1, s.stored, {4096, 4096}, s.other_host.view(0, 4096), after);
}
Op overwrite_too(Machine& m, Stage& s, const After& after) {
  return m.write(rank0, s.stored, {0, 8 * mib}, s.host.view(), after);
}
Op copy_up(Machine& m, Stage& s, const After& after) {
  return m.copy(rank0, s.gpu.view(), s.host.view(), after);
}
Op copy_up_too(Machine& m, Stage& s, const After& after) {
  return m.copy(rank0, s.gpu.view(0, 64), s.other_host.view(0, 64), after);
}
Op copy_down(Machine& m, Stage& s, const After& after) {
  return m.copy(rank0, s.other_host.view(0, 64), s.gpu.view(0, 64), after);
}
Op kernel_reads(Machine& m, Stage& s, const After& after) {
  return m.run(rank0, kernel_on(s.gpu.view(0, 64), Access::read), after);
}
Op kernel_writes(Machine& m, Stage& s, const After& after) {
  return m.run(rank0, kernel_on(s.gpu.view(0, 64), Access::read_write), after);
}
Op kernel_beside(Machine& m, Stage& s, const After& after) {
  return m.run(rank0, kernel_on(s.gpu.view(64, 64), Access::read_write), after);
}
Op cpu_work(Machine& m, Stage& s, const After& after) {
  CpuKernel kernel;
  kernel.work = CpuWork::convert;
  kernel.elements = 1000;
  kernel.traffic = 28'000;
  kernel.operands.emplace_back(s.host.view(4096, 4096), Access::read_write);
  return m.run(rank0, std::move(kernel), after);
}
Op update_inside(Machine& m, Stage& s, const After& after) {
  StorageKernel kernel;
  kernel.elements = 1000;
  kernel.operands.emplace_back(View(s.stored.block(), 0, 8 * mib), Access::read_write);
  return m.run(rank0, ssd, std::move(kernel), after);
}
Op update_the_other(Machine& m, Stage& s, const After& after) {
  StorageKernel kernel;
  kernel.elements = 1000;
  kernel.operands.emplace_back(View(s.second.block(), 0, 4096), Access::read_write);
  return m.run(rank0, ssd, std::move(kernel), after);
}

Task<> both(Machine& m, Issue first, Issue second) {
  Stage s = co_await stage(m);
  Op one = first(m, s, {});
  Op two = second(m, s, {});
  co_await two;
}

struct Pair {
  const char* what;
  Issue first, second;
};

TYPED_TEST(MachineHazard, UnorderedOverlapsOfWhichOneWritesEndTheRun) {
  const Pair pairs[] = {
      {"a read fills what a copy reads", read_host, copy_up},
      {"a copy reads what a read fills", copy_up, read_host},
      {"two reads fill one buffer", read_host, read_second},
      {"a write takes what a read fills", read_host, write_host},
      {"a CPU kernel changes what a write takes", overwrite_too, cpu_work},
      {"a CPU kernel changes what a read fills", read_host, cpu_work},
      {"two writes to one extent", overwrite, overwrite_too},
      {"a write to an extent that is read", read_host, overwrite},
      {"a read of an extent that is written", overwrite, read_host},
      {"work inside a storage changes what a read takes", read_host, update_inside},
      {"a write to an extent that is updated inside its storage", update_inside, overwrite},
      {"two copies into one GPU buffer", copy_up, copy_up_too},
      {"a kernel reads what a copy fills", copy_up, kernel_reads},
      {"a kernel writes what a copy takes", copy_down, kernel_writes},
  };
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.what);
    EXPECT_THAT(message_of<InternalError>(
                    [&] { this->run(both(this->machine(), pair.first, pair.second)); }),
                ::testing::HasSubstr("conflict"));
    EXPECT_EQ(this->machine().usage(TierId::pinned, rank0).used, 0u);
  }
}

TYPED_TEST(MachineHazard, WhatOverlapsNowhereOrOnlyReadsIsNoConflict) {
  const Pair pairs[] = {
      {"two reads of one extent", read_host, read_elsewhere},
      {"a write and a copy take one buffer", write_host, copy_up},
      {"a CPU kernel beside the range that a write takes", write_host, cpu_work},
      {"a kernel beside the bytes that a copy takes", copy_down, kernel_beside},
      {"kernels of one stream", kernel_writes, kernel_writes},
      {"work inside a storage on two extents", update_inside, update_the_other},
  };
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.what);
    EXPECT_NO_THROW(this->run(both(this->machine(), pair.first, pair.second)));
  }
}

Task<> ordered(Machine& m) {
  Stage s = co_await stage(m);
  // by After, directly and by way of others
  Op read = read_host(m, s, {});
  Op up = copy_up(m, s, read);
  Op kernel = kernel_writes(m, s, up);
  Op down = copy_down(m, s, kernel);
  Op again = read_host(m, s, down);  // after `read` and `up` by way of kernel and down
  Op updated = cpu_work(m, s, again);
  Op written = write_host(m, s, updated);
  // by an await
  co_await written;
  co_await overwrite(m, s, {});
  co_await read_host(m, s, {});
  // by the compute stream: the second kernel follows the first without an After
  Op copied = copy_up(m, s, {});
  Op first = kernel_writes(m, s, copied);
  Op second = kernel_writes(m, s, {});
  Op last = copy_down(m, s, second);
  co_await last;
}

TYPED_TEST(MachineHazard, OrderByAfterAwaitStreamAndByWayOfOthersIsEnough) {
  EXPECT_NO_THROW(this->run(ordered(this->machine())));
}

Task<> not_ordered_by_a_sibling(Machine& m) {
  Stage s = co_await stage(m);
  Op read = read_elsewhere(m, s, {});
  Op one = copy_up(m, s, read);
  Op two = copy_up_too(m, s, read);  // both follow `read`, neither the other
  co_await two;
}

TYPED_TEST(MachineHazard, ACommonPredecessorOrdersNothing) {
  EXPECT_THROW(this->run(not_ordered_by_a_sibling(this->machine())), InternalError);
}

Task<> many_operands(Machine& m, bool in_order) {
  Buffer gpu = gpu_buffer(m, rank0, 8 * mib);
  Buffer host = host_buffer(m, 64);
  std::vector<GpuKernel> batch;
  for (std::uint64_t i = 0; i < 16; ++i)
    batch.push_back(kernel_on(gpu.view(i * 1024, 512), i % 2 ? Access::write : Access::read)[0]);
  Op run = m.run(rank0, batch);
  // 512 to 1024 lies between two operands
  Op beside = m.copy(rank0, gpu.view(512, 64), host.view());
  Op onto = m.copy(rank0, host.view(), gpu.view(15 * 1024, 64),
                   in_order ? After(run, beside) : After(beside));
  co_await onto;
}

TYPED_TEST(MachineHazard, ABatchMarksWhatItsKernelsTouchAndNothingBetween) {
  EXPECT_NO_THROW(this->run(many_operands(this->machine(), true)));
  EXPECT_THROW(this->run(many_operands(this->machine(), false)), InternalError);
}

Task<> catches(Machine& m) {
  Stage s = co_await stage(m);
  Op one = copy_up(m, s, {});
  EXPECT_THROW((void)copy_up_too(m, s, {}), InternalError);
  co_await one;
  ADD_FAILURE() << "the run went on after a conflict";
}

TYPED_TEST(MachineHazard, AConflictThatIsCaughtEndsTheRunAllTheSame) {
  EXPECT_THROW(this->run(catches(this->machine())), InternalError);
}

}  // namespace
}  // namespace spillway::strategies
