#include "hw_backend/cuda/cuda_device.hpp"
#include "tests/hw_backend/rig.hpp"

#include <gtest/gtest.h>

/// Steps take no memory of a device or its driver: it is all there when they begin.
namespace spillway::hw_backend {
namespace {

using strategies::Buffer;
using strategies::gpu_buffer;
using strategies::host_buffer;
using strategies::Machine;
using strategies::mib;
using strategies::rank0;
using strategies::Task;

/// What CUDA was asked for before the second step, and in all.
struct Counts {
  std::size_t mallocs_before = 0, mallocs = 0, registrations_before = 0, registrations = 0;
};

/// Steps whose host buffers do not all fit together into what is most in use at once.
Task<> steps(Machine& m, Counts* counts) {
  for (int step = 0; step < 5; ++step) {
    if (step == 2) {
      counts->mallocs_before = emulated::mallocs();
      counts->registrations_before = emulated::registrations();
    }
    for (const std::uint64_t bytes : {8 * mib, 6 * mib, 7 * mib}) {
      Buffer host = host_buffer(m, bytes);
      Buffer there = gpu_buffer(m, rank0, bytes);
      co_await m.copy(rank0, there.view(), host.view());
    }
    m.step_ended();
  }
  counts->mallocs = emulated::mallocs();
  counts->registrations = emulated::registrations();
}

TEST(CudaMemory, IsTakenAndMadeKnownBeforeTheSecondStep) {
  RigOptions options;
  options.make_device = [](std::uint32_t rank) { return std::make_unique<CudaDevice>(rank % 2); };
  Rig rig(strategies::small_box(), options);
  Counts counts;
  rig.run(steps(rig.machine(), &counts));
  EXPECT_EQ(counts.mallocs, counts.mallocs_before);
  EXPECT_EQ(counts.registrations, counts.registrations_before);
  EXPECT_EQ(rig.machine().pins_in_steps(), 0u);
}

}  // namespace
}  // namespace spillway::hw_backend
