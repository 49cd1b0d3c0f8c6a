#include "reports/answer/model.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::read;

void to_json(json& out, const Weight& weight) {
  out = {{"name", weight.name},
         {"kind", weight.kind},
         {"shape", weight.shape},
         {"parameters", weight.parameters},
         {"layer", weight.layer}};
}

void from_json(const json& in, Weight& weight) {
  read(in, "name", weight.name);
  read(in, "kind", weight.kind);
  read(in, "shape", weight.shape);
  read(in, "parameters", weight.parameters);
  read(in, "layer", weight.layer);
}

void to_json(json& out, const SavedTensor& tensor) {
  out = {{"name", tensor.name},
         {"elements", tensor.elements},
         {"bytes", tensor.bytes},
         {"layer_input", tensor.layer_input}};
}

void from_json(const json& in, SavedTensor& tensor) {
  read(in, "name", tensor.name);
  read(in, "elements", tensor.elements);
  read(in, "bytes", tensor.bytes);
  read(in, "layer_input", tensor.layer_input);
}

void to_json(json& out, const LayerActivations& layer) {
  out = {{"layer", layer.layer}, {"bytes", layer.bytes}, {"tensors", layer.tensors}};
}

void from_json(const json& in, LayerActivations& layer) {
  read(in, "layer", layer.layer);
  read(in, "bytes", layer.bytes);
  read(in, "tensors", layer.tensors);
}

void to_json(json& out, const ModelCard& model) {
  const double tokens = static_cast<double>(model.micro_batch * model.sequence);
  out = {{"schema", "spillway/answer/model/1"},
         {"name", model.name},
         {"model_type", model.model_type},
         {"parameters", model.parameters},
         {"active_parameters", model.active_parameters},
         {"notes", model.notes},
         {"layers", model.layers},
         {"blocks", model.blocks},
         {"tensors", model.tensors},
         {"workload",
          {{"micro_batch", model.micro_batch},
           {"sequence", model.sequence},
           {"tensor", model.tensor_ways}}},
         {"forward_flops", model.forward_flops},
         {"forward_flops_per_token", tokens > 0 ? model.forward_flops / tokens : 0},
         {"operators", model.operators},
         {"saved_bytes", model.saved_bytes}};
  if (model.activations) out["activations"] = *model.activations;
}

void from_json(const json& in, ModelCard& model) {
  result::require_schema(in, "answer/model");
  model = {};
  read(in, "name", model.name);
  read(in, "model_type", model.model_type);
  read(in, "parameters", model.parameters);
  read(in, "active_parameters", model.active_parameters);
  read(in, "notes", model.notes);
  read(in, "layers", model.layers);
  read(in, "blocks", model.blocks);
  read(in, "tensors", model.tensors);
  result::read_part(in, "workload", [&model](const json& workload) {
    read(workload, "micro_batch", model.micro_batch);
    read(workload, "sequence", model.sequence);
    read(workload, "tensor", model.tensor_ways);
  });
  read(in, "forward_flops", model.forward_flops);
  read(in, "operators", model.operators);
  read(in, "saved_bytes", model.saved_bytes);
  read(in, "activations", model.activations);
}

}  // namespace spillway::answer
