#include "strategies/counting/counting_machine.hpp"
#include "tests/bench/mixed_verbs.hpp"

#include <benchmark/benchmark.h>

namespace spillway::bench {
namespace {

using namespace strategies;

constexpr std::uint64_t rounds = 20'000;

void report(benchmark::State& state, std::uint64_t operations_per_iteration) {
  const auto all = static_cast<double>(operations_per_iteration * state.iterations());
  state.counters["operations/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
}

/// Argument: ranks.
void counting_mixed_verbs(benchmark::State& state) {
  const auto ranks = static_cast<std::uint64_t>(state.range(0));
  CountingMachine machine(bench_box(ranks));
  for (auto _ : state) run_mixed_verbs(machine, rounds / ranks);
  report(state, rounds / ranks * ranks * operations_per_round);
}
BENCHMARK(counting_mixed_verbs)->Arg(1)->Arg(4)->Unit(benchmark::kMillisecond);

Task<> read_one_by_one(Machine& machine, std::uint64_t count) {
  Stored extent = co_await machine.store(StorageId{0}, Rank{0}, Bytes(4096), Purpose::weights);
  Buffer buffer = machine.allocate_now(TierId::pinned, Rank{0}, Bytes(4096), Purpose::host_pool);
  for (std::uint64_t i = 0; i < count; ++i)
    co_await machine.read(Rank{0}, extent, {0, 4096}, buffer.view());
}

void counting_awaited_reads(benchmark::State& state) {
  CountingMachine machine(bench_box(1));
  for (auto _ : state) {
    std::vector<Task<>> ranks;
    ranks.push_back(read_one_by_one(machine, rounds));
    machine.run_ranks(std::move(ranks));
  }
  report(state, rounds);
}
BENCHMARK(counting_awaited_reads)->Unit(benchmark::kMillisecond);

Task<> allocate_and_free(Machine& machine, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i)
    Buffer buffer = machine.allocate_now(TierId::gpu, Rank{0}, Bytes(1 << 20), Purpose::workspace);
  co_return;
}

void counting_allocations(benchmark::State& state) {
  CountingMachine machine(bench_box(1));
  for (auto _ : state) {
    std::vector<Task<>> ranks;
    ranks.push_back(allocate_and_free(machine, rounds));
    machine.run_ranks(std::move(ranks));
  }
  report(state, rounds);
}
BENCHMARK(counting_allocations)->Unit(benchmark::kMillisecond);

/// What a streaming system issues for a layer's pass: one operation of 12 kernels with 4 operands
/// each.
Task<> layers(Machine& machine, std::uint64_t count) {
  constexpr std::uint64_t tensor = 1 << 20;
  Buffer memory =
      machine.allocate_now(TierId::gpu, Rank{0}, Bytes(64 * tensor), Purpose::activations);
  std::vector<GpuKernel> batch(12);
  for (std::uint64_t i = 0; i < batch.size(); ++i)
    for (std::uint64_t operand = 0; operand < 4; ++operand)
      batch[i].operands.emplace_back(memory.view((4 * i + operand) * tensor, tensor),
                                     operand == 3 ? models::Access::write : models::Access::read);
  Op before;
  for (std::uint64_t i = 0; i < count; ++i) {
    Op layer = machine.run(Rank{0}, batch);
    if (before) co_await before;
    before = layer;
  }
  co_await before;
}

void counting_layers(benchmark::State& state) {
  CountingMachine machine(bench_box(1));
  for (auto _ : state) {
    std::vector<Task<>> ranks;
    ranks.push_back(layers(machine, rounds));
    machine.run_ranks(std::move(ranks));
  }
  report(state, rounds);
}
BENCHMARK(counting_layers)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway::bench
