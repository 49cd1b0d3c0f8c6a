#include "hw_backend/cuda/open.hpp"
#include "tests/hw_backend/cuda/checks.hpp"
#include "tests/hw_backend/cuda/devices.hpp"

#include <gtest/gtest.h>

namespace spillway::hw_backend {

DevicesUnderTest devices_under_test() {
  const CudaDevices devices = cuda_devices();
  if (devices.count == 0) return {{}, devices.why_none};
  return {[count = devices.count](std::uint32_t rank) {
            return open_cuda_device(static_cast<int>(rank) % count);
          },
          {}};
}

namespace {

/// Every check on the first device of this machine.
class Cuda : public testing::TestWithParam<Check> {};

TEST_P(Cuda, Device) {
  const CudaDevices devices = cuda_devices();
  if (devices.count == 0) GTEST_SKIP() << "SKIP " << devices.why_none;
  const std::unique_ptr<Device> device = open_cuda_device(0);
  Report report;
  GetParam().ask(*device, report);
  for (const std::string& note : report.notes) RecordProperty(GetParam().name, note);
  for (const std::string& fault : report.faults) ADD_FAILURE() << fault;
}

std::string name_of(const testing::TestParamInfo<Check>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, Cuda, testing::ValuesIn(all_checks()), name_of);

TEST(OpenCudaDevice, SaysWhatIsNotThere) {
  const CudaDevices devices = cuda_devices();
  if (devices.count > 0) {
    EXPECT_THROW(open_cuda_device(devices.count), std::exception);
    EXPECT_GT(cuda_memory(0).total, cuda_memory(0).available);
    return;
  }
  EXPECT_TRUE(devices.why_none.starts_with("no CUDA device: ")) << devices.why_none;
  EXPECT_THROW(open_cuda_device(0), std::exception);
}

}  // namespace
}  // namespace spillway::hw_backend
