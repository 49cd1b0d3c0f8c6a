#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights and sums of gradients in host memory, as lists of pages, states on SSD; an update loop
/// that no step waits for. `optimizer.staleness` 0 is one step at a time.
///   Source  Angel-PTM (VLDB'23): pages of 4 MiB, lock-free update
System angel_ptm() {
  System system;
  system.name = "angel_ptm";
  system.summary = "pages in host memory, states on SSD, an update that no step waits for";
  system.source = "Angel-PTM (VLDB'23)";
  system.program = Program::none;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "angel_ptm";
    strategy.weights.home = description::Home::host;
    strategy.weights.pool = description::PoolKind::pages;
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.gradients.policy = description::GradientPolicy::host_fp16;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.convert = description::ConvertOn::cpu;
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::ssd;
    strategy.optimizer.buffers = 9;
    strategy.optimizer.pipeline_read = true;
    strategy.optimizer.pipeline_write = true;
    strategy.optimizer.host_cache = description::Bytes(0);
    strategy.optimizer.staleness = description::any_staleness;
    strategy.overflow_check = description::OverflowCheck::none;
    strategy.pinned = description::PinnedPolicy::exact;
    strategy.io_engine = description::IoEngine::direct;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
