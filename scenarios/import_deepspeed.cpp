#include "scenarios/import_deepspeed.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "scenarios/deepspeed_keys.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document.hpp"
#include "scenarios/read_machine.hpp"
#include "scenarios/read_model.hpp"
#include "scenarios/schema_check.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::Params;
using description::ScenarioError;
using nlohmann::json;

namespace {

const std::string zero = "/zero_optimization/";
const std::string offload_param = zero + "offload_param";
const std::string offload_optimizer = zero + "offload_optimizer";

std::string params(std::uint64_t count) { return description::to_text(Params(count)); }

bool mentions(std::string name, const std::string& part) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find(part) != std::string::npos;
}

/// Settings with a meaning in DeepSpeed and none in a step's memory, bytes or time here.
const std::vector<std::string> without_effect = {
    "aio.block_size",
    "aio.queue_depth",
    "aio.intra_op_parallelism",
    "aio.thread_count",
    "aio.single_submit",
    "aio.overlap_events",
    "zero_optimization.contiguous_gradients",
    "zero_optimization.allgather_partitions",
    "zero_optimization.allgather_bucket_size",
    "zero_optimization.reduce_scatter",
    "zero_optimization.stage3_max_reuse_distance",
    "zero_optimization.stage3_gather_16bit_weights_on_model_save",
    "zero_optimization.offload_param.pin_memory",
    "zero_optimization.offload_optimizer.pin_memory",
    "zero_optimization.offload_param.nvme_path",
    "zero_optimization.offload_optimizer.nvme_path",
    "zero_optimization.offload_optimizer.fast_init",
    "zero_optimization.round_robin_gradients",
    "zero_optimization.sub_group_size",
    "zero_optimization.stage3_prefetch_bucket_size",
    "zero_optimization.stage3_param_persistence_threshold",
    "zero_optimization.stage3_max_live_parameters",
    "zero_optimization.offload_param.buffer_count",
    "zero_optimization.offload_param.buffer_size",
    "zero_optimization.offload_param.max_in_cpu",
    "zero_optimization.offload_optimizer.buffer_count",
    "zero_optimization.offload_optimizer.pipeline_read",
    "zero_optimization.offload_optimizer.pipeline_write",
    "zero_optimization.offload_optimizer.ratio",
    "gradient_clipping",
    "steps_per_print",
    "wall_clock_breakdown",
    "prescale_gradients",
    "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer"};

/// Builds one scenario out of one configuration.
class Import {
 public:
  Import(const LocatedJson& config, const ImportOptions& options)
      : config_(config),
        keys_(config),
        options_(options),
        model_(whole_model(options.model)),
        machine_(read_machine(options.machine)) {}

  Imported run() {
    refuse_partial_training();
    read_offload();
    imported_.scenario = {{"name", options_.model + " from a DeepSpeed configuration"},
                          {"model", options_.model},
                          {"machine", options_.machine}};
    imported_.scenario["training"] = training();
    imported_.scenario["parallel"] = parallel();
    imported_.scenario["strategy"] = strategy();
    if (!keys_.complaints().empty()) {
      auto complaints = keys_.complaints();
      tidy(complaints);
      throw ScenarioError(complaints);
    }
    note_unread();
    return std::move(imported_);
  }

 private:
  void note(const std::string& text) { imported_.notes.push_back(text); }

  void refuse_partial_training() {
    const std::string only = "spillway describes full fine-tuning only";
    for (const char* key : {"/lora", "/peft", "/qlora", "/quantization", "/quantize_training",
                            "/compression_training", "/hybrid_engine/inference_lora"})
      if (keys_.find(key)) keys_.complain(key, "adapters and quantization are not described", only);
    for (const char* key : {"zero_quantized_weights", "zero_quantized_gradients",
                            "zero_quantized_nontrainable_weights"})
      if (keys_.flag(zero + key, false))
        keys_.complain(zero + key, "quantized transfers are not described", "set it to false");
  }

  static models::Architecture whole_model(const std::string& name) {
    std::vector<Complaint> complaints;
    const Carried carried = bring_in(name, "models/library", {}, "model", complaints);
    const std::string only = "spillway describes full fine-tuning only; name the base model";
    const json& config = carried.json.value;
    for (const char* key : {"quantization_config", "peft_type"})
      if (config.is_object() && config.contains(key)) {
        const Place place = carried.json.key_place(pointer_to("", key));
        complaints.push_back({place.file, place.line, place.column, key,
                              "a quantized model or an adapter is not described", only});
      }
    if (!complaints.empty()) throw ScenarioError(complaints);
    models::Architecture architecture = read_config(carried.json, carried.name, "", complaints);
    if (!complaints.empty()) throw ScenarioError(complaints);
    return architecture;
  }

  void read_offload() {
    stage_ = keys_.count_or("/zero_optimization/stage", 0, 0);
    param_ = keys_.device(offload_param);
    optimizer_ = keys_.device(offload_optimizer);
    if (keys_.flag(zero + "cpu_offload", false)) optimizer_ = "cpu";
    if (keys_.flag(zero + "cpu_offload_params", false)) param_ = "cpu";
    if (stage_ > 3) keys_.complain(zero + "stage", "a stage is 0, 1, 2 or 3");
    if (param_ != "none" && stage_ != 3) {
      note(
          "zero_optimization.offload_param: ignored, DeepSpeed offloads parameters in stage 3 "
          "only");
      param_ = "none";
    }
    if (optimizer_ == "nvme" && stage_ != 3)
      keys_.complain(offload_optimizer + "/device", "\"nvme\" needs zero_optimization.stage 3",
                     "set stage to 3 or device to \"cpu\"");
    if (optimizer_ != "none" && stage_ == 0) {
      note("zero_optimization.offload_optimizer: ignored, stage 0 offloads nothing");
      optimizer_ = "none";
    }
    if (param_ != "none" && optimizer_ == "none") {
      note(
          "zero_optimization.offload_optimizer: taken as \"cpu\", since DeepSpeed offloads "
          "parameters "
          "only together with the optimizer");
      optimizer_ = "cpu";
    }
    if (param_ == "nvme" || optimizer_ == "nvme")
      system_ = "zero_infinity";
    else
      system_ = param_ == "cpu" || optimizer_ == "cpu" ? "zero_offload" : "resident";
  }

  std::string precision() {
    const bool half = keys_.flag("/fp16/enabled", false);
    const bool brain = keys_.flag("/bf16/enabled", false) || keys_.flag("/bfloat16/enabled", false);
    if (half && brain)
      keys_.complain("/bf16/enabled", "fp16 and bf16 are both enabled", "keep one");
    if (half || brain) return half ? "fp16_mixed" : "bf16_mixed";
    if (keys_.is_auto("/bf16/enabled") || keys_.is_auto("/fp16/enabled")) {
      const bool to_brain = keys_.is_auto("/bf16/enabled");
      note(std::string(to_brain ? "bf16" : "fp16") +
           ".enabled: \"auto\" follows the trainer's arguments, taken as true");
      return to_brain ? "bf16_mixed" : "fp16_mixed";
    }
    return "fp32";
  }

  std::string optimizer_kind() {
    const std::string type = keys_.text("/optimizer/type", "AdamW");
    if (keys_.find("/optimizer/params"))
      note("optimizer.params: learning rates change no time or memory");
    if (mentions(type, "8bit") || mentions(type, "onebit") || mentions(type, "zeroone"))
      keys_.complain("/optimizer/type", "\"" + type + "\" is a compressed optimizer, not described",
                     "spillway describes Adam and SGD in full width");
    else if (type == "SGD" || type == "sgd")
      return "sgd";
    else if (!mentions(type, "adam"))
      keys_.complain("/optimizer/type", "no \"" + type + "\"", "known: Adam, AdamW, SGD");
    return "adam";
  }

  std::optional<std::uint64_t> batch(const char* key) {
    const auto value = keys_.count(key, 1);
    if (!keys_.is_auto(key) && value && (*value == 0 || *value > 1'000'000)) {
      keys_.complain(key, "a batch is 1 to 1000000");
      return 1;
    }
    return keys_.is_auto(key) && has_total() ? std::nullopt : value;
  }
  bool has_total() {
    return keys_.find("/train_batch_size") && !keys_.is_auto("/train_batch_size");
  }

  json training() {
    precision_ = precision();
    json training{{"precision", precision_}, {"optimizer", optimizer_kind()}};
    const std::uint64_t ranks = data_ranks();
    auto micro = batch("/train_micro_batch_size_per_gpu");
    auto steps = batch("/gradient_accumulation_steps");
    const auto total = keys_.count("/train_batch_size");
    if (total && micro && !steps) steps = *total / (*micro * ranks);
    if (total && !micro) micro = *total / (steps.value_or(1) * ranks);
    for (const char* key : {"/train_micro_batch_size_per_gpu", "/gradient_accumulation_steps"})
      if (keys_.is_auto(key) && !has_total())
        note(dotted(key) + ": \"auto\" follows the trainer's arguments, taken as 1");
    training["micro_batch"] = micro.value_or(1);
    training["gradient_accumulation"] = steps.value_or(1);
    const std::uint64_t product = micro.value_or(1) * steps.value_or(1) * ranks;
    if (micro == 0u || steps == 0u || (total && *total != product))
      keys_.complain("/train_batch_size",
                     fmt::format("micro-batch {} x accumulation {} x {} ranks is {}",
                                 micro.value_or(1), steps.value_or(1), ranks, product),
                     "make the three agree, none of them 0");
    training["sequence"] = sequence();
    training["fused_kernels"] = false;
    training["loss"] = "plain";
    note(
        "training.loss: plain and training.fused_kernels: false, as a trainer without fused "
        "kernels "
        "computes: 14 B a logit; \"fused\" and true with Liger's");
    return training;
  }

  std::uint64_t sequence() {
    if (options_.sequence) return *options_.sequence;
    const std::uint64_t positions = model_.max_positions;
    const std::uint64_t tokens = positions > 0 ? std::min<std::uint64_t>(positions, 4096) : 4096;
    note(fmt::format("training.sequence: not in a DeepSpeed configuration, taken as {}", tokens));
    return tokens;
  }

  std::uint64_t tensor_ranks() { return keys_.count_or("/tensor_parallel/autotp_size", 1, 1); }
  std::uint64_t data_ranks() {
    const std::uint64_t tensor = std::max<std::uint64_t>(1, tensor_ranks());
    return std::max<std::uint64_t>(1, options_.ranks.value_or(machine_.gpus() / tensor));
  }
  json parallel() {
    return {{"data", data_ranks()},
            {"tensor", std::max<std::uint64_t>(1, tensor_ranks())},
            {"pipeline", 1},
            {"zero_stage", stage_}};
  }

  json strategy() {
    const bool gds = keys_.flag("/aio/use_gds", false);
    return {{"system", system_},
            {"weights", weights()},
            {"activations", activations()},
            {"gradients", gradients()},
            {"optimizer", optimizer()},
            {"overflow_check",
             precision_ == "fp16_mixed" && system_ != "resident" ? "chained" : "none"},
            {"pinned", "power_of_two"},
            {"io_engine", gds ? "gds" : "file"}};
  }

  static const char* home(const std::string& device) {
    return device == "nvme" ? "ssd" : device == "cpu" ? "host" : "gpu";
  }

  json weights() {
    const std::uint64_t h = model_.hidden;
    json weights{{"home", home(param_)}, {"overlap", true}, {"prefetch_blocks", 1}};
    if (stage_ == 3) {
      const auto size = [&](const char* key, std::uint64_t otherwise, std::uint64_t automatic) {
        return params(keys_.count_or(zero + key, otherwise, automatic));
      };
      weights["prefetch_bucket"] = size("stage3_prefetch_bucket_size", 50'000'000, h * h * 9 / 10);
      weights["persistence_threshold"] =
          size("stage3_param_persistence_threshold", 100'000, 10 * h);
      weights["max_live"] = size("stage3_max_live_parameters", 1'000'000'000, 1'000'000'000);
    }
    if (param_ != "nvme") return weights;
    weights["pool"] = "monolithic";
    weights["buffer_count"] = pool_setting("buffer_count", "5");
    if (weights["buffer_count"].is_number() && weights["buffer_count"] < 9) {
      note(
          "weights.prefetch_blocks: 0, a block ahead needs 9 buffers in "
          "offload_param.buffer_count");
      weights["prefetch_blocks"] = 0;
    }
    weights["buffer_size"] = pool_setting("buffer_size", "1e8");
    weights["max_in_host"] =
        params(keys_.count_or(offload_param + "/max_in_cpu", 1'000'000'000, 1'000'000'000));
    if (!keys_.flag(offload_param + "/pin_memory", true))
      note(
          "zero_optimization.offload_param.pin_memory: NVMe swapping pins its buffers all the "
          "same");
    return weights;
  }

  json pool_setting(const std::string& key, const char* upstream) {
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

  json activations() {
    const bool on_host = keys_.flag("/activation_checkpointing/cpu_checkpointing", false);
    if (!on_host)
      note("activations.policy: whether checkpointing is on is the trainer's choice, taken as on");
    return {{"policy", on_host ? "checkpoint_host" : "checkpoint_gpu"}};
  }

  json gradients() {
    const std::uint64_t h = model_.hidden;
    const char* policy = optimizer_ == "nvme"  ? "ssd_fp32"
                         : optimizer_ == "cpu" ? "host_fp32"
                                               : "resident";
    json gradients{
        {"policy", policy},
        {"overlap", keys_.flag(zero + "overlap_comm", stage_ == 3)},
        {"reduce_bucket", params(keys_.count_or(zero + "reduce_bucket_size", 500'000'000, h * h))}};
    if (optimizer_ == "none") return gradients;
    const std::string width = keys_.text("/data_types/grad_accum_dtype", "fp32");
    gradients["accumulation"] = width == "fp32" ? "fp32" : "fp16";
    if (width == "bf16") note("data_types.grad_accum_dtype: bf16 has the size of fp16");
    gradients["convert"] = "gpu";
    const bool pinned =
        keys_.flag(offload_optimizer + "/pin_memory", false) || optimizer_ == "nvme";
    gradients["d2h"] = pinned ? "pinned" : "pageable";
    gradients["staging_buffer"] = false;
    gradients["init_copy"] = false;
    return gradients;
  }

  json optimizer() {
    json optimizer{{"device", optimizer_ == "none" ? "gpu" : "cpu"}, {"home", home(optimizer_)}};
    if (optimizer_ == "none") return optimizer;
    optimizer["order"] = "ascending";
    optimizer["grouping"] = "parameter_groups";
    optimizer["subgroup"] =
        params(keys_.count_or(zero + "sub_group_size", 1'000'000'000, 1'000'000'000));
    if (keys_.number(offload_optimizer + "/ratio", 1.0) != 1.0)
      note("zero_optimization.offload_optimizer.ratio: every sub-group is updated on the CPU here");
    if (optimizer_ != "nvme") return optimizer;
    const bool read = keys_.flag(offload_optimizer + "/pipeline_read", false);
    const bool write = keys_.flag(offload_optimizer + "/pipeline_write", false);
    const auto buffers = keys_.count(offload_optimizer + "/buffer_count");
    if ((read || write) && !buffers)
      note("zero_optimization.offload_optimizer.buffer_count: not set; pipelining needs 8");
    optimizer["buffers"] = buffers.value_or(read || write ? 8 : 4);
    optimizer["pipeline_read"] = read;
    optimizer["pipeline_write"] = write;
    return optimizer;
  }

  void note_unread() {
    for (const std::string& path : keys_.unread()) {
      const bool known =
          std::find(without_effect.begin(), without_effect.end(), path) != without_effect.end();
      const bool loss_scale =
          path.starts_with("fp16.") || path.starts_with("bf16.") || path.starts_with("scheduler.");
      note(path + (known || loss_scale ? ": no effect on memory, bytes or time here"
                                       : ": ignored, spillway does not read it"));
    }
  }

  const LocatedJson& config_;
  DeepSpeedKeys keys_;
  const ImportOptions& options_;
  models::Architecture model_;
  description::MachineFile machine_;
  std::uint64_t stage_ = 0;
  std::string param_, optimizer_, system_, precision_;
  Imported imported_;
};

}  // namespace

Imported import_deepspeed(const LocatedJson& ds_config, const ImportOptions& options) {
  if (!ds_config.value.is_object())
    throw ScenarioError(
        {{ds_config.place("").file, 1, 1, "", "a DeepSpeed configuration is an object", ""}});
  return Import(ds_config, options).run();
}

}  // namespace spillway::scenarios
