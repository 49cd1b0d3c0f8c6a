#pragma once

#include "hw_backend/arithmetic/primitives.hpp"
#include "models/program/step_program.hpp"

#include <optional>
#include <span>
#include <vector>

namespace spillway::hw_backend {

/// What operators mean for one run: outlives every call that gets it.
struct Lowering {
  const models::Model* model = nullptr;
  const models::StepProgram* program = nullptr;
  std::uint64_t seed = 1;
  /// By weight, where ranks share them: how packed ones lie, gathered.
  std::vector<std::optional<PackedMatrix>> shared{};
};

/// An operand of an operator in device memory.
struct Bound {
  models::TensorId tensor = 0;
  std::byte* data = nullptr;
  bool fresh = false;  ///< of a weight gradient: nothing lies there yet, overwrite it
};

/// Which micro-batch an operator works for.
struct Moment {
  std::uint64_t step = 0;  ///< from 0
  std::uint32_t micro_batch = 0;
  std::uint32_t rank = 0;  ///< data-parallel: every rank has text of its own
  float loss_scale = 1;
  std::uint32_t share = 0;   ///< its number among context ranks, which share each sample's tokens
  std::uint32_t tensor = 0;  ///< and among tensor ranks, which share heads, columns and words
};

/// Says no before anything runs.
///   Throws  ScenarioError naming each thing that no device computes: encoders, capped scores
void require_support(const models::Model& model, const models::Workload& workload);

/// Enqueues `op` of the forward or backward of lowering.program.
///   operands   every operand but inputs (token ids and labels), in any order; others are ignored.
///              Tensors are row-major: [tokens, width], softmax and its mask [samples, heads,
///              sequence, sequence], weights as models::WeightTensor::shape says
///   workspace  at least op.workspace bytes of device memory, aligned as tensors are; null when
///              that is 0
///   loss       memory that the device can write; the loss operator of the forward adds the mean
///              cross entropy of the micro-batch to it
///   Gradients  of that mean times moment.loss_scale
///   Throws     InternalError for an operator that is no arithmetic (all-reduce, update)
void execute(Primitives& device, const Lowering& lowering, const models::Operator& op,
             std::span<const Bound> operands, std::byte* workspace, const Moment& moment,
             double* loss);

/// How `tensor` of the program is packed; none: each of its elements lies by itself.
std::optional<PackedMatrix> packing_of(const Lowering& lowering, models::TensorId tensor);

/// How weight `weight` of `model` begins: norms 1, biases 0, matrices nearly normal with deviation
/// 0.02, those that write to the residual stream divided by the root of their number; of an adapter
/// the second matrix 0, the first with the deviation of PEFT's, 1 / sqrt(3 inputs), magnitudes the
/// norms that rows of their matrix may be expected to have, where PEFT's are those they have.
///   Source  GPT-2 (Radford et al. 2019), 2.3; Hugging Face's _init_weights; PEFT's
///           reset_lora_parameters
InitialRule initial_rule(const models::Model& model, std::uint32_t weight);
RandomStream initial_stream(std::uint64_t seed, std::uint32_t weight);

/// Elements [first, first + count) of `slice` of weight `weight`, computed on the calling thread:
/// what an element is depends on (seed, weight, element of the whole) alone.
void initial_values(const models::Model& model, std::uint64_t seed, std::uint32_t weight,
                    std::uint64_t first, std::uint64_t count, Output values,
                    const WeightSlice& slice = {});

}  // namespace spillway::hw_backend
