#pragma once

#include "hw_backend/real_run.hpp"

namespace spillway::hw_backend {

/// CUDA devices of this program, emulated or real; each program has its own.
struct DevicesUnderTest {
  MakeDevice make{};
  std::string why_none;  ///< empty: there are some
};
DevicesUnderTest devices_under_test();

}  // namespace spillway::hw_backend
