#pragma once

#include <gtest/gtest.h>
#include <cstdlib>

/// The first statement of a test that takes more than some four seconds, kills processes or sends
/// random input, where shorter tests run the same code: it is left to `./check --full`, which sets
/// the variable.
#define LONG_TEST()                        \
  if (!std::getenv("SPILLWAY_LONG_TESTS")) \
  GTEST_SKIP() << "takes long: SPILLWAY_LONG_TESTS=1, as ./check --full sets it"
