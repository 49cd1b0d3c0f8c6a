#pragma once

#include "models/program/step_program.hpp"
#include "scenarios/description/scenario.hpp"

#include <optional>
#include <vector>

namespace spillway::strategies {

/// Where a saved tensor is between the forward that makes it and the backward that reads it.
enum class Fate : std::uint8_t {
  keep,       ///< on the GPU
  host,       ///< in pinned host memory
  ssd,        ///< on the rank's drives
  recompute,  ///< nowhere: its layer makes it again; of a block's input, the blocks before it
};

/// `activations.planner`: who gives saved tensors their fates where the policy is `plan`. None: the
/// schedule is one of plans itself (tensor_by_tensor), or the policy is another.
using description::ActivationPlanner;
std::optional<ActivationPlanner> activation_planner(const description::Strategy& strategy);

/// What becomes of every tensor that the forward saves; chosen before the run.
///   Invariant  only a tensor that its own layer makes, and no other reads, is recomputed, or what
///              one layer hands to the next
struct ActivationPlan {
  std::vector<Fate> fates;  ///< by TensorId; what no layer saves is kept
  /// A layer with a recomputed tensor runs its whole forward again, as checkpointing frameworks do;
  /// else only the operators that it takes.
  bool whole_layers = false;
  /// What runs again runs when backward needs it, not before all of it: of a block whose halves
  /// have a checkpoint each, the second half is through when the first begins.
  bool late = false;
  /// A cache decides during the run which of the tensors that could leave do: the layers are cut
  /// into modules.
  bool by_module = false;
  /// Pinned buffers through which tensors go to drives and back, each as large as the largest of
  /// them.  Source  LoHan's artifact
  std::uint64_t staging_buffers = 4;
  /// Tensors come back in the order of their use as early as there is room, not a layer ahead.
  bool returns_early = false;

  Fate of(models::TensorId tensor) const { return fates[tensor]; }
  bool operator==(const ActivationPlan&) const = default;
};

ActivationPlan keep_everything(const models::StepProgram& program);

/// Blocks keep all but what the operators make that `training.recompute` names: these run again
/// when backward needs what they made.
ActivationPlan recompute_operators(const models::Model& model, const models::StepProgram& program);

/// Blocks save nothing but their input, which goes to `inputs` (keep, host or ssd).
///   every  of so many blocks in a row only the first saves it; those of the others are made again
ActivationPlan checkpoint_blocks(const models::Model& model, const models::StepProgram& program,
                                 Fate inputs, std::uint64_t every = 1);

/// A layer's output that backward needs and that its forward makes again: of fate recompute.
bool hands_on_again(const models::StepProgram& program, std::uint32_t layer,
                    const ActivationPlan& plan);

/// Why no run can carry it out: a fate of what no layer saves, a tensor made again that other
/// layers use, a list of another length. Empty: one can.
std::string fault_of(const models::StepProgram& program, const ActivationPlan& plan);

/// The tensor from which the last part of a block, its feed-forward, goes on: the sum that its
/// forward makes last but one. None where the layer saves no such.
std::optional<models::TensorId> middle_of_block(const models::Model& model,
                                                const models::StepProgram& program,
                                                std::uint32_t layer);

/// What a cache of tensors may take off the GPU: saved activations of min_elements elements and
/// more, but for those of the layers that `skip` names.
ActivationPlan cacheable(const description::Strategy& strategy, const models::Model& model,
                         const models::StepProgram& program);

/// What `activations.policy` stands for by itself. None: a planner decides, of what is swapped or
/// of `activations.planner`.
std::optional<ActivationPlan> fates_of_policy(const description::Strategy& strategy,
                                              const models::Model& model,
                                              const models::StepProgram& program);

/// Operators of `layer`'s forward, in order, that must run again to make the tensors of fate
/// recompute. What they read is made again too, unless it is a weight, an input, or a tensor that
/// is there with the value that they read. What one of them writes is made again whole: a tensor
/// changed where it lies by a second operator takes both.
std::vector<std::uint32_t> operators_to_rerun(const models::StepProgram& program,
                                              std::uint32_t layer, const ActivationPlan& plan);

/// What backward runs of forward again.
struct Reruns {
  std::vector<std::vector<std::uint32_t>> of_layer;  ///< operators_to_rerun
  /// By operator: of a block that goes back, for itself or to hand its output on once more.
  std::vector<bool> in_blocks;
};
Reruns reruns_of(const models::Model& model, const models::StepProgram& program,
                 const ActivationPlan& plan);

/// Matrix FLOPs of all that is recomputed in one micro-batch of one rank.
models::Flops recomputed_flops(const models::StepProgram& program, const ActivationPlan& plan);

/// Bytes of one rank and micro-batch whose fate is `fate`, each tensor once.
std::uint64_t bytes_of(const models::StepProgram& program, const ActivationPlan& plan, Fate fate);

}  // namespace spillway::strategies
