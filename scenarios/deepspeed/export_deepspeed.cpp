#include "scenarios/deepspeed/export_deepspeed.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

#include "models/architecture/adapters.hpp"
#include "scenarios/deepspeed/deepspeed_round_trip.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/deepspeed/import_zero.hpp"
#include "scenarios/deepspeed/trainer.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/text.hpp"
#include "strategies/layout/landing.hpp"

namespace spillway::scenarios {

using namespace description;
using nlohmann::json;

namespace {

bool uses_drives(const Strategy& parts) {
  return parts.weights.home == Home::ssd || parts.optimizer.home == Home::ssd;
}

/// Of ZeRO: only the third offloads weights, and reads states from drives.
std::uint64_t stage_of(const Scenario& scenario) {
  const Strategy& parts = scenario.strategy;
  const bool third = parts.weights.home != Home::gpu || uses_drives(parts);
  return third ? 3 : scenario.parallel.zero_stage;
}

/// Writes one configuration for one scenario.
class Export {
 public:
  Export(const Scenario& scenario, const models::Model& model, const ExportOptions& options,
         const DeepSpeedVersion& version)
      : scenario_(scenario),
        parts_(scenario.strategy),
        model_(model),
        options_(options),
        version_(version) {}

  json run() const {
    json config;
    const Training& training = scenario_.training;
    const std::string precision(name_of(training.precision));
    config["train_micro_batch_size_per_gpu"] = training.micro_batch;
    config["gradient_accumulation_steps"] = training.gradient_accumulation;
    config["train_batch_size"] =
        training.micro_batch * training.gradient_accumulation * scenario_.parallel.data;
    if (!updates_some_at_once()) config["gradient_clipping"] = training.gradient_clipping;
    config["fp16"] = {{"enabled", precision.starts_with("fp16")}};
    config["bf16"] = {{"enabled", precision.starts_with("bf16")}};
    if (training.precision == Precision::bf16_mixed && stage() > 0 &&
        training.optimizer_state == StateWidth::bf16)
      config["bf16"].update(
          {{"bf16_master_weights_and_grads", true}, {"bf16_optimizer_states", true}});
    if (const json own = optimizer(); !own.is_null()) config["optimizer"] = own;
    config["zero_optimization"] = zero();
    if (stage() > 0 && is_untested()) config["zero_allow_untested_optimizer"] = true;
    config["activation_checkpointing"] = {
        {"cpu_checkpointing", parts_.activations.policy == ActivationPolicy::checkpoint_host}};
    config["data_types"] = {{"grad_accum_dtype", gradient_type()}};
    if (scenario_.parallel.tensor > 1)
      config["tensor_parallel"] = {{"autotp_size", scenario_.parallel.tensor}};
    if (scenario_.parallel.context > 1) {  // groups are made where both stand there
      config["sequence_parallel_size"] = scenario_.parallel.context;
      config["data_parallel_size"] = scenario_.parallel.data;
    }
    if (uses_nvme()) config["aio"] = aio();
    return config;
  }

  /// Null: DeepSpeed has none such, and the trainer brings it.
  json optimizer() const {
    switch (scenario_.training.optimizer) {
      case OptimizerKind::adam:
      case OptimizerKind::adamw:
        break;
      case OptimizerKind::adam8bit:
      case OptimizerKind::paged_adam8bit:
        return nullptr;
      case OptimizerKind::adafactor:
        return sees_matrices() ? json{{"type", "Adafactor"}} : json();
      case OptimizerKind::muon:
        return {{"type", "Muon"}};
      case OptimizerKind::lion:
        return {{"type", "Lion"}};
      case OptimizerKind::sgd:
        return {{"type", "SGD"}};
      case OptimizerKind::sgd_momentum:
        return {{"type", "SGD"}, {"params", {{"momentum", 0.9}}}};
    }
    return {{"type", "AdamW"}};
  }
  /// ZeRO stops at it unless it is told not to (see import_optimizer).
  bool is_untested() const {
    switch (scenario_.training.optimizer) {
      case OptimizerKind::adam8bit:
      case OptimizerKind::paged_adam8bit:
      case OptimizerKind::sgd:
      case OptimizerKind::sgd_momentum:
        return true;
      default:
        return false;
    }
  }
  /// ZenFlow, beside which no norm is clipped here, whatever DeepSpeed does.
  bool updates_some_at_once() const { return parts_.optimizer.selected_share > 0; }
  bool uses_nvme() const { return uses_drives(parts_); }
  std::uint64_t stage() const { return stage_of(scenario_); }

 private:
  /// No partitions of them, which are vectors (see import_optimizer).
  bool sees_matrices() const {
    const Precision precision = scenario_.training.precision;
    const bool brain = precision == Precision::bf16_mixed || precision == Precision::bf16;
    return stage() == 0 && (!brain || version_.runs_bf16_without_zero());
  }

  /// Without ZeRO DeepSpeed stops at any other than that of the weights, but for versions that then
  /// have BF16_Optimizer.
  const char* gradient_type() const {
    const Precision precision = scenario_.training.precision;
    const bool brain = precision == Precision::bf16_mixed || precision == Precision::bf16;
    bool wide = parts_.gradients.accumulation == Width::fp32;
    if (stage() == 0)
      wide = precision == Precision::fp32 || (brain && !version_.runs_bf16_without_zero());
    return wide ? "fp32" : brain ? "bf16" : "fp16";
  }

  static const char* device(Home home) {
    return home == Home::ssd ? "nvme" : home == Home::host ? "cpu" : "none";
  }

  /// A limit that binds nothing, where there is none.
  std::uint64_t limit(Params asked, std::uint64_t upstream) const {
    if (asked != all_params) return asked.value();
    return std::max(upstream, model_.parameters.value());
  }

  /// 0 switches prefetching off. With few buffers on NVMe nothing is prefetched either, so that a
  /// bucket that was asked for can stay, and without overlap_comm as well. Where none was asked
  /// for, one that what may live at once can fill.
  std::uint64_t prefetch_bucket() const {
    const WeightsPart& weights = parts_.weights;
    const bool asked = weights.prefetch_bucket != all_params;
    const bool few = weights.home == Home::ssd && weights.buffer_count.value_or(2) < 9;
    if (weights.prefetch_blocks == 0 && parts_.gradients.overlap && !(asked && few)) return 0;
    return asked ? weights.prefetch_bucket.value() : std::min(most_at_once(), max_live());
  }

  /// Where nothing limits it, what lives at once: without such a limit DeepSpeed gathers the whole
  /// model. With a pool on NVMe its buffers limit.
  std::uint64_t max_live() const {
    const WeightsPart& weights = parts_.weights;
    if (weights.max_live == all_params && weights.home != Home::ssd) return most_at_once();
    return limit(weights.max_live, 1'000'000'000);
  }

  /// Elements that the blocks fetched ahead and the one that runs have at most.
  std::uint64_t most_at_once() const {
    const WeightsPart& weights = parts_.weights;
    std::uint64_t most = 0;
    std::deque<std::uint64_t> neighbours;
    for (std::uint32_t layer = 0; layer < model_.layers.size(); ++layer) {
      neighbours.push_back(elements_used(model_, layer));
      if (neighbours.size() > weights.prefetch_blocks + 1) neighbours.pop_front();
      most =
          std::max(most, std::accumulate(neighbours.begin(), neighbours.end(), std::uint64_t{0}));
    }
    return most;
  }

  json zero() const {
    const WeightsPart& weights = parts_.weights;
    json section{{"stage", stage()},
                 {"overlap_comm", parts_.gradients.overlap},
                 {"reduce_bucket_size", parts_.gradients.reduce_bucket.value()}};
    if ((stage() == 1 || stage() == 2) && scenario_.parallel.replicas() > 1 &&
        strategies::scatters_gradients(scenario_))
      section["use_multi_rank_bucket_allreduce"] = false;
    if (stage() == 3) {
      section["stage3_prefetch_bucket_size"] = prefetch_bucket();
      section["stage3_param_persistence_threshold"] = weights.persistence_threshold.value();
      section["stage3_max_live_parameters"] = max_live();
      section["stage3_max_reuse_distance"] = weights.max_reuse.value();
      section["sub_group_size"] = parts_.optimizer.subgroup.value();
    }
    const bool muon = scenario_.training.optimizer == OptimizerKind::muon;
    if ((muon && stage() == 3) ||
        (stage() >= (muon ? 1 : 3) && !strategies::scatters_gradients(scenario_)))
      section["reduce_scatter"] = false;  // beside which DeepSpeed stops at Muon (import_optimizer)
    if (weights.home != Home::gpu) section["offload_param"] = offload_param();
    if (parts_.optimizer.home != Home::gpu) section["offload_optimizer"] = offload_optimizer();
    if (parts_.optimizer.selected_share > 0)
      section["zenflow"] = {{"topk_ratio", parts_.optimizer.selected_share},
                            {"update_interval", scenario_.training.gradient_accumulation},
                            {"overlap_step", parts_.optimizer.staleness > 0},
                            {"offload", parts_.optimizer.selected_states == Home::host}};
    return section;
  }

  json offload_param() const {
    const WeightsPart& weights = parts_.weights;
    json section{{"device", device(weights.home)}, {"pin_memory", true}};
    if (weights.home != Home::ssd) return section;
    const std::uint64_t ranks = scenario_.parallel.data * scenario_.parallel.tensor;
    const Params largest(divide_up(model_.largest_tensor().value(), ranks));
    add_path(section);
    section["buffer_count"] =
        weights.buffer_count.value_or(description::buffers_of_blocks(weights.prefetch_blocks));
    section["buffer_size"] = weights.buffer_size.value_or(largest).value();
    section["max_in_cpu"] = weights.max_in_host.value();
    return section;
  }

  json offload_optimizer() const {
    const OptimizerPart& optimizer = parts_.optimizer;
    json section{{"device", device(optimizer.home)},
                 {"pin_memory", parts_.gradients.d2h != CopyMemory::pageable}};
    if (optimizer.cpu_share != 1) section["ratio"] = optimizer.cpu_share;
    if (optimizer.roll_back) section["super_offload"] = true;
    if (optimizer.home != Home::ssd) return section;
    const bool pipelined = optimizer.pipeline_read || optimizer.pipeline_write;
    add_path(section);
    section["buffer_count"] = optimizer.buffers.value_or(pipelined ? 8 : 4);
    section["pipeline_read"] = optimizer.pipeline_read;
    section["pipeline_write"] = optimizer.pipeline_write;
    return section;
  }

  void add_path(json& section) const {
    if (!options_.nvme_path.empty()) section["nvme_path"] = options_.nvme_path;
  }

  json aio() const {
    return {{"block_size", 1048576},     {"queue_depth", 8},
            {"intra_op_parallelism", 1}, {"single_submit", false},
            {"overlap_events", true},    {"use_gds", parts_.io_engine == IoEngine::gds}};
  }

  const Scenario& scenario_;
  const Strategy& parts_;
  const models::Model& model_;
  const ExportOptions& options_;
  const DeepSpeedVersion version_;
};

/// What no configuration comes near.
void refuse_other_schedules(const Scenario& scenario, bool nearest) {
  std::vector<Complaint> complaints;
  const Strategy& parts = scenario.strategy;
  const auto cannot = [&](const char* path, std::string_view value) {
    complaints.push_back(
        {"", 0, 0, std::string("strategy.") + path,
         fmt::format("DeepSpeed has nothing like \"{}\"", value),
         "export a scenario of zero_infinity, zero_offload, superoffload or resident"});
  };
  const std::set<std::string> own{"zero_infinity", "zero_offload", "superoffload", "resident"};
  if (nearest && !own.contains(parts.system)) cannot("system", parts.system);
  const GradientPolicy gradients = parts.gradients.policy;
  if (updates_in_backward(gradients) && !parts.optimizer.roll_back)
    cannot("gradients.policy", name_of(gradients));
  const ActivationPolicy activations = parts.activations.policy;
  if (activations == ActivationPolicy::swap || activations == ActivationPolicy::tensor_cache ||
      activations == ActivationPolicy::plan || activations == ActivationPolicy::checkpoint_ssd ||
      activations == ActivationPolicy::offload)
    cannot("activations.policy", name_of(activations));
  if (parts.optimizer.device == OptimizerDevice::near_storage)
    cannot("optimizer.device", name_of(parts.optimizer.device));
  const bool paged = scenario.training.optimizer == OptimizerKind::paged_adam8bit;
  if (parts.optimizer.device == OptimizerDevice::gpu && parts.optimizer.home != Home::gpu && !paged)
    cannot("optimizer.home", name_of(parts.optimizer.home));
  if (parts.weights.experts && *parts.weights.experts != description::ExpertPlace::as_others)
    cannot("weights.experts", name_of(*parts.weights.experts));
  if (scenario.parallel.expert > 1)
    complaints.push_back({"", 0, 0, "parallel.expert",
                          "the program that calls DeepSpeed makes expert groups, no configuration",
                          "export it with parallel.expert 1, and make its layers deepspeed.moe.MoE "
                          "with ep_size"});
  if (scenario.parallel.tensor > 1 && description::has_adapters(scenario.training.method))
    complaints.push_back({"", 0, 0, "parallel.tensor",
                          "nobody says that adapters train on layers that DeepSpeed cut for its "
                          "tensor ranks",
                          "export it with parallel.tensor 1, or train with Megatron-Bridge"});
  if (!nearest && scenario.training.clips() && scenario.strategy.optimizer.roll_back)
    complaints.push_back({"", 0, 0, "training.gradient_clipping",
                          "DeepSpeed's super_offload steps behind backward where norms are clipped",
                          "export it with training.gradient_clipping 0, or with "
                          "strategy.gradients.policy host_fp32 and optimizer.roll_back false"});
  if (scenario.training.precision == Precision::fp8)
    complaints.push_back({"", 0, 0, "training.precision",
                          "DeepSpeed has no key for products in 8 bits, Transformer Engine's "
                          "modules in the trainer's model make them",
                          "export it with training.precision bf16_mixed, and run that model's "
                          "forward under fp8_autocast"});
  if (!complaints.empty()) throw ScenarioError(complaints);
}

/// A configuration that came back.
struct Attempt {
  Exported exported;
  std::vector<RoundTripDifference> differences;
};

/// What the trainer's own code decides, of which its file says nothing: `import` is told where it
/// would assume something else.
void add_what_import_is_told(const Scenario& scenario, Exported& exported) {
  Scenario imported = scenario;
  imported.training = exported.scenario.at("training").get<Training>();
  const json own = json(scenario).at("training"), assumed = json(imported).at("training");
  for (const std::string& key : trainer_keys()) {
    if (!own.contains(key)) continue;  // everything is trained
    const json& value = own.at(key);
    if (value == assumed.value(key, json())) continue;
    if (key == "optimizer" && one_optimizer_in_deepspeed(scenario.training, imported.training))
      continue;
    if (key == "optimizer_state" && scenario.training.has_plain_adam())
      continue;  // DeepSpeed's own
    exported.scenario["training"][key] = value;
    exported.overrides.push_back(fmt::format(
        "training.{}={}", key, value.is_string() ? value.get<std::string>() : value.dump()));
    exported.notes.push_back(trainer_must_bring(key, value));
  }
  json& optimizer = exported.scenario["strategy"]["optimizer"];
  if (!scenario.strategy.optimizer.flatten && optimizer.value("flatten", false)) {
    optimizer["flatten"] = false;
    exported.overrides.emplace_back("strategy.optimizer.flatten=false");
    exported.notes.emplace_back(
        "strategy.optimizer.flatten: DeepSpeed copies gradients for its update and widens them, "
        "memory that this scenario leaves out; simulate it with true");
  }
  if (scenario.strategy.activations.policy != ActivationPolicy::keep) return;
  exported.scenario["strategy"]["activations"]["policy"] = name_of(ActivationPolicy::keep);
  exported.overrides.emplace_back("strategy.activations.policy=keep");
}

Attempt attempt(const Scenario& scenario, const models::Model& model,
                const std::vector<SystemInfo>& systems, const ExportOptions& options,
                const std::string& version) {
  const Export writer(scenario, model, options, deepspeed_version(version));
  Attempt made;
  made.exported.ds_config = writer.run();
  made.exported.needs_nvme_path = writer.uses_nvme() && options.nvme_path.empty();
  ImportOptions again;
  again.ranks = scenario.parallel.data;
  again.sequence = scenario.training.sequence;
  again.deepspeed = version;
  const LocatedJson text = located_at(made.exported.ds_config, {"ds_config.json", 1, 1});
  const Imported back = import_deepspeed(text, again, model, scenario.machine.gpus());
  made.exported.version = back.version;
  json whole = scenario;
  for (const char* part : {"training", "strategy", "parallel"})
    whole[part] = back.scenario.at(part);
  made.exported.scenario = std::move(whole);
  add_what_import_is_told(scenario, made.exported);
  const Scenario told = read_scenario(made.exported.scenario, {}, systems).scenario;
  made.differences = round_trip_differences(scenario, told);
  return made;
}

/// Without those that would end at the start.
///   Throws  ScenarioError when none is left
std::vector<std::string> that_start(std::vector<std::string> versions, const Scenario& scenario) {
  if (!shares_tensors_at_stage_3(scenario)) return versions;
  const std::string first = versions.front();
  std::erase_if(versions, [](const std::string& version) {
    return !deepspeed_version(version).trains_tensor_parallel_at_stage_3();
  });
  if (versions.empty())
    throw ScenarioError({{"", 0, 0, "parallel.tensor",
                          fmt::format("DeepSpeed {} ends at the start with this", first),
                          std::string(tensor_parallel_at_stage_3) + "; or use parallel.tensor 1"}});
  return versions;
}

/// The versions to try, the wanted one or the likeliest first.
std::vector<std::string> candidates(const Scenario& scenario, const ExportOptions& options) {
  if (!options.deepspeed.empty()) return {options.deepspeed};
  std::vector<std::string> versions{"0.19", "0.18", "0.17", "0.16", "0.9.3"};
  if (options.nearest) return {versions.front()};
  const std::string own = version_of_preset(scenario.strategy.preset).text();
  if (!scenario.strategy.preset.empty())
    std::stable_partition(versions.begin(), versions.end(),
                          [&](const std::string& version) { return version == own; });
  return versions;
}

/// The words of `spillway import` that give the scenario from the file, behind the model and the
/// machine.
std::string import_words(const Scenario& scenario, const Exported& exported) {
  std::string words = fmt::format("--deepspeed {} --sequence {}", exported.version.text(),
                                  scenario.training.sequence);
  const description::Parallel& parallel = scenario.parallel;
  if (parallel.data != scenario.machine.gpus() / (parallel.tensor * parallel.context))
    words += fmt::format(" --ranks {}", parallel.data);
  for (const std::string& one : exported.overrides)
    words += " --set " + description::shell_word(one);
  return words;
}

void note_what_it_cannot_say(const Scenario& scenario, bool differs, Exported& exported) {
  const ActivationPolicy policy = scenario.strategy.activations.policy;
  exported.notes.push_back(
      policy == ActivationPolicy::keep
          ? "strategy.activations.policy: leave gradient checkpointing off in the trainer"
      : policy == ActivationPolicy::checkpoint_host
          ? "strategy.activations.policy: checkpoints go to host memory in models that call "
            "deepspeed.checkpointing; those of Hugging Face do not, and keep them on the GPU: "
            "there the trainer has to send them, such as Unsloth's or torchtune's"
          : "strategy.activations.policy: switch gradient checkpointing on in the trainer");
  if (exported.ds_config.contains("optimizer"))
    exported.notes.emplace_back(
        "optimizer.params, scheduler: not written, as training.learning_rate is that of runs on "
        "this machine, and betas and weight decay are no part of a scenario; DeepSpeed takes its "
        "own, such as lr 0.001 and no decay, for what the file leaves out: write yours, or "
        "\"auto\" beside Hugging Face's Trainer");
  if (!exported.ds_config.contains("gradient_clipping"))
    exported.notes.emplace_back(
        "gradient_clipping: not written, as no norm is clipped here beside zenflow: write yours");
  exported.notes.emplace_back(
      "gradient_clipping: Hugging Face's Trainer stops unless its max_grad_norm, which is 1 where "
      "nobody says, is the same; \"auto\" takes that one");
  if (exported.ds_config.contains("aio"))
    exported.notes.emplace_back(
        "aio: sizes of blocks, depth and threads are no part of a scenario, which counts on drives "
        "at the machine's rates: write those that reach them on yours, where these do not");
  if (scenario.strategy.gradients.norm == GradientNorm::in_place && stage_of(scenario) > 0 &&
      !scenario.strategy.gradients.main_gradients)
    exported.notes.emplace_back(
        "gradients.norm: DeepSpeed's norms copy a gradient in fp64, whatever is asked: a GPU needs "
        "8 bytes an element of its largest one before an update, which import counts");
  if (scenario.training.optimizer == OptimizerKind::muon && stage_of(scenario) < 3 &&
      strategies::scatters_gradients(scenario))
    exported.notes.emplace_back(
        "zero_optimization.reduce_scatter: up to the summer of 2026 DeepSpeed's ZeRO-1 and 2 stop "
        "at Muon beside it, or update ranks differently: write false there");
  if (shares_tensors_at_stage_3(scenario))
    exported.notes.push_back(fmt::format("parallel.tensor: {}", tensor_parallel_at_stage_3));
  if (scenario.parallel.context > 1)
    exported.notes.emplace_back(
        "parallel.context: the trainer must bring Ulysses' attention, such as DeepSpeed's "
        "DistributedAttention or UlyssesSPAttentionHF, and give each rank its share of the tokens");
  exported.notes.push_back(
      fmt::format("DeepSpeed {}: imported again with {}, this file gives the scenario{}",
                  exported.version.text(), import_words(scenario, exported),
                  differs ? " with what is said above" : ""));
}

}  // namespace

bool shares_tensors_at_stage_3(const Scenario& scenario) {
  return scenario.parallel.tensor > 1 && stage_of(scenario) == 3;
}

Exported export_deepspeed(const Scenario& scenario, const std::vector<SystemInfo>& systems,
                          const ExportOptions& options) {
  if (scenario.run.io_bench)
    throw ScenarioError({{"", 0, 0, "run.io_bench", "a benchmark of I/O trains nothing",
                          "export a scenario that has a model"}});
  refuse_other_schedules(scenario, options.nearest);
  const models::Model model =
      models::as_trained(models::build_model(models::architecture_of(scenario)), scenario.training);
  std::optional<Attempt> best;
  for (const std::string& version : that_start(candidates(scenario, options), scenario)) {
    Attempt made = attempt(scenario, model, systems, options, version);
    if (!best || made.differences.size() < best->differences.size()) best = std::move(made);
    if (best->differences.empty()) break;
  }
  std::vector<Complaint> complaints;
  for (const RoundTripDifference& difference : best->differences) {
    const std::string words = fmt::format("DeepSpeed {} has nothing like \"{}\"",
                                          best->exported.version.text(), difference.asked);
    complaints.push_back(
        {"", 0, 0, difference.path, words,
         fmt::format("its own is {}: set that, or take --nearest", difference.comes)});
    best->exported.notes.push_back(
        fmt::format("{}: {}; it does as {} says", difference.path, words, difference.comes));
  }
  if (!options.nearest && !complaints.empty()) throw ScenarioError(complaints);
  note_what_it_cannot_say(scenario, !best->differences.empty(), best->exported);
  return std::move(best->exported);
}

std::optional<DeepSpeedVersion> deepspeed_that_runs(const Scenario& scenario,
                                                    const std::vector<SystemInfo>& systems) {
  try {
    return export_deepspeed(scenario, systems, {}).version;
  } catch (const ScenarioError&) {
    return std::nullopt;  // it names the parts that DeepSpeed does not have
  }
}

}  // namespace spillway::scenarios
