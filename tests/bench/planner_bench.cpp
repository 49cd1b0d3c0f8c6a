#include "strategies/planner/migration/planner.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>

namespace spillway::bench {
namespace {

using namespace strategies::planner;

/// A step of `slots` kernels with twice as many idle intervals: micro-batches through layers whose
/// weights return twice a micro-batch, activations from forward to backward, states that the
/// update uses once.
Lifetimes many_intervals(std::uint32_t slots) {
  Lifetimes step;
  for (std::uint32_t i = 0; i < slots; ++i) step.kernels.push_back({"kernel", i * 1e-3, 1e-3, 0});
  const std::uint32_t passes = slots / 10 * 9;  // the rest updates
  const std::uint32_t micro = passes / 16;
  std::uint64_t id = 0, intervals = 0, random = 1;
  const auto next = [&](std::uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>((random >> 33) % below);
  };
  while (intervals < 2ull * slots) {
    LifetimeTensor tensor;
    tensor.id = ++id;
    tensor.bytes = (16 + next(64)) << 20;
    const std::uint32_t at = next(micro / 2 - 2);
    if (id % 8 == 0) {  // a weight, and the gradient's shape
      tensor.persistent = true;
      for (std::uint32_t m = 0; m < 16; ++m) {
        tensor.active.push_back({m * micro + at, m * micro + at, true, false});
        tensor.active.push_back({(m + 1) * micro - 1 - at, (m + 1) * micro - 1 - at, true, false});
      }
      tensor.active.push_back({passes + next(slots - passes), 0, true, true});
      tensor.active.back().last = tensor.active.back().first;
      intervals += tensor.active.size();
    } else if (id % 8 < 3) {  // a state
      const std::uint32_t when = passes + next(slots - passes);
      tensor.persistent = true;
      tensor.active.push_back({when, when, true, true});
      ++intervals;
    } else {
      const std::uint32_t from = next(16) * micro;
      tensor.active.push_back({from + at, from + at, false, true});
      tensor.active.push_back({from + micro - 1 - at, from + micro - 1 - at, true, false});
      ++intervals;
    }
    step.tensors.push_back(tensor);
  }
  return step;
}

/// Argument: slots. Everything is short: bandwidth for a part of it, then waits, all rounds.
void plan_all_rounds(benchmark::State& state) {
  const Lifetimes step = many_intervals(static_cast<std::uint32_t>(state.range(0)));
  const auto alive = alive_bytes(step), active = active_bytes(step);
  PlanSettings settings;
  settings.channels.ssd_read = settings.channels.ssd_write = 16e9;
  settings.channels.host_in = settings.channels.host_out = 52e9;
  settings.destinations = {Destination::ssd, Destination::host};
  const std::uint64_t peak = *std::max_element(alive.begin(), alive.end());
  settings.capacity = std::max(2 * *std::max_element(active.begin(), active.end()),
                               peak * static_cast<std::uint64_t>(state.range(1)) / 100);
  settings.host_limit = peak / 4;
  Plan plan;
  for (auto _ : state) plan = plan_migrations(step, settings);
  state.counters["intervals"] = static_cast<double>(plan.intervals);
  state.counters["moved"] = static_cast<double>(plan.moves.size());
  state.counters["evaluations"] = static_cast<double>(plan.evaluations);
  state.counters["rounds"] = plan.rounds + 1;
  state.counters["over_ideal"] = plan.step_s / plan.ideal_s;
}
BENCHMARK(plan_all_rounds)
    ->Args({50'000, 80})
    ->Args({50'000, 40})
    ->Args({50'000, 10})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway::bench
