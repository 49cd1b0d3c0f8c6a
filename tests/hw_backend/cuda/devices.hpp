#pragma once

#include "hw_backend/machine/real_run.hpp"
#include "tests/long_test.hpp"

/// Whole trainings, which ./check --full asks emulated devices for.
#define LONG_TEST_OF(devices) \
  if (devices.emulated) LONG_TEST()

namespace spillway::hw_backend {

/// CUDA devices of this program, emulated or real; each program has its own.
struct DevicesUnderTest {
  MakeDevice make{};
  std::string why_none;   ///< empty: there are some
  bool emulated = false;  ///< kernels are threads of the processor
};
DevicesUnderTest devices_under_test();

}  // namespace spillway::hw_backend
