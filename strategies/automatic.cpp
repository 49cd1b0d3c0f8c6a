#include "strategies/automatic.hpp"

#include "strategies/counting/counting_machine.hpp"

namespace spillway::strategies {

namespace {

using description::OptimizerPart;
using result::Purpose;

/// Peak of the host with so many swap buffers for each path as an update needs at least.
result::PeakBytes smallest_peak(description::Scenario scenario, const Prepared& prepared) {
  scenario.machine.host.memory = description::Bytes(0);  // unlimited: what it would take
  scenario.run.warmup_steps = 1;
  scenario.run.steps = 1;
  CountingMachine machine(scenario);
  return run(machine, scenario, prepared, "counting").host;
}

}  // namespace

description::Scenario resolve_automatic(description::Scenario scenario, const Prepared& prepared) {
  OptimizerPart& optimizer = scenario.strategy.optimizer;
  if (optimizer.device != description::OptimizerDevice::cpu ||
      optimizer.home != description::Home::ssd || optimizer.buffers)
    return scenario;
  const result::PeakBytes least = smallest_peak(scenario, prepared);
  std::uint64_t buffers = 0, each = 0;
  for (const result::PeakEntry& entry : least.entries)
    if (entry.purpose == to_string(Purpose::optimizer_swap_buffers)) {
      buffers += entry.count;
      each = entry.charged_bytes;
    }
  const std::uint64_t paths = std::max<std::size_t>(1, optimizer.paths.size());
  const std::uint64_t columns = scenario.node_ranks() * paths;  // of one buffer each
  if (buffers == 0) return scenario;
  const double room =
      optimizer.host_fill * static_cast<double>(scenario.machine.host.memory.value());
  const double others = static_cast<double>(least.total - buffers * each);
  const double fit = (room - others) / static_cast<double>(columns * each);
  optimizer.buffers = std::max(buffers / columns, static_cast<std::uint64_t>(std::max(fit, 0.0)));
  return scenario;
}

}  // namespace spillway::strategies
