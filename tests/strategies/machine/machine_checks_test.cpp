#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

template <class Kind>
using MachineChecks = MachineContract<Kind>;
TYPED_TEST_SUITE(MachineChecks, Machines);

/// Expects an InternalError whose text says `what`.
#define EXPECT_REFUSED(call, what) \
  EXPECT_THAT(message_of<InternalError>([&] { (void)(call); }), ::testing::HasSubstr(what))

Task<> operands_exist(Machine& m) {
  Stored stored = co_await extent(m, mib);
  Buffer host = host_buffer(m, mib);
  Buffer gpu = gpu_buffer(m, rank0, mib);
  EXPECT_REFUSED(m.read(rank0, Stored(), {0, 4096}, host.view(0, 4096)), "without an extent");
  EXPECT_REFUSED(m.read(rank0, stored, {0, 0}, View()), "without a buffer");
  EXPECT_REFUSED(m.write(rank0, stored, {0, 0}, View()), "without a buffer");
  EXPECT_REFUSED(m.copy(rank0, View(), host.view()), "without a buffer");
  EXPECT_REFUSED(m.copy(rank0, gpu.view(), View()), "without a buffer");
  EXPECT_REFUSED(m.send(rank0, rank1, View(), View()), "without a buffer");
  EXPECT_REFUSED(m.run(rank0, kernel_on(View(), Access::read)), "without a buffer");
  EXPECT_REFUSED(m.run(rank0, StorageId{1}, StorageKernel{}), "no such storage");
  EXPECT_REFUSED(m.collective(rank0, Group{99}, Collective::all_reduce, gpu.view(), gpu.view()),
                 "no such group");
}

TYPED_TEST(MachineChecks, OperandsExist) { this->run(operands_exist(this->machine())); }

Task<> right_tier(Machine& m) {
  Stored stored = co_await extent(m, mib);
  Buffer host = host_buffer(m, mib);
  Buffer gpu = gpu_buffer(m, rank0, mib);
  Buffer peer = gpu_buffer(m, rank1, mib);
  const View of_storage(stored.block(), 0, mib);
  EXPECT_REFUSED(m.copy(rank0, of_storage, host.view()), "wrong tier");
  EXPECT_REFUSED(m.read(rank0, stored, {0, mib}, of_storage), "wrong tier");
  EXPECT_REFUSED(m.run(rank0, kernel_on(host.view(), Access::read)), "wrong tier");
  EXPECT_REFUSED(m.run(rank0, kernel_on(peer.view(), Access::read)), "another rank's GPU");
  EXPECT_REFUSED(m.copy(rank0, peer.view(), host.view()), "another rank's GPU");
  EXPECT_REFUSED(m.send(rank0, rank1, gpu.view(), gpu.view()), "another rank's GPU");
  EXPECT_REFUSED(m.send(rank0, rank1, peer.view(), peer.view()), "another rank's GPU");
  EXPECT_REFUSED(
      m.collective(rank0, m.topology().world(), Collective::all_reduce, host.view(), host.view()),
      "wrong tier");
  CpuKernel on_gpu;
  on_gpu.operands.emplace_back(gpu.view(), Access::read);
  EXPECT_REFUSED(m.run(rank0, on_gpu), "wrong tier");
  StorageKernel inside;
  inside.operands.emplace_back(host.view(), Access::read);
  EXPECT_REFUSED(m.run(rank0, ssd, inside), "does not lie on it");
  StorageKernel askew;
  askew.operands.emplace_back(View(stored.block(), 0, 100), Access::read);
  EXPECT_REFUSED(m.run(rank0, ssd, askew), "not aligned");
}

TYPED_TEST(MachineChecks, OperandsLieOnTheRightTier) { this->run(right_tier(this->machine())); }

Task<> in_bounds(Machine& m) {
  Stored stored = co_await extent(m, 5000);  // two sectors
  Buffer host = host_buffer(m, mib);
  Buffer gpu = gpu_buffer(m, rank0, mib);
  const std::uint64_t huge = ~std::uint64_t{0} - 63;
  EXPECT_REFUSED(m.copy(rank0, gpu.view(64, mib), host.view()), "exceeds its buffer");
  EXPECT_REFUSED(m.copy(rank0, gpu.view(), host.view(64, mib)), "exceeds its buffer");
  EXPECT_REFUSED(m.copy(rank0, gpu.view(huge, 128), host.view(0, 128)), "exceeds its buffer");
  EXPECT_REFUSED(m.run(rank0, kernel_on(gpu.view(mib, 64), Access::read)), "exceeds its buffer");
  EXPECT_REFUSED(m.copy(rank0, gpu.view(), host.view(0, 64)), "different length");
  EXPECT_REFUSED(m.read(rank0, stored, {8192, 4096}, host.view(0, 4096)), "exceeds its extent");
  EXPECT_REFUSED(m.write(rank0, stored, {0, 12288}, host.view(0, 12288)), "exceeds its extent");
  EXPECT_REFUSED(m.read(rank0, stored, {0, 8192}, host.view(0, 4096)), "differ in length");
  EXPECT_REFUSED(m.read(rank0, stored, {0, 4096}, host.view(mib - 64, 4096)), "exceeds its buffer");
  // the padding of the last sector belongs to the extent, the last byte to the buffer
  co_await m.read(rank0, stored, {0, 8192}, host.view(mib - 8192, 8192));
  co_await m.copy(rank0, gpu.view(), host.view());
}

TYPED_TEST(MachineChecks, ViewsAndRangesStayInside) { this->run(in_bounds(this->machine())); }

Task<> aligned(Machine& m) {
  Stored stored = co_await extent(m, mib);
  Buffer host = host_buffer(m, mib);
  Buffer gpu = gpu_buffer(m, rank0, mib);
  EXPECT_REFUSED(m.copy(rank0, gpu.view(32, 64), host.view(0, 64)), "not aligned");
  EXPECT_REFUSED(m.copy(rank0, gpu.view(0, 64), host.view(1, 64)), "not aligned");
  EXPECT_REFUSED(m.run(rank0, kernel_on(gpu.view(8, 8), Access::read)), "not aligned");
  EXPECT_REFUSED(m.read(rank0, stored, {512, 4096}, host.view(0, 4096)), "not aligned");
  EXPECT_REFUSED(m.write(rank0, stored, {0, 4095}, host.view(0, 4095)), "not aligned");
  EXPECT_REFUSED(m.read(rank0, stored, {0, 4096}, host.view(32, 4096)), "not aligned");
  co_await m.copy(rank0, gpu.view(64, 7), host.view(128, 7));  // lengths may be odd
}

TYPED_TEST(MachineChecks, ViewsAndRangesAreAligned) { this->run(aligned(this->machine())); }

Task<> storage_to_gpu(Machine& m, bool works) {
  Stored stored = co_await extent(m, mib);
  Buffer gpu = gpu_buffer(m, rank0, mib);
  Buffer peer = gpu_buffer(m, rank1, mib);
  if (works) {
    Op read = m.read(rank0, stored, {0, mib}, gpu.view());
    EXPECT_TRUE(read.get()->gpu_direct);
    co_await m.write(rank0, stored, {0, mib}, gpu.view(), read);
    EXPECT_REFUSED(m.read(rank0, stored, {0, mib}, peer.view()), "another rank's GPU");
  } else {
    EXPECT_REFUSED(m.read(rank0, stored, {0, mib}, gpu.view()), "GPUDirect");
    EXPECT_REFUSED(m.write(rank0, stored, {0, mib}, gpu.view()), "GPUDirect");
  }
}

TYPED_TEST(MachineChecks, StorageReachesGpuMemoryOnlyWithGpuDirect) {
  this->run(storage_to_gpu(this->machine(), false));
}

TYPED_TEST(MachineChecks, WithGpuDirectStorageReachesTheRanksOwnGpu) {
  this->box.machine.gpu.gpudirect = true;
  this->run(storage_to_gpu(this->machine(), true));
}

Task<> directions(Machine& m) {
  Buffer gpu = gpu_buffer(m, rank0, mib);
  Buffer other = gpu_buffer(m, rank0, mib);
  Buffer pinned = host_buffer(m, mib);
  Buffer pageable = m.allocate_now(TierId::pageable, rank0, Bytes(mib), Purpose::host_pool);
  struct Case {
    View into, from;
    OperationKind kind;
    bool pageable;
  };
  const Case cases[] = {
      {gpu.view(), pinned.view(), OperationKind::copy_to_gpu, false},
      {gpu.view(), pageable.view(), OperationKind::copy_to_gpu, true},
      {pinned.view(), gpu.view(), OperationKind::copy_to_host, false},
      {pageable.view(), gpu.view(), OperationKind::copy_to_host, true},
      {other.view(), gpu.view(), OperationKind::copy_on_gpu, false},
      {pinned.view(), pageable.view(), OperationKind::copy_on_host, true},
  };
  for (const Case& one : cases) {
    Op copy = m.copy(rank0, one.into, one.from);
    EXPECT_EQ(copy.get()->kind, one.kind);
    EXPECT_EQ(copy.get()->pageable, one.pageable);
    co_await copy;
  }
}

TYPED_TEST(MachineChecks, ACopysDirectionAndPinnednessFollowFromItsViews) {
  this->run(directions(this->machine()));
}

Task<> parts(Machine& m) {
  Buffer host = host_buffer(m, mib);
  const View part = host.view(4096, 8192).part(64, 128);
  EXPECT_EQ(part.offset, 4160u);
  EXPECT_EQ(part.bytes, 128u);
  EXPECT_EQ(part.block.get(), host.view().block.get());
  co_return;
}

TYPED_TEST(MachineChecks, APartOfAViewCountsFromTheViewsStart) {
  this->run(parts(this->machine()));
}

}  // namespace
}  // namespace spillway::strategies
