#include "scenarios/deepspeed/import_zero.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>

#include "scenarios/deepspeed/import_optimizer.hpp"
#include "scenarios/description/quantity.hpp"

namespace spillway::scenarios {

using description::Params;
using nlohmann::json;

namespace {

const std::string zero = "/zero_optimization/";
const std::string offload_param = zero + "offload_param";
const std::string offload_optimizer = zero + "offload_optimizer";
const std::string zenflow = zero + "zenflow";

constexpr std::uint64_t billion = 1'000'000'000;

std::string params(std::uint64_t count) { return description::to_text(Params(count)); }

const char* home(const std::string& device) {
  return device == "nvme" ? "ssd" : device == "cpu" ? "host" : "gpu";
}

bool updates_by_lion(DeepSpeedKeys& keys) {
  std::string type = keys.text("/optimizer/type", "AdamW");
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return type.find("lion") != std::string::npos;
}

/// A sub-group's gradient, master and states have one each, and as many those of one in flight.
///   Source  DeepSpeed pipelined_optimizer_swapper.py, _swap_in_optimizer_state
std::uint64_t swap_buffers(DeepSpeedKeys& keys, bool pipelined, std::vector<text::Text>& notes) {
  const auto buffers = keys.count(offload_optimizer + "/buffer_count");
  const bool lion = updates_by_lion(keys);
  const std::uint64_t least = (lion ? 3 : 4) * (pipelined ? 2 : 1);
  const std::string key = dotted(offload_optimizer + "/buffer_count");
  if (!buffers && pipelined)
    notes.emplace_back(fmt::format("{}: not set; pipelining needs {}", key, least));
  if (buffers && *buffers < least)
    notes.emplace_back(fmt::format(
        "{}: {} hold no sub-group of {}{}, DeepSpeed stops; taken as {}", key, *buffers,
        lion ? "Lion" : "Adam",
        pipelined ? " beside the one that pipeline_read or pipeline_write has in flight" : "",
        least));
  return std::max(least, buffers.value_or(pipelined ? least : 4));
}

}  // namespace

std::uint64_t elements_used(const models::Model& model, std::uint32_t layer) {
  std::uint64_t elements = 0;
  for (const std::uint32_t weight : model.used_by(layer))
    elements += model.weights[weight].parameters.value();
  return elements;
}

ZeroImport::ZeroImport(DeepSpeedKeys& keys, const DeepSpeedVersion& version,
                       const models::Model& model, std::vector<text::Text>& notes)
    : keys_(keys),
      version_(version),
      model_(model),
      hidden_(model.architecture.hidden),
      notes_(notes) {
  read_stage();
  read_offload();
}

/// `true` is what the oldest files have for stage 1.
void ZeroImport::read_stage() {
  if (keys_.is_flag("/zero_optimization"))
    stage_ = keys_.flag("/zero_optimization", false) ? 1 : 0;
  else
    stage_ = keys_.count_or(zero + "stage", 0, 0);
  if (stage_ > 3) keys_.complain(zero + "stage", "a stage is 0, 1, 2 or 3");
}

void ZeroImport::read_offload() {
  param_ = keys_.device(offload_param);
  optimizer_ = keys_.device(offload_optimizer);
  const auto deprecated = [&](const char* key, const char* now, std::string& device) {
    if (!keys_.flag(zero + key, false)) return;
    note(
        fmt::format("zero_optimization.{}: deprecated, taken as {} with device \"cpu\"", key, now));
    if (device == "none") device = "cpu";
  };
  deprecated("cpu_offload", "offload_optimizer", optimizer_);
  deprecated("cpu_offload_params", "offload_param", param_);
  deprecated("cpu_offload_param", "offload_param", param_);
  if (param_ != "none" && stage_ != 3) {
    note("zero_optimization.offload_param: ignored, DeepSpeed offloads parameters in stage 3 only");
    param_ = "none";
  }
  if (optimizer_ == "nvme" && stage_ != 3)
    keys_.complain(offload_optimizer + "/device", "\"nvme\" needs zero_optimization.stage 3",
                   "set stage to 3 or device to \"cpu\"");
  if (optimizer_ != "none" && stage_ == 0) {
    note("zero_optimization.offload_optimizer: ignored, stage 0 offloads nothing");
    optimizer_ = "none";
  }
  // DeepSpeed stage3.py, __init__: masters and states lie on the GPU unless offload_optimizer moves
  // them, and new weights are copied to the host
  if (param_ != "none" && optimizer_ == "none") {
    note(
        "zero_optimization.offload_param: without offload_optimizer DeepSpeed keeps fp32 masters, "
        "states and gradients on the GPU, and 16-bit weights alone leave it; here they stay too, "
        "so GPU memory is an upper bound and their copies are in no time. With "
        "offload_optimizer.device \"cpu\" all of them leave");
    param_ = "none";
  }
  if (param_ == "nvme" || optimizer_ == "nvme")
    system_ = "zero_infinity";
  else
    system_ = optimizer_ == "cpu" ? "zero_offload" : "resident";
  read_speculation();
  read_zenflow();
  for (const auto& [section, device] :
       {std::pair{offload_param, param_}, {offload_optimizer, optimizer_}})
    if (device == "nvme" && keys_.text(section + "/nvme_path", "").empty())
      note(dotted(section) + ".nvme_path: not set; DeepSpeed stops without it");
}

/// Other versions do not know SuperOffload, other stages never ask for it. With clipping it waits
/// for the global norm, as without it.
///   Source  DeepSpeed superoffload_stage3.py, partition_grads; first released in 0.18
void ZeroImport::read_speculation() {
  const std::string key = offload_optimizer + "/super_offload";
  if (!keys_.flag(key, false)) return;
  if (!sharded() || optimizer_ != "cpu" || !version_.at_least(18, 0)) {
    note(dotted(key) +
         ": ignored, DeepSpeed has it since 0.18, in stage 3, and with device \"cpu\"");
    return;
  }
  if (gradient_clipping(keys_, version_) > 0) {
    note(dotted(key) +
         ": with gradient_clipping, which is 1 where a file does not say since 0.19.3, DeepSpeed "
         "steps after backward, as without super_offload; 0 lets it step beside backward. What its "
         "second process takes, a pinned buffer for the largest sub-group's gradients and the "
         "pinned blocks that all of them leave behind, is not counted");
    return;
  }
  speculates_ = true;
  system_ = "superoffload";
}

/// DeepSpeed has it since 0.17.5, in all stages from 1 on, where states are in host memory.
///   Source  DeepSpeed zenflow/engine.py, configure_zenflow; zenflow_config.py for its defaults
void ZeroImport::read_zenflow() {
  if (!keys_.has(zenflow)) return;
  const std::string name = dotted(zenflow);
  const bool keeps_weights = stage_ == 2 || (stage_ == 3 && param_ == "none");
  if (!keeps_weights || optimizer_ != "cpu" || !version_.at_least(17, 5)) {
    note(
        name +
        ": not simulated but in stage 2, or in 3 without offload_param, with "
        "offload_optimizer.device \"cpu\", since 0.17.5; here all gradients are stepped on the CPU "
        "after backward, so the time is an upper bound");
    return;
  }
  system_ = "zenflow";
  update_interval_ = 4;
  if (const auto interval = keys_.count(zenflow + "/update_interval"))
    update_interval_ = std::clamp<std::uint64_t>(*interval, 1, 1'000'000);
  else
    note(name +
         ".update_interval: \"auto\" follows the gradients, taken as 4; --set "
         "training.gradient_accumulation=N for another");
  note(name +
       ": what DeepSpeed calls an iteration is a micro-batch here, and a step its update_interval, "
       "which takes the place of gradient_accumulation_steps");
  if (const auto every = keys_.count(zenflow + "/select_interval");
      every && *every > 0 && keys_.text(zenflow + "/select_strategy", "auto") == "step")
    note(name +
         ".select_interval: columns are chosen once here; choosing them again reads all "
         "gradients, and brings the weights down to the masters");
  if (const auto rounds = keys_.count(zenflow + "/full_warm_up_rounds"); rounds && *rounds > 0)
    note(
        fmt::format("{}.full_warm_up_rounds: the first {} micro-batches are steps of their own, "
                    "which select nothing; here are those that come after",
                    name, *rounds));
  if (offloads_columns() && !keys_.flag(zero + "overlap_comm", stage_ == 3))
    keys_.complain(zenflow + "/offload", "DeepSpeed stops at this without overlap_comm",
                   "set zero_optimization.overlap_comm to true");
}

/// The states of columns lie in host memory.
bool ZeroImport::offloads_columns() { return keys_.flag(zenflow + "/offload", false); }

/// With overlap_step false the CPU's update is waited for.
bool ZeroImport::steps_late() { return keys_.flag(zenflow + "/overlap_step", false); }

bool ZeroImport::pinned(const std::string& section) {
  const bool old = keys_.flag(zero + "cpu_offload_use_pin_memory", version_.pins_by_default());
  if (!keys_.has(section + "/pin_memory") || keys_.is_auto(section + "/pin_memory"))
    pinning_unsaid_ |= !keys_.has(zero + "cpu_offload_use_pin_memory");
  return keys_.flag(section + "/pin_memory", old);
}

/// Masters and gradients in bf16, and with them states. Masters are copies also where weights have
/// their type.
///   Source  DeepSpeed pull request 7700, first released in 0.18.3, for states of a CPU 8010, first
///           released in 0.19.1; base_optimizer.py, _configure_master_weights
void ZeroImport::read_narrow_states(const std::string& precision) {
  const std::string masters = "/bf16/bf16_master_weights_and_grads";
  const std::string states = "/bf16/bf16_optimizer_states";
  if (precision != "bf16_mixed") return;
  const bool copies = keys_.flag(masters, false), narrow = keys_.flag(states, false);
  if (!copies && !narrow) return;
  const std::string& one = copies ? masters : states;
  const bool offloads = optimizer_ != "none";
  if (!version_.at_least(18, 3))
    return note(dotted(one) + ": ignored, DeepSpeed has it since 0.18.3");
  if (stage_ == 0)
    return keys_.complain(one, "DeepSpeed stops at this in stage 0",
                          "set zero_optimization.stage to 1, 2 or 3");
  if (!copies)
    return keys_.complain(states, "DeepSpeed stops at this without bf16_master_weights_and_grads",
                          "set both to true");
  if (!narrow && !offloads)
    return keys_.complain(
        masters, "beside fp32 states DeepSpeed stops at this without a CPU optimizer",
        "set bf16_optimizer_states to true too, or offload_optimizer.device to \"cpu\"");
  if (offloads) require_cpu_adam(one);
  const std::string bound = ", so host memory is an upper bound";
  if (!narrow)
    return note(dotted(masters) + ": masters and gradients are fp32 here beside fp32 states" +
                bound);
  if (offloads && !version_.at_least(19, 1))
    return note(dotted(states) +
                ": fp32 here; DeepSpeed keeps states of a CPU optimizer in bf16 since 0.19.1");
  if (speculates_ || update_interval_)
    return note(dotted(states) + ": fp32 here beside " +
                (speculates_ ? "super_offload" : "zenflow") + bound);
  narrow_states_ = true;
  if (optimizer_ == "nvme")
    note(dotted(masters) +
         ": gradients of 16 bits stay in host memory here until the update; DeepSpeed also writes "
         "them to NVMe and reads them again, so bytes and wear are lower bounds");
}

/// DeepSpeed asserts that its own Adam for CPUs has masters of 16 bits.
///   Source  DeepSpeed stage_1_and_2.py and stage3.py, _enforce_optimizer_offload
void ZeroImport::require_cpu_adam(const std::string& beside) {
  const std::string type = keys_.text("/optimizer/type", "AdamW");
  const bool adam = type == "Adam" || type == "AdamW" || type == "adam" || type == "adamw";
  if (!adam)
    keys_.complain("/optimizer/type",
                   "DeepSpeed stops at \"" + type + "\" of a CPU beside " + dotted(beside),
                   "use AdamW, or leave offload_optimizer out");
  if (keys_.flag("/optimizer/params/torch_adam", false))
    keys_.complain("/optimizer/params/torch_adam",
                   "DeepSpeed stops at PyTorch's Adam of a CPU beside " + dotted(beside),
                   "leave torch_adam out, or offload_optimizer");
  if (!keys_.has("/optimizer"))
    note("optimizer: none in the file; the trainer's own must be DeepSpeedCPUAdam, and for " +
         dotted("/bf16/bf16_optimizer_states") + " made with fp32_optimizer_states=False");
}

json ZeroImport::strategy(const std::string& precision, std::uint64_t ranks) {
  read_narrow_states(precision);
  wrapper_ = read_wrapper(keys_, version_, precision, stage_, optimizer_ != "none");
  for (const text::Text& words : wrapper_.notes) notes_.push_back(words);
  const bool gds = keys_.flag("/aio/use_gds", false);
  const bool offloads = optimizer_ != "none";
  // ZeRO-1 and 2 check each gradient on its way; ZeRO-3 the flat buffer, with a chain of operations
  const char* check = stage_ == 3 ? "chained" : "fused";
  json strategy{{"system", system_},
                {"weights", weights(precision, ranks)},
                {"activations", activations()},
                {"gradients", gradients()},
                {"optimizer", optimizer()},
                {"pinned", "power_of_two"},
                {"io_engine", gds ? "gds" : "file"}};
  if (offloads) strategy["preset"] = version_.preset;
  // the preset of 0.9.3 says itself that nothing was checked, as LoHan's paper ran it
  if (!offloads || version_.at_least(16, 0))
    strategy["overflow_check"] = precision == "fp16_mixed" && offloads ? check : "none";
  return strategy;
}

/// With overlap_comm false DeepSpeed gathers on the stream of the kernels: nothing runs beside
/// them. The preset of 0.9.3 says itself what did.
///   Source  parameter_offload.py, __allgather_stream
bool ZeroImport::fetches_ahead() {
  return keys_.flag(zero + "overlap_comm", true) || !version_.at_least(16, 0);
}

/// A module's hook fetches at least one tensor more, so that the fetches run ahead of the modules
/// until `live` elements are there: so many blocks beside the one that runs.
///   Source  partitioned_param_coordinator.py, fetch_sub_module
std::uint64_t ZeroImport::blocks_ahead(std::uint64_t live) const {
  std::uint64_t blocks = 0, elements = 0;
  for (std::uint32_t layer = 0; layer < model_.layers.size(); ++layer) {
    if (!model_.layers[layer].is_block) continue;
    ++blocks;
    elements += elements_used(model_, layer);
  }
  const std::uint64_t fit = description::divide_up(live * blocks, elements);
  return std::clamp<std::uint64_t>(fit, 2, blocks + 1) - 1;
}

json ZeroImport::weights(const std::string& precision, std::uint64_t ranks) {
  json weights{{"home", home(param_)}, {"prefetch_blocks", 1}};
  // in all versions: _reassign_or_swap_out_partitioned_parameters copies fp32 masters into 16 bits
  const bool by_copy = sharded() || (update_interval_ && steps_late());
  const bool stays = by_copy && param_ == "none" && optimizer_ == "cpu";
  if (stays && precision.ends_with("_mixed") && !narrow_states_)
    weights["h2d"] = "typed";
  else if (update_interval_ || (stays && narrow_states_))
    weights["h2d"] = "pinned";
  if (sharded()) {
    weights["hooks"] = true;
    const auto size = [&](const char* key, std::uint64_t otherwise, std::uint64_t automatic) {
      return keys_.count_or(zero + key, otherwise, automatic);
    };
    const std::uint64_t bucket =
        size("stage3_prefetch_bucket_size", 50'000'000, hidden_ * hidden_ * 9 / 10);
    const std::uint64_t live = size("stage3_max_live_parameters", billion, billion);
    weights["prefetch_bucket"] = params(bucket);
    weights["max_live"] = params(live);
    if (param_ != "nvme") weights["prefetch_blocks"] = blocks_ahead(live);
    weights["max_reuse"] = params(size("stage3_max_reuse_distance", billion, billion));
    weights["persistence_threshold"] =
        params(size("stage3_param_persistence_threshold", 100'000, 10 * hidden_));
    if (bucket == 0 || live == 0)
      note(fmt::format("zero_optimization.{}: 0 switches all prefetching off",
                       bucket == 0 ? "stage3_prefetch_bucket_size" : "stage3_max_live_parameters"));
    if (!fetches_ahead()) {
      note("zero_optimization.overlap_comm: false also keeps gathers behind the kernels");
      weights["prefetch_blocks"] = 0;
    }
  }
  if (param_ == "nvme") pool(weights);
  // one rank that has all weights gathers none
  if (ranks == 1 && param_ == "none")
    for (const char* key : {"prefetch_blocks", "prefetch_bucket", "max_live", "max_reuse"})
      weights.erase(key);
  return weights;
}

void ZeroImport::pool(json& weights) {
  weights["pool"] = "monolithic";
  weights["buffer_count"] = pool_setting("buffer_count", "5");
  if (weights["buffer_count"].is_number() && weights["buffer_count"] < 2) {
    note(
        "zero_optimization.offload_param.buffer_count: too few for the tensors of the vocabulary, "
        "DeepSpeed stops; taken as 2");
    weights["buffer_count"] = 2;
  }
  if (weights["buffer_count"].is_number() && weights["buffer_count"] < 9) {
    note("weights.prefetch_blocks: 0, a block ahead needs 9 buffers in offload_param.buffer_count");
    weights["prefetch_blocks"] = 0;
  }
  weights["buffer_size"] = pool_setting("buffer_size", "1e8");
  weights["max_in_host"] = params(keys_.count_or(offload_param + "/max_in_cpu", billion, billion));
  if (!keys_.flag(offload_param + "/pin_memory", true))
    note("zero_optimization.offload_param.pin_memory: NVMe swapping pins its buffers all the same");
}

json ZeroImport::pool_setting(const std::string& key, const char* upstream) {
  const auto value = keys_.count(offload_param + "/" + key);
  if (!value) {
    note(fmt::format(
        "zero_optimization.offload_param.{}: not set; DeepSpeed's {} is too small for many "
        "models, so what the model needs is used",
        key, upstream));
    return "auto";
  }
  return key == "buffer_size" ? json(params(*value)) : json(*value);
}

json ZeroImport::activations() {
  const bool on_host = keys_.flag("/activation_checkpointing/cpu_checkpointing", false);
  if (on_host)
    note(
        "activation_checkpointing.cpu_checkpointing: taken at its word, as models do that call "
        "deepspeed.checkpointing; those of Hugging Face do not, and keep checkpoints on the GPU: "
        "--set strategy.activations.policy=checkpoint_gpu for these");
  else
    note(
        "strategy.activations.policy: whether checkpointing is on is the trainer's choice, taken "
        "as on; --set strategy.activations.policy=keep where it is off");
  return {{"policy", on_host ? "checkpoint_host" : "checkpoint_gpu"}};
}

/// Into host memory, in stage 3.
///   Source  DeepSpeed stage3.py, partition_grads until 0.15.3 (pull request 6670)
bool ZeroImport::blocks_and_converts() const {
  return sharded() && optimizer_ == "cpu" && !version_.at_least(15, 4);
}

json ZeroImport::gradients() {
  const char* policy = speculates_            ? "active"
                       : optimizer_ == "none" ? "resident"
                       : optimizer_ == "cpu"  ? "host_fp32"
                       : narrow_states_       ? "host_fp16"
                                              : "ssd_fp32";
  json gradients{{"policy", policy},
                 {"overlap", keys_.flag(zero + "overlap_comm", stage_ == 3)},
                 {"reduce_bucket", params(keys_.count_or(zero + "reduce_bucket_size", 500'000'000,
                                                         hidden_ * hidden_))}};
  gradients["accumulation"] = wrapper_.accumulation == "fp32" ? "fp32" : "fp16";
  if (wrapper_.accumulation == "bf16" && keys_.has("/data_types/grad_accum_dtype"))
    note("data_types.grad_accum_dtype: bf16 has the size of fp16");
  if (has_main_gradients() && !narrow_states_) {
    gradients["main_gradients"] = true;
    gradients["fused_accumulation"] = false;  // bf16_optimizer.py, _update_hp_grads_func
  }
  // engine.py, allreduce_gradients; hooks reduce before only beside overlap_comm
  if (optimizer_ == "none" && stage_ < 2)
    gradients["sums"] = stage_ == 1 && !has_main_gradients() && gradients["overlap"] == true
                            ? "by_layer"
                            : "at_end";
  // grads_in_partition, grad_partitions_flat_buffer; below, autograd makes each
  if (optimizer_ == "none" && stage_ >= 2) gradients["memory"] = "at_start";
  // stages 1 to 3 take norms of copies, BF16_Optimizer of its fp32 gradients as they are
  if (stage() >= 1) gradients["norm"] = has_main_gradients() ? "in_place" : "fp64";
  if (optimizer_ == "none") return gradients;
  const bool pins = pinned(offload_optimizer);
  gradients["d2h"] = pins ? "pinned" : "pageable";
  if (blocks_and_converts() && gradients["accumulation"] == "fp16") {
    note(
        "gradients.d2h: typed, until 0.15.3 partition_grads copies 16-bit gradients into fp32 ones "
        "of the host, which blocks and converts them there");
    gradients["d2h"] = "typed";
    gradients["convert"] = "gpu";  // such a copy does what a preset has the CPU do
  }
  // before 0.16, as LoHan's paper ran it: a pinned buffer behind pageable copies
  gradients["pinned"] = pins || !version_.at_least(16, 0) ? "auto" : "exact";
  return gradients;
}

/// Twin-Flow's ratio: other versions do not know it, other stages never ask for it, and of NVMe all
/// sub-groups pass the CPU.
///   Source  DeepSpeed pull request 4636, first released in 0.12.3; stage3.py, subgroup_to_device
double ZeroImport::cpu_share() {
  const std::string ratio = offload_optimizer + "/ratio";
  const double share = keys_.number(ratio, 1);
  if (share < 0 || share > 1)
    keys_.complain(ratio, "a ratio is a number from 0 to 1, and DeepSpeed stops there");
  if (share == 1 || (sharded() && optimizer_ == "cpu" && version_.at_least(12, 3))) return share;
  note(dotted(ratio) +
       ": ignored, DeepSpeed steps a share on the GPU since 0.12.3, in stage 3, and "
       "with device \"cpu\"");
  return 1;
}

json ZeroImport::optimizer() {
  json optimizer{{"device", optimizer_ == "none" ? "gpu" : "cpu"}, {"home", home(optimizer_)}};
  if (narrow_states_) optimizer["master"] = "copy";
  // ZeRO-1 and 2 know no sub-groups: a rank's share is one
  const auto subgroup = sharded()
                            ? params(std::max<std::uint64_t>(
                                  1, keys_.count_or(zero + "sub_group_size", billion, billion)))
                            : "1e12 params";
  if (optimizer_ == "none") {
    // stage_1_and_2.py and stage3.py, step; BF16_Optimizer updates by gradients of its own
    if (stage_ > 0 && !has_main_gradients()) {
      optimizer["flatten"] = true;
      optimizer["unscale"] = true;
      optimizer["subgroup"] = subgroup;
    }
    return optimizer;
  }
  optimizer["order"] = speculates_ ? "descending" : "ascending";
  optimizer["subgroup"] = subgroup;
  if (update_interval_) {
    const double share = keys_.number(zenflow + "/topk_ratio", 0.1);
    if (share < 0 || share > 1)
      keys_.complain(zenflow + "/topk_ratio", "a ratio is a number from 0 to 1");
    optimizer["selected_share"] = share;
    optimizer["staleness"] = steps_late() ? 1 : 0;
    if (offloads_columns()) optimizer["selected_states"] = "host";
  }
  if (const double share = cpu_share(); share != 1 || speculates_) optimizer["cpu_share"] = share;
  if (optimizer_ != "nvme") return optimizer;
  const bool read = keys_.flag(offload_optimizer + "/pipeline_read", false);
  const bool write = keys_.flag(offload_optimizer + "/pipeline_write", false);
  optimizer["buffers"] = swap_buffers(keys_, read || write, notes_);
  optimizer["pipeline_read"] = read;
  optimizer["pipeline_write"] = write;
  return optimizer;
}

}  // namespace spillway::scenarios
