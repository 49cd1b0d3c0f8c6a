#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// A weight tensor.
struct Weight {
  std::string name, kind;
  std::vector<std::uint64_t> shape;
  std::uint64_t parameters = 0;
  std::string layer;  ///< by its name
};

/// A tensor that forward keeps for backward.
struct SavedTensor {
  std::string name;
  std::uint64_t elements = 0, bytes = 0;
  bool layer_input = false;
};

/// What one layer keeps, each tensor once.
struct LayerActivations {
  std::string layer;
  std::uint64_t bytes = 0;
  std::vector<SavedTensor> tensors;
};

/// What `spillway model` answers: parameters, tensors, FLOPs and activations of a model.
struct ModelCard {
  std::string name, model_type;
  std::uint64_t parameters = 0;
  std::uint64_t active_parameters = 0;  ///< of them, for one token
  std::vector<std::string> notes;
  std::uint64_t layers = 0, blocks = 0;
  std::vector<Weight> tensors;
  std::uint64_t micro_batch = 0, sequence = 0, tensor_ways = 1;  ///< that the rest is for
  double forward_flops = 0;                                      ///< of a rank
  std::uint64_t operators = 0;                                   ///< of a step
  std::uint64_t saved_bytes = 0;  ///< of activations, without recomputation
  /// By layer; absent: nobody asked.
  std::optional<std::vector<LayerActivations>> activations;
};

// Schema spillway/answer/model/1; as in simulation.hpp.
void to_json(nlohmann::json& json, const ModelCard& model);
void from_json(const nlohmann::json& json, ModelCard& model);

}  // namespace spillway::answer
