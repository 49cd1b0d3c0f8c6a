#include "scenarios/deepspeed/deepspeed_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "scenarios/description/errors.hpp"

namespace spillway::scenarios {

namespace {

using Names = std::vector<std::string>;

/// Keys that change no byte and no second of a step here, by section; "*": a section as a whole.
///   Source  DeepSpeed 0.19.6: runtime/constants.py, config.py, zero/config.py
const std::vector<std::pair<std::string, Names>> known_keys = {
    {"",
     {"train_batch_size",
      "train_micro_batch_size_per_gpu",
      "gradient_accumulation_steps",
      "optimizer",
      "scheduler",
      "fp16",
      "bf16",
      "bfloat16",
      "amp",
      "zero_optimization",
      "zero_allow_untested_optimizer",
      "zero_force_ds_cpu_optimizer",
      "gradient_clipping",
      "steps_per_print",
      "wall_clock_breakdown",
      "dump_state",
      "memory_breakdown",
      "prescale_gradients",
      "gradient_predivide_factor",
      "gradient_allreduce_op",
      "sparse_gradients",
      "communication_data_type",
      "seq_parallel_communication_data_type",
      "disable_allgather",
      "graph_harvesting",
      "log_level",
      "dataloader_drop_last",
      "use_data_before_expert_parallelism",
      "managed_gradient_accumulation",
      "data_types",
      "aio",
      "activation_checkpointing",
      "tensor_parallel",
      "checkpoint",
      "flops_profiler",
      "comms_logger",
      "tensorboard",
      "wandb",
      "csv_monitor",
      "comet",
      "monitor_config",
      "autotuning",
      "elasticity",
      "compile",
      "torch_autocast",
      "data_efficiency",
      "curriculum_learning",
      "progressive_layer_drop",
      "eigenvalue",
      "compression_training",
      "quantize_training",
      "sparse_attention",
      "hybrid_engine",
      "pipeline",
      "nebula",
      "sequence_parallel_size",
      "data_parallel_size",
      "weight_quantization",
      "expert_parallel",
      "timers",
      "checkpoint_tag_validation",
      "load_universal",
      "optimizer_legacy_fusion",
      "vocabulary_size",
      "zenflow"}},
    {"zero_optimization",
     {"stage",
      "contiguous_gradients",
      "reduce_scatter",
      "reduce_bucket_size",
      "use_multi_rank_bucket_allreduce",
      "allgather_partitions",
      "allgather_bucket_size",
      "overlap_comm",
      "load_from_fp32_weights",
      "elastic_checkpoint",
      "offload_param",
      "offload_optimizer",
      "zenflow",
      "sub_group_size",
      "cpu_offload",
      "cpu_offload_params",
      "cpu_offload_param",
      "cpu_offload_use_pin_memory",
      "stage3_prefetch_bucket_size",
      "stage3_param_persistence_threshold",
      "stage3_model_persistence_threshold",
      "stage3_max_live_parameters",
      "stage3_max_reuse_distance",
      "stage3_gather_16bit_weights_on_model_save",
      "stage3_gather_fp16_weights_on_model_save",
      "stage3_module_granularity_threshold",
      "stage3_use_all_reduce_for_fetch_params",
      "stage3_allgather_sequential",
      "ignore_unused_parameters",
      "legacy_stage1",
      "round_robin_gradients",
      "zero_hpz_partition_size",
      "zero_quantized_weights",
      "zero_quantized_nontrainable_weights",
      "zero_quantized_gradients",
      "zeropp_loco_param",
      "mics_shard_size",
      "mics_hierarchical_params_gather",
      "memory_efficient_linear",
      "pipeline_loading_checkpoint",
      "override_module_apply",
      "log_trace_cache_warnings",
      "enable_sanity_checks",
      "save_muon_momentum_buffer_in_memory",
      "leaf_module",
      "prefetch_bucket_size",
      "param_persistence_threshold",
      "model_persistence_threshold",
      "max_live_parameters",
      "max_reuse_distance",
      "gather_16bit_weights_on_model_save",
      "gather_fp16_weights_on_model_save",
      "module_granularity_threshold",
      "use_all_reduce_for_fetch_params",
      "allgather_sequential"}},
    {"zero_optimization.offload_param",
     {"device", "nvme_path", "buffer_count", "buffer_size", "max_in_cpu", "pin_memory"}},
    {"zero_optimization.offload_optimizer",
     {"device", "nvme_path", "buffer_count", "pin_memory", "pipeline_read", "pipeline_write",
      "pipeline", "fast_init", "ratio", "super_offload", "cpuadam_cores_perc"}},
    {"zero_optimization.zenflow",
     {"topk_ratio", "select_strategy", "select_interval", "update_interval", "overlap_step",
      "offload", "auto_ratio", "full_warm_up_rounds", "pt_reserved_cores_perc", "steps_per_epoch"}},
    {"fp16",
     {"enabled", "auto_cast", "loss_scale", "initial_scale_power", "loss_scale_window",
      "hysteresis", "consecutive_hysteresis", "min_loss_scale", "fp16_master_weights_and_grads",
      "fp16_opt_level", "opt_level", "fp16_backend", "loss_scale_raise_error"}},
    {"bf16",
     {"enabled", "immediate_grad_update", "check_grad_overflow", "bf16_master_weights_and_grads",
      "bf16_optimizer_states", "auto_cast", "loss_scale"}},
    {"aio",
     {"block_size", "queue_depth", "intra_op_parallelism", "thread_count", "single_submit",
      "overlap_events", "use_gds"}},
    {"activation_checkpointing",
     {"partition_activations", "number_checkpoints", "contiguous_memory_optimization",
      "synchronize_checkpoint_boundary", "profile", "cpu_checkpointing"}},
    {"optimizer", {"type", "params", "legacy_fusion"}},
    {"data_types", {"grad_accum_dtype"}},
    {"tensor_parallel",
     {"autotp_size", "tp_size", "tp_grain_size", "tp_overlap_comm", "preset_model",
      "partition_config", "tp"}},
};

/// Sections whose own keys are too many to list, and that change no step here.
constexpr std::array<std::string_view, 25> quiet{
    "scheduler",  "checkpoint",   "flops_profiler",  "comms_logger",    "tensorboard",
    "wandb",      "csv_monitor",  "comet",           "monitor_config",  "autotuning",
    "elasticity", "compile",      "hybrid_engine",   "pipeline",        "nebula",
    "timers",     "comms_config", "eigenvalue",      "data_efficiency", "optimizer.params",
    "amp",        "leaf_module",  "expert_parallel", "bfloat16",        "autotuning_config"};

constexpr const char* reduces_twice =
    "DeepSpeed all-reduces the gradients of stage 2 unless use_multi_rank_bucket_allreduce is "
    "false and reduce_scatter true, which moves twice the bytes of the reduce-scatter here";
constexpr const char* offloads_itself =
    "DeepCompile moves tensors to host memory and back by its own plan; here they stay";

/// What DeepSpeed does with a key and we do not.
constexpr std::array<std::pair<std::string_view, std::string_view>, 28> not_modelled{{
    {"zero_optimization.zero_quantized_weights",
     "ZeRO++ gathers weights in 8 bits; here in 16, so network bytes are an upper bound"},
    {"zero_optimization.zero_quantized_gradients",
     "ZeRO++ reduces gradients in 4 bits; here in 16, so network bytes are an upper bound"},
    {"zero_optimization.zero_quantized_nontrainable_weights",
     "ZeRO++ keeps frozen weights in 8 bits; here in 16"},
    {"zero_optimization.zero_hpz_partition_size",
     "ZeRO++ keeps a second copy of the weights spread over a node's GPUs, and gathers backward's "
     "from there; here is none, so the GPU needs more and the network carries less than said"},
    {"zero_optimization.zeropp_loco_param", "LoCo-ZeRO++'s buffer of errors is not counted"},
    {"zero_optimization.mics_shard_size",
     "MiCS spreads weights over a part of the ranks; here over all"},
    {"zenflow", "ZenFlow belongs in zero_optimization"},
    {"zero_optimization.zenflow.pt_reserved_cores_perc",
     "ZenFlow gives Adam the other cores; here all work on whatever there is"},
    {"zero_optimization.offload_optimizer.cpuadam_cores_perc",
     "SuperOffload gives Adam so many of the cores; here all work on whatever there is"},
    {"zero_optimization.stage3_module_granularity_threshold",
     "modules are gathered tensor by tensor here"},
    {"data_efficiency", "sequences or batches change while it trains; here they stay"},
    {"curriculum_learning", "sequences grow while it trains; here they stay"},
    {"progressive_layer_drop", "layers are left out while it trains; here none is"},
    {"compression_training", "pruning and quantization while it trains are not simulated"},
    {"quantize_training", "quantization while it trains is not simulated"},
    {"weight_quantization", "quantized weights are not simulated"},
    {"sparse_attention", "attention is dense here"},
    {"torch_autocast",
     "products run in 16 bits there, with weights as wide as they are; here in the precision that "
     "was taken"},
    {"communication_data_type", "gradients are reduced in the type of the weights here"},
    {"seq_parallel_communication_data_type",
     "gradients are reduced in the type of the weights here; in fp32 there where ranks share "
     "sequences, unless it says otherwise"},
    {"pipeline.stages", "not taken; --set parallel.pipeline asks for stages"},
    {"compile.offload_activation", offloads_itself},
    {"compile.offload_parameters", offloads_itself},
    {"compile.offload_opt_states", offloads_itself},
    {"data_parallel_size", "beside sequence_parallel_size it is parallel.data"},
    {"compile.deepcompile", "DeepCompile moves gathers and offloads by its own plan"},
    {"fp16.fp16_master_weights_and_grads", "masters are fp32 here, so memory is an upper bound"},
    {"hybrid_engine", "generation between the steps is not simulated"},
}};

/// What DeepSpeed reads as an object wherever it stands, and stops where it is none.
///   Source  DeepSpeed 0.14 to 0.19: runtime/config.py and the sections' own config.py
constexpr std::array<SectionShape, 25> sections{{
    {"zero_optimization", R"({"stage": 3})", Instead::flag},
    {"fp16", R"({"enabled": true})", Instead::nothing},
    {"bf16", R"({"enabled": true})", Instead::nothing},
    {"bfloat16", R"({"enabled": true})", Instead::nothing},
    {"amp", R"({"enabled": true})", Instead::nothing},
    {"optimizer", R"({"type": "AdamW"})", Instead::nothing},
    {"scheduler", R"({"type": "WarmupLR"})", Instead::nothing},
    {"activation_checkpointing", R"({"cpu_checkpointing": true})", Instead::nothing},
    {"aio", R"({"queue_depth": 8})", Instead::null},
    {"data_types", R"({"grad_accum_dtype": "fp32"})", Instead::nothing},
    {"checkpoint", "", Instead::nothing},
    {"pipeline", "", Instead::nothing},
    {"hybrid_engine", R"({"enabled": false})", Instead::nothing},
    {"elasticity", R"({"enabled": false})", Instead::nothing},
    {"autotuning", R"({"enabled": false})", Instead::nothing},
    {"flops_profiler", R"({"enabled": false})", Instead::nothing},
    {"comms_logger", R"({"enabled": false})", Instead::nothing},
    {"tensorboard", R"({"enabled": false})", Instead::nothing},
    {"wandb", R"({"enabled": false})", Instead::nothing},
    {"csv_monitor", R"({"enabled": false})", Instead::nothing},
    {"comet", R"({"enabled": false})", Instead::nothing},
    {"progressive_layer_drop", R"({"enabled": false})", Instead::nothing},
    {"curriculum_learning", R"({"enabled": false})", Instead::nothing},
    {"data_efficiency", R"({"enabled": false})", Instead::nothing},
    {"tensor_parallel", R"({"autotp_size": 2})", Instead::nothing},
}};

constexpr const char* requests_of_drives =
    "drives have the rates of the machine file here, whatever the block size, depth and threads of "
    "requests: measure them with the same ones (spillway probe, fio)";

bool within(const std::string& path, std::string_view section) {
  return path.starts_with(section) && (path.size() == section.size() ||
                                       path[section.size()] == '.' || path[section.size()] == '[');
}

std::string parent_of_path(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

/// The sections inside other sections, by their last name and by what is around them.
const std::vector<std::pair<std::string, std::string>>& inner_sections() {
  static const auto sections = [] {
    std::vector<std::pair<std::string, std::string>> inner;
    for (const auto& [section, names] : known_keys)
      if (const std::string around = parent_of_path(section); !around.empty())
        inner.emplace_back(section.substr(around.size() + 1), around);
    return inner;
  }();
  return sections;
}

/// The name of the same section, or of a section elsewhere, that is nearest.
std::string misspelt(const std::string& parent, const std::string& name) {
  Names candidates;
  for (const auto& [section, names] : known_keys)
    if (section == parent) candidates = names;
  const std::size_t own = candidates.size();
  for (const auto& [section, around] : inner_sections())
    if (around != parent) candidates.push_back(section);
  const std::string near = description::nearest_name(name, candidates);
  if (near.empty()) return "";
  const std::string question = "did you mean \"" + near + "\"";
  const auto end_of_own = candidates.begin() + static_cast<std::ptrdiff_t>(own);
  if (std::find(candidates.begin(), end_of_own, near) != end_of_own) return question + "?";
  for (const auto& [section, around] : inner_sections())
    if (section == near) return question + ", inside " + around + "?";
  return "";
}

/// Another section that has the name; else a name that is nearly the same.
std::string meant(const std::string& parent, const std::string& name) {
  for (const auto& [section, names] : known_keys) {
    const bool here = std::find(names.begin(), names.end(), name) != names.end();
    if (here && section != parent)
      return section.empty() ? "it belongs to the top" : "it belongs into " + section;
  }
  return misspelt(parent, name);
}

}  // namespace

KeyRemark remark_on(const std::string& path) {
  for (const auto& [key, words] : not_modelled)
    if (within(path, key)) return {KeyRemark::Kind::not_modelled, std::string(words)};
  for (const std::string_view section : quiet)
    if (within(path, section)) return {KeyRemark::Kind::no_effect, ""};
  const std::string parent = parent_of_path(path);
  const std::string name = path.substr(parent.empty() ? 0 : parent.size() + 1);
  for (const auto& [section, names] : known_keys)
    if (section == parent && std::find(names.begin(), names.end(), name) != names.end()) {
      if (within(path, "aio")) return {KeyRemark::Kind::not_modelled, requests_of_drives};
      return {KeyRemark::Kind::no_effect, ""};
    }
  return {KeyRemark::Kind::unknown, meant(parent, name)};
}

std::span<const SectionShape> sections_of_deepspeed() { return sections; }

std::string other_name(const std::string& key) {
  constexpr std::string_view prefix = "stage3_";
  if (!key.starts_with(prefix)) return "";
  const std::string inner = key.substr(prefix.size());
  for (const auto& [section, names] : known_keys)
    if (section == "zero_optimization" &&
        std::find(names.begin(), names.end(), inner) != names.end())
      return inner;
  return "";
}

}  // namespace spillway::scenarios
