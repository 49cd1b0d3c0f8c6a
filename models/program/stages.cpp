#include "models/program/stages.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <limits>

namespace spillway::models {

namespace {

constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

/// Layers that have to do with a tensor.
struct Reach {
  std::uint32_t maker = nobody;  ///< writes it first
  std::uint32_t lowest = nobody, highest = 0;
};

class Cutter {
 public:
  Cutter(const Model& model, const StepProgram& program,
         const std::vector<std::uint32_t>& first_layers, std::size_t stages)
      : model_(model),
        program_(program),
        bounds_(first_layers),
        stages_(stages == 0 ? first_layers.size() : stages),
        reach_(program.tensors.size()) {
    bounds_.push_back(static_cast<std::uint32_t>(model.layers.size()));
    for (std::uint32_t i = 0; i < program.backward.last; ++i) note(program.operators[i]);
  }

  std::vector<PipelineStage> cut() const {
    std::vector<PipelineStage> stages;
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      PipelineStage& made = stages.emplace_back();
      const std::vector<std::uint32_t> layers = layers_of(stage);
      made.model = cut_model(layers);
      made.program = cut_program(layers, made.model);
      made.pieces = pieces_of(stage);
      refuse_long_ways(made.pieces);
    }
    share(stages);
    return stages;
  }

 private:
  void note(const Operator& op) {
    for (const Operand& operand : op.operands) {
      Reach& reach = reach_[operand.tensor];
      if (reach.maker == nobody && operand.access != Access::read) reach.maker = op.layer;
      reach.lowest = std::min(reach.lowest, op.layer);
      reach.highest = std::max(reach.highest, op.layer);
    }
  }

  std::vector<std::uint32_t> layers_of(std::size_t stage) const {
    std::vector<std::uint32_t> layers;
    for (std::size_t piece = stage; piece + 1 < bounds_.size(); piece += stages_)
      for (std::uint32_t i = bounds_[piece]; i < bounds_[piece + 1]; ++i) layers.push_back(i);
    return layers;
  }

  std::vector<StagePiece> pieces_of(std::size_t stage) const {
    std::vector<StagePiece> pieces;
    std::uint32_t first = 0;
    for (std::size_t piece = stage; piece + 1 < bounds_.size(); piece += stages_) {
      const std::uint32_t last = first + bounds_[piece + 1] - bounds_[piece];
      pieces.push_back({{first, last}, crossings(bounds_[piece], bounds_[piece + 1])});
      first = last;
    }
    return pieces;
  }

  /// A piece's tensors are its own: what crosses ends of two of them would need a place in each.
  void refuse_long_ways(const std::vector<StagePiece>& pieces) const {
    std::vector<std::uint32_t> last_piece(program_.tensors.size(), nobody);
    for (std::uint32_t piece = 0; piece < pieces.size(); ++piece)
      for (const auto* ends :
           {&pieces[piece].crossings.receives_forward, &pieces[piece].crossings.sends_forward})
        for (const TensorId id : *ends) {
          if (last_piece[id] != nobody && last_piece[id] != piece)
            description::refuse("parallel.schedule",
                                "interleaved needs layers that read what the layer before them "
                                "made; " +
                                    program_.tensors[id].name + " goes to layers further on",
                                "write 1f1b");
          last_piece[id] = piece;
        }
  }

  Model cut_model(const std::vector<std::uint32_t>& layers) const {
    Model part;
    part.architecture = model_.architecture;
    part.weights = model_.weights;
    part.parameters = Params();
    std::vector<bool> held(model_.weights.size(), false);
    for (const std::uint32_t i : layers) {
      Layer layer = model_.layers[i];
      std::vector<std::uint32_t> borrowed;
      for (const std::uint32_t weight : layer.borrowed)
        (held[weight] ? borrowed : layer.weights).push_back(weight);
      layer.borrowed = std::move(borrowed);
      for (const std::uint32_t weight : layer.weights) {
        held[weight] = true;
        part.parameters += model_.weights[weight].parameters;
      }
      part.layers.push_back(std::move(layer));
    }
    return part;
  }

  Span append(Span span, StepProgram& part) const {
    const auto first = static_cast<std::uint32_t>(part.operators.size());
    part.operators.insert(part.operators.end(), program_.operators.begin() + span.first,
                          program_.operators.begin() + span.last);
    return {first, static_cast<std::uint32_t>(part.operators.size())};
  }

  StepProgram cut_program(const std::vector<std::uint32_t>& layers, const Model& model) const {
    StepProgram part;
    part.workload = program_.workload;
    part.to_expert_ranks = program_.to_expert_ranks;
    part.tensors = program_.tensors;
    for (const std::uint32_t i : layers) part.layers.push_back(program_.layers[i]);
    for (LayerSpan& layer : part.layers) layer.forward = append(layer.forward, part);
    part.forward = {0, static_cast<std::uint32_t>(part.operators.size())};
    for (std::size_t i = part.layers.size(); i-- > 0;)
      part.layers[i].backward = append(part.layers[i].backward, part);
    part.backward = {part.forward.last, static_cast<std::uint32_t>(part.operators.size())};
    const std::vector<bool> held = held_by(model);
    for (std::uint32_t i = program_.update.first; i < program_.update.last; ++i) {
      const TensorId updated = program_.operators[i].operands.front().tensor;
      if (held[*program_.tensors[updated].weight]) append({i, i + 1}, part);
    }
    part.update = {part.backward.last, static_cast<std::uint32_t>(part.operators.size())};
    return part;
  }

  static std::vector<bool> held_by(const Model& model) {
    std::vector<bool> held(model.weights.size(), false);
    for (const Layer& layer : model.layers)
      for (const std::uint32_t weight : layer.weights) held[weight] = true;
    return held;
  }

  /// Of a stage of layers [first, last).
  Crossings crossings(std::uint32_t first, std::uint32_t last) const {
    Crossings all;
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      const TensorRole role = program_.tensors[id].role;
      const Reach& reach = reach_[id];
      if (reach.maker == nobody || program_.tensors[id].bytes.value() == 0) continue;
      const auto crosses = [&](std::uint32_t boundary) {
        if (boundary == 0 || boundary == bounds_.back()) return false;
        const bool below =
            role == TensorRole::activation ? reach.maker < boundary : reach.lowest < boundary;
        const bool above =
            role == TensorRole::activation ? reach.highest >= boundary : reach.maker >= boundary;
        return below && above;
      };
      if (role == TensorRole::activation) {
        if (crosses(first)) all.receives_forward.push_back(id);
        if (crosses(last)) all.sends_forward.push_back(id);
      } else if (role == TensorRole::activation_gradient) {
        if (crosses(last)) all.receives_backward.push_back(id);
        if (crosses(first)) all.sends_backward.push_back(id);
      }
    }
    return all;
  }

  void share(std::vector<PipelineStage>& stages) const {
    std::vector<TiedWeight> holders(model_.weights.size());
    for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
      const std::vector<bool> held = held_by(stages[stage].model);
      for (std::uint32_t weight = 0; weight < held.size(); ++weight)
        if (held[weight]) holders[weight].stages.push_back(stage);
    }
    for (std::uint32_t weight = 0; weight < holders.size(); ++weight) {
      holders[weight].weight = weight;
      if (holders[weight].stages.size() < 2) continue;
      for (const std::uint32_t stage : holders[weight].stages)
        stages[stage].tied.push_back(holders[weight]);
    }
  }

  const Model& model_;
  const StepProgram& program_;
  std::vector<std::uint32_t> bounds_;  ///< first layers of pieces, and the number of layers
  std::size_t stages_;
  std::vector<Reach> reach_;  ///< by tensor
};

}  // namespace

std::vector<PipelineStage> cut_into_stages(const Model& model, const StepProgram& program,
                                           const std::vector<std::uint32_t>& first_layers,
                                           std::size_t stages) {
  return Cutter(model, program, first_layers, stages).cut();
}

}  // namespace spillway::models
