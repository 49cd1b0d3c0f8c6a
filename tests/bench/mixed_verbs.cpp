#include "tests/bench/mixed_verbs.hpp"

namespace spillway::bench {

using namespace description::literals;
using namespace strategies;
using models::Access;

description::Scenario bench_box(std::uint64_t ranks) {
  description::Scenario scenario;
  scenario.parallel.data = ranks;
  description::MachineFile& machine = scenario.machine;
  machine.name = "bench box";
  machine.gpu.count = ranks;
  machine.gpu.memory = 24_GiB;
  machine.gpu.memory_rate = 1000_GBps;
  machine.gpu.compute["bf16"] = description::FlopsPerSecond(100e12);
  machine.gpu.compute["fp16"] = description::FlopsPerSecond(100e12);
  machine.pcie.h2d = machine.pcie.d2h = 20_GBps;
  machine.pcie.pageable_h2d = machine.pcie.pageable_d2h = 6_GBps;
  machine.host.memory = 256_GiB;
  machine.host.memory_rate = 100_GBps;
  machine.host.cores = 16;
  machine.host.adam = description::ParamsPerSecond(1e9);
  machine.host.convert = machine.host.check_chained = machine.host.check_fused = 50_GBps;
  description::StorageSpec& ssd = machine.storage.emplace_back();
  ssd.name = "nvme";
  ssd.count = 2;
  ssd.capacity = 4000_GB;
  ssd.read = 7_GBps;
  ssd.write = 5_GBps;
  ssd.mixed_efficiency = 0.9;
  machine.network.per_gpu = 25_GBps;
  return scenario;
}

namespace {

constexpr std::uint64_t piece = 16u << 20;

/// Two of everything, so that one round's transfers run beside the other's kernels.
struct Lane {
  Stored extent;
  Buffer host, gpu;
  Op last;
};

Task<Lane> make_lane(Machine& machine, Rank rank) {
  Lane lane;
  lane.extent = co_await machine.store(StorageId{0}, rank, Bytes(piece), Purpose::weights);
  lane.host = machine.allocate_now(TierId::pinned, rank, Bytes(piece), Purpose::host_pool);
  lane.gpu = machine.allocate_now(TierId::gpu, rank, Bytes(piece), Purpose::weights);
  co_return lane;
}

}  // namespace

Task<> mixed_verbs(Machine& machine, Rank rank, std::uint64_t rounds) {
  std::vector<Lane> lanes;
  for (int i = 0; i < 2; ++i) lanes.push_back(co_await make_lane(machine, rank));
  std::vector<GpuKernel> kernels(1);
  kernels[0].name = "matmul";
  kernels[0].flops = 1e11;
  kernels[0].matrix = true;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Lane& lane = lanes[round % 2];
    if (lane.last) co_await lane.last;
    kernels[0].operands.clear();
    kernels[0].operands.emplace_back(lane.gpu.view(), Access::read_write);
    CpuKernel adam;
    adam.elements = 1u << 20;
    adam.traffic = 28u << 20;
    adam.operands.emplace_back(lane.host.view(), Access::read_write);
    const Range whole{0, piece};
    const Op read = machine.read(rank, lane.extent, whole, lane.host.view());
    const Op up = machine.copy(rank, lane.gpu.view(), lane.host.view(), read);
    const Op computed = machine.run(rank, kernels, up);
    const Op down = machine.copy(rank, lane.host.view(), lane.gpu.view(), computed);
    const Op updated = machine.run(rank, std::move(adam), down);
    lane.last = machine.write(rank, lane.extent, whole, lane.host.view(), updated);
  }
  for (Lane& lane : lanes)
    if (lane.last) co_await lane.last;
}

void run_mixed_verbs(Machine& machine, std::uint64_t rounds) {
  std::vector<Task<>> ranks;
  for (std::uint32_t rank = 0; rank < machine.topology().ranks; ++rank)
    ranks.push_back(mixed_verbs(machine, Rank{rank}, rounds));
  machine.run_ranks(std::move(ranks));
}

}  // namespace spillway::bench
