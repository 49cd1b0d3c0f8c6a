#include "scenarios/reading/read_scenario.hpp"
#include "sim/plugin.hpp"
#include "strategies/counting/counting_machine.hpp"
#include "strategies/run/run.hpp"
#include "strategies/systems/catalogue.hpp"

#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

namespace spillway::bench {
namespace {

description::Scenario resolved(const nlohmann::json& scenario) {
  std::vector<scenarios::SystemInfo> systems;
  for (const strategies::System& system : strategies::catalogue())
    systems.push_back({system.name, system.defaults()});
  return scenarios::read_scenario(scenario, {}, systems, scenarios::Refuse::what_cannot_run)
      .scenario;
}

/// ZeRO-Infinity on 4 ranks, 100 layers and 400 sub-groups a node: one step after the set-up.
description::Scenario large_scenario() {
  const nlohmann::json scenario = {
      {"name", "bench"},
      {"model",
       {{"model_type", "llama"},
        {"hidden_size", 4096},
        {"num_hidden_layers", 100},
        {"num_attention_heads", 32},
        {"num_key_value_heads", 8},
        {"intermediate_size", 14336},
        {"vocab_size", 32000},
        {"max_position_embeddings", 4096},
        {"tie_word_embeddings", false}}},
      {"training", {{"precision", "bf16_mixed"}, {"micro_batch", 1}, {"sequence", 2048}}},
      {"parallel", {{"data", 4}}},
      {"machine", "a100_40_4gpu"},
      {"strategy", {{"system", "zero_infinity"}, {"optimizer", {{"subgroup", "5.45e7 params"}}}}},
      {"run", {{"warmup_steps", 0}, {"steps", 1}}}};
  return resolved(scenario);
}

/// 32 ranks on eight nodes: tensor parallel inside, data parallel across; a step after the set-up.
description::Scenario eight_nodes() {
  const nlohmann::json scenario = {
      {"name", "eight nodes"},
      {"model", "mlp-offload-280b"},
      {"training", {{"precision", "bf16_mixed"}, {"micro_batch", 1}, {"sequence", 2048}}},
      {"parallel", {{"data", 8}, {"tensor", 4}}},
      {"machine", "mlp_offload_t2"},
      {"strategy", {{"system", "zero_infinity"}, {"preset", "deepspeed_zero3_nvme_optimizer"}}},
      {"run", {{"warmup_steps", 0}, {"steps", 1}}}};
  return resolved(scenario);
}

/// From the resolved scenario to the result: model, machine, set-up and one step.
template <class Open>
void whole_scenario(benchmark::State& state, const description::Scenario& scenario, Open open) {
  double step_operations = 0, all_operations = 0;
  for (auto _ : state) {
    const strategies::Decision decision = strategies::decided_as_written(scenario);
    const auto machine = open(scenario);
    const result::Result result = strategies::run(*machine, decision, "bench");
    step_operations = static_cast<double>(result.operations);
    for (const strategies::StepRecord& step : machine->recorder().steps())
      all_operations += static_cast<double>(step.operations);
  }
  state.counters["operations/step"] = step_operations;
  state.counters["operations/s"] = benchmark::Counter(all_operations, benchmark::Counter::kIsRate);
}

void sim_zero_infinity(benchmark::State& state) {
  whole_scenario(state, large_scenario(), [](const description::Scenario& scenario) {
    return sim::open_sim_machine(scenario, false);
  });
}
BENCHMARK(sim_zero_infinity)->Unit(benchmark::kMillisecond)->Iterations(10);

void sim_eight_nodes(benchmark::State& state) {
  whole_scenario(state, eight_nodes(), [](const description::Scenario& scenario) {
    return sim::open_sim_machine(scenario, false);
  });
}
BENCHMARK(sim_eight_nodes)->Unit(benchmark::kMillisecond)->Iterations(10);

void counting_zero_infinity(benchmark::State& state) {
  whole_scenario(state, large_scenario(), [](const description::Scenario& scenario) {
    return std::make_unique<strategies::CountingMachine>(scenario);
  });
}
BENCHMARK(counting_zero_infinity)->Unit(benchmark::kMillisecond)->Iterations(10);

}  // namespace
}  // namespace spillway::bench
