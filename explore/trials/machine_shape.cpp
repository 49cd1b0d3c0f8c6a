#include "explore/trials/machine_shape.hpp"

#include <nlohmann/json.hpp>

namespace spillway::explore {

std::string shape_of(description::MachineFile machine) {
  machine.name.clear();
  machine.sources.clear();
  machine.prices_usd.reset();
  machine.power.reset();
  machine.dates.clear();
  machine.bought.clear();
  description::GpuSpec& gpu = machine.gpu;
  gpu.memory = gpu.reserve = {};
  gpu.memory_rate = {};
  for (auto* rates : {&gpu.compute, &gpu.peak, &gpu.attention})
    for (auto& [type, rate] : *rates) rate = {};
  for (auto* rate : {&gpu.reduction, &gpu.permute})
    if (*rate) *rate = description::BytesPerSecond{};
  machine.pcie = {};
  for (auto* rate : {&machine.gpu.peer_rate, &machine.network.intra_node_per_gpu})
    if (*rate) *rate = description::BytesPerSecond{};
  machine.network.per_gpu = {};
  machine.network.latency = {};
  description::HostSpec& host = machine.host;
  host.memory = host.reserve = {};
  for (auto* rate : {&host.memory_rate, &host.convert, &host.check_chained, &host.check_fused})
    *rate = {};
  host.adam = {};
  if (host.lion) host.lion = description::ParamsPerSecond{};
  if (host.socket_rate) host.socket_rate = description::BytesPerSecond{};
  host.team_rates.clear();
  host.cores = 1;
  host.slots.clear();
  host.lanes = gpu.lanes = 0;
  for (description::StorageSpec& storage : machine.storage) {
    storage.count = 1;
    storage.capacity = {};
    storage.read = storage.write = {};
    storage.array_read.reset();
    storage.array_write.reset();
    storage.mixed_efficiency = 1;
    storage.latency = {};
    storage.endurance.reset();
    storage.slc_cache.reset();
    storage.price_usd.reset();
    storage.form.clear();
    storage.lanes = 0;
  }
  return nlohmann::json(machine).dump();
}

}  // namespace spillway::explore
