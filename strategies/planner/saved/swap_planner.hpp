#pragma once

#include "models/program/step_program.hpp"

#include <span>
#include <vector>

/// How many bytes of activations to swap so that the whole step is shortest: LoHan's Equations 1 to
/// 8 and Algorithm 1. Pure functions of numbers.
namespace spillway::strategies {

/// Saved tensors that are swapped or computed again together, since one kernel makes them.
///   Marginal  without them, and only then, backward computes `flops` again
struct SwapItem {
  std::uint64_t bytes = 0;
  std::uint64_t flops = 0;
  std::vector<models::TensorId> tensors;  ///< may be empty in problems that no model is behind
  /// False: with it, and all before it in the order, a block's backward finds no room on the GPU.
  bool fits = true;
};

/// One rank's step and the node it runs on; the equations' symbols in brackets.
struct SwapProblem {
  std::uint64_t forward_flops = 0;  ///< of a rank [FLOP_f]
  std::uint64_t least_bytes = 0;    ///< of a rank: swapped in any case [A_interBlock]
  std::vector<SwapItem> items;      ///< of a rank, the rest, in the order of the model
  std::uint64_t parameters = 0;     ///< of the node: all its ranks' shares [P]
  std::uint64_t ranks = 1;
  std::uint64_t host_bytes = 0;  ///< of the node, for swapped activations [MEM_avail]
  /// Of the node: what they may take there once pinned memory is rounded.
  std::uint64_t host_room = 0;
  double flops_per_s = 0;        ///< of a GPU [THP_G]
  double down_bytes_per_s = 0;   ///< of a GPU's link, to the host [BW_G]
  double up_bytes_per_s = 0;     ///< ... to the GPU [BW_G]
  double read_bytes_per_s = 0;   ///< of the array [BW_S2M]
  double write_bytes_per_s = 0;  ///< [BW_M2S]
  double mixed_efficiency = 1;   ///< r/R + w/W of the array as backward mixes reads and writes
  bool spills = true;            ///< what finds no room there goes to the drives; else no plan
  double adam_per_s = 0;         ///< parameters of a node; infinity: none in backward
  // bytes per parameter
  std::uint64_t up = 2;          ///< weights to the GPUs, in each pass
  std::uint64_t down = 2;        ///< gradients to the host
  std::uint64_t read = 2;        ///< weights from the drives, in each pass
  std::uint64_t read_also = 12;  ///< states, in backward
  std::uint64_t written = 14;    ///< states and new weights, in backward
};

struct SwapTimes {
  double forward_s = 0, backward_s = 0;
  double step_s() const { return forward_s + backward_s; }  ///< Eq. 1
};

/// Seconds of a step that swaps `bytes` on each rank and computes `recompute_flops` again.
///   Source  LoHan, Eq. 2 to 5. Added: the alpha share is never below 0; Adam is one of backward's
///           resources; both directions of the link have a rate; several ranks share the array.
///           Infinite where what must stay in host memory finds no room
SwapTimes swap_times(const SwapProblem& problem, std::uint64_t bytes,
                     std::uint64_t recompute_flops);
/// Of a node's swapped bytes those that host memory has no room for (Eq. 3).
std::uint64_t spilled_bytes(const SwapProblem& problem, std::uint64_t bytes);

enum class SwapOrder {
  /// FLOPs per byte (Eq. 6), highest first. Where they are equal, as in the blocks of a model, each
  /// prefix is spread over the model: Eq. 5 is the longest of what backward does at once, and holds
  /// where the GPU's work goes as evenly as the update's.
  offloading_benefit,
  layer,  ///< as in the model
};
/// Indices into SwapProblem::items.
std::vector<std::size_t> swap_order(const SwapProblem& problem, SwapOrder order);

struct SwapPlan {
  std::vector<std::size_t> taken;  ///< indices into SwapProblem::items, in the order taken
  std::uint64_t bytes = 0;         ///< of a rank, `least_bytes` among them
  std::uint64_t recompute_flops = 0;
  /// 1: the step is shortest with the least that can be swapped; 2: with everything; 3: between.
  int which_case = 1;
  SwapTimes times;
};

/// Takes items in order while the step gets shorter; one that leaves it as long, or does not fit,
/// ends the search.
///   Optimal  over all prefixes where the order is by benefit: the step is convex in the bytes
///   Source   LoHan, Algorithm 1
SwapPlan plan_swap(const SwapProblem& problem, SwapOrder order = SwapOrder::offloading_benefit);
/// The prefix of the order that comes nearest to `bytes`; of two the smaller.
SwapPlan plan_swap_of(const SwapProblem& problem, SwapOrder order, std::uint64_t bytes);

/// Items of all blocks of a model: each matrix operator of a block's forward with the saved tensors
/// that need it, those with a tensor in common joined; every other saved tensor for itself, without
/// FLOPs.
///   least    from which recomputation starts, beside the inputs of blocks: not among them
std::vector<SwapItem> swap_items(const models::Model& model, const models::StepProgram& program,
                                 std::span<const models::TensorId> least = {});
/// Those of one block, where what counts is `costs`, by operator, instead of FLOPs.
std::vector<SwapItem> items_of_block(const models::StepProgram& program, std::uint32_t layer,
                                     std::span<const std::uint64_t> costs,
                                     std::span<const models::TensorId> least = {});

}  // namespace spillway::strategies
