#include "strategies/layout/layer_plan.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/layout/pass_order.hpp"
#include "strategies/layout/tensor_uses.hpp"
#include "strategies/layout/transient_space.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace spillway::strategies {

namespace {

using models::Access;
using models::Operator;
using models::OperatorKind;
using models::StepProgram;
using models::Tensor;
using models::TensorId;
using models::TensorRole;

constexpr std::uint32_t none = TensorUse::none;

class LayerLayout {
 public:
  LayerLayout(const models::Model& model, const StepProgram& program, const TensorTable& tensors,
              const ActivationPlan& activations, const std::vector<models::StagePiece>& pieces)
      : model_(model),
        program_(program),
        tensors_(tensors),
        activations_(activations),
        pieces_(pieces),
        activation_type_(kernel_type(program.workload.precision)),
        layers_(static_cast<std::uint32_t>(model.layers.size())),
        reruns_(reruns_of(model, program, activations)),
        uses_(uses_of(program, reruns_.in_blocks, {0, layers_})),
        hidden_index_(program.tensors.size(), none),
        saved_index_(program.tensors.size(), none),
        completed_by_(program.tensors.size(), none),
        late_reader_(program.tensors.size(), none),
        space_(program) {}

  LayerPlans plan() {
    while (plans_.first_backward < layers_ && !program_.layers[plans_.first_backward].goes_back())
      ++plans_.first_backward;
    note_late_readers();
    find_hidden();
    note_completion();
    for (std::uint32_t layer = 0; layer < layers_; ++layer) plan_layer(layer);
    share_out_hidden();
    note_remade();
    order_backward();
    note_first_gradients();
    return std::move(plans_);
  }

 private:
  void find_hidden() {
    std::vector<bool> crosses(program_.tensors.size(), false);
    for (const models::StagePiece& piece : pieces_)
      for (const auto* side : {&piece.crossings.receives_forward, &piece.crossings.sends_forward,
                               &piece.crossings.receives_backward, &piece.crossings.sends_backward})
        for (const TensorId id : *side) crosses[id] = true;
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      const TensorUse& use = uses_[id];
      const TensorRole role = program_.tensors[id].role;
      if ((!use.several_layers && !crosses[id]) ||
          (role != TensorRole::activation && role != TensorRole::activation_gradient))
        continue;
      hidden_index_[id] = static_cast<std::uint32_t>(plans_.hidden.size());
      const std::uint64_t bytes = program_.tensors[id].bytes.value();
      ENSURE(activations_.of(id) != Fate::recompute || made_by(id) != none,
             program_.tensors[id].name + " has several users and cannot be recomputed");
      plans_.hidden.push_back({id, activations_.of(id) == Fate::ssd ? in_sectors(bytes) : bytes,
                               role == TensorRole::activation_gradient, use.first_layer,
                               use.last_forward_layer, use.last_layer, use.in_backward});
    }
    note_traffic();
  }

  /// The layer that hands it to the next one, which needs it in backward and has it made again.
  std::uint32_t made_by(TensorId id) const {
    for (std::uint32_t layer = 0; layer < layers_; ++layer)
      if (program_.layers[layer].output == id && hands_on_again(program_, layer, activations_))
        return layer;
    return none;
  }

  /// Layers last first. Before one whose input was dropped, those below it run once more, from the
  /// next input that was not.
  void order_backward() {
    std::vector<bool> made(layers_, false);
    const auto remakes = [&](std::uint32_t layer) {
      return !plans_.layers[layer].remade.empty() && !made[layer];
    };
    for (std::uint32_t layer = layers_; layer-- > plans_.first_backward;) {
      std::uint32_t first = layer;
      while (first > 0 && remakes(first - 1)) --first;
      for (std::uint32_t i = first; i < layer; ++i) {
        plans_.backward.push_back({i, true});
        made[i] = true;
      }
      plans_.backward.push_back({layer, false});
    }
  }

  void note_remade() {
    for (std::uint32_t i = 0; i < plans_.hidden.size(); ++i) {
      const HiddenTensor& hidden = plans_.hidden[i];
      if (hidden.gradient || activations_.of(hidden.tensor) != Fate::recompute) continue;
      plans_.layers[hidden.last_forward_layer].dropped.push_back(i);
      LayerPlan& maker = plans_.layers[made_by(hidden.tensor)];
      maker.remade.push_back(i);
      maker.again = maker.forward;
      for (PassPlan::Segment& segment : maker.again.segments)
        for (PlannedKernel& kernel : segment.kernels) kernel.recompute = true;
    }
  }

  void note_traffic() {
    const auto in = [&](const std::vector<TensorId>& tensors, std::vector<std::uint32_t>& list) {
      for (const TensorId id : tensors) {
        list.push_back(hidden_index_[id]);
        plans_.hidden[list.back()].first_layer = HiddenTensor::received;
      }
    };
    const auto out = [&](const std::vector<TensorId>& tensors, std::vector<std::uint32_t>& list) {
      for (const TensorId id : tensors) {
        list.push_back(hidden_index_[id]);
        HiddenTensor& hidden = plans_.hidden[list.back()];
        hidden.sent = !hidden.gradient;
        hidden.sent_away = hidden.gradient || !uses_[id].read_later;
      }
    };
    for (const models::StagePiece& piece : pieces_) {
      LayerPiece& own = plans_.pieces.emplace_back();
      own.layers = piece.layers;
      in(piece.crossings.receives_forward, own.traffic.receives_forward);
      in(piece.crossings.receives_backward, own.traffic.receives_backward);
      out(piece.crossings.sends_forward, own.traffic.sends_forward);
      out(piece.crossings.sends_backward, own.traffic.sends_backward);
    }
    if (pieces_.empty()) plans_.pieces.push_back({{0, layers_}, {}});
  }

  /// A gradient that goes down the residual stream is in several pieces, in each for itself.
  void share_out_hidden() {
    for (const LayerPiece& piece : plans_.pieces)
      share_out_hidden(piece, plans_.pieces.size() == 1
                                  ? uses_
                                  : uses_of(program_, reruns_.in_blocks, piece.layers));
  }

  void share_out_hidden(const LayerPiece& piece, const std::vector<TensorUse>& uses) {
    const auto has = [](const std::vector<std::uint32_t>& list, std::uint32_t hidden) {
      return std::find(list.begin(), list.end(), hidden) != list.end();
    };
    for (std::uint32_t i = 0; i < plans_.hidden.size(); ++i) {
      const HiddenTensor& hidden = plans_.hidden[i];
      const TensorUse& use = uses[hidden.tensor];
      if (use.layer == none) continue;  // of another piece, or passed on from stage to stage
      auto& first = plans_.layers[use.first_layer];
      const StageTraffic& traffic = piece.traffic;
      if (!has(hidden.gradient ? traffic.receives_backward : traffic.receives_forward, i))
        (use.first < layers_ ? first.produced : first.produced_backward).push_back(i);
      if (hidden.gradient ? has(traffic.sends_backward, i) : hidden.sent_away) continue;
      if (late_reader_[hidden.tensor] != none) {
        plans_.layers[late_reader_[hidden.tensor]].released_late.push_back(i);
        continue;
      }
      auto& last = plans_.layers[use.last_layer];
      (use.last < layers_ ? last.released_forward : last.released_backward).push_back(i);
    }
  }

  /// Backward begins a weight's gradient in the last layer that uses it.
  void note_first_gradients() {
    std::vector<bool> begun(model_.weights.size(), false);
    for (std::uint32_t layer = layers_; layer-- > 0;)
      for (LayerWeight& slot : plans_.layers[layer].weights) {
        slot.begins = !begun[slot.weight];
        begun[slot.weight] = true;
      }
  }

  /// The lowest layer whose gradients of weights, where they are made later, read a tensor.
  void note_late_readers() {
    for (std::uint32_t layer = layers_; layer-- > 0;) {
      const models::Span late = program_.layers[layer].weight_gradients();
      for (std::uint32_t i = late.first; i < late.last; ++i)
        for (const models::Operand& operand : program_.operators[i].operands)
          if (operand.access == Access::read) late_reader_[operand.tensor] = layer;
    }
  }

  /// Which forward operator is the last to write a tensor.
  void note_completion() {
    for (std::uint32_t i = program_.forward.first; i < program_.forward.last; ++i)
      for (const models::Operand& operand : program_.operators[i].operands)
        if (operand.access != Access::read) completed_by_[operand.tensor] = i;
  }

  void plan_layer(std::uint32_t index) {
    LayerPlan& plan = plans_.layers.emplace_back();
    plan.layer = index;
    space_.begin_layer();
    place_weights(plan);
    place_saved(plan);
    place_late(plan);
    const models::LayerSpan& span = program_.layers[index];
    const Pass forward = all_of(span.forward);
    Pass again, backward = all_of(span.input_gradients());
    for (const std::uint32_t i : reruns_.of_layer[index]) again.push_back({i, true});
    if (activations_.late) backward = as_needed(program_, std::exchange(again, {}), backward);
    place_transients(index, {forward});
    plan.forward = plan_pass(plan, forward);
    place_transients(index, {again, backward});
    if (!again.empty()) plan.recompute = plan_pass(plan, again);
    plan.backward = plan_pass(plan, backward);
    note_moves(plan, again, backward);
    const Pass late = all_of(span.weight_gradients());
    if (late.empty()) return;
    place_transients(index, {late});
    plan.weight_gradients = plan_pass(plan, late);
  }

  static Pass all_of(models::Span span) {
    Pass pass;
    for (std::uint32_t i = span.first; i < span.last; ++i) pass.push_back({i, false});
    return pass;
  }

  void place_weights(LayerPlan& plan) {
    if (plan.layer == 0) weight_slot_.assign(model_.weights.size(), none);
    if (plan.layer > 0)
      for (const LayerWeight& slot : plans_.layers[plan.layer - 1].weights)
        weight_slot_[slot.weight] = none;
    const std::vector<std::uint32_t> used = model_.used_by(plan.layer);  // its own ones first
    for (std::size_t i = 0; i < used.size(); ++i) {
      const std::uint32_t weight = used[i];
      const TensorRow& row = tensors_.row(weight);
      if (row.elements == 0) continue;  // it never comes to the GPU
      LayerWeight slot{};
      slot.weight = weight;
      slot.offset = plan.weight_bytes;
      slot.share_bytes = share_bytes(row, row.weight, row.shards.weight_ways());
      if (row.gradient)
        slot.gradient_share_bytes = share_bytes(row, *row.gradient, row.shards.gradient_ways());
      slot.owned = i < model_.layers[plan.layer].weights.size();
      plan.weight_bytes += slot.share_bytes * row.shards.weight_ways();
      plan.gradient_bytes += slot.gradient_share_bytes * row.shards.gradient_ways();
      weight_slot_[weight] = static_cast<std::uint32_t>(plan.weights.size());
      plan.weights.push_back(slot);
    }
  }

  static std::uint64_t share_bytes(const TensorRow& row, const NumberFormat& format,
                                   std::uint64_t ways) {
    if (ways > 1) return row.share_bytes(format, ways);
    const std::uint64_t states = row.shards.state_ways();
    return in_sectors(format.bytes(row.share(states) * states));
  }

  void place_saved(LayerPlan& plan) {
    for (const TensorId id : program_.saved_by(plan.layer)) {
      const Tensor& tensor = program_.tensors[id];
      const Fate fate = activations_.of(id);
      if (hidden_index_[id] != none || tensor.role != TensorRole::activation ||
          fate == Fate::recompute || tensor.bytes.value() == 0)
        continue;
      saved_index_[id] = static_cast<std::uint32_t>(plan.saved.size());
      plan.saved.push_back({id,
                            fate == Fate::ssd ? in_sectors(tensor.bytes.value())
                                              : placed_bytes(tensor.bytes.value()),
                            fate});
    }
  }

  /// What the one half of a split backward makes, or leaves, for the other.
  void place_late(LayerPlan& plan) {
    const models::LayerSpan& span = program_.layers[plan.layer];
    const models::Span late = span.weight_gradients();
    std::vector<bool> made(program_.tensors.size(), false);
    for (std::uint32_t i = span.backward.first; i < late.first && late.first < late.last; ++i)
      for (const models::Operand& operand : program_.operators[i].operands)
        if (operand.access != Access::read) made[operand.tensor] = true;
    for (std::uint32_t i = late.first; i < late.last; ++i)
      for (const models::Operand& operand : program_.operators[i].operands) {
        const TensorId id = operand.tensor;
        const Tensor& tensor = program_.tensors[id];
        if (tensor.role == TensorRole::weight_gradient && weight_slot_[*tensor.weight] != none)
          plan.weights[weight_slot_[*tensor.weight]].late = true;
        if (tensor.role == TensorRole::activation_gradient && made[id] &&
            hidden_index_[id] == none && saved_index_[id] == none) {
          saved_index_[id] = static_cast<std::uint32_t>(plan.saved.size());
          plan.saved.push_back({id, placed_bytes(tensor.bytes.value()), Fate::keep, true, true});
        } else if (saved_index_[id] != none) {
          plan.saved[saved_index_[id]].late = true;
        }
      }
  }

  bool moves(TensorId id) const {
    return activations_.of(id) == Fate::host || activations_.of(id) == Fate::ssd;
  }

  /// The kernel of operator `i` makes the last of a tensor that leaves the GPU.
  bool completes_moved(std::uint32_t i) const {
    const auto& operands = program_.operators[i].operands;
    return std::any_of(operands.begin(), operands.end(), [&](const models::Operand& operand) {
      return saved_index_[operand.tensor] != none && moves(operand.tensor) &&
             completed_by_[operand.tensor] == i;
    });
  }

  /// What leaves in the layer's forward, and the order in which backward wants it back.
  void note_moves(LayerPlan& plan, const Pass& again, const Pass& backward) {
    const auto add = [&](TensorId id, std::uint64_t bytes, bool hidden, std::uint32_t index,
                         std::uint32_t made_in) {
      plan.leaves.push_back(static_cast<std::uint32_t>(plans_.moved.size()));
      plans_.moved.push_back({id, activations_.of(id), bytes, hidden, index, plan.layer, made_in});
    };
    const auto last = static_cast<std::uint32_t>(plan.forward.segments.size() - 1);
    for (std::uint32_t i = 0; i < plan.saved.size(); ++i)
      if (moves(plan.saved[i].tensor))
        add(plan.saved[i].tensor, plan.saved[i].bytes, false, i,
            segment_of(plan.forward, completed_by_[plan.saved[i].tensor]));
    for (std::uint32_t i = 0; i < plans_.hidden.size(); ++i) {
      const HiddenTensor& hidden = plans_.hidden[i];
      if (moves(hidden.tensor) && hidden.last_forward_layer == plan.layer && !hidden.sent_away &&
          uses_[hidden.tensor].layer != none)
        add(hidden.tensor, hidden.bytes, true, i, last);
    }
    std::stable_sort(plan.leaves.begin(), plan.leaves.end(), [&](auto one, auto other) {
      return plans_.moved[one].made_in < plans_.moved[other].made_in;
    });
    for (const Pass* pass : {&again, &backward})
      for (const Turn& turn : *pass)
        for (const models::Operand& operand : program_.operators[turn.op].operands)
          for (const std::uint32_t moved : plan.leaves)
            if (plans_.moved[moved].tensor == operand.tensor &&
                std::find(plan.returns.begin(), plan.returns.end(), moved) == plan.returns.end())
              plan.returns.push_back(moved);
    ENSURE(plan.returns.size() == plan.leaves.size(), "a tensor leaves that no backward reads");
    if (!activations_.by_module) note_parts(plan, plans_.moved);
  }

  /// The segment that ends after operator `i`: its kernel, its collective or the CPU's work.
  std::uint32_t segment_of(const PassPlan& pass, std::uint32_t i) const {
    const Operator* const op = &program_.operators[i];
    for (std::uint32_t segment = 0; segment < pass.segments.size(); ++segment) {
      for (const PlannedKernel& kernel : pass.segments[segment].kernels)
        if (kernel.operation == op) return segment;
      if (pass.segments[segment].then == op) return segment;
    }
    ENSURE(false, op->name + " is in no segment");
  }

  static bool is_no_kernel(OperatorKind kind) {
    return is_collective(kind) || kind == OperatorKind::on_cpu;
  }

  /// place_transients() has placed what this pass uses.
  PassPlan plan_pass(const LayerPlan& plan, const Pass& which) {
    PassPlan pass;
    pass.transient_bytes = space_.transient_bytes();
    pass.logits_bytes = space_.logits_bytes();
    pass.segments.emplace_back();
    const std::vector<bool> frees = frees_memory(which);
    for (std::size_t turn = 0; turn < which.size(); ++turn) {
      const std::uint32_t i = which[turn].op;
      const Operator& op = program_.operators[i];
      PlannedKernel kernel = plan_kernel(plan, which[turn]);
      for (const PlannedOperand& operand : kernel.operands)
        if (operand.area == Area::scratch)
          pass.scratch_bytes = std::max(pass.scratch_bytes, placed_bytes(operand.bytes));
      if (is_no_kernel(op.kind)) {
        pass.segments.back().then = &op;
        pass.segments.back().of = std::move(kernel.operands);
        pass.segments.emplace_back();
      } else {
        pass.segments.back().kernels.push_back(std::move(kernel));
        if (frees[turn] ||
            (i < program_.forward.last && !which[turn].recompute && completes_moved(i)))
          pass.segments.emplace_back();
      }
    }
    if (pass.segments.size() > 1 && pass.segments.back().kernels.empty() &&
        !pass.segments.back().then)
      pass.segments.pop_back();
    return pass;
  }

  /// By turn: in backward, no later one uses a tensor that came back for it and that it uses.
  std::vector<bool> frees_memory(const Pass& pass) const {
    if (activations_.by_module || pass.empty() || pass.back().op < program_.forward.last)
      return std::vector<bool>(pass.size(), false);
    return last_uses(program_, pass,
                     [&](TensorId id) { return saved_index_[id] != none && moves(id); });
  }

  PlannedKernel plan_kernel(const LayerPlan& plan, const Turn& turn) {
    const std::uint32_t i = turn.op;
    const Operator& op = program_.operators[i];
    PlannedKernel kernel{&op, turn.recompute, {}};
    for (const models::Operand& operand : op.operands) {
      PlannedOperand placed = place(operand, plan.layer, turn.recompute);
      placed.tensor = operand.tensor;
      placed.type = type_of(program_.tensors[operand.tensor]);
      if (placed.area != Area::nowhere && placed.bytes > 0) kernel.operands.push_back(placed);
    }
    if (op.workspace.value() == 0) return kernel;
    const std::optional<std::uint64_t> inside = space_.workspace(i);
    kernel.operands.push_back({inside ? Area::transient : Area::scratch, Access::read_write,
                               inside.value_or(0), op.workspace.value(), PlannedOperand::no_tensor,
                               activation_type_});
    return kernel;
  }

  description::ElementType type_of(const Tensor& tensor) const {
    if (!tensor.weight) return activation_type_;
    const TensorRow& row = tensors_.row(*tensor.weight);
    if (tensor.role == TensorRole::weight) return row.weight.type;
    return row.trainable() ? row.gradient_format().type : activation_type_;
  }

  void place_transients(std::uint32_t layer, const std::vector<Pass>& passes) {
    space_.place(passes,
                 [&](TensorId id, bool recompute) { return is_transient(id, layer, recompute); });
  }

  bool is_transient(TensorId id, std::uint32_t layer, bool recompute) const {
    const TensorRole role = program_.tensors[id].role;
    if (role != TensorRole::activation && role != TensorRole::activation_gradient) return false;
    if (hidden_index_[id] != none)
      return recompute && plans_.hidden[hidden_index_[id]].first_layer == layer &&
             uses_[id].first < layers_;
    return saved_index_[id] == none;
  }

  PlannedOperand place(const models::Operand& operand, std::uint32_t layer, bool recompute) {
    const TensorId id = operand.tensor;
    const Tensor& tensor = program_.tensors[id];
    const std::uint64_t bytes = tensor.bytes.value();
    switch (tensor.role) {
      case TensorRole::weight:
      case TensorRole::weight_gradient: {
        const bool gradient = tensor.role == TensorRole::weight_gradient;
        const std::uint32_t slot = weight_slot_[*tensor.weight];
        const bool made = !gradient || tensors_.row(*tensor.weight).trainable();
        if (slot == none || !made) return {Area::nowhere, operand.access, 0, 0};
        return {gradient ? Area::gradients : Area::weights, operand.access, slot, bytes};
      }
      case TensorRole::logits:
        if (const auto offset = space_.logits(id))
          return {Area::logits, operand.access, *offset, bytes};
        return {Area::nowhere, operand.access, 0, 0};
      case TensorRole::activation:
      case TensorRole::activation_gradient:
        if (is_transient(id, layer, recompute))
          if (const auto offset = space_.transient(id))
            return {Area::transient, operand.access, *offset, bytes};
        if (hidden_index_[id] != none)
          return {Area::hidden, operand.access, hidden_index_[id], bytes};
        if (bytes == 0) return {Area::nowhere, operand.access, 0, 0};
        return {Area::saved, operand.access, saved_index_[id], bytes};
      default:
        return {Area::nowhere, operand.access, 0, 0};
    }
  }

  const models::Model& model_;
  const StepProgram& program_;
  const TensorTable& tensors_;
  const ActivationPlan& activations_;
  const std::vector<models::StagePiece>& pieces_;
  description::ElementType activation_type_;
  std::uint32_t layers_;
  Reruns reruns_;
  std::vector<TensorUse> uses_;
  std::vector<std::uint32_t> hidden_index_;
  std::vector<std::uint32_t> saved_index_;   ///< into LayerPlan::saved of the tensor's layer
  std::vector<std::uint32_t> completed_by_;  ///< by tensor: forward operator
  std::vector<std::uint32_t> late_reader_;   ///< by tensor: layer
  std::vector<std::uint32_t> weight_slot_;   ///< by weight, in the layer being planned
  TransientSpace space_;                     ///< of the layer being planned
  LayerPlans plans_;
};

}  // namespace

LayerPlans plan_layers(const models::Model& model, const StepProgram& program,
                       const TensorTable& tensors, const ActivationPlan& activations,
                       const std::vector<models::StagePiece>& pieces) {
  return LayerLayout(model, program, tensors, activations, pieces).plan();
}

}  // namespace spillway::strategies
