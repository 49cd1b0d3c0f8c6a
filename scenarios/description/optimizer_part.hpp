#pragma once

#include "scenarios/description/knob.hpp"
#include "scenarios/description/left_open.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/units.hpp"
#include "scenarios/description/weights_part.hpp"

#include <map>
#include <optional>
#include <string>

namespace spillway::description {

enum class OptimizerDevice { gpu, cpu, near_storage };
template <>
inline constexpr auto names_of<OptimizerDevice> = in_order("gpu", "cpu", "near_storage");
enum class SubgroupOrder { ascending, descending, alternating };
template <>
inline constexpr auto names_of<SubgroupOrder> = in_order("ascending", "descending", "alternating");
enum class Grouping { parameter_groups, model_order, layers };
template <>
inline constexpr auto names_of<Grouping> = in_order("parameter_groups", "model_order", "layers");
enum class UpdateOverlap { none, backward };
template <>
inline constexpr auto names_of<UpdateOverlap> = in_order("none", "backward");

/// What an update goes on from.
///   own     an fp32 master besides the weight that kernels read where states are fp32; where they
///           have 16 bits the weight itself, but where it lies with none of its states
///   weight  the weight itself, also by a CPU with fp32 states
///   copy    a master in the weight's own 16 bits besides it, where states have 16 bits
enum class MasterKept { own, weight, copy };
template <>
inline constexpr auto names_of<MasterKept> = in_order("own", "weight", "copy");

enum class AdamKernels { fused, for_loop };
template <>
inline constexpr auto names_of<AdamKernels> = in_order("fused", "for_loop");

/// `staleness: "async"`: steps do not wait for updates.
inline constexpr std::uint64_t any_staleness = ~std::uint64_t{0};

/// Who updates the weights, from which sub-groups of states, and where these lie. An empty
/// optional is "auto", but for `widen_first` and `overlap`, knobs of some systems.
struct OptimizerPart {
  OptimizerDevice device = OptimizerDevice::gpu;
  Home home = Home::gpu;
  double cpu_share = 1;  ///< of the sub-groups, rounded up; the GPU has and updates the first ones
  double selected_share = 0;  ///< of each matrix's columns
  double ssd_share = 1;       ///< of the sub-groups of home ssd, rounded down, spread evenly
  MasterKept master = MasterKept::own;
  SubgroupOrder order = SubgroupOrder::ascending;
  Params subgroup = Params(100'000'000);
  Grouping grouping = Grouping::parameter_groups;
  bool fused_tensors = false;
  std::optional<std::uint64_t> buffers;
  /// Storage -> weight of its share of the sub-groups; auto: by bandwidth. Empty: the node's
  /// drives as one stripe. In what people write "*" stands for every storage.
  std::map<std::string, std::optional<double>> paths;
  std::map<std::string, std::uint64_t> lanes;
  bool adapt = true;
  double host_fill = 0.78;
  bool pipeline_read = false;
  bool pipeline_write = false;
  bool tier_lock = false;
  std::optional<Bytes> host_cache;
  std::uint64_t staleness = 0;  ///< or `any_staleness`
  std::uint64_t read_ahead = 0;
  bool wait = true;  ///< what an update makes is written once it is made
  bool roll_back = false;
  double delayed_share = 0;  ///< of the sub-groups, rounded down, the last ones of an update
  std::optional<bool> widen_first;
  std::optional<UpdateOverlap> overlap;
  AdamKernels kernels = AdamKernels::fused;  ///< of an update on the GPU
  bool flatten = false;                      ///< of the same
  bool unscale = false;                      ///< gradients are multiplied in a pass of their own
  /// Updates take the delays of a run before, on the GPU too: what the reference of a training
  /// with `staleness` async does. No knob: nobody can write it.
  bool replay = false;
  Home selected_states = Home::gpu;  ///< where states of `selected_share` lie
};

/// Automatic buffers fill the host memory that is there, and keep sub-groups from one update to the
/// next; how many updates a step has that waits for none follows from rates.
inline LeftOpen left_open(const OptimizerPart& part) {
  LeftOpen open;
  open.states = part.home == Home::ssd && (!part.buffers || !part.host_cache);
  open.placement = part.staleness == any_staleness;
  return open;
}

/// Which storages hold states, and how they are read and written.
template <class Io, class Part>
void state_traffic_knobs(Io& io, Part& part) {
  io.automatic({"buffers",
                "pinned slots of a rank and path, each for one fp32 tensor of the largest "
                "sub-group; auto: up to host_fill of host memory",
                "zero_optimization.offload_optimizer.buffer_count"},
               part.buffers, {1, 1'000'000});
  io.automatic_map({"paths",
                    "storage -> its share of the sub-groups: auto by bandwidth, or a number; "
                    "\"*\" is every storage that is not named; empty: all drives as one stripe"},
                   part.paths);
  io({"pipeline_read", "the next sub-group is read while this one is updated",
      "zero_optimization.offload_optimizer.pipeline_read"},
     part.pipeline_read);
  io({"pipeline_write", "the last sub-group is written while this one is updated",
      "zero_optimization.offload_optimizer.pipeline_write"},
     part.pipeline_write);
  io({"tier_lock", "one rank of a node at a time uses a storage; the others compute"},
     part.tier_lock);
  io.automatic({"host_cache",
                "sub-groups that stay in host memory from one update to the next; auto: what the "
                "slots hold"},
               part.host_cache);
  io.map({"lanes", "storage -> ranks that use it at once under tier_lock"}, part.lanes, {1, 64});
  io({"adapt",
      "shares of auto paths follow each step's measured rates; false: they stay as the machine "
      "file says"},
     part.adapt);
  io({"host_fill", "share of host memory that automatic buffers may fill"}, part.host_fill, {0, 1});
  io({"read_ahead",
      "with active gradients: sub-groups whose states are read before their gradients come"},
     part.read_ahead, {0, 1000});
  io({"ssd_share",
      "share of the sub-groups whose states lie on drives where home is ssd; those of the others "
      "stay in host memory, every so many-th"},
     part.ssd_share, {0, 1});
  io({"delayed_share",
      "share of the sub-groups, the last ones, that the CPU updates beside the next forward; a "
      "layer waits for its own, so that nothing else is trained"},
     part.delayed_share, {0, 1});
  io({"roll_back",
      "with active gradients: the CPU updates before it is known whether the step overflows, and "
      "takes the update back where it does: to old values that were kept, with overflow_check "
      "fused; chained, as DeepSpeed does, which keeps none",
      "zero_optimization.offload_optimizer.super_offload"},
     part.roll_back);
  io({"wait",
      "false, with active gradients: states and weights are written when the next sub-group's "
      "states are there, whether or not Adam has answered. It trains something else than true, and "
      "no two runs alike"},
     part.wait);
}

template <class Io, class Part>
void optimizer_knobs(Io& io, Part& part) {
  io({"device", "who runs the update: GPU, CPU, or processors in the drives"}, part.device);
  io({"home", "where masters and states lie", "zero_optimization.offload_optimizer.device"},
     part.home);
  io({"cpu_share",
      "share of the sub-groups that the CPU updates; the GPU keeps the states of the others, the "
      "first, and updates them meanwhile",
      "zero_optimization.offload_optimizer.ratio"},
     part.cpu_share, {0, 1});
  io({"selected_share",
      "share of each matrix's columns, and all vectors, that the GPU updates after each "
      "micro-batch "
      "besides, with 16-bit states of its own; what the step's update makes of them never reaches "
      "it. It trains something else than 0",
      "zero_optimization.zenflow.topk_ratio"},
     part.selected_share, {0, 1});
  io({"selected_states",
      "where the states of selected_share lie: gpu, or host, from where they come for each update "
      "and go back",
      "zero_optimization.zenflow.offload"},
     part.selected_states);
  io({"master",
      "what an update goes on from: own, an fp32 master besides the weight, or with states of 16 "
      "bits the weight itself; weight, the weight itself, where the CPU updates weights in host "
      "memory; copy, a master of 16 bits besides the weight, where states have 16 bits",
      "bf16.bf16_master_weights_and_grads"},
     part.master);
  io({"order",
      "in which order sub-groups are updated; alternating finds the last ones still in memory"},
     part.order);
  io({"subgroup", "parameters that are updated together; smaller ones need smaller buffers",
      "zero_optimization.sub_group_size"},
     part.subgroup);
  io({"grouping",
      "in which order tensors fill sub-groups: weight-decay groups first, as in the model, or "
      "whole layers"},
     part.grouping);
  io({"fused_tensors", "query, key and value, and gate and up, count as one tensor each"},
     part.fused_tensors);
  state_traffic_knobs(io, part);
  io.word({"staleness",
           "steps that an update comes late; async: no step waits. It trains something else than "
           "without"},
          part.staleness, "async", any_staleness, {0, 1000});
  io.optional({"widen_first",
               "16-bit gradients become fp32 before Adam reads them; false: it reads them as they "
               "are"},
              part.widen_first);
  io.optional({"overlap", "backward: a weight is updated as soon as backward is done with it", "",
               "teraio, g10"},
              part.overlap);
  io({"kernels",
      "Adam on the GPU: fused, one kernel a weight; for_loop, as PyTorch's loop has them: one for "
      "each operation, which reads and writes its own bytes and holds no other state"},
     part.kernels);
  io({"flatten",
      "an update on the GPU copies the gradients of each sub-group behind one another, and widens "
      "the copy to the masters' type, as DeepSpeed's ZeRO does; false: it reads them where they "
      "are"},
     part.flatten);
  io({"unscale",
      "what an update reads of gradients is multiplied before, in a pass of its own, by one number "
      "of the loss's scale and of clipping, whatever they are: DeepSpeed's unscale_and_clip_grads"},
     part.unscale);
}

}  // namespace spillway::description
