#pragma once

#include "models/program/step_program.hpp"
#include "scenarios/description/training.hpp"
#include "strategies/memory/block.hpp"

#include <optional>
#include <string_view>

namespace spillway::strategies {

struct Subgroup;

using description::ElementType;

/// What an operand is to the work that uses it; only a machine that computes asks.
enum class Role : std::uint8_t {
  any,        ///< nothing is computed with it
  tensor,     ///< of a step program: `index` is its TensorId
  workspace,  ///< of an operator
  weight,     ///< 16-bit (or only) copy of a weight
  master,
  momentum,
  variance,
  states,    ///< momentum and variance, in this order
  gradient,  ///< of a weight
  input,     ///< of a conversion; `index` pairs it with its output
  output,
  indices,  ///< of columns, 32 bits each
  kept,     ///< by the CPU, from an operator to its backward
  squares,  ///< of a norm: where the exact sum of its input's squares goes, 64 bytes
};

struct BoundOperand {
  /// `index` of an operand that holds all members of a sub-group, each at its offset.
  static constexpr std::uint32_t whole_group = ~std::uint32_t{0};

  View view;
  models::Access access = models::Access::read;
  Role role = Role::any;
  ElementType type = ElementType::fp32;
  bool fresh = false;       ///< a sum begins here: what is in it is not added to
  std::uint32_t index = 0;  ///< of a tensor, a weight, a sub-group's member, or a pair
  BoundOperand(View bound, models::Access how) : view(std::move(bound)), access(how) {}
  BoundOperand(View bound, models::Access how, Role what, ElementType of, std::uint32_t number)
      : view(std::move(bound)), access(how), role(what), type(of), index(number) {}
};

/// Where a training stands and what its kernels are to calculate with.
struct StepNumbers {
  std::uint64_t step = 0;         ///< from 0
  std::uint64_t micro_batch = 0;  ///< of the step, from 0
  std::uint64_t update = 0;       ///< from 1: steps that were not skipped, this one included
  float loss_scale = 1;
  float inverse_scale = 1;  ///< of a gradient: 1 / (loss scale x micro-batches x replicas)
};

/// Kernels that are no operator of the step program.
enum class GpuWork : std::uint8_t {
  operation,   ///< `GpuKernel::operation`
  sum,         ///< output = all inputs, in order; one input: a conversion
  norm,        ///< reads its input; squares = the sum of its squares
  add_norms,   ///< squares = the sum of such sums, the input, one behind the other
  root,        ///< output (fp32) = the square root of such a sum, the input
  scale,       ///< gradients in place, by one: `StepNumbers::inverse_scale` has the number
  check,       ///< output (fp32) = 1 when an input has an inf or a NaN, else 0
  set,         ///< output (fp32) = `value`
  initialize,  ///< first values of its outputs: weights, states
  adam_part,   ///< `GpuKernel::part` of `operation`, an update
  muon_part,   ///< `GpuKernel::muon` of `operation`, an update of a matrix that ranks share
  /// output (fp32) = sums of the magnitudes of the input's columns, the rows in ascending order.
  sum_columns,
  /// indices = the columns whose sums, the input, are the largest, as many as there is room for,
  /// the largest first, of two alike the first.
  choose_columns,
  take_columns,  ///< output = those columns of the input, as PackedColumns says where they lie
  put_columns,   ///< those columns of the output = the input
};

/// Where the chosen columns of a matrix lie that is cut into shares of `share` elements, row by
/// row: those of each share behind one another, row by row and in the order of their indices, and
/// 0 where they are no part of the share, as in a row that two shares have parts of. Where all
/// columns are chosen each share lies as it is.
struct PackedColumns {
  std::uint64_t rows = 0, columns = 0, chosen = 0;  ///< of the whole matrix
  std::uint64_t share = 0;

  /// Numbers that the columns of a share have room for.
  constexpr std::uint64_t room() const {
    if (chosen == columns) return share;
    const std::uint64_t cut = share % columns == 0 ? 0 : 1;
    return (description::divide_up(share, columns) + cut) * chosen;
  }
};

/// The element-wise kernels of an Adam that is not fused, in their order: the lines of
/// hw_backend/cpu/optimizer_step.hpp in pieces, through a denominator of fp32, a workspace.
///   Source  PyTorch, torch/optim/adam.py, _single_tensor_adam
enum class AdamPart : std::uint8_t {
  momentum,  ///< momentum, with the gradient
  decay,     ///< variance, by beta2
  variance,  ///< variance, with the gradient
  root,      ///< variance to the denominator
  correct,   ///< denominator, by what the first steps lack
  shift,     ///< denominator, by epsilon
  apply,     ///< master or weight, with momentum and denominator
};

/// Muon's step of a weight of which a rank has a share, in the order of its kernels. Numbers that
/// are sent lie in bf16, one share behind the other.
enum class MuonPart : std::uint8_t {
  momentum,       ///< momentum, with the gradient; output = gradient + beta momentum
  orthogonalize,  ///< output, all shares of it, in place, through a workspace
  apply,          ///< master or weight, with the input
};

/// Of an exact sum of squares in memory: 16 fp32 numbers, which an all-reduce may add up.
inline constexpr std::uint64_t square_sum_bytes = 64;

/// One kernel on a stream of a rank's GPU: the operator, its cost, its operands in GPU memory.
///   The simulator uses the cost, the counting machine the demand, the real machine the operator.
struct GpuKernel {
  std::string_view name;  ///< outlives the run
  /// Of the step program; null for conversions and copies.
  const models::Operator* operation = nullptr;
  double flops = 0;      ///< of matrix products
  double bytes = 0;      ///< GPU memory traffic, read + written
  double updated = 0;    ///< parameters that an optimizer step updates
  bool matrix = false;   ///< bounded by the compute rate; else by memory (see ElementwiseCost)
  bool in_pass = false;  ///< in forward or backward, whose memory-bound time `compute` may include
  bool recompute = false;
  GpuWork work = GpuWork::operation;
  AdamPart part = AdamPart::momentum;
  MuonPart muon = MuonPart::momentum;
  StepNumbers numbers{};
  float value = 0;  ///< that `set` sets
  /// Of the weight, where the operands begin; of a muon_part, of the input or output, where the
  /// rank's share of the weight begins.
  std::uint64_t first_element = 0;
  std::uint64_t rows = 0, columns = 0;  ///< of a matrix of which some columns are chosen
  std::uint64_t share = 0;              ///< elements of each of its shares, whole ones' all
  std::uint64_t shares = 1;             ///< that are there, from `first_element` on
  std::vector<BoundOperand> operands;
};

enum class CpuWork {
  adam,           ///< optimizer step of `elements` parameters
  convert,        ///< change of element type, or widening and adding
  add,            ///< of two arrays of fp32 into one: bounded by DRAM alone
  scale,          ///< of arrays by one number, in place: bounded by DRAM alone
  check_chained,  ///< abs, isinf, any, isnan, any: one thread, 20 B per fp32 element
  check_fused,    ///< one pass over the bits, all cores
  initialize,     ///< first values of weights and states, at the rate of `convert`
  checkpoint,     ///< reads masters, at the rate of `convert`
  touch,          ///< first writes to pages that are new: one thread, at `first_touch`
  products,       ///< `flops` of matrix products at `host.compute`, or as fast as DRAM gives them
};
inline constexpr std::size_t cpu_work_count = static_cast<std::size_t>(CpuWork::products) + 1;

/// Work on a node's cores: bounded by its rate in the machine file and by DRAM, shared with
/// everything else there.
struct CpuKernel {
  CpuWork work = CpuWork::adam;
  std::uint64_t elements = 0;
  std::uint64_t traffic = 0;                    ///< bytes of DRAM traffic, read + written
  double flops = 0;                             ///< of products
  const models::Operator* operation = nullptr;  ///< what has the products
  const Subgroup* group = nullptr;              ///< of Adam and checkpoints: what the operands hold
  std::uint64_t share = 0;  ///< of `group`: the rank whose share of each weight it is
  StepNumbers numbers{};
  std::uint64_t first_element = 0;  ///< where there is no `group`: of the weight
  std::vector<BoundOperand> operands;
};

/// Near-storage processing: `read` bytes inside the device, then Adam of `elements`, then `written`
/// bytes.
struct StorageKernel {
  std::uint64_t elements = 0;
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::optional<std::uint32_t> drive{};  ///< that does it; none: all, each an equal part
  const Subgroup* group = nullptr;       ///< what the operands hold
  StepNumbers numbers{};
  std::vector<BoundOperand> operands{};  ///< parts of extents on that storage
};

/// What a group computes together; sums run in rank order on every machine.
///   all_gather       in: own shard [n/G]; out: all shards [n]
///   reduce_scatter   in: [n]; out: own shard of the sum [n/G]
///   all_reduce       in: [n]; out: [n], may be the same view
///   all_to_all       in: [n], a part for each member in rank order; out: [n], a part from each.
///                    Where parts differ (PartPieces::shares), one of the two has room for what the
///                    busiest member gets, and every member's has as much
///   ring_shift       in: [n]; out: [n], that of the member before; the first's comes from the last
///   In place         a shard may lie in the whole, where the member's own place in it is
enum class Collective { all_gather, reduce_scatter, all_reduce, all_to_all, ring_shift };
/// Of an all_to_all: in how many pieces of one length each part lies, the parts taking turns, in
/// `in` and in `out` of its members. A part of some columns of a matrix has a piece in each row.
struct PartPieces {
  std::uint64_t in = 1, out = 1;
  /// Where parts differ: in which proportion to each other are what each member sends to all; of
  /// what `returns`, what comes from them. The shorter of `in` and `out` is their sum. They live as
  /// long as the machine. Empty: equal parts.
  std::span<const std::uint64_t> shares = {};
  bool returns = false;
};
bool operator==(const PartPieces& a, const PartPieces& b);
std::string_view to_string(Collective collective);

}  // namespace spillway::strategies
