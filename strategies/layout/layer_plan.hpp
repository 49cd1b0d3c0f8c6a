#pragma once

#include "models/program/stages.hpp"
#include "strategies/layout/fates.hpp"
#include "strategies/layout/tensor_table.hpp"

#include <string_view>
#include <vector>

namespace spillway::strategies {

/// Where an operand of a layer's kernels lies on the GPU.
enum class Area : std::uint8_t {
  weights,    ///< the layer's gathered weights
  gradients,  ///< the layer's weight gradients
  saved,      ///< activations kept from the layer's forward to its backward
  transient,  ///< activations and their gradients inside one pass of the layer, or from its
              ///< recomputation to the end of its backward
  logits,
  hidden,   ///< tensors that more than one layer touches
  scratch,  ///< an operator's workspace that finds no room among the transients
  nowhere,  ///< token ids and labels: too small to place
};
inline constexpr std::size_t area_count = static_cast<std::size_t>(Area::nowhere) + 1;

struct PlannedOperand {
  Area area;
  models::Access access;
  std::uint64_t offset;  ///< bytes inside the area; weights, gradients: index into
                         ///< LayerPlan::weights; saved: into LayerPlan::saved; hidden: into
                         ///< LayerPlans::hidden
  std::uint64_t bytes;
  models::TensorId tensor = no_tensor;
  description::ElementType type = description::ElementType::fp32;
  static constexpr models::TensorId no_tensor = ~models::TensorId{0};  ///< a workspace
};

struct PlannedKernel {
  const models::Operator* operation;
  bool recompute;
  std::vector<PlannedOperand> operands;
};

/// Kernels of one pass of a layer, cut where the GPU has to wait for others: where ranks that share
/// a model meet in a collective, where the CPU computes. Cut too after each kernel that completes a
/// tensor which leaves the GPU, and in backward after each that is the last to use one that came
/// back: its memory is free then.
struct PassPlan {
  struct Segment {
    std::vector<PlannedKernel> kernels;
    const models::Operator* then = nullptr;  ///< what comes behind them and is no kernel, or null
    std::vector<PlannedOperand> of{};        ///< its operands
    // of passes that are cut into modules:
    std::uint32_t module = 0;               ///< index into LayerPlans::modules
    std::vector<std::uint32_t> makes{};     ///< forward: indices into `saved`, used here first
    std::vector<std::uint32_t> needs{};     ///< backward: moved tensors used here first
    std::vector<std::uint32_t> releases{};  ///< moved tensors of this layer used here last
  };
  std::vector<Segment> segments;
  std::uint64_t transient_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t logits_bytes = 0;
};

/// A weight of a layer and where it lies in the layer's gathered weights (and gradients): `ways`
/// equal shares.
struct LayerWeight {
  std::uint32_t weight;
  std::uint64_t offset;                ///< bytes, of the gathered tensor
  std::uint64_t share_bytes;           ///< of one rank; the last is padded
  std::uint64_t gradient_share_bytes;  ///< 0: it is frozen
  bool owned;                          ///< false for a tied weight that another layer owns
  bool begins;                         ///< its backward is the first to make a gradient of it
  bool late = false;  ///< LayerPlan::weight_gradients makes its gradient, backward does not
};

/// A tensor that only its layer uses, from its forward to its backward, in memory of its own; or,
/// of a backward that is split, from its one half to the other.
struct SavedTensor {
  models::TensorId tensor;
  std::uint64_t bytes;
  Fate fate;  ///< not recompute
  bool made_in_backward = false;
  bool late = false;  ///< LayerPlan::weight_gradients reads it
};

/// A tensor that leaves the GPU in forward and comes back for backward.
struct MovedTensor {
  models::TensorId tensor;
  Fate fate;            ///< host or ssd
  std::uint64_t bytes;  ///< of its memory on the GPU
  bool hidden;
  std::uint32_t index;         ///< into LayerPlans::hidden, or LayerPlan::saved of `layer`
  std::uint32_t layer;         ///< leaves in its forward, is back for its backward
  std::uint32_t made_in;       ///< segment of that forward after which it can leave
  std::uint32_t saved_by = 0;  ///< forward operator that saves it first
  std::uint32_t module = 0;    ///< of that operator
  bool overwritten = false;    ///< backward puts a gradient in its place
};

/// Part of a layer that a cache of tensors works by.
struct Module {
  std::uint32_t layer;
  bool in_block;
  std::vector<std::uint32_t> moved;  ///< indices into LayerPlans::moved that it saves first
};

/// A tensor that leaves its layer: hidden states between layers, their gradients, an encoder's
/// output.
struct HiddenTensor {
  models::TensorId tensor;
  std::uint64_t bytes;
  bool gradient;
  std::uint32_t first_layer;         ///< that writes it; `received`: none of this stage
  std::uint32_t last_forward_layer;  ///< that reads it in forward
  std::uint32_t
      last_layer;  ///< whose pass is its last use (forward order, or backward order below it)
  bool used_in_backward;
  bool sent = false;       ///< by a forward, to the next stage
  bool sent_away = false;  ///< and not needed in this one when it is there
  static constexpr std::uint32_t received = ~std::uint32_t{0};
};

/// Hidden tensors that come from other pipeline stages or go there: indices into
/// LayerPlans::hidden, at both ends of a boundary in the same order.
struct StageTraffic {
  std::vector<std::uint32_t> receives_forward, sends_forward, receives_backward, sends_backward;
};

/// How a streaming system runs one layer: its kernels with their operands laid out, computed once
/// for all ranks.
struct LayerPlan {
  std::uint32_t layer;
  PassPlan forward;
  /// The forward in backward once more, for what the next layer needs of this one; no segments
  /// where that was kept.
  PassPlan again;
  PassPlan recompute;  ///< no segments where nothing is recomputed, or `backward` does so
  PassPlan backward;
  /// What backward leaves out where it is split, and what comes later; else no segments.
  PassPlan weight_gradients;
  std::vector<LayerWeight> weights;
  std::uint64_t weight_bytes = 0;    ///< of the gathered weights
  std::uint64_t gradient_bytes = 0;  ///< of their gradients, of all ranks' shares
  std::uint64_t norm_copies = 0;     ///< of a gradient, by its norm
  std::vector<SavedTensor> saved;
  std::vector<std::uint32_t> leaves;    ///< indices into LayerPlans::moved, in order of leaving
  std::vector<std::uint32_t> returns;   ///< the same, in the order of their first use in backward
  std::vector<std::uint32_t> produced;  ///< hidden tensors first written by its forward
  std::vector<std::uint32_t> produced_backward;  ///< ... by its backward
  std::vector<std::uint32_t> released_forward;   ///< hidden tensors whose last use is its forward
  std::vector<std::uint32_t> released_backward;  ///< ... its backward
  std::vector<std::uint32_t> released_late;      ///< ... its gradients of weights
  std::vector<std::uint32_t> dropped;  ///< hidden tensors that are made again, read last in forward
  std::vector<std::uint32_t> remade;   ///< hidden tensors that `again` makes
};

/// A layer's turn in backward: its backward, or what `LayerPlan::again` runs.
struct BackwardStep {
  std::uint32_t layer;
  bool again;
};

/// Layers that pass one after the other before others of the rank's do: all of them, or those of a
/// piece of a pipeline stage.
struct LayerPiece {
  models::Span layers;
  StageTraffic traffic;
};

struct LayerPlans {
  std::vector<LayerPlan> layers;
  std::vector<HiddenTensor> hidden;
  std::vector<MovedTensor> moved;
  /// Each moved tensor by each module that saves it, in forward order.
  struct Scope {
    std::uint32_t module, saved_by, moved;
  };
  std::vector<Scope> scopes;
  std::vector<LayerPiece> pieces;      ///< one at least
  std::vector<BackwardStep> backward;  ///< all turns of it, in their order
  std::vector<Module> modules;         ///< in forward order; none unless cut_into_modules made them
  /// The lowest layer that has a backward: below it nothing is trained.
  std::uint32_t first_backward = 0;
};

/// Lays out every layer of `program` for ranks that hold of each weight and of its gradient what
/// `tensors` says. Offsets are multiples of 512 B. What is whole on each rank is padded to 4096 B
/// and has room for the shares of those who share the states. A frozen weight has no gradient.
///   activations   what is recomputed has no memory between forward and backward; what its
///                 recomputation makes lives until its last use in backward, as autograd frees it
///   pieces        of a pipeline stage, whose layers `model` and `program` have; none: no stage
LayerPlans plan_layers(const models::Model& model, const models::StepProgram& program,
                       const TensorTable& tensors, const ActivationPlan& activations,
                       const std::vector<models::StagePiece>& pieces = {});

}  // namespace spillway::strategies
