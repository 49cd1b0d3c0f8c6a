#pragma once

#include "strategies/job.hpp"

namespace spillway::strategies {

/// The schedule of DeepSpeed's ZeRO with or without offloading, over whatever parts the scenario
/// chose. One rank, set-up and all steps.
///   forward    layers ascending: weights arrive one layer ahead, kernels, the checkpoint leaves
///   backward   layers descending: weights and checkpoint arrive one layer ahead, recomputation,
///              kernels, gradients leave
///   update     overflow check, then sub-groups
///   stages     of a pipeline: each its layers, passes of micro-batches in the order of 1F1B
///   Hides      fetches behind the kernels of the layer before (weights.overlap); gradients behind
///              the next layer's
///   Source     ZeRO-Infinity (SC'21) section 6; DeepSpeed stage3.py; MemAscend section II
Task<> train_streaming(Machine& machine, Rank rank, const Job& job);

}  // namespace spillway::strategies
