#include "hw_backend/cuda/gds.hpp"
#include "hw_backend/cuda/open.hpp"
#include "scenarios/description/errors.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <cstdlib>

namespace spillway::hw_backend {
namespace {

TEST(OpenCudaDevice, WithoutThePluginSaysHowToHaveOne) {
  setenv("SPILLWAY_PLUGINS", "/nowhere", 1);
  const CudaDevices devices = cuda_devices();
  unsetenv("SPILLWAY_PLUGINS");
  EXPECT_EQ(devices.count, 0);
  EXPECT_TRUE(devices.why_none.starts_with("no CUDA device: dlopen: /nowhere/spillway_cuda.so"))
      << devices.why_none;
  EXPECT_NE(devices.why_none.find("preset cuda"), std::string::npos) << devices.why_none;
}

TEST(Gds, SaysWhatIsMissing) {
  void* const library = dlopen("libcufile.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library) GTEST_SKIP() << "SKIP libcufile.so.0 is here";
  const std::string missing = gds_missing();
  EXPECT_NE(missing.find("libcufile.so.0"), std::string::npos) << missing;
  EXPECT_NE(missing.find("install GPUDirect Storage"), std::string::npos) << missing;
  try {
    DirectFile(0, "a file");
    FAIL() << "no error";
  } catch (const description::DeviceError& error) {
    EXPECT_EQ(error.what(), missing);
  }
}

}  // namespace
}  // namespace spillway::hw_backend
