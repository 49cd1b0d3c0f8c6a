#pragma once

#include <string>
#include <vector>

#include "scenarios/reading/read_scenario.hpp"

namespace spillway::scenarios {

/// A system of the tests: what differs from a Strategy's own values.
inline SystemInfo test_system(const std::string& name, description::Home home,
                              description::PoolKind pool) {
  SystemInfo system{name, {}};
  system.defaults.system = name;
  system.defaults.weights.home = home;
  system.defaults.weights.pool = pool;
  return system;
}

/// Stands in for the catalogue, which links the other way round.
inline std::vector<SystemInfo> test_systems() {
  using namespace description;
  SystemInfo resident = test_system("resident", Home::gpu, PoolKind::none);
  SystemInfo memascend = test_system("memascend", Home::ssd, PoolKind::adaptive);
  memascend.defaults.overflow_check = OverflowCheck::fused;
  memascend.defaults.pinned = PinnedPolicy::exact;
  memascend.defaults.io_engine = IoEngine::direct;
  SystemInfo infinity = test_system("zero_infinity", Home::ssd, PoolKind::monolithic);
  infinity.defaults.overflow_check = OverflowCheck::chained;
  for (SystemInfo* system : {&memascend, &infinity}) {
    system->defaults.activations.policy = ActivationPolicy::checkpoint_gpu;
    system->defaults.gradients.policy = GradientPolicy::ssd_fp32;
    system->defaults.optimizer.device = OptimizerDevice::cpu;
    system->defaults.optimizer.home = Home::ssd;
    system->defaults.optimizer.buffers = 4;
  }
  SystemInfo offload = test_system("zero_offload", Home::host, PoolKind::none);
  offload.defaults.overflow_check = OverflowCheck::chained;
  offload.defaults.gradients.policy = GradientPolicy::host_fp32;
  offload.defaults.optimizer.device = OptimizerDevice::cpu;
  offload.defaults.optimizer.home = Home::host;
  SystemInfo cache = test_system("ssdtrain", Home::gpu, PoolKind::none);
  cache.defaults.activations.policy = ActivationPolicy::tensor_cache;
  cache.defaults.activations.homes = {"ssd"};
  cache.defaults.io_engine = IoEngine::gds;
  cache.defaults.activations.keep_last = description::KeepLast::module;
  return {resident, offload, infinity, memascend, cache};
}

}  // namespace spillway::scenarios
