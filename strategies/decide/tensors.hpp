#pragma once

#include "strategies/layout/prepared.hpp"
#include "strategies/layout/tensor_table.hpp"

namespace spillway::strategies {

/// The table of what one rank holds, decided from the scenario and the model. Of a pipeline whose
/// stages stream their layers (Prepared::stages) one table a stage, in which weights of other
/// stages have no elements; else a single one. Empty where nothing is trained (`run.io_bench`).
///   home      gpu: weights.home gpu, and what is not worth moving: tensors up to the persistence
///             threshold, of weights.home ssd 1-D ones and shares below 1 MiB too; host:
///             weights.home host, and the first `max_in_host` elements of weights.home ssd; ssd:
///             the rest.  Source  DeepSpeed partition_parameters.py, partitioned_param_swapper.py
///   updater   optimizer.device; of optimizer.cpu_share below 1 the GPU, which keeps their states,
///             for the first sub-groups: (1 - cpu_share) of their number, rounded down.
///             Source  DeepSpeed stage3.py, subgroup_to_device (Twin-Flow of ZeRO-Offload++)
///   states    off the GPU a weight has a master of its own where states are fp32; with 16-bit
///             states only where the weight lies on the GPU, or on storage while its states do not.
///             Those that the GPU keeps beside others are like them, always with a master
///   subgroup  as `optimizer.grouping` has it. One below 1 MiB of fp32 stays in host memory, where
///             the CPU updates it
std::vector<TensorTable> decide_tensors(const description::Scenario& scenario,
                                        const Prepared& prepared);

}  // namespace spillway::strategies
