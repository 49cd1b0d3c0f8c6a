#include "answers/model/model.hpp"

#include "models/architecture/model.hpp"
#include "scenarios/reading/read_model.hpp"

#include <algorithm>

namespace spillway::answers {

namespace {

std::vector<answer::LayerActivations> activations_of(const models::Model& model,
                                                     const models::StepProgram& program) {
  std::vector<answer::LayerActivations> layers;
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    answer::LayerActivations& entry = layers.emplace_back();
    entry.layer = model.layers[layer].name;
    for (const models::TensorId id : program.saved_by(layer)) {
      const models::Tensor& tensor = program.tensors[id];
      entry.bytes += tensor.bytes.value();
      entry.tensors.push_back(
          {tensor.name, tensor.elements, tensor.bytes.value(), tensor.is_residual});
    }
  }
  return layers;
}

/// 1024 tokens, or what the model has positions for.
std::uint64_t default_sequence(const models::Model& model) {
  constexpr std::uint64_t usual = 1024;
  const std::uint64_t most = model.architecture.max_positions;
  return most > 0 && most < usual ? most : usual;
}

answer::ModelCard card_of(const models::Model& model) {
  answer::ModelCard card;
  card.name = model.name();
  card.model_type = model.architecture.model_type;
  card.parameters = model.parameters.value();
  card.active_parameters = model.active_parameters.value();
  card.notes = model.architecture.notes;
  card.layers = model.layers.size();
  card.blocks = static_cast<std::uint64_t>(
      std::count_if(model.layers.begin(), model.layers.end(),
                    [](const models::Layer& layer) { return layer.is_block; }));
  for (const models::WeightTensor& weight : model.weights)
    card.tensors.push_back({weight.name, models::to_string(weight.kind), weight.shape,
                            weight.parameters.value(), model.layers[weight.layer].name});
  return card;
}

}  // namespace

answer::ModelCard model(const ModelQuestion& question) {
  models::Architecture architecture = scenarios::read_model(question.model);
  architecture.expert_layout = question.experts;
  if (const std::string why = models::refusal(architecture, question.experts); !why.empty())
    throw description::ScenarioError({{"", 0, 0, "--experts", why, "leave it out"}});
  const models::Model built = models::build_model(architecture);
  models::Workload workload = question.workload;
  workload.causal_skip = description::Training().causal_skip;
  workload.sequence = question.sequence > 0 ? question.sequence : default_sequence(built);
  const models::StepProgram program = models::build_step_program(built, workload);
  answer::ModelCard card = card_of(built);
  card.micro_batch = workload.micro_batch;
  card.sequence = workload.sequence;
  card.tensor_ways = workload.tensor;
  card.forward_flops = program.forward_flops().value();
  card.operators = program.operators.size();
  std::vector<answer::LayerActivations> activations = activations_of(built, program);
  for (const answer::LayerActivations& layer : activations) card.saved_bytes += layer.bytes;
  if (question.activations) card.activations = std::move(activations);
  return card;
}

}  // namespace spillway::answers
