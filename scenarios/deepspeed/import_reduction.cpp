#include "scenarios/deepspeed/import_reduction.hpp"

namespace spillway::scenarios {

namespace {

const std::string reduce_scatter = "/zero_optimization/reduce_scatter";
const std::string multi_rank = "/zero_optimization/use_multi_rank_bucket_allreduce";
const std::string type_of_all = "/communication_data_type";
const std::string type_of_sequences = "/seq_parallel_communication_data_type";

/// Stage 0 all-reduces whatever the keys say; stage 3 has no buckets of several ranks.
///   Source  DeepSpeed stage_1_and_2.py, average_tensor; stage3.py,
///           __reduce_and_partition_ipg_grads
void read_collective(DeepSpeedKeys& keys, const Reduction& reduction, ReductionFound& found) {
  if (reduction.ranks == 1 || reduction.stage == 0 ||
      (reduction.stage == 3 && !reduction.sums_whole)) {
    found.idle.insert({reduce_scatter, multi_rank});
    return;
  }
  if (reduction.stage == 3) {
    found.idle.insert(multi_rank);
    if (!keys.flag(reduce_scatter, true)) found.collective = "all_reduce";
    return;
  }
  const bool several = keys.flag(multi_rank, reduction.all_reduces);
  const bool scatters = keys.flag(reduce_scatter, true) && !several;
  if (reduction.stage == 2 && !scatters) found.collective = "all_reduce";
  if (reduction.stage != 1 || !scatters) return;
  if (reduction.offloads)
    found.notes.emplace_back(
        "zero_optimization.use_multi_rank_bucket_allreduce: false has DeepSpeed send each rank "
        "its share of the gradients alone; in stage 1 with offload_optimizer they are all-reduced "
        "here, so network bytes are an upper bound");
  else
    found.collective = "reduce_scatter";
}

/// Where ranks share sequences, their type replaces the general one.
///   Source  DeepSpeed engine.py, _configure_distributed_model
void note_type(DeepSpeedKeys& keys, const Reduction& reduction, ReductionFound& found) {
  const bool sequences = reduction.context > 1;
  found.idle.insert(sequences ? type_of_all : type_of_sequences);
  if (reduction.ranks == 1) {
    found.idle.insert(type_of_all);
    return;
  }
  const bool wide = reduction.precision == "fp32";
  const std::string own = wide ? "fp32" : "16 bits";
  const std::string type =
      sequences ? keys.text(type_of_sequences, "fp32") : keys.text(type_of_all, own);
  if (type == own || (type == "fp32") == wide) return;
  const std::string key = dotted(sequences ? type_of_sequences : type_of_all);
  if (type == "fp32")
    found.notes.emplace_back(
        key +
        (sequences ? ": unless it says otherwise, DeepSpeed reduces gradients in fp32 where "
                     "ranks share sequences"
                   : ": DeepSpeed reduces gradients in fp32") +
        "; here in 16 bits, so network bytes are a lower bound");
  else
    found.notes.emplace_back(key + ": DeepSpeed reduces gradients in " + type +
                             "; here in fp32, so network bytes are an upper bound");
}

}  // namespace

ReductionFound read_reduction(DeepSpeedKeys& keys, const Reduction& reduction) {
  ReductionFound found;
  read_collective(keys, reduction, found);
  note_type(keys, reduction, found);
  return found;
}

}  // namespace spillway::scenarios
