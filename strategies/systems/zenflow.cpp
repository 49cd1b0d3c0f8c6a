#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// ZeRO-2 with states in host memory, whose update on the CPU goes on beside the next step, while
/// the GPU updates after each micro-batch the columns whose gradients were largest.
///   Steps     DeepSpeed's `update_interval` is `training.gradient_accumulation` here: what it
///             calls an iteration is a micro-batch
///   Numerics  of its own: all weights are updated one step late by the sum of a step's gradients,
///             but for the selected columns: the GPU updates them in 16 bits, and what the CPU
///             makes of them never reaches it. Several ranks select by the sums of all their sums
///   Selected  once, in the first micro-batch, as `select_strategy` auto does in each epoch;
///             `select_interval` in steps is not in this version: it brings weights down to the
///             masters, with `overlap_step` while these are updated
///   Warm-up   steps behind `full_warm_up_rounds`
///   Offload   `selected_states` host: states, and what waits of weights, come one weight after the
///             other through two places of the largest one's size on the GPU; DeepSpeed's come
///             bucket by bucket into memory that is made for them, and what waits is pageable
///   Memory    of the host, a parameter: masters 8, two sets of fp32 moments 16, two fp32 gradients
///             8 bytes, and 8 that stay pinned behind what moved into shared memory; the 16-bit
///             sums of several micro-batches 2
///   Differs   cores are not divided between Adam and the rest (`pt_reserved_cores_perc`); the
///             columns' Adam is one kernel a weight; a column is of the last dimension of a weight
///             as it is stored. Ranks, whose shares are some rows of each weight, add up the sums
///             of columns; DeepSpeed's, whose shares are whole columns, one weight after the other,
///             select each in its own and send indices: the same columns where a weight lies in
///             one share. In ZeRO-3 it leaves out a column that two shares have parts of. Its
///             second process takes the two sets of moments in turns; one is read here
///   ZeRO-3    each rank updates the columns of its shares, where weights are gathered from. The
///             host has two 16-bit sums, as gradients.accumulation says, and fp32 gradients of a
///             sub-group; DeepSpeed one 16-bit sum and two fp32 gradients of all
///   Source    ZenFlow (arXiv 2505.12242); DeepSpeed runtime/zenflow/ (zenflow_stage_1_and_2.py,
///             engine_stage3.py),
///             ops/adam/zenflow_torch_adam.py
System zenflow() {
  System system;
  system.name = "zenflow";
  system.summary =
      "weights on the GPU, which updates the columns that matter most after each micro-batch; all "
      "of them on the CPU, beside the next step";
  system.source = "ZenFlow (arXiv 2505.12242); DeepSpeed from 0.17.5 on";
  system.program = Program::deepspeed;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("zero_offload");
    strategy.system = "zenflow";
    strategy.weights.home = description::Home::gpu;
    strategy.weights.hooks = false;
    strategy.weights.h2d = description::WeightCopy::typed;
    strategy.weights.persistence_threshold = description::Params(0);
    strategy.gradients.staging_buffer = false;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.collective = description::GradientCollective::all_reduce;
    strategy.optimizer.subgroup = description::Params(1'000'000'000'000);
    strategy.optimizer.staleness = 1;
    strategy.optimizer.selected_share = 0.1;
    strategy.overflow_check = description::OverflowCheck::none;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
