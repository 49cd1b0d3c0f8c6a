#pragma once

// Eigen's product in the instruction set of the including source. That source gives Eigen a name of
// its own, so that the linker cannot take one instruction set's functions for another's.

// One thread computes; more would be other objects.
#define EIGEN_DONT_PARALLELIZE
#include "hw_backend/arithmetic/host_multiply.hpp"

#include <Eigen/Core>

namespace spillway::hw_backend {

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Operand = Eigen::Map<const Matrix, Eigen::Aligned64>;
using Result = Eigen::Map<Matrix, Eigen::Aligned64>;

// Eigen would ask the processor for its caches and cut its products, and so its sums, to them.
void fix_blocks() {
  static const bool fixed = [] {
    Eigen::setCpuCacheSizes(32 * 1024, 512 * 1024, 4 * 1024 * 1024);
    return true;
  }();
  static_cast<void>(fixed);
}

void multiply_here(const Multiply& call) {
  fix_blocks();
  const auto size = [](std::uint64_t count) { return static_cast<Eigen::Index>(count); };
  const Eigen::Index m = size(call.rows), n = size(call.columns), k = size(call.inner);
  const bool at = call.a.transposed, bt = call.b.transposed;
  const Operand a(call.a.data, at ? k : m, at ? m : k);
  const Operand b(call.b.data, bt ? n : k, bt ? k : n);
  Result c(call.c, m, n);
  if (!call.add) c.setZero();
  if (at && bt)
    c.noalias() += a.transpose() * b.transpose();
  else if (at)
    c.noalias() += a.transpose() * b;
  else if (bt)
    c.noalias() += a * b.transpose();
  else
    c.noalias() += a * b;
}

}  // namespace

}  // namespace spillway::hw_backend
