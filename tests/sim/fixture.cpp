#include "tests/sim/fixture.hpp"

namespace spillway::sim::test {

using description::Bytes;
using description::BytesPerSecond;
using description::FlopsPerSecond;
using description::ParamsPerSecond;
using description::Seconds;

description::Scenario one_gpu() {
  description::Scenario scenario;
  scenario.name = "fixture";
  scenario.training.precision = description::Precision::fp16;
  scenario.strategy.pinned = description::PinnedPolicy::exact;
  scenario.strategy.gpu_allocator = description::GpuAllocator::exact;
  scenario.strategy.io_engine = description::IoEngine::file;
  description::MachineFile& machine = scenario.machine;
  machine.name = "box";
  machine.gpu.memory = Bytes(1000 * GB);
  machine.gpu.compute["fp16"] = FlopsPerSecond(100e12);
  machine.gpu.memory_rate = BytesPerSecond(1000e9);
  machine.pcie.h2d = machine.pcie.d2h = BytesPerSecond(20e9);
  machine.pcie.pageable_h2d = machine.pcie.pageable_d2h = BytesPerSecond(8e9);
  machine.host.memory = Bytes(4000 * GB);
  machine.host.memory_rate = BytesPerSecond(1000e9);
  machine.host.cores = 10;
  machine.host.adam = ParamsPerSecond(1e9);
  machine.host.convert = BytesPerSecond(50e9);
  machine.host.check_chained = BytesPerSecond(10e9);
  machine.host.check_fused = BytesPerSecond(80e9);
  machine.network.per_gpu = BytesPerSecond(10e9);
  description::StorageSpec storage;
  storage.name = "nvme";
  storage.capacity = Bytes(4000 * GB);
  storage.read = BytesPerSecond(6e9);
  storage.write = BytesPerSecond(3e9);
  machine.storage.push_back(storage);
  return scenario;
}

description::Scenario with_ranks(std::uint64_t ranks) {
  description::Scenario scenario = one_gpu();
  scenario.parallel.data = ranks;
  scenario.machine.gpu.count = ranks;
  return scenario;
}

void run(const description::Scenario& scenario, const Body& body) {
  SimMachine machine(scenario, false);
  std::vector<Task<>> ranks;
  for (std::uint32_t i = 0; i < machine.topology().ranks; ++i)
    ranks.push_back(body(machine, Rank{i}));
  machine.run_ranks(std::move(ranks));
}

std::uint64_t sectors(std::uint64_t bytes) { return bytes / 4096 * 4096; }

Buffer pinned(Machine& machine, Rank rank, std::uint64_t bytes) {
  return machine.allocate_now(TierId::pinned, rank, Bytes(bytes), Purpose::bounce_buffers);
}
Buffer pageable(Machine& machine, Rank rank, std::uint64_t bytes) {
  return machine.allocate_now(TierId::pageable, rank, Bytes(bytes), Purpose::bounce_buffers);
}
Buffer on_gpu(Machine& machine, Rank rank, std::uint64_t bytes) {
  return machine.allocate_now(TierId::gpu, rank, Bytes(bytes), Purpose::workspace);
}

CpuKernel cpu(CpuWork work, std::uint64_t elements, std::uint64_t traffic) {
  CpuKernel kernel;
  kernel.work = work;
  kernel.elements = elements;
  kernel.traffic = traffic;
  return kernel;
}

GpuKernel matmul(double flops, double bytes) {
  GpuKernel kernel;
  kernel.name = "matmul";
  kernel.flops = flops;
  kernel.bytes = bytes;
  kernel.matrix = true;
  return kernel;
}

}  // namespace spillway::sim::test
