#include "reports/model_report.hpp"

#include "reports/human.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>
#include <map>

namespace spillway::reports {

using answer::LayerActivations;
using answer::ModelCard;
using answer::Weight;

namespace {

std::string shape_text(const Weight& weight) {
  std::string text;
  for (const std::uint64_t extent : weight.shape)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

/// Weight tensors of equal kind and shape in one row.
Table weight_table(const ModelCard& model) {
  struct Row {
    const Weight* first;
    std::uint64_t count;
  };
  std::vector<Row> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const Weight& weight : model.tensors) {
    const auto [at, fresh] = known.emplace(std::pair(weight.kind, shape_text(weight)), rows.size());
    if (fresh) rows.push_back({&weight, 0});
    ++rows[at->second].count;
  }
  Table table;
  table.columns = {{"kind", Align::left},
                   {"first tensor", Align::left},
                   {"shape", Align::right},
                   {"count", Align::right},
                   {"parameters", Align::right}};
  for (const Row& row : rows)
    table.rows.push_back({{row.first->kind},
                          {row.first->name},
                          {shape_text(*row.first)},
                          {std::to_string(row.count)},
                          {human_count(row.count * row.first->parameters)}});
  return table;
}

Table activation_table(const std::vector<LayerActivations>& layers) {
  Table table;
  table.columns = {{"layer", Align::left},
                   {"saved for backward", Align::left},
                   {"bytes", Align::right},
                   {"", Align::right}};
  std::uint64_t same_bytes = 0;
  std::size_t same = 0;
  for (const LayerActivations& layer : layers) {
    if (layer.tensors.empty()) continue;
    const bool repeats = layer.bytes == same_bytes;
    same_bytes = layer.bytes;
    if (repeats) {
      ++same;
      continue;
    }
    if (same) table.rows.push_back({{"(" + std::to_string(same) + " more like it)"}});
    same = 0;
    table.rows.push_back(
        {{layer.layer}, {"total"}, {human_count(layer.bytes)}, {human_memory(layer.bytes)}});
    for (const answer::SavedTensor& tensor : layer.tensors)
      table.rows.push_back(
          {{""}, {tensor.name}, {human_count(tensor.bytes)}, {human_memory(tensor.bytes)}});
  }
  if (same) table.rows.push_back({{"(" + std::to_string(same) + " more like it)"}});
  return table;
}

/// "; 3,353,032,704 of them a token", where experts are chosen.
std::string active_text(const ModelCard& model) {
  if (model.active_parameters == model.parameters) return "";
  return fmt::format(", {} of them active for a token", human_count(model.active_parameters));
}

}  // namespace

std::string model_report(const ModelCard& model, const Screen& screen) {
  std::string text =
      paragraph(fmt::format("{} ({}): {} parameters in {} tensors{}, {} blocks", model.name,
                            model.model_type, human_count(model.parameters), model.tensors.size(),
                            active_text(model), model.blocks),
                screen);
  text += paragraph(
      fmt::format("Micro-batch {} x {} tokens, tensor split {}: {} TFLOP forward per rank, {} of "
                  "activations saved without recomputation, {} operators a step",
                  model.micro_batch, model.sequence, model.tensor_ways,
                  human_number(model.forward_flops / 1e12), human_memory(model.saved_bytes),
                  model.operators),
      screen);
  for (const std::string& note : model.notes) text += paragraph("Note: " + note, screen);
  text += "\n" + to_text(weight_table(model), screen);
  if (model.activations) text += "\n" + to_text(activation_table(*model.activations), screen);
  return text;
}

}  // namespace spillway::reports
