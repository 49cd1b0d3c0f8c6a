#include "strategies/setup.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::strategies {

namespace {

std::vector<std::vector<Rank>> groups_of(const description::Parallel& parallel) {
  const auto ranks = static_cast<std::uint32_t>(parallel.ranks());
  const auto tensor = static_cast<std::uint32_t>(parallel.tensor);
  const auto data = static_cast<std::uint32_t>(parallel.data);
  std::vector<std::vector<Rank>> groups(1);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) groups[0].push_back(Rank{rank});
  const std::uint32_t stages = ranks / (tensor * data);
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    for (std::uint32_t t = 0; t < tensor; ++t) {
      auto& group = groups.emplace_back();
      for (std::uint32_t d = 0; d < data; ++d)
        group.push_back(Rank{(stage * data + d) * tensor + t});
    }
  for (std::uint32_t first = 0; first < ranks; first += tensor) {
    auto& group = groups.emplace_back();
    for (std::uint32_t t = 0; t < tensor; ++t) group.push_back(Rank{first + t});
  }
  for (std::uint32_t i = 0; i < stages * tensor; ++i)  // reduce groups
    groups.push_back(std::vector<Rank>(groups[1 + i]));
  return groups;
}

}  // namespace

MachineSetup setup_for(const description::Scenario& scenario, bool clock, bool trace) {
  const description::MachineFile& machine = scenario.machine;
  MachineSetup setup;
  setup.clock = clock;
  setup.trace = trace;
  setup.pinned = scenario.strategy.pinned == description::PinnedPolicy::exact
                     ? Rounding::page
                     : Rounding::power_of_two;
  setup.gpu = scenario.strategy.gpu_allocator == description::GpuAllocator::exact
                  ? Rounding::none
                  : Rounding::cuda_caching;
  Topology& topology = setup.topology;
  topology.ranks = static_cast<std::uint32_t>(scenario.parallel.ranks());
  topology.groups = groups_of(scenario.parallel);
  topology.gpu_memory =
      scenario.strategy.unlimited_gpu ? description::Bytes(0) : machine.gpu.memory;
  topology.host_memory = machine.host.memory;
  topology.h2d = machine.pcie.h2d;
  topology.d2h = machine.pcie.d2h;
  topology.gpudirect = machine.gpu.gpudirect;
  for (const description::StorageSpec& storage : machine.storage)
    topology.storages.push_back({storage.name, storage.count, storage.total_capacity(),
                                 storage.total_read(), storage.total_write(),
                                 storage.kind == description::StorageKind::ssd});
  return setup;
}

Group data_group(const description::Scenario& scenario, Rank rank) {
  const auto tensor = static_cast<std::uint32_t>(scenario.parallel.tensor);
  const auto data = static_cast<std::uint32_t>(scenario.parallel.data);
  const std::uint32_t stage = rank.index / (tensor * data);
  return Group{1 + stage * tensor + rank.index % tensor};
}

Group tensor_group(const description::Scenario& scenario, Rank rank) {
  const auto tensor = static_cast<std::uint32_t>(scenario.parallel.tensor);
  const auto stages = static_cast<std::uint32_t>(scenario.parallel.pipeline);
  return Group{1 + stages * tensor + rank.index / tensor};
}

Group reduce_group(const description::Scenario& scenario, Rank rank) {
  const auto& parallel = scenario.parallel;
  const auto data_and_tensor_groups = static_cast<std::uint32_t>(
      parallel.pipeline * parallel.tensor + parallel.pipeline * parallel.data);
  return Group{data_group(scenario, rank).index + data_and_tensor_groups};
}

const char* compute_type(description::Precision precision) {
  switch (precision) {
    case description::Precision::fp16_mixed:
    case description::Precision::fp16:
      return "fp16";
    case description::Precision::bf16_mixed:
    case description::Precision::bf16:
      return "bf16";
    case description::Precision::fp32:
      return "fp32";
  }
  return "fp16";
}

double compute_rate(const description::Scenario& scenario) {
  const auto& rates = scenario.machine.gpu.compute;
  const std::string type = compute_type(scenario.training.precision);
  auto found = rates.find(type);
  if (found == rates.end() && type == "fp32") found = rates.find("tf32");
  if (found == rates.end())
    throw description::ScenarioError({{"", 0, 0, "machine.gpu.compute", "no rate for " + type,
                                       "add \"" + type + "\" to gpu.compute"}});
  return found->second.value();
}

}  // namespace spillway::strategies
