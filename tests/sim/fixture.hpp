#pragma once

#include "sim/sim_machine.hpp"

#include <gtest/gtest.h>
#include <functional>
#include <vector>

namespace spillway::sim::test {

using namespace description::literals;
using strategies::Buffer;
using strategies::CpuKernel;
using strategies::CpuWork;
using strategies::GpuKernel;
using strategies::Group;
using strategies::Machine;
using strategies::Op;
using strategies::Purpose;
using strategies::Range;
using strategies::Rank;
using strategies::Rounding;
using strategies::StorageId;
using strategies::Stored;
using strategies::Task;
using strategies::TierId;

inline constexpr std::uint64_t GB = 1'000'000'000;
inline constexpr StorageId ssd{0};

/// One GPU, one SSD of 6 GB/s read and 3 GB/s write, PCIe 20 GB/s each way, no latencies, roomy
/// memory.
description::Scenario one_gpu();
/// The same with so many ranks, one GPU each.
description::Scenario with_ranks(std::uint64_t ranks);

/// Runs one coroutine per rank on a fresh SimMachine.
using Body = std::function<Task<>(Machine&, Rank)>;
void run(const description::Scenario& scenario, const Body& body);

/// A multiple of 4096 that is near `bytes`, for ranges of storage.
std::uint64_t sectors(std::uint64_t bytes);

/// Buffers and extents that hold nothing but their size, exact.
Buffer pinned(Machine& machine, Rank rank, std::uint64_t bytes);
Buffer pageable(Machine& machine, Rank rank, std::uint64_t bytes);
Buffer on_gpu(Machine& machine, Rank rank, std::uint64_t bytes);

/// A kernel on CPU cores without operands.
CpuKernel cpu(CpuWork work, std::uint64_t elements, std::uint64_t traffic);
/// One matrix product.
GpuKernel matmul(double flops, double bytes);

/// Within 1e-6 of the time that the arithmetic gives.
#define EXPECT_SECONDS(operation, expected) \
  EXPECT_NEAR((operation).timing().seconds(), (expected), 1e-6 * (expected))

}  // namespace spillway::sim::test
