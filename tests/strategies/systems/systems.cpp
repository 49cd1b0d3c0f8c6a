#include "tests/strategies/systems/systems.hpp"

#include "scenarios/description/data_files.hpp"
#include "sim/plugin.hpp"
#include "strategies/layout/job.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <bit>

namespace spillway::strategies {

namespace {

std::vector<scenarios::SystemInfo> known_systems() {
  std::vector<scenarios::SystemInfo> known;
  for (const System& system : catalogue()) known.push_back({system.name, system.defaults()});
  return known;
}

nlohmann::json config(const std::string& model) {
  using nlohmann::json;
  json llama = json::parse(R"({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 2,
      "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 4096,
      "vocab_size": 5000, "tie_word_embeddings": false})");
  if (model == "llama_tied") llama["tie_word_embeddings"] = true;
  if (model.starts_with("llama")) return llama;
  if (model == "mixtral") {
    llama["model_type"] = "mixtral";
    llama["num_local_experts"] = 4;
    llama["num_experts_per_tok"] = 2;
    return llama;
  }
  if (model == "gpt2")
    return json::parse(R"({"model_type": "gpt2", "n_embd": 1024, "n_layer": 2, "n_head": 8,
        "n_positions": 64, "vocab_size": 5000})");
  if (model == "bert")
    return json::parse(R"({"model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 2,
        "num_attention_heads": 8, "intermediate_size": 4096, "vocab_size": 5000,
        "max_position_embeddings": 64})");
  if (model == "t5")
    return json::parse(R"({"model_type": "t5", "d_model": 1024, "d_kv": 128, "num_heads": 8,
        "d_ff": 4096, "num_layers": 2, "vocab_size": 5000})");
  return json::parse(R"({"model_type": "opt", "hidden_size": 1024, "word_embed_proj_dim": 512,
      "num_hidden_layers": 2, "num_attention_heads": 8, "ffn_dim": 4096, "vocab_size": 5000,
      "max_position_embeddings": 64, "do_layer_norm_before": false})");
}

/// All memory is the run's, unless the test says otherwise: a byte is a byte.
Overrides without_reserves(const Overrides& overrides) {
  Overrides all{"machine.gpu.reserve=0 B", "machine.host.reserve=0 B"};
  const auto whole = std::find_if(overrides.begin(), overrides.end(),
                                  [](const auto& one) { return one.starts_with("machine="); });
  const auto first = whole == overrides.end() ? overrides.begin() : std::next(whole);
  all.insert(all.begin(), overrides.begin(), first);  // a machine replaces what was set before it
  all.insert(all.end(), first, overrides.end());
  return all;
}

result::Result run_on(Machine& machine, const description::Scenario& scenario,
                      const char* backend) {
  return run(machine, decided_as_written(scenario), backend);
}

result::Result with_needs(std::unique_ptr<Machine> machine, const Decision& decision,
                          const char* backend) {
  machine->let_tiers_grow();
  return run(*machine, decision, backend);
}

}  // namespace

description::Scenario example(const std::string& name, const Overrides& overrides) {
  return scenarios::read_scenario(
             description::data_root() / "scenarios/examples" / (name + ".json"),
             without_reserves(overrides), known_systems(), scenarios::Refuse::what_cannot_run)
      .scenario;
}

const std::vector<std::string>& small_models() {
  static const std::vector<std::string> names{"gpt2", "llama",   "llama_tied", "t5",
                                              "bert", "mixtral", "opt"};
  return names;
}

description::Scenario small_model(const std::string& model, const std::string& system,
                                  const Overrides& overrides) {
  // columns are selected among weights of bf16
  const bool selects = find_system(system)->defaults().optimizer.selected_share > 0;
  const char* precision = selects ? "bf16_mixed" : "fp16_mixed";
  const nlohmann::json scenario = {
      {"name", "small " + model},
      {"model", config(model)},
      {"training", {{"precision", precision}, {"micro_batch", 2}, {"sequence", 64}}},
      {"machine", "h100_8gpu"},
      {"strategy", {{"system", system}, {"optimizer", {{"subgroup", "6e6 params"}}}}}};
  return scenarios::read_scenario(scenario, without_reserves(overrides), known_systems(),
                                  scenarios::Refuse::what_cannot_run)
      .scenario;
}

description::Scenario reread(const nlohmann::json& scenario) {
  return scenarios::read_scenario(scenario, {}, known_systems(), scenarios::Refuse::what_cannot_run)
      .scenario;
}

std::vector<std::string> warnings_of(const nlohmann::json& scenario, const Overrides& overrides) {
  return scenarios::read_scenario(scenario, overrides, known_systems(),
                                  scenarios::Refuse::what_cannot_run)
      .warnings;
}

Counted count(const description::Scenario& scenario) {
  CountingMachine machine(scenario);
  Counted counted;
  counted.result = run_on(machine, scenario, "counting");
  counted.demands = machine.demands();
  counted.steps = machine.recorder().steps();
  return counted;
}

result::Result simulate(const description::Scenario& scenario) {
  return run_on(*sim::open_sim_machine(scenario, false), scenario, "sim");
}

Needs needs_of(const description::Scenario& written) {
  const Decision decision = decided(written, Tiers::grow);
  return {with_needs(std::make_unique<CountingMachine>(decision->scenario), decision, "counting"),
          with_needs(sim::open_sim_machine(decision->scenario, false), decision, "sim")};
}

std::uint64_t at_peak(const result::PeakBytes& peak, const std::string& purpose) {
  const auto found = peak.by_purpose.find(purpose);
  return found == peak.by_purpose.end() ? 0 : found->second;
}

models::Model model_of(const description::Scenario& scenario) { return prepare(scenario).model; }

std::vector<std::uint64_t> state_bytes(const description::Scenario& scenario) {
  const Decision decision = decided_as_written(scenario);
  const Job job(decision);
  std::vector<std::uint64_t> bytes;
  for (const Subgroup& group : job.subgroups)
    bytes.push_back(3 * sectors(job.row(group).master().bytes(group.span)));
  return bytes;
}

std::uint64_t padded(const models::Model& model, std::uint64_t width, std::uint64_t unit,
                     std::uint64_t ways) {
  std::uint64_t bytes = 0;
  for (const models::WeightTensor& weight : model.weights) {
    const std::uint64_t share = description::divide_up(weight.parameters.value(), ways);
    bytes += description::divide_up(share * width, unit) * unit;
  }
  return bytes;
}

std::uint64_t saved_bytes(const LayerPlan& plan) {
  std::uint64_t bytes = 0;
  for (const SavedTensor& tensor : plan.saved) bytes += tensor.bytes;
  return bytes;
}

std::uint64_t power(std::uint64_t bytes) { return std::bit_ceil(bytes); }
std::uint64_t sectors(std::uint64_t bytes) { return description::divide_up(bytes, 4096) * 4096; }

}  // namespace spillway::strategies
