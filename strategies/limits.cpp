#include "scenarios/description/names.hpp"
#include "strategies/catalogue.hpp"
#include "strategies/job.hpp"
#include "strategies/parts/weight_chunks.hpp"
#include "strategies/planned_settings.hpp"

#include <algorithm>

/// What the schedules of this version cannot run.
namespace spillway::strategies {

namespace {

using description::ActivationPolicy;
using description::GradientPolicy;
using description::Home;
using description::OptimizerDevice;

class Limits {
 public:
  explicit Limits(const description::Scenario& scenario) : scenario_(scenario) {}

  std::vector<description::Complaint> find() {
    refuse(scenario_.run.io_bench && scenario_.machine.storage.empty(), "run.io_bench",
           scenario_.machine.name + " has no storage", "add one to machine.storage");
    refuse(scenario_.run.io_bench && scenario_.run.io_bench->bytes.value() == 0,
           "run.io_bench.bytes", "requests of no bytes", "write a size such as \"2 MiB\"");
    if (scenario_.run.io_bench) return std::move(complaints_);  // no schedule runs
    parallelism();
    parts();
    homes();
    active_gradients();
    private_arrays();
    paths();
    return std::move(complaints_);
  }

 private:
  void refuse(bool condition, const char* path, std::string message, std::string hint) {
    if (condition) complaints_.push_back({"", 0, 0, path, std::move(message), std::move(hint)});
  }

  void parallelism() {
    const auto& parallel = scenario_.parallel;
    pipeline();
    nodes();
    refuse(parallel.zero_stage < 3 && scenario_.strategy.weights.home != Home::gpu &&
               parallel.data > 1,
           "parallel.zero_stage",
           "weights outside the GPU need ZeRO stage 3 where parallel.data is " +
               std::to_string(parallel.data),
           "set parallel.zero_stage to 3 or strategy.weights.home to gpu");
  }

  bool planned() const { return plans_steps(scenario_.strategy.system); }

  void pipeline() {
    const auto& parallel = scenario_.parallel;
    refuse(!planned() && overlaps_update(scenario_.strategy), "strategy.optimizer.overlap",
           scenario_.strategy.system + " updates behind backward",
           "use none; gradients.policy active has the CPU update during backward, and g10 the GPU");
    if (parallel.pipeline > 1) {
      const std::string gpus = std::to_string(scenario_.machine.gpu.count);
      refuse(parallel.ranks() > scenario_.machine.gpu.count, "parallel.pipeline",
             "stages on several nodes are not part of this version",
             "use at most the node's " + gpus + " GPUs for all ranks together");
    }
    if (planned())
      plans();
    else if (parallel.pipeline > 1)
      stages();
  }

  /// Pipeline stages that stream their layers.
  void stages() {
    const auto& strategy = scenario_.strategy;
    const char* alone = "use tensor or data parallelism, with parallel.pipeline 1";
    const bool resident =
        strategy.weights.home == Home::gpu && strategy.optimizer.device == OptimizerDevice::gpu;
    refuse(!resident, "parallel.pipeline",
           strategy.system +
               " brings weights or updates from outside the GPU, and pipeline stages keep theirs "
               "on it: weights.home gpu, optimizer.device gpu",
           alone);
    if (!resident) return;
    const ActivationPolicy policy = strategy.activations.policy;
    refuse(
        policy != ActivationPolicy::keep && policy != ActivationPolicy::checkpoint_gpu &&
            policy != ActivationPolicy::tensor_cache,
        "strategy.activations.policy",
        "several micro-batches of a pipeline stage are under way at once, which this policy does "
        "not tell apart",
        "use keep, recompute or tensor_cache, or parallel.pipeline 1");
    refuse(strategy.optimizer.staleness > 0, "strategy.optimizer.staleness",
           "stages of a pipeline begin a step together, with weights of one update",
           "use 0, or parallel.pipeline 1");
    refuse(parallel_gradients_are_spread(), "parallel.zero_stage",
           "1F1B adds micro-batches to gradients that are whole on each rank: stages 2 and 3 would "
           "spread them after each",
           "use parallel.zero_stage 0 or 1");
  }

  bool parallel_gradients_are_spread() const {
    return scenario_.parallel.data > 1 && scenario_.parallel.zero_stage >= 2;
  }

  /// Schedules that carry out plans of whole steps.
  void plans() {
    const auto& parallel = scenario_.parallel;
    refuse(parallel.data > 1, "parallel.data", "a plan is for one GPU a pipeline stage",
           "use parallel.data 1, and parallel.pipeline for more GPUs");
    refuse(parallel.tensor > 1, "parallel.tensor", "a plan is for one GPU a pipeline stage",
           "use parallel.tensor 1, and parallel.pipeline for more GPUs");
    const auto& strategy = scenario_.strategy;
    refuse(strategy.weights.home != Home::gpu || strategy.optimizer.home != Home::gpu ||
               strategy.optimizer.device != OptimizerDevice::gpu ||
               strategy.gradients.policy != GradientPolicy::resident,
           "strategy.activations.policy",
           "the planner owns all tensors: none of them can have another home",
           "use weights.home gpu, gradients.policy resident and optimizer.home gpu");
    refuse(strategy.overflow_check != description::OverflowCheck::none, "strategy.overflow_check",
           "planned steps have no overflow check", "use none");
    refuse(strategy.activations.policy != ActivationPolicy::plan &&
               strategy.activations.policy != ActivationPolicy::keep,
           "strategy.activations.policy",
           "a schedule tensor by tensor recomputes nothing and has no checkpoints", "use plan");
    const bool ema = scenario_.training.ema;
    refuse(ema, "training.ema", "planned steps keep no moving average", "use false");
  }

  /// Nodes that are filled equally fold into one; tensor-parallel groups stay inside.
  void nodes() {
    const auto& parallel = scenario_.parallel;
    const std::uint64_t gpus = scenario_.machine.gpu.count;
    if (parallel.pipeline > 1 || parallel.ranks() <= gpus) return;
    const std::string of_a_node = std::to_string(gpus) + " GPUs of a node";
    const std::string tensor = std::to_string(parallel.tensor);
    if (gpus % parallel.tensor != 0) {
      refuse(true, "parallel.tensor",
             tensor + (parallel.tensor > gpus ? " exceeds the " : " does not divide the ") +
                 of_a_node + ": its ranks would exchange activations between nodes",
             "use a divisor of " + std::to_string(gpus) + ", and parallel.data across nodes");
      return;
    }
    refuse(parallel.ranks() % gpus != 0, "parallel.data",
           std::to_string(parallel.ranks()) + " ranks do not fill nodes of " +
               std::to_string(gpus) + " GPUs equally",
           "use a multiple of " + std::to_string(gpus / parallel.tensor) +
               ", or set machine.gpu.count to the GPUs that are used of each node");
  }

  void parts() {
    const auto& strategy = scenario_.strategy;
    refuse(strategy.optimizer.subgroup.value() == 0, "strategy.optimizer.subgroup",
           "a sub-group of no parameters", "write a size such as \"1e8 params\"");
    const ActivationPolicy policy = strategy.activations.policy;
    refuse(policy != ActivationPolicy::keep && policy != ActivationPolicy::checkpoint_gpu &&
               policy != ActivationPolicy::checkpoint_host &&
               policy != ActivationPolicy::checkpoint_ssd && policy != ActivationPolicy::swap &&
               policy != ActivationPolicy::tensor_cache && policy != ActivationPolicy::plan,
           "strategy.activations.policy", "no system of this version has this policy",
           "use keep, checkpoint_gpu, checkpoint_host, checkpoint_ssd, swap, tensor_cache or plan");
    planner();
    chunks();
    refuse(policy == ActivationPolicy::swap && strategy.activations.homes.empty(),
           "strategy.activations.homes",
           "activations.policy swap has no activations.homes to swap to",
           "write [\"host\", \"ssd\"], or one of them");
    tensor_cache();
    refuse(
        scenario_.strategy.activations.checkpoints_per_block == 2 &&
            scenario_.strategy.activations.policy != ActivationPolicy::swap,
        "strategy.activations.checkpoints_per_block",
        "only what is swapped, or computed again, tensor by tensor has checkpoints inside blocks",
        "use 1, or activations.policy swap");
    near_storage();
    const std::uint64_t page = strategy.weights.page.value();
    refuse(strategy.weights.pool == description::PoolKind::pages &&
               (page == 0 || page % storage_sector != 0),
           "strategy.weights.page", "a page is some sectors of 4 KiB", "write \"4 MiB\"");
    staleness();
  }

  /// The storages that optimizer states lie on: those of `paths` with a share, else all drives.
  std::vector<description::StorageSpec> state_storages() const {
    const auto& paths = scenario_.strategy.optimizer.paths;
    std::vector<description::StorageSpec> all;
    for (const description::StorageSpec& storage : scenario_.machine.storage) {
      const auto path = paths.find(storage.name);
      const bool has_share = path != paths.end() && path->second.value_or(1) > 0;
      if (paths.empty() ? storage.kind == description::StorageKind::ssd : has_share)
        all.push_back(storage);
    }
    return all;
  }

  void near_storage() {
    const auto& strategy = scenario_.strategy;
    if (strategy.optimizer.device != OptimizerDevice::near_storage) return;
    const char* path = "strategy.optimizer.device";
    refuse(strategy.optimizer.home != Home::ssd, "strategy.optimizer.home",
           "optimizer.device near_storage updates states that lie on its drives",
           "use optimizer.home ssd, or optimizer.device cpu");
    refuse(strategy.gradients.policy != GradientPolicy::ssd_fp32, "strategy.gradients.policy",
           "optimizer.device near_storage finds its gradients on its drives, in fp32",
           "use gradients.policy ssd_fp32, or optimizer.device cpu");
    refuse(scenario_.training.optimizer_state == description::StateWidth::bf16,
           "training.optimizer_state", "drives with optimizer.device near_storage keep fp32 states",
           "use fp32, or optimizer.device cpu");
    const std::vector<description::StorageSpec> storages = state_storages();
    refuse(strategy.optimizer.paths.empty() && storages.size() > 1, "strategy.optimizer.paths",
           "optimizer.paths left empty makes one stripe of all drives, of which none sees a whole "
           "sub-group, as optimizer.device near_storage needs",
           "name the storages, such as {\"*\": \"auto\"}");
    for (const description::StorageSpec& storage : storages)
      refuse(!storage.near_storage, path,
             "storage " + storage.name + " of optimizer.paths computes nothing",
             "give it machine.storage[].near_storage, or leave it out of optimizer.paths");
  }

  /// Steps that wait for no update.
  void loose_updates() {
    const auto& strategy = scenario_.strategy;
    refuse(strategy.optimizer.device == OptimizerDevice::gpu && !strategy.optimizer.replay,
           "strategy.optimizer.staleness",
           "with optimizer.device gpu there is no time beside the steps to update in",
           "use optimizer.device cpu, or staleness 0");
    if (strategy.optimizer.device == OptimizerDevice::gpu) return;
    refuse(strategy.weights.home == Home::gpu || strategy.weights.persistence_threshold.value() > 0,
           strategy.weights.home == Home::gpu ? "strategy.weights.home"
                                              : "strategy.weights.persistence_threshold",
           "optimizer.staleness async publishes weights in host memory, none of which may stay on "
           "the GPU as weights.home gpu and weights.persistence_threshold let them",
           "use weights.home host and a weights.persistence_threshold of \"0 params\"");
    refuse(
        strategy.gradients.convert == description::ConvertOn::gpu, "strategy.gradients.convert",
        "optimizer.staleness async adds gradients up in host memory, where gradients.convert gpu "
        "reads them back",
        "use gradients.convert cpu");
    refuse(strategy.overflow_check != description::OverflowCheck::none, "strategy.overflow_check",
           "optimizer.staleness async has no step to skip: an update takes gradients of several",
           "use overflow_check none, or optimizer.staleness 1");
    refuse(strategy.optimizer.order != description::SubgroupOrder::ascending,
           "strategy.optimizer.order", "optimizer.staleness async takes sub-groups in turn",
           "use optimizer.order ascending");
    const ActivationPolicy policy = strategy.activations.policy;
    refuse(policy == ActivationPolicy::swap || policy == ActivationPolicy::plan,
           "strategy.activations.policy",
           "optimizer.staleness async renews weights between a block's forward and its second run: "
           "which run twice must not depend on a plan, as with activations.policy swap or plan",
           "use keep or a checkpoint policy, or optimizer.staleness 0");
    refuse(scenario_.parallel.tensor > 1, "parallel.tensor",
           "ranks of a tensor-parallel group have tensors in common, which optimizer.staleness "
           "async would renew at different times",
           "use parallel.tensor 1, or optimizer.staleness 0");
  }

  /// An update that goes on beside the next step.
  void staleness() {
    const auto& strategy = scenario_.strategy;
    const char* path = "strategy.optimizer.staleness";
    const std::uint64_t staleness = strategy.optimizer.staleness;
    if (staleness == 0) return;
    const bool loose = staleness == description::any_staleness;
    refuse(staleness != 1 && !loose, path,
           "updates come one step late, not late, or when they come", "use 0, 1 or \"async\"");
    if (loose) loose_updates();
    refuse(strategy.optimizer.device == OptimizerDevice::near_storage, path,
           "a late update inside the storage would change weights that the step reads",
           "use optimizer.device cpu, or staleness 0");
    refuse(planned(), path, "planned steps end with their update", "use 0");
    refuse(strategy.weights.home == Home::ssd, path,
           "weights.home ssd has one copy of each weight: a late update would change it under the "
           "step that reads it",
           "use weights.home host or gpu, or staleness 0");
    refuse(updates_in_backward(strategy.gradients.policy), path,
           "gradients.policy active updates during backward, not beside the next step",
           "use gradients.policy host_fp16, or staleness 0");
    refuse(strategy.gradients.policy == GradientPolicy::ssd_fp32, path,
           "gradients.policy ssd_fp32 has room for the gradients of one step",
           "use gradients.policy host_fp16 or host_fp32, or staleness 0");
    refuse(scenario_.training.optimizer_state == description::StateWidth::bf16, path,
           "with 16-bit states the weight is the master: the step would read it half updated",
           "use training.optimizer_state fp32, or staleness 0");
  }

  /// Weights that come and go by chunks.
  void chunks() {
    const auto& strategy = scenario_.strategy;
    if (!chunk_knobs(strategy).used) return;
    refuse(strategy.weights.home != Home::host, "strategy.weights.home",
           "weights.chunk packs weights in host memory, weights.home is another",
           "use weights.home host, or a system without weights.chunk, such as zero_infinity");
    refuse(strategy.overflow_check != description::OverflowCheck::none, "strategy.overflow_check",
           "with weights.chunk gradients take the place of their weights: overflow_check has no "
           "step left to skip",
           "use overflow_check none, or a system without weights.chunk, such as zero_offload");
    refuse(strategy.optimizer.staleness > 0, "strategy.optimizer.staleness",
           "an update beside the next step would renew what weights.chunk has on the GPU",
           "use staleness 0, or a system without weights.chunk, such as zero_offload");
    refuse(strategy.weights.persistence_threshold.value() > 0,
           "strategy.weights.persistence_threshold",
           "weights.chunk packs all weights, persistence_threshold keeps some on the GPU",
           "use persistence_threshold 0");
  }

  /// Who plans, and where what leaves the GPU goes.
  void planner() {
    const auto& strategy = scenario_.strategy;
    const std::optional<ActivationPlanner>& written = strategy.activations.planner;
    const std::string name =
        written ? "\"" + std::string(description::name_of(*written)) + "\"" : "";
    if (planned()) {
      refuse(written && description::name_of(*written) != strategy.system,
             "strategy.activations.planner",
             strategy.system + " plans for all tensors and has its own planner",
             "leave activations.planner out, or use a system that streams layers, such as lohan");
      return;
    }
    if (strategy.activations.policy != ActivationPolicy::plan) return;
    const std::optional<ActivationPlanner> planner = activation_planner(strategy);
    refuse(!planner, "strategy.activations.planner",
           !written ? "activations.policy plan has no activations.planner"
                    : "no schedule that streams layers has the activations.planner " + name,
           "use flashneuron, capuchin, checkmate or g10; teraio is a system of its own");
    if (planner == ActivationPlanner::g10) {
      refuse(strategy.activations.homes.empty(), "strategy.activations.homes",
             "activations.planner g10 moves activations, and activations.homes has nowhere to go",
             "write [\"host\", \"ssd\"], or one of them");
      return;
    }
    const char* home = planner == ActivationPlanner::flashneuron ? "ssd" : "host";
    const bool stays =
        planner == ActivationPlanner::checkmate && strategy.activations.homes.empty();
    refuse(planner && !stays && strategy.activations.homes != std::vector<std::string>{home},
           "strategy.activations.homes",
           "activations.planner " + name + " moves activations to " + home +
               " only, whatever activations.homes say",
           std::string("write [\"") + home + "\"]");
  }

  void tensor_cache() {
    const auto& strategy = scenario_.strategy;
    if (strategy.activations.policy != ActivationPolicy::tensor_cache) return;
    refuse(strategy.activations.homes.size() != 1, "strategy.activations.homes",
           "a cache of activations has one home", "write [\"ssd\"] or [\"host\"]");
  }

  void homes() {
    const auto& strategy = scenario_.strategy;
    const bool cpu = strategy.optimizer.device != OptimizerDevice::gpu;
    refuse(cpu != (strategy.optimizer.home != Home::gpu), "strategy.optimizer.home",
           cpu ? "states on the GPU cannot be updated by the CPU"
               : "states outside the GPU cannot be updated by the GPU",
           "let optimizer.device and optimizer.home agree");
    refuse(cpu == (strategy.gradients.policy == GradientPolicy::resident),
           "strategy.gradients.policy",
           cpu ? "gradients that stay on the GPU never reach the CPU optimizer"
               : "the GPU optimizer needs its gradients on the GPU",
           cpu ? "use host_fp16, host_fp32 or ssd_fp32" : "use resident");
    refuse(strategy.gradients.policy == GradientPolicy::ssd_fp32 &&
               strategy.optimizer.home != Home::ssd,
           "strategy.gradients.policy",
           "ssd_fp32 stages gradients in the swap buffers of an optimizer on SSD",
           "use host_fp32, or optimizer.home ssd");
    const std::uint64_t set = strategy.gradients.policy == GradientPolicy::ssd_fp32 ? 4 : 3;
    refuse(cpu && strategy.optimizer.home == Home::ssd &&
               strategy.optimizer.buffers.value_or(set) < set,
           "strategy.optimizer.buffers",
           "a sub-group needs " + std::to_string(set) + " buffers to be updated",
           "use " + std::to_string(set) + " or more, or auto");
    refuse(cpu && scenario_.training.ema, "training.ema",
           "the moving average lies beside the weights that optimizer.device gpu updates",
           "use false, or optimizer.device gpu");
    refuse(!cpu && strategy.weights.home != Home::gpu, "strategy.weights.home",
           "the GPU optimizer needs its weights on the GPU", "use weights.home gpu");
    refuse(scenario_.training.optimizer_state == description::StateWidth::bf16 &&
               strategy.gradients.policy == GradientPolicy::ssd_fp32,
           "strategy.gradients.policy",
           "ssd_fp32 gradients do not fit the swap buffers of bf16 optimizer states",
           "use host_fp32, or training.optimizer_state fp32");
    refuse(cpu && scenario_.training.optimizer == description::OptimizerKind::sgd,
           "training.optimizer", "the CPU optimizer of this version is Adam", "use adam");
  }

  void active_gradients() {
    const auto& strategy = scenario_.strategy;
    const bool active = updates_in_backward(strategy.gradients.policy);
    refuse(active && strategy.optimizer.order != description::SubgroupOrder::descending,
           "strategy.optimizer.order",
           "gradients.policy active updates sub-groups as backward completes them, last first: "
           "another optimizer.order would wait for all of it",
           "use optimizer.order descending, or gradients.policy host_fp16");
    refuse(active && strategy.gradients.convert == description::ConvertOn::gpu,
           "strategy.gradients.convert",
           "gradients.policy active has no gradients left to norm on the GPU, as gradients.convert "
           "gpu does",
           "use gradients.convert cpu, or gradients.policy host_fp32");
    refuse(!active && strategy.optimizer.read_ahead > 0, "strategy.optimizer.read_ahead",
           "optimizer.read_ahead reads states while backward goes on, which only gradients.policy "
           "active does",
           "use read_ahead 0, or gradients.policy active");
  }

  /// Weights of several storages are all numbers or all `auto`, and not all 0.
  void paths() {
    const auto& paths = scenario_.strategy.optimizer.paths;
    if (paths.empty()) return;
    double sum = 0;
    std::size_t automatic = 0;
    for (const auto& [name, weight] : paths) {
      automatic += !weight;
      sum += weight.value_or(1);
    }
    refuse(automatic > 0 && automatic < paths.size(), "strategy.optimizer.paths",
           "a weight such as 2 cannot be compared with a bandwidth, which auto stands for",
           "write a number for each storage or \"auto\" for each");
    refuse(sum <= 0, "strategy.optimizer.paths", "no storage has a share of the states",
           "give at least one a weight above 0");
  }

  /// What lies on SSD needs one that the rank's GPU reaches; that there is one is checked before.
  void private_arrays() {
    const auto& strategy = scenario_.strategy;
    const bool states = strategy.optimizer.home == Home::ssd && strategy.optimizer.paths.empty();
    const auto& kept = strategy.activations;
    const bool spills = std::find(kept.homes.begin(), kept.homes.end(), "ssd") != kept.homes.end();
    const bool activations = kept.policy == ActivationPolicy::checkpoint_ssd ||
                             (kept.policy == ActivationPolicy::swap && spills) ||
                             (activation_planner(strategy) && spills) ||
                             (kept.policy == ActivationPolicy::tensor_cache && spills);
    if (!states && !activations && strategy.weights.home != Home::ssd) return;
    std::vector<description::StorageSpec> drives = scenario_.machine.storage;
    std::erase_if(
        drives, [](const auto& storage) { return storage.kind != description::StorageKind::ssd; });
    if (drives.empty()) return;
    for (std::uint64_t gpu = 0; gpu < scenario_.node_ranks(); ++gpu) {
      const bool reaches = std::any_of(drives.begin(), drives.end(), [&](const auto& drive) {
        return drive.gpus.empty() ||
               std::find(drive.gpus.begin(), drive.gpus.end(), gpu) != drive.gpus.end();
      });
      refuse(!reaches, "machine.storage", "GPU " + std::to_string(gpu) + " reaches no drive",
             "give it an array, or use fewer ranks");
    }
  }

  const description::Scenario& scenario_;
  std::vector<description::Complaint> complaints_;
};

}  // namespace

std::vector<description::Complaint> unsupported(const description::Scenario& scenario) {
  return Limits(scenario).find();
}

}  // namespace spillway::strategies
