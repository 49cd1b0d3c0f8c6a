#include "sim/plugin.hpp"
#include "tests/bench/mixed_verbs.hpp"

#include <benchmark/benchmark.h>

namespace spillway::bench {
namespace {

constexpr std::uint64_t rounds = 2'000;

/// Argument: ranks. One machine for all iterations, as in a warm worker.
void sim_mixed_verbs(benchmark::State& state) {
  const auto ranks = static_cast<std::uint64_t>(state.range(0));
  const auto machine = sim::open_sim_machine(bench_box(ranks), false);
  for (auto _ : state) run_mixed_verbs(*machine, rounds / ranks);
  const auto all =
      static_cast<double>(rounds / ranks * ranks * operations_per_round * state.iterations());
  state.counters["operations/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
}
BENCHMARK(sim_mixed_verbs)->Arg(1)->Arg(4)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway::bench
