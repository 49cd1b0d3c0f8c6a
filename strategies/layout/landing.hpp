#pragma once

#include "models/architecture/model.hpp"
#include "scenarios/description/scenario.hpp"

namespace spillway::strategies {

/// Gradients come down as ZeRO-1 and 2 of DeepSpeed bring them: made on the GPU what the optimizer
/// reads, fp32 or as wide as its masters. `gradients.lands` auto: where weights stay on the GPU
/// whole, masters apart from them lie in host memory and nobody takes gradients but the update.
///   Source  DeepSpeed stage_1_and_2.py, async_inplace_copy_grad_to_fp32_buffer_from_gpu
bool lands_in_states(const description::Scenario& scenario);

/// ... and a process of its own updates beside the next step (optimizer.staleness 1), in memory
/// that both share.
///   Source  DeepSpeed zenflow_utils.py, start_optimizer_process
bool updates_in_shared_memory(const description::Scenario& scenario);

/// ... and micro-batches add up on the GPU before, as ZeRO-1 reduces once a step.
bool sums_before_landing(const description::Scenario& scenario);

/// Ranks add up gradients so that each has the sum of what it updates, and nothing else of it:
/// `gradients.collective`, auto: where ZeRO shares gradients.
///   Source  ZeRO (SC'20) 5.2 and 7.2
bool scatters_gradients(const description::Scenario& scenario);

/// How often a rank rewrites gradients on the GPU before ranks add them up: copied into a bucket
/// (gradients.reduce_bucket), put together by the ranks that get them, where each gets its own, and
/// divided by the number of ranks; DeepSpeed's ZeRO does so on one rank too. 0 without a bucket.
///   Source  DeepSpeed stage3.py, __add_grad_to_ipg_bucket and __avg_scatter_contiguous_grads;
///           coalesced_collectives.py, reduce_scatter_coalesced; stage_1_and_2.py, average_tensor
std::size_t rewrites_of_gradients(const description::Scenario& scenario);

/// Products add what they make of gradients to sums in fp32, wider than they would write it alone:
/// `gradients.fused_accumulation` with sums on the GPU of ranks that keep all of them.
///   Source  Megatron-LM tensor_parallel/layers.py, gradient_accumulation_fusion
bool products_widen(const description::Scenario& scenario);
/// ... those of this weight: a matrix, and of no other layer too, which adds to its gradient.
bool products_widen(const description::Scenario& scenario, const models::WeightTensor& weight);

/// Ranks add up the gradients that stay on their GPUs once backward is through: `gradients.sums`.
///   Source  Megatron-LM finalize_model_grads.py; DeepSpeed engine.py, allreduce_gradients
bool sums_at_end(const description::Scenario& scenario);

/// How often in a step a layer's gradients leave the kernels that make them: with each micro-batch,
/// or once, with `micro_batches` by_layer, whose kernels add them up.
std::uint64_t gradients_of_a_step(const description::Scenario& scenario);

/// Host memory for gradients is not pinned: `gradients.d2h` pageable with `gradients.pinned` exact.
bool gradients_are_pageable(const description::Scenario& scenario);

}  // namespace spillway::strategies
