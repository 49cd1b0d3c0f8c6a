#include "explore/outcome/runs_with.hpp"

#include "explore/outcome/outcomes.hpp"
#include "scenarios/deepspeed/export_deepspeed.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace spillway::explore {

using description::Scenario;
using description::Strategy;
using nlohmann::json;
using result::RunsWith;
using strategies::Program;

namespace {

constexpr const char* nobody = "spillway alone";

/// Matrices of 8 or 4 bits that leave the GPU. DeepSpeed can be told so, and takes more GPU memory
/// with it than without, which is not what is simulated.
///   Source  PEFT, documentation, "DeepSpeed", caveats: ZeRO stage 3, QLoRA and CPU offloading
bool moves_packed_matrices(const Scenario& scenario) {
  return description::has_adapters(scenario.training.method) &&
         scenario.training.lora.base != description::BaseType::bf16 &&
         scenario.strategy.weights.home != description::Home::gpu;
}

/// Where its configuration can say all of the scenario.
std::optional<RunsWith> deepspeed(const Scenario& scenario) {
  if (moves_packed_matrices(scenario)) return std::nullopt;
  const auto version = scenarios::deepspeed_that_runs(scenario, known_systems());
  if (!version) return std::nullopt;
  if (scenarios::shares_tensors_at_stage_3(scenario)) return RunsWith{"DeepSpeed >= 0.19.4", true};
  return RunsWith{"DeepSpeed", true};
}

/// Its gradients of bf16 weights are fp32 unless it is told otherwise.
///   Source  Megatron-LM, arguments.py, accumulate_allreduce_grads_in_fp32
std::string megatron(const Scenario& scenario) {
  const description::GradientsPart& gradients = scenario.strategy.gradients;
  const bool wide = gradients.main_gradients && gradients.accumulation == description::Width::fp32;
  const bool in_bf16 = scenario.training.precision == description::Precision::bf16_mixed && !wide;
  return in_bf16 ? "Megatron-LM with --grad-reduce-in-bf16" : "Megatron-LM";
}

/// One process has all GPUs, each with layers of its own: one of them works at a time.
bool goes_stage_by_stage(const Scenario& scenario) {
  const description::Parallel& parallel = scenario.parallel;
  const bool in_turn =
      parallel.schedule == description::PipelineSchedule::sequential ||
      (scenario.training.gradient_accumulation == 1 && !parallel.splits_backward() &&
       description::has_adapters(scenario.training.method));
  return parallel.pipeline > 1 && in_turn && parallel.pieces() == 1 && parallel.replicas() == 1 &&
         parallel.tensor == 1 && scenario.machine.nodes == 1 &&
         scenario.training.precision != description::Precision::fp8;
}

/// Adapters of ranks that share layers, samples' tokens or experts.
///   Source  Axolotl, sequence and expert parallelism, with matrices in 4 bits too;
///           Megatron-Bridge, PEFT: LoRA and DoRA beside all kinds of ranks, of bf16 matrices
RunsWith of_adapters_on_model_ranks(const Scenario& scenario) {
  const description::Parallel& parallel = scenario.parallel;
  const bool fp8 = scenario.training.precision == description::Precision::fp8;
  if (parallel.tensor == 1 && parallel.pipeline == 1 && !fp8) return {"Axolotl", true};
  const bool narrow = scenario.training.lora.base != description::BaseType::bf16;
  if (narrow || parallel.splits_backward()) return {nobody, false};
  return {"Megatron-Bridge", true};
}

/// Any training of such ranks.
RunsWith of_model_ranks(const Scenario& scenario) {
  const description::Parallel& parallel = scenario.parallel;
  if (goes_stage_by_stage(scenario)) return {"Transformers with device_map auto", true};
  if (parallel.pipeline > 1 && parallel.schedule == description::PipelineSchedule::sequential)
    return {nobody, false};
  if (description::has_adapters(scenario.training.method))
    return of_adapters_on_model_ranks(scenario);
  if (parallel.splits_backward()) return {"Megatron-LM with the authors' zero bubble", true};
  std::string who = megatron(scenario);
  if (const auto also = deepspeed(scenario)) who += ", " + also->program;
  return {who, true};
}

/// Adapters beside matrices in 16 bits, on cards that have layers of their own.
///   Source  KTransformers Fine-Tuning x LLaMA-Factory Integration, user guide: LoRA (BF16), two to
///           four cards
RunsWith of_experts_on_cpu(const Scenario& scenario, bool offloads) {
  const bool narrow = scenario.training.lora.base != description::BaseType::bf16;
  const description::Parallel& parallel = scenario.parallel;
  if (offloads || narrow || parallel.tensor > 1 || parallel.context > 1) return {nobody, false};
  return {"KTransformers with LLaMA-Factory", true};
}

/// Nothing leaves the GPUs.
RunsWith trainer(const Scenario& scenario) {
  const Strategy& parts = scenario.strategy;
  using description::ActivationPolicy;
  using description::Home;
  const bool plain = (parts.activations.policy == ActivationPolicy::keep ||
                      parts.activations.policy == ActivationPolicy::checkpoint_gpu ||
                      parts.activations.policy == ActivationPolicy::checkpoint_host ||
                      (parts.activations.policy == ActivationPolicy::offload &&
                       parts.activations.homes == std::vector<std::string>{"host"})) &&
                     (parts.optimizer.home == Home::gpu ||
                      scenario.training.optimizer == description::OptimizerKind::paged_adam8bit) &&
                     parts.weights.home == Home::gpu && parts.optimizer.staleness == 0 &&
                     !parts.unlimited_gpu();
  if (!plain) return deepspeed(scenario).value_or(RunsWith{nobody, false});
  const description::Parallel& parallel = scenario.parallel;
  const bool offloads = parts.activations.policy == ActivationPolicy::offload;
  if (parts.weights.experts_on_cpu()) return of_experts_on_cpu(scenario, offloads);
  if (parallel.tensor > 1 || parallel.pipeline > 1 || parallel.context > 1 || parallel.expert > 1)
    return of_model_ranks(scenario);
  const bool sharded = parallel.data > 1 && parallel.zero_stage > 0;
  const bool fp8 = scenario.training.precision == description::Precision::fp8;
  // whose adapters stay in the type of the weights beside Transformer Engine's products
  if (fp8 && description::has_adapters(scenario.training.method)) return {"Megatron-Bridge", true};
  if (fp8)
    return {sharded ? "PyTorch (FSDP) with Transformer Engine" : "PyTorch with Transformer Engine",
            true};
  // DeepSpeed has no configuration for saved tensors that wait in host memory
  if (sharded && offloads) return {"PyTorch (FSDP)", true};
  return {sharded ? "PyTorch (FSDP), DeepSpeed" : "PyTorch", true};
}

/// A number, a quantity, a switch or "auto": what its program takes as a setting.
bool is_setting(const json& value) {
  if (!value.is_string()) return value.is_number() || value.is_boolean();
  const auto& text = value.get_ref<const std::string&>();
  return text == "auto" || (!text.empty() && text[0] >= '0' && text[0] <= '9');
}

/// A part that is another than the system's own; "" when none is.
std::string other_part(const json& own, const json& asked, const std::string& path) {
  for (const auto& [key, value] : asked.items()) {
    const std::string inner = path.empty() ? key : path + "." + key;
    const json before = own.is_object() && own.contains(key) ? own[key] : json();
    if (value.is_object()) {
      if (const std::string found = other_part(before, value, inner); !found.empty()) return found;
    } else if (value != before && inner != "preset" && !is_setting(value)) {
      return inner;
    }
  }
  return "";
}

bool has_its_own_parts(const strategies::System& system, const Strategy& parts) {
  return other_part(json(system.defaults()), json(parts), "").empty();
}

}  // namespace

RunsWith runs_with(const Scenario& scenario) {
  const strategies::System* system = strategies::find_system(scenario.strategy.system);
  if (!system || scenario.run.io_bench) return {nobody, false};
  if (system->program != Program::trainer &&
      (scenario.parallel.expert > 1 || scenario.strategy.weights.experts))
    return {nobody, false};
  switch (system->program) {
    case Program::trainer:
      return trainer(scenario);
    case Program::deepspeed:
      return deepspeed(scenario).value_or(RunsWith{nobody, false});
    case Program::colossal_ai:
      if (has_its_own_parts(*system, scenario.strategy)) return {"Colossal-AI", true};
      break;
    case Program::authors:  // their papers train all weights, and so does their code
      if (has_its_own_parts(*system, scenario.strategy) &&
          scenario.training.method == description::Method::full)
        return {std::string("the authors' code of ") + system->name, false};
      break;
    case Program::none:
      break;
  }
  return {nobody, false};
}

namespace {

RunsWith with_defaults(const strategies::System& system) {
  const nlohmann::json job = {{"model", "gpt2"},
                              {"machine", "workstation_2gpu"},
                              {"training", {{"precision", "bf16_mixed"}}},
                              {"strategy", {{"system", system.name}}}};
  try {
    return runs_with(scenarios::read_scenario(job, {}, known_systems()).scenario);
  } catch (const description::ScenarioError&) {
    Scenario scenario;  // it trains nothing so small
    scenario.strategy = system.defaults();
    return runs_with(scenario);
  }
}

}  // namespace

RunsWith runs_with(const strategies::System& system) {
  // of a catalogue that stays as it is; no lock, which a process that forks would take along
  thread_local std::map<std::string, RunsWith> known;
  auto place = known.find(system.name);
  if (place == known.end()) place = known.emplace(system.name, with_defaults(system)).first;
  return place->second;
}

}  // namespace spillway::explore
