#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "models/step_program.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/read_model.hpp"
#include "scenarios/schema_check.hpp"
#include "scenarios/shipped.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <memory>

namespace spillway::cli {

namespace {

struct Options {
  std::string model;
  models::Workload workload;
  models::ExpertLayout experts = models::ExpertLayout::stacked;
  std::uint64_t sequence = 0;  ///< 0: not given
  bool json = false, activations = false, list = false;
};

/// Saved activations of one layer, each tensor once.
struct LayerActivations {
  std::string layer;
  std::uint64_t bytes = 0;
  nlohmann::json tensors = nlohmann::json::array();
};

std::vector<LayerActivations> activations_of(const models::Model& model,
                                             const models::StepProgram& program) {
  std::vector<LayerActivations> layers;
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    LayerActivations& entry = layers.emplace_back();
    entry.layer = model.layers[layer].name;
    for (const models::TensorId id : program.saved_by(layer)) {
      const models::Tensor& tensor = program.tensors[id];
      entry.bytes += tensor.bytes.value();
      entry.tensors.push_back({{"name", tensor.name},
                               {"elements", tensor.elements},
                               {"bytes", tensor.bytes.value()},
                               {"layer_input", tensor.is_residual}});
    }
  }
  return layers;
}

nlohmann::json model_json(const Options& options, const models::Model& model,
                          const models::StepProgram& program) {
  nlohmann::json json;
  json["name"] = model.name();
  json["model_type"] = model.architecture.model_type;
  json["parameters"] = model.parameters.value();
  json["active_parameters"] = model.active_parameters.value();
  json["notes"] = model.architecture.notes;
  json["layers"] = model.layers.size();
  json["tensors"] = nlohmann::json::array();
  for (const models::WeightTensor& weight : model.weights)
    json["tensors"].push_back({{"name", weight.name},
                               {"kind", models::to_string(weight.kind)},
                               {"shape", weight.shape},
                               {"parameters", weight.parameters.value()},
                               {"layer", model.layers[weight.layer].name}});
  const double tokens = static_cast<double>(program.workload.tokens());
  json["workload"] = {{"micro_batch", program.workload.micro_batch},
                      {"sequence", program.workload.sequence},
                      {"tensor", program.workload.tensor}};
  json["forward_flops"] = program.forward_flops().value();
  json["forward_flops_per_token"] = program.forward_flops().value() / tokens;
  json["operators"] = program.operators.size();
  if (!options.activations) return json;
  json["activations"] = nlohmann::json::array();
  for (LayerActivations& layer : activations_of(model, program))
    json["activations"].push_back(
        {{"layer", layer.layer}, {"bytes", layer.bytes}, {"tensors", std::move(layer.tensors)}});
  return json;
}

std::string shape_text(const models::WeightTensor& weight) {
  std::string text;
  for (const std::uint64_t extent : weight.shape)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

/// Weight tensors of equal kind and shape in one row.
reports::Table weight_table(const models::Model& model) {
  struct Row {
    const models::WeightTensor* first;
    std::uint64_t count;
  };
  std::vector<Row> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const models::WeightTensor& weight : model.weights) {
    const auto key = std::pair(std::string(models::to_string(weight.kind)), shape_text(weight));
    const auto [at, fresh] = known.emplace(key, rows.size());
    if (fresh) rows.push_back({&weight, 0});
    ++rows[at->second].count;
  }
  reports::Table table;
  table.columns = {{"kind", reports::Align::left},
                   {"first tensor", reports::Align::left},
                   {"shape", reports::Align::right},
                   {"count", reports::Align::right},
                   {"parameters", reports::Align::right}};
  for (const Row& row : rows)
    table.rows.push_back({{models::to_string(row.first->kind)},
                          {row.first->name},
                          {shape_text(*row.first)},
                          {std::to_string(row.count)},
                          {reports::human_count(row.count * row.first->parameters.value())}});
  return table;
}

reports::Table activation_table(const models::Model& model, const models::StepProgram& program) {
  reports::Table table;
  table.columns = {{"layer", reports::Align::left},
                   {"saved for backward", reports::Align::left},
                   {"bytes", reports::Align::right},
                   {"", reports::Align::right}};
  std::uint64_t same_bytes = 0;
  std::size_t same = 0;
  for (const LayerActivations& layer : activations_of(model, program)) {
    if (layer.tensors.empty()) continue;
    const bool repeats = layer.bytes == same_bytes;
    same_bytes = layer.bytes;
    if (repeats) {
      ++same;
      continue;
    }
    if (same) table.rows.push_back({{"(" + std::to_string(same) + " more like it)"}});
    same = 0;
    table.rows.push_back({{layer.layer},
                          {"total"},
                          {reports::human_count(layer.bytes)},
                          {reports::human_memory(layer.bytes)}});
    for (const auto& tensor : layer.tensors)
      table.rows.push_back({{""},
                            {tensor["name"].get<std::string>()},
                            {reports::human_count(tensor["bytes"].get<std::uint64_t>())},
                            {reports::human_memory(tensor["bytes"].get<std::uint64_t>())}});
  }
  if (same) table.rows.push_back({{"(" + std::to_string(same) + " more like it)"}});
  return table;
}

/// "; 3,353,032,704 of them a token", where experts are chosen.
std::string active_text(const models::Model& model) {
  if (model.active_parameters == model.parameters) return "";
  return fmt::format(", {} of them active for a token",
                     reports::human_count(model.active_parameters.value()));
}

void print_model(const Options& options, const models::Model& model,
                 const models::StepProgram& program) {
  const reports::Screen screen = reports::screen_of(stdout);
  const models::Workload& workload = program.workload;
  const auto blocks = std::count_if(model.layers.begin(), model.layers.end(),
                                    [](const models::Layer& layer) { return layer.is_block; });
  std::uint64_t saved = 0;
  for (const LayerActivations& layer : activations_of(model, program)) saved += layer.bytes;
  print(reports::paragraph(
      fmt::format("{} ({}): {} parameters in {} tensors{}, {} blocks", model.name(),
                  model.architecture.model_type, reports::human_count(model.parameters.value()),
                  model.weights.size(), active_text(model), blocks),
      screen));
  print(reports::paragraph(
      fmt::format("Micro-batch {} x {} tokens, tensor split {}: {} TFLOP forward per rank, {} of "
                  "activations saved without recomputation, {} operators a step",
                  workload.micro_batch, workload.sequence, workload.tensor,
                  reports::human_number(program.forward_flops().value() / 1e12),
                  reports::human_memory(saved), program.operators.size()),
      screen));
  for (const std::string& note : model.architecture.notes)
    print(reports::paragraph("Note: " + note, screen));
  print("\n");
  print(reports::to_text(weight_table(model), screen));
  if (options.activations) {
    print("\n");
    print(reports::to_text(activation_table(model, program), screen));
  }
}

/// 1024 tokens, or what the model has positions for.
std::uint64_t default_sequence(const models::Model& model) {
  constexpr std::uint64_t usual = 1024;
  const std::uint64_t most = model.architecture.max_positions;
  return most > 0 && most < usual ? most : usual;
}

void show_model(const Options& options) {
  if (options.model.empty()) {
    for (const std::string& name : scenarios::shipped_names("models/library")) print(name + "\n");
    return;
  }
  models::Architecture architecture = scenarios::read_model(options.model);
  architecture.expert_layout = options.experts;
  if (const std::string why = models::refusal(architecture, options.experts); !why.empty())
    throw description::ScenarioError({{"", 0, 0, "--experts", why, "leave it out"}});
  const models::Model model = models::build_model(architecture);
  models::Workload workload = options.workload;
  workload.sequence = options.sequence > 0 ? options.sequence : default_sequence(model);
  const models::StepProgram program = models::build_step_program(model, workload);
  if (options.json) return print_json(model_json(options, model, program));
  print_model(options, model, program);
}

/// Accepts 1, 2, 3, ...
CLI::Validator count() {
  const auto check = [](const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    const bool above_zero = text.find_first_not_of('0') != std::string::npos;
    return digits && above_zero ? "" : "\"" + text + "\" is not a count of 1 or more";
  };
  return CLI::Validator(check, "");
}

/// An option whose values are the words of an enum.
template <class E>
void add_word(CLI::App& verb, const std::string& name, E& value) {
  std::vector<std::string> words(description::names_of<E>.begin(), description::names_of<E>.end());
  const auto read = [&value, name, words](const std::string& word) {
    const auto found = description::value_named<E>(word);
    if (!found) {
      const auto complaint = scenarios::unknown_name({}, "", word, words);
      throw CLI::ValidationError(name, complaint.message + "; " + complaint.hint);
    }
    value = *found;
  };
  verb.add_option_function<std::string>(name, read, fmt::format("{}", fmt::join(words, ", ")));
}

}  // namespace

void add_model(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "model",
      "parameters, tensors, FLOPs and activations of a model; without a name: the library");
  models::Workload& workload = options->workload;
  verb->add_option("model", options->model,
                   "shipped name, name on the Hugging Face Hub, or config.json");
  verb->add_option("--micro-batch", workload.micro_batch, "samples")->check(count());
  verb->add_option("--sequence", options->sequence,
                   "tokens; default: 1024, or as many as the model has positions")
      ->check(count());
  verb->add_option("--tensor", workload.tensor, "tensor-parallel ways")->check(count());
  add_word(*verb, "--precision", workload.precision);
  add_word(*verb, "--attention", workload.attention);
  add_word(*verb, "--experts", options->experts);
  verb->add_option("--dropout", workload.dropout, "probability; masks are saved when above 0")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_flag("--activations", options->activations, "every tensor saved for backward");
  verb->add_flag("--json", options->json, "as JSON");
  verb->footer(
      "Example:\n  spillway model qwen2.5-7b --micro-batch 4 --sequence 4096 --activations");
  verb->callback([options] { show_model(*options); });
}

}  // namespace spillway::cli
