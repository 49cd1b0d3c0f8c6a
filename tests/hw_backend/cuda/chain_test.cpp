#include "hw_backend/cuda/cuda_device.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/rig.hpp"

#include <gmock/gmock.h>
#include <cstring>

/// A RealMachine on emulated CUDA devices: kernels wait on the device for what they follow there.
namespace spillway::hw_backend {
namespace {

using description::DeviceError;
using description::ElementType;
using strategies::Access;
using strategies::BoundOperand;
using strategies::Buffer;
using strategies::gpu_buffer;
using strategies::GpuKernel;
using strategies::host_buffer;
using strategies::Machine;
using strategies::message_of;
using strategies::mib;
using strategies::Op;
using strategies::rank0;
using strategies::rank1;
using strategies::Role;
using strategies::Task;
using strategies::View;
using ::testing::Each;
using ::testing::HasSubstr;

RigOptions on_cuda(DevicePlan faults = {}) {
  RigOptions options;
  options.device_faults = faults;
  options.make_device = [](std::uint32_t rank) { return std::make_unique<CudaDevice>(rank % 2); };
  return options;
}

/// Copies and what is copied last take so much longer, for as long as it lives.
struct Slow {
  explicit Slow(double seconds) { emulated::slow_copies(seconds); }
  ~Slow() { emulated::slow_copies(0); }
};

/// out = a + b, fp32
std::vector<GpuKernel> sum_of(const View& a, const View& b, const View& out) {
  GpuKernel kernel;
  kernel.name = "sum";
  kernel.work = strategies::GpuWork::sum;
  kernel.operands.emplace_back(a, Access::read, Role::input, ElementType::fp32, 0);
  kernel.operands.emplace_back(b, Access::read, Role::input, ElementType::fp32, 0);
  kernel.operands.emplace_back(out, Access::write, Role::output, ElementType::fp32, 0);
  return {kernel};
}

void fill(const View& view, float value) {
  for (std::uint64_t i = 0; i < view.bytes / 4; ++i)
    std::memcpy(view.data() + 4 * i, &value, sizeof value);
}

std::vector<float> numbers(const View& view) {
  std::vector<float> out(view.bytes / 4);
  std::memcpy(out.data(), view.data(), view.bytes);
  return out;
}

/// What each operation was, in the order: copy, kernel, kernel, copy back.
struct Seen {
  std::vector<bool> prepared;
  std::vector<double> started_s, finished_s;
  std::vector<float> values;

  void add(const Op& op) {
    started_s.push_back(op.timing().started_s);
    finished_s.push_back(op.timing().finished_s);
  }
};

/// x = 3 by a copy; y = x + x; z = y + x; z to the host: 9.
Task<> chained(Machine& m, Seen* seen) {
  Buffer host = host_buffer(m, mib), back = host_buffer(m, mib);
  Buffer x = gpu_buffer(m, rank0, mib), y = gpu_buffer(m, rank0, mib),
         z = gpu_buffer(m, rank0, mib);
  fill(host.view(), 3);
  const std::vector<GpuKernel> twice = sum_of(x.view(), x.view(), y.view());
  const std::vector<GpuKernel> thrice = sum_of(y.view(), x.view(), z.view());
  Op copied = m.copy(rank0, x.view(), host.view());
  Op first = m.run(rank0, twice, copied);
  Op second = m.run(rank0, thrice);
  Op returned = m.copy(rank0, back.view(), z.view(), second);
  for (const Op* op : {&copied, &first, &second, &returned})
    seen->prepared.push_back(op->get()->prepared);
  co_await returned;
  for (const Op* op : {&copied, &first, &second, &returned}) seen->add(*op);
  seen->values = numbers(back.view());
}

TEST(CudaChains, KernelsFollowTheirCopiesOnTheDeviceAndEachOther) {
  const Slow slow(0.02);
  Rig rig(strategies::small_box(), on_cuda());
  Seen seen;
  rig.run(chained(rig.machine(), &seen));
  // no order is promised among copies: they wait in the loop
  EXPECT_THAT(seen.prepared, ::testing::ElementsAre(false, true, true, false));
  EXPECT_THAT(seen.values, Each(9));
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_GE(seen.started_s[i], seen.finished_s[i - 1]) << "operation " << i;
}

Task<> fails(Machine& m) {
  Buffer host = host_buffer(m, mib);
  Buffer x = gpu_buffer(m, rank0, mib), y = gpu_buffer(m, rank0, mib);
  const std::vector<GpuKernel> twice = sum_of(x.view(), x.view(), y.view());
  Op copied = m.copy(rank0, x.view(), host.view());
  Op summed = m.run(rank0, twice, copied);
  EXPECT_TRUE(summed.get()->prepared);
  std::string error;
  try {
    co_await summed;
  } catch (const DeviceError& caught) {
    error = caught.what();
  }
  EXPECT_THAT(error, HasSubstr("copy: injected, seed 8"));
  // the kernel has left the device: its memory may go
  EXPECT_TRUE(summed.done());
}

TEST(CudaChains, AnErrorReachesWhatFollowedAndItsMemoryOutlivesIt) {
  const Slow slow(0.02);
  // of this seed and share the first copy fails, and no kernel
  Rig rig(strategies::small_box(), on_cuda({.seed = 8, .fails = 0.2}));
  EXPECT_NO_THROW(rig.run(fails(rig.machine())));
  EXPECT_EQ(rig.machine().usage(strategies::TierId::gpu, rank0).used, 0u);
}

Task<> gives_up(Machine& m) {
  Buffer host = host_buffer(m, mib);
  Buffer x = gpu_buffer(m, rank0, mib), y = gpu_buffer(m, rank0, mib);
  const std::vector<GpuKernel> twice = sum_of(x.view(), x.view(), y.view());
  Op copied = m.copy(rank0, x.view(), host.view());
  Op summed = m.run(rank0, twice, copied);
  throw std::runtime_error("enough");
  co_return;
}

TEST(CudaChains, WhatIsInFlightWhenARunFailsTouchesNoMemoryAfterwards) {
  const Slow slow(0.02);
  Rig rig(strategies::small_box(), on_cuda());
  for (int again = 0; again < 3; ++again)
    EXPECT_EQ(message_of<std::runtime_error>([&] { rig.run(gives_up(rig.machine())); }), "enough");
  EXPECT_EQ(rig.machine().usage(strategies::TierId::gpu, rank0).used, 0u);
}

Task<> across(Machine& m, bool* prepared) {
  Buffer host = host_buffer(m, mib);
  Buffer x = gpu_buffer(m, rank0, mib), y = gpu_buffer(m, rank1, mib),
         z = gpu_buffer(m, rank1, mib);
  const std::vector<GpuKernel> twice = sum_of(y.view(), y.view(), z.view());
  Op copied = m.copy(rank0, x.view(), host.view());
  Op summed = m.run(rank1, twice, copied);
  *prepared = summed.get()->prepared;
  co_await summed;
}

TEST(CudaChains, WhatWaitsForAnotherRanksDeviceWaitsInTheLoop) {
  Rig rig(strategies::small_box(), on_cuda());
  bool prepared = true;
  rig.run(across(rig.machine(), &prepared));
  EXPECT_FALSE(prepared);
}

}  // namespace
}  // namespace spillway::hw_backend
