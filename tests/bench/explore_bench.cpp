#include "explore/points/front.hpp"
#include "explore/search/bounder.hpp"
#include "explore/search/explorer.hpp"
#include "explore/store/store.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace spillway::bench {
namespace {

using namespace explore;

/// A million machines for one model and system: 10 x 10 x 10 x 10 x 10 x 10 rates, sizes and
/// counts.
constexpr const char* million_machines = R"({
  "base": { "model": "llama-3.1-8b", "machine": "lohan_4090",
            "training": { "precision": "bf16_mixed", "micro_batch": 4, "sequence": 4096 },
            "strategy": { "system": "zero_infinity" } },
  "axes": { "machine.storage.nvme.count": { "from": 1, "to": 10 },
            "machine.storage.nvme.read": { "from": "1 GB/s", "to": "10 GB/s", "step": "1 GB/s" },
            "machine.host.memory": { "from": "32 GiB", "to": "320 GiB", "step": "32 GiB" },
            "machine.host.adam": { "from": "0.1 Gparam/s", "to": "1 Gparam/s",
                                   "step": "0.1 Gparam/s" },
            "machine.gpu.memory": { "from": "8 GiB", "to": "80 GiB", "step": "8 GiB" },
            "machine.prices_usd.gpu": { "from": 500, "to": 5000, "step": 500 } },
  "constraints": ["feasible", "price_usd <= 6000"],
  "objectives": { "step_time_s": "min", "price_usd": "min" } })";

/// Owns a file that goes with it.
struct TemporaryFile {
  static inline int count = 0;
  std::string path = (std::filesystem::temp_directory_path() /
                      fmt::format("spillway_bench_{}_{}", ::getpid(), count++))
                         .string();
  ~TemporaryFile() {
    std::error_code error;  // a file that stays behind fails nothing
    for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(path + part, error);
  }
};

/// A point: its bound, the constraints within it, and whether a front of 64 beats it.
void bound_machine_points(benchmark::State& state) {
  const TemporaryFile file;
  std::ofstream(file.path) << million_machines;
  const scenarios::Space space = scenarios::read_space(file.path, known_systems());
  const Points points(space);
  const Measures measures(points);
  Bounder bounder(points, measures);
  Front front;
  for (std::uint64_t i = 0; i < 64; ++i)
    front.add({i, "", {1 + 0.1 * static_cast<double>(i), 9000 - 100 * static_cast<double>(i)}});
  std::uint64_t bounded = 0, pruned = 0;
  for (auto unused : state)
    coarse_first(points, bounder.fast(), [&](const Coordinates& at) {
      const PointBound* bound = bounder.of(at);
      ++bounded;
      pruned += bound && (bound->hopeless || front.beats(bound->costs));
      return true;
    });
  state.counters["points/s"] =
      benchmark::Counter(static_cast<double>(bounded), benchmark::Counter::kIsRate);
  state.counters["pruned"] = static_cast<double>(pruned) / static_cast<double>(bounded);
}
BENCHMARK(bound_machine_points)->Unit(benchmark::kMillisecond)->Iterations(1);

/// The rows of a simulated point, committed by the thousand as an exploration does in 50 ms.
void store_simulated_points(benchmark::State& state) {
  const TemporaryFile file;
  Store store(file.path, Database::Access::write);
  SpaceRow row;
  row.id = "a";
  row.axes = {"training.micro_batch", "strategy.system"};
  row.objectives = {{"step_time_s", true}};
  const std::int64_t space = store.begin_space(row);
  const nlohmann::json numbers = {{"step_time_s", 1.25},
                                  {"throughput.tokens_per_s", 1234.5},
                                  {"price_usd", 3000.0},
                                  {"wear.lifetime_years", 4.5}};
  std::uint64_t number = 0;
  for (auto unused : state) {
    const std::string key = "0123456789abcdef" + std::to_string(1'000'000'000 + number * 7919);
    store.put(key, ScenarioRow{"fits", "", numbers, 0.01});
    store.put(space, PointRow{number++,
                              key,
                              {{"training.micro_batch", 4}, {"strategy.system", "lohan"}},
                              "accepted",
                              "",
                              {{"step_time_s", 1.25}},
                              false});
    if (number % 1000 == 0) store.commit();
  }
  store.commit();
}
BENCHMARK(store_simulated_points)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace spillway::bench
