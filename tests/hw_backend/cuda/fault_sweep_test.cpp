#include "hw_backend/cuda/cuda_device.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/rig.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>

/// A device of CUDA that faults answers every later call with that fault, those of destructors too.
namespace spillway::hw_backend {
namespace {

using strategies::Stored;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// From a drive to the GPU, a sum there, and back.
Task<> there_and_back(Machine& m) {
  Stored stored = co_await strategies::extent(m, mib);
  Buffer host = host_buffer(m, mib);
  Buffer x = gpu_buffer(m, rank0, mib), y = gpu_buffer(m, rank0, mib);
  Op written = m.write(rank0, stored, {0, mib}, host.view());
  Op read = m.read(rank0, stored, {0, mib}, host.view(), written);
  Op copied = m.copy(rank0, x.view(), host.view(), read);
  GpuKernel kernel;
  kernel.name = "sum";
  kernel.work = strategies::GpuWork::sum;
  for (const auto& [view, access, role] :
       {std::tuple{x.view(), strategies::Access::read, strategies::Role::input},
        std::tuple{y.view(), strategies::Access::write, strategies::Role::output}})
    kernel.operands.emplace_back(view, access, role, strategies::ElementType::fp32, 0);
  const std::vector<GpuKernel> kernels{kernel};
  Op summed = m.run(rank0, kernels, copied);
  co_await m.copy(rank0, host.view(), y.view(), summed);
}

/// Its message; empty: there was none.
std::string run_once() {
  RigOptions options;
  options.make_device = [](std::uint32_t rank) { return std::make_unique<CudaDevice>(rank % 2); };
  std::string message;
  try {
    Rig rig(strategies::small_box(), options);
    try {
      rig.run(there_and_back(rig.machine()));
    } catch (const description::DeviceError& error) {
      message = error.what();
    }
    EXPECT_TRUE(rig.left_behind().empty());
  } catch (const description::DeviceError& error) {  // before there was a machine
    message = error.what();
  }
  return message;
}

TEST(CudaFaults, OfAnyCallEndARunWithTheirMessageAndNothingElse) {
  LONG_TEST();
  const std::uint64_t before = emulated::calls();
  EXPECT_EQ(run_once(), "");
  const std::uint64_t all = emulated::calls() - before;
  EXPECT_GT(all, 100u);
  std::uint64_t told = 0;
  for (std::uint64_t call = 0; call < all; ++call) {
    emulated::break_after(call);
    const std::string message = run_once();
    emulated::start_anew();
    told += !message.empty();
    if (message.empty()) continue;  // its last calls were those of destructors
    EXPECT_THAT(message, AnyOf(HasSubstr("cudaErrorIllegalAddress"),
                               HasSubstr("CUBLAS_STATUS_EXECUTION_FAILED")))
        << "call " << call;
  }
  EXPECT_GT(told, all / 2);
  EXPECT_EQ(run_once(), "");
}

}  // namespace
}  // namespace spillway::hw_backend
