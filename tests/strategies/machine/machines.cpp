#include "tests/strategies/machine/machines.hpp"

namespace spillway::strategies {

description::Scenario small_box() {
  description::Scenario scenario;
  scenario.name = "small box";
  scenario.parallel.data = 2;
  scenario.strategy.pinned = description::PinnedPolicy::exact;
  scenario.strategy.gpu_allocator = description::GpuAllocator::exact;
  description::MachineFile& machine = scenario.machine;
  machine.name = "small box";
  machine.gpu.count = 2;
  machine.gpu.memory = 64_MiB;
  machine.gpu.memory_rate = 1000_GBps;
  machine.gpu.compute["bf16"] = description::FlopsPerSecond(1e12);
  machine.pcie.h2d = machine.pcie.d2h = 10_GBps;
  machine.pcie.pageable_h2d = machine.pcie.pageable_d2h = 5_GBps;
  machine.host.memory = 256_MiB;
  machine.host.memory_rate = 100_GBps;
  machine.host.cores = 8;
  machine.host.adam = description::ParamsPerSecond(1e9);
  machine.host.convert = machine.host.check_fused = 20_GBps;
  machine.host.check_chained = 2_GBps;
  description::StorageSpec& nvme = machine.storage.emplace_back();
  nvme.name = "nvme";
  nvme.capacity = 1_GiB;
  nvme.read = 2_GBps;
  nvme.write = 1_GBps;
  nvme.near_storage = description::NearStorageSpec{
      4_GBps, 4_GBps, description::ParamsPerSecond(1e8), description::Seconds(0)};
  machine.network.per_gpu = 10_GBps;
  return scenario;
}

Buffer gpu_buffer(Machine& machine, Rank rank, std::uint64_t bytes) {
  return machine.allocate_now(TierId::gpu, rank, Bytes(bytes), Purpose::workspace);
}

Task<Buffer> in_turn(Machine& machine, TierId tier, Rank rank, std::uint64_t bytes,
                     Purpose purpose) {
  std::vector<Wanted> wanted{{Bytes(bytes), purpose}};
  std::vector<Buffer> given = co_await machine.allocate(tier, rank, std::move(wanted));
  co_return std::move(given.front());
}

Buffer host_buffer(Machine& machine, std::uint64_t bytes) {
  return machine.allocate_now(TierId::pinned, rank0, Bytes(bytes), Purpose::host_pool);
}

Task<Stored> extent(Machine& machine, std::uint64_t bytes) {
  return machine.store(ssd, rank0, Bytes(bytes), Purpose::weights);
}

GpuKernel kernel_of(double flops) {
  GpuKernel kernel;
  kernel.name = "test";
  kernel.flops = flops;
  kernel.matrix = true;
  return kernel;
}

std::vector<GpuKernel> kernel_on(View view, Access access) {
  std::vector<GpuKernel> kernels(1, kernel_of(1e6));
  kernels[0].operands.emplace_back(std::move(view), access);
  return kernels;
}

Task<> note_end(Op op, std::vector<int>* log, int id) {
  co_await op;
  log->push_back(id);
}

}  // namespace spillway::strategies
