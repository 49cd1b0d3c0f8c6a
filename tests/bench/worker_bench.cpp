#include "explore/processes/child.hpp"
#include "explore/processes/line_process.hpp"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>

namespace spillway::bench {
namespace {

using namespace explore;
using nlohmann::json;

/// 80 layers on one card: some 10,000 operations, as an application asks while somebody drags.
json scenario(int i) {
  json asked = json::parse(R"({ "model": "llama-3.3-70b", "machine": "lohan_4090x4",
    "training": { "precision": "bf16_mixed", "micro_batch": 1 }, "parallel": { "data": 1 },
    "run": { "steps": 1 }, "strategy": { "system": "zero_infinity" } })");
  asked["machine"] = {{"extends", "lohan_4090x4"}, {"name", "dragged"}};
  asked["machine"]["host"]["memory"] = std::to_string(700 + i % 100) + " GiB";
  return asked;
}

/// The program beside this one, with two jobs.
class Worker {
 public:
  Worker() : process_({SPILLWAY_PROGRAM, "worker", "--jobs", "2"}) { ask(0, "bound"); }

  void send(int id, const char* want) {
    process_.send(json{{"id", id}, {"scenario", scenario(id)}, {"want", {want}}}.dump() + "\n");
  }
  void cancel(int id) { process_.send(json{{"cancel", id}}.dump() + "\n"); }
  /// Until the answer to `id` is there.
  json read(int id) {
    for (;;) {
      while (lines_.empty())
        if (!process_.collect(1, lines_)) return {{"failure", "the worker ended"}};
      const json line = json::parse(lines_.front());
      lines_.pop_front();
      if (line.value("id", -1) == id && !line.contains("progress")) return line;
    }
  }
  json ask(int id, const char* want) {
    send(id, want);
    return read(id);
  }

 private:
  LineProcess process_;
  std::deque<std::string> lines_;
};

/// Answers of one kind to `state`'s many requests; with its 50th and 95th percentile.
void ask_for(benchmark::State& state, const char* want) {
  Worker worker;
  std::vector<double> seconds;
  int id = 1;
  for (auto unused : state) {
    const auto start = std::chrono::steady_clock::now();
    const json answer = worker.ask(id++, want);
    if (!answer.contains(want)) return state.SkipWithError(answer.dump().c_str());
    seconds.push_back(seconds_since(start));
    state.SetIterationTime(seconds.back());
    if (answer["result"].is_object()) state.counters["operations"] = answer["result"]["operations"];
  }
  std::sort(seconds.begin(), seconds.end());
  state.counters["p50_ms"] = 1e3 * seconds[seconds.size() / 2];
  state.counters["p95_ms"] = 1e3 * seconds[seconds.size() * 95 / 100];
}

/// Somebody drags: each request is cancelled by the next one, 16 ms later; the last one is awaited.
void drag(benchmark::State& state) {
  Worker worker;
  std::vector<double> seconds;
  int id = 1;
  for (auto unused : state) {
    for (int i = 0; i < 20; ++i, ++id) {
      worker.send(id, "result");
      std::deque<std::string> ignored;
      const auto start = std::chrono::steady_clock::now();
      while (seconds_since(start) < 0.016) ::poll(nullptr, 0, 1);
      worker.cancel(id);
    }
    const auto start = std::chrono::steady_clock::now();
    const json answer = worker.ask(id++, "result");
    seconds.push_back(seconds_since(start));
    state.SetIterationTime(seconds.back());
  }
  std::sort(seconds.begin(), seconds.end());
  state.counters["p95_ms"] = 1e3 * seconds[seconds.size() * 95 / 100];
}

void bounds(benchmark::State& state) { ask_for(state, "bound"); }
void results(benchmark::State& state) { ask_for(state, "result"); }

BENCHMARK(bounds)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(100);
BENCHMARK(results)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(100);
BENCHMARK(drag)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(20);

}  // namespace
}  // namespace spillway::bench
