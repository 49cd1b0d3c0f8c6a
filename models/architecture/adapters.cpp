#include "models/architecture/adapters.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <set>

namespace spillway::models {

namespace {

using description::Training;

/// Of "model.layers.0.self_attn.q_proj.weight" all but the last word: a module has a weight, and
/// perhaps a bias.
std::string module_of(const WeightTensor& weight) {
  const std::size_t dot = weight.name.rfind('.');
  return dot == std::string::npos ? weight.name : weight.name.substr(0, dot);
}

std::string last_word(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

bool ends_with_words(const std::string& name, const std::string& words) {
  return name == words || name.ends_with("." + words);
}

bool has_words(const std::string& name, const std::string& words) {
  return ("." + name + ".").find("." + words + ".") != std::string::npos;
}

[[noreturn]] void refuse(const char* path, std::string message, std::string hint) {
  throw description::ScenarioError({{"", 0, 0, path, std::move(message), std::move(hint)}});
}

/// Whether kernels of the type's state spaces multiply by the matrix behind them, so that PEFT
/// refuses an adapter of it.
///   Source  PEFT, tuners/tuners_utils.py: _check_lora_target_modules_mamba
bool is_fused_output(const Model& model, const WeightTensor& weight) {
  const std::string& type = model.architecture.model_type;
  return (type == "falcon_h1" || type == "nemotron_h") &&
         last_word(module_of(weight)) == "out_proj";
}

/// Experts of a layer in one tensor are no module of their own, and have no adapters.
bool may_have_adapter(const Model& model, const WeightTensor& weight) {
  return weight.multiplies_in_block() && weight.shape.size() == 2 &&
         !is_fused_output(model, weight);
}

// ---- What is frozen

bool is_frozen(const Model& model, const WeightTensor& weight, const std::string& name) {
  if (name == description::frozen_embeddings) return weight.layer == 0 && weight.decays();
  return has_words(weight.name, name) || has_words(model.layers[weight.layer].name, name);
}

/// One product multiplies a matrix and its bias, or the experts of a layer.
void require_whole_products(const Model& model) {
  for (std::size_t i = 1; i < model.weights.size(); ++i) {
    const WeightTensor &before = model.weights[i - 1], &weight = model.weights[i];
    if (weight.kind == WeightKind::bias && weight.frozen != before.frozen)
      refuse("training.frozen", "half of " + module_of(weight) + " is frozen",
             "name the module, without weight or bias");
  }
  for (const Layer& layer : model.layers)
    for (const WeightKind kind : {WeightKind::ffn_gate, WeightKind::ffn_up, WeightKind::ffn_down}) {
      std::set<bool> frozen;
      for (const std::uint32_t weight : layer.weights)
        if (model.weights[weight].kind == kind) frozen.insert(model.weights[weight].frozen);
      if (frozen.size() > 1)
        refuse("training.frozen", "some experts of " + layer.name + " are frozen, others are not",
               "name all of them");
    }
}

void freeze(Model& model, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    bool found = false;
    for (WeightTensor& weight : model.weights)
      if (is_frozen(model, weight, name)) found = weight.frozen = true;
    if (found) continue;
    std::set<std::string> known{description::frozen_embeddings};
    for (const WeightTensor& weight : model.weights) known.insert(last_word(module_of(weight)));
    refuse("training.frozen", model.name() + " has no weight that \"" + name + "\" names",
           description::known_names(name, {known.begin(), known.end()}));
  }
  require_whole_products(model);
  if (model.trained_parameters().value() == 0)
    refuse("training.frozen", "nothing is left to train", "name less");
}

// ---- Adapters

/// By weight: it has an adapter.
std::vector<bool> targets_of(const Model& model, const std::vector<std::string>& names) {
  std::vector<bool> targets(model.weights.size(), false);
  for (const std::string& name : names) {
    const bool all = name == description::all_linear_targets;
    const bool attention = name == description::attention_targets;
    bool found = false;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const WeightTensor& weight = model.weights[i];
      if (!may_have_adapter(model, weight)) continue;
      const bool named = all || (attention ? weight.multiplies_in_attention()
                                           : ends_with_words(module_of(weight), name));
      if (named) found = targets[i] = true;
    }
    if (found) continue;
    if (name == "out_proj" &&
        std::any_of(model.weights.begin(), model.weights.end(),
                    [&](const auto& one) { return is_fused_output(model, one); }))
      refuse("training.lora.targets",
             "PEFT gives out_proj of " + model.architecture.model_type +
                 " no adapter, as kernels of its state spaces multiply by the matrix themselves",
             "leave it out; all_linear does");
    std::set<std::string> known{description::all_linear_targets, description::attention_targets};
    for (const WeightTensor& weight : model.weights)
      if (may_have_adapter(model, weight)) known.insert(last_word(module_of(weight)));
    const bool could_be_modules =
        model.stacks_experts() && refusal(model.architecture, ExpertLayout::separate).empty();
    refuse("training.lora.targets",
           "no matrix of a block of " + model.name() + " is named \"" + name + "\"",
           description::known_names(name, {known.begin(), known.end()}) +
               (could_be_modules ? "; of experts: with training.experts=separate each is a module"
                                 : ""));
  }
  return targets;
}

WeightTensor magnitudes(const WeightTensor& of) {
  WeightTensor vector;
  vector.name = module_of(of) + ".lora_magnitude_vector.weight";
  vector.kind = WeightKind::adapter_magnitude;
  vector.shape = {of.outputs()};
  vector.parameters = Params(of.outputs());
  vector.layer = of.layer;
  return vector;
}

/// Where tensor ranks cut the matrix, one of the two is cut with it, the other whole on each.
///   Source  PEFT, tuners/lora/tp_layer.py
WeightTensor adapter(const WeightTensor& of, const char* name, WeightKind kind,
                     std::uint64_t outputs, std::uint64_t inputs) {
  WeightTensor matrix;
  matrix.name = module_of(of) + name;
  matrix.kind = kind;
  matrix.shape = {outputs, inputs};
  matrix.parameters = Params(outputs * inputs);
  matrix.layer = of.layer;
  if (of.cut == (kind == WeightKind::adapter_up ? Cut::columns : Cut::rows)) matrix.cut = of.cut;
  return matrix;
}

/// `model` with its weights numbered anew, adapters behind the modules that they are for.
Model with_adapters(const Model& model, const std::vector<bool>& targets,
                    const description::Lora& lora) {
  Model whole = model;
  whole.weights.clear();
  whole.parameters = Params();
  std::vector<std::uint32_t> number(model.weights.size());
  std::optional<std::uint32_t> open;  // a matrix whose adapter is still to come
  const auto add = [&](const WeightTensor& weight) {
    whole.parameters += weight.parameters;
    whole.weights.push_back(weight);
  };
  const auto close = [&] {
    if (!open) return;
    const WeightTensor of = whole.weights[*open];
    whole.weights[*open].adapter = static_cast<std::uint32_t>(whole.weights.size());
    add(adapter(of, ".lora_A.weight", WeightKind::adapter_down, lora.rank, of.inputs()));
    add(adapter(of, ".lora_B.weight", WeightKind::adapter_up, of.outputs(), lora.rank));
    if (lora.dora) add(magnitudes(of));
    open.reset();
  };
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    if (model.weights[i].kind != WeightKind::bias) close();
    number[i] = static_cast<std::uint32_t>(whole.weights.size());
    add(model.weights[i]);
    whole.weights.back().frozen = true;
    if (targets[i]) open = number[i];
  }
  close();
  for (Layer& layer : whole.layers) {
    layer.weights.clear();
    for (std::uint32_t& borrowed : layer.borrowed) borrowed = number[borrowed];
  }
  for (std::uint32_t i = 0; i < whole.weights.size(); ++i)
    whole.layers[whole.weights[i].layer].weights.push_back(i);
  return whole;
}

}  // namespace

Model as_trained(Model model, const Training& training) {
  if (training.method == description::Method::frozen) freeze(model, training.frozen);
  if (!description::has_adapters(training.method)) return model;
  const std::uint64_t idle = model.parameters.value() - model.active_parameters.value();
  Model whole = with_adapters(model, targets_of(model, training.lora.targets), training.lora);
  whole.active_parameters = Params(whole.parameters.value() - idle);
  return whole;
}

}  // namespace spillway::models
