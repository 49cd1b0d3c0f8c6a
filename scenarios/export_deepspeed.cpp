#include "scenarios/export_deepspeed.hpp"

#include <fmt/format.h>

#include "models/model.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/names.hpp"

namespace spillway::scenarios {

using namespace description;
using nlohmann::json;

namespace {

constexpr const char* upstream_path = "/local_nvme";

/// Writes one configuration for one scenario.
class Export {
 public:
  explicit Export(const Scenario& scenario)
      : scenario_(scenario),
        parts_(scenario.strategy),
        model_(models::build_model(
            models::read_architecture(scenario.model, scenario.model_name, "model"))) {}

  Exported run() {
    refuse();
    note_differences();
    json& config = exported_.ds_config;
    const Training& training = scenario_.training;
    config["train_micro_batch_size_per_gpu"] = training.micro_batch;
    config["gradient_accumulation_steps"] = training.gradient_accumulation;
    config["train_batch_size"] =
        training.micro_batch * training.gradient_accumulation * scenario_.parallel.data;
    config["fp16"] = {{"enabled", name_of(training.precision).starts_with("fp16")}};
    config["bf16"] = {{"enabled", name_of(training.precision).starts_with("bf16")}};
    if (training.optimizer == OptimizerKind::adam)
      config["optimizer"] = {{"type", "AdamW"}};
    else
      config["optimizer"] = {{"type", "SGD"}};
    config["zero_optimization"] = zero();
    config["activation_checkpointing"] = {
        {"cpu_checkpointing", parts_.activations.policy == ActivationPolicy::checkpoint_host}};
    if (uses_nvme()) config["aio"] = aio();
    return std::move(exported_);
  }

 private:
  void note(const std::string& text) { exported_.notes.push_back(text); }
  bool uses_nvme() const {
    return parts_.weights.home == Home::ssd || parts_.optimizer.home == Home::ssd;
  }

  void refuse() {
    std::vector<Complaint> complaints;
    const auto cannot = [&](const char* path, std::string_view value) {
      complaints.push_back({"", 0, 0, std::string("strategy.") + path,
                            fmt::format("DeepSpeed has nothing like \"{}\"", value),
                            "export a scenario of zero_infinity, zero_offload or resident"});
    };
    const GradientPolicy gradients = parts_.gradients.policy;
    if (gradients == GradientPolicy::active || gradients == GradientPolicy::active_naive)
      cannot("gradients.policy", name_of(gradients));
    const ActivationPolicy activations = parts_.activations.policy;
    if (activations == ActivationPolicy::swap || activations == ActivationPolicy::tensor_cache ||
        activations == ActivationPolicy::plan || activations == ActivationPolicy::checkpoint_ssd)
      cannot("activations.policy", name_of(activations));
    if (parts_.optimizer.device == OptimizerDevice::near_storage)
      cannot("optimizer.device", name_of(parts_.optimizer.device));
    if (parts_.optimizer.device == OptimizerDevice::gpu && parts_.optimizer.home != Home::gpu)
      cannot("optimizer.home", name_of(parts_.optimizer.home));
    if (!complaints.empty()) throw ScenarioError(complaints);
  }

  void note_differences() {
    if (parts_.weights.pool == PoolKind::adaptive)
      note("strategy.weights.pool: DeepSpeed has one monolithic pool; its buffers are larger");
    if (parts_.overflow_check == OverflowCheck::fused)
      note("strategy.overflow_check: DeepSpeed checks with a chain of operations and temporaries");
    if (parts_.pinned == PinnedPolicy::exact)
      note("strategy.pinned: DeepSpeed's pinned memory is rounded to powers of two");
    if (parts_.io_engine == IoEngine::direct)
      note("strategy.io_engine: DeepSpeed writes one file per tensor");
    if (parts_.optimizer.order != SubgroupOrder::ascending)
      note("strategy.optimizer.order: DeepSpeed updates sub-groups in ascending order");
    if (!parts_.optimizer.paths.empty())
      note("strategy.optimizer.paths: DeepSpeed has one nvme_path; stripe the drives below it");
    if (parts_.activations.policy != ActivationPolicy::keep)
      note("strategy.activations.policy: switch gradient checkpointing on in the trainer");
    if (scenario_.training.optimizer_state == StateWidth::bf16)
      note("training.optimizer_state: DeepSpeed keeps fp32 states when it offloads them");
    if (scenario_.parallel.pipeline > 1 || scenario_.parallel.tensor > 1)
      note("parallel: tensor and pipeline ranks are set up outside this file");
  }

  static const char* device(Home home) {
    return home == Home::ssd ? "nvme" : home == Home::host ? "cpu" : "none";
  }

  json zero() {
    const bool offloads_weights = parts_.weights.home != Home::gpu;
    const std::uint64_t stage = offloads_weights || uses_nvme() ? 3 : scenario_.parallel.zero_stage;
    if (stage != scenario_.parallel.zero_stage)
      note("parallel.zero_stage: written as 3, which DeepSpeed needs for these homes");
    json section{{"stage", stage},
                 {"overlap_comm", parts_.gradients.overlap},
                 {"reduce_bucket_size", parts_.gradients.reduce_bucket.value()}};
    if (stage == 3) {
      section["stage3_prefetch_bucket_size"] = parts_.weights.prefetch_bucket.value();
      section["stage3_param_persistence_threshold"] = parts_.weights.persistence_threshold.value();
      section["stage3_max_live_parameters"] = parts_.weights.max_live.value();
      section["sub_group_size"] = parts_.optimizer.subgroup.value();
    }
    if (offloads_weights) section["offload_param"] = offload_param();
    if (parts_.optimizer.home != Home::gpu) section["offload_optimizer"] = offload_optimizer();
    return section;
  }

  json offload_param() const {
    const WeightsPart& weights = parts_.weights;
    json section{{"device", device(weights.home)}, {"pin_memory", true}};
    if (weights.home != Home::ssd) return section;
    const std::uint64_t ranks = scenario_.parallel.data * scenario_.parallel.tensor;
    const Params largest(divide_up(model_.largest_tensor().value(), ranks));
    section["nvme_path"] = upstream_path;
    section["buffer_count"] = weights.buffer_count.value_or(2 + 7 * weights.prefetch_blocks);
    section["buffer_size"] = weights.buffer_size.value_or(largest).value();
    section["max_in_cpu"] = weights.max_in_host.value();
    return section;
  }

  json offload_optimizer() const {
    const OptimizerPart& optimizer = parts_.optimizer;
    json section{{"device", device(optimizer.home)},
                 {"pin_memory", parts_.gradients.d2h == CopyMemory::pinned}};
    if (optimizer.home != Home::ssd) return section;
    const bool pipelined = optimizer.pipeline_read || optimizer.pipeline_write;
    section["nvme_path"] = upstream_path;
    section["buffer_count"] = optimizer.buffers.value_or(pipelined ? 8 : 4);
    section["pipeline_read"] = optimizer.pipeline_read;
    section["pipeline_write"] = optimizer.pipeline_write;
    return section;
  }

  json aio() const {
    return {{"block_size", 1048576},     {"queue_depth", 8},
            {"intra_op_parallelism", 1}, {"single_submit", false},
            {"overlap_events", true},    {"use_gds", parts_.io_engine == IoEngine::gds}};
  }

  const Scenario& scenario_;
  const Strategy& parts_;
  models::Model model_;
  Exported exported_;
};

}  // namespace

Exported export_deepspeed(const Scenario& scenario) { return Export(scenario).run(); }

}  // namespace spillway::scenarios
