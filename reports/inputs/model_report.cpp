#include "reports/inputs/model_report.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"

#include <map>

namespace spillway::reports {

using answer::LayerActivations;
using answer::ModelCard;
using answer::Weight;
using view::filled;
using view::Text;

namespace {

Text shape_text(const Weight& weight) {
  Text text;
  for (const std::uint64_t extent : weight.shape)
    text += (text.empty() ? "" : " x ") + Text(whole_number(extent));
  return text;
}

/// Weight tensors of equal kind and shape in one row.
Table weight_table(const ModelCard& model) {
  struct Row {
    const Weight* first;
    std::uint64_t count;
  };
  std::vector<Row> rows;
  std::map<std::pair<std::string, std::vector<std::uint64_t>>, std::size_t> known;
  for (const Weight& weight : model.tensors) {
    const auto [at, fresh] = known.emplace(std::pair(weight.kind, weight.shape), rows.size());
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
    table.rows.push_back({row.first->kind, row.first->name, shape_text(*row.first),
                          whole_number(row.count), view::count(row.count * row.first->parameters)});
  return table;
}

/// "(3 more like it)"
Text repeated(std::size_t same) { return filled("({} more like it)", {whole_number(same)}); }

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
    if (same) table.rows.push_back({repeated(same)});
    same = 0;
    table.rows.push_back(
        {layer.layer, "total", view::count(layer.bytes), view::memory(layer.bytes)});
    for (const answer::SavedTensor& tensor : layer.tensors)
      table.rows.push_back(
          {"", tensor.name, view::count(tensor.bytes), view::memory(tensor.bytes)});
  }
  if (same) table.rows.push_back({repeated(same)});
  return table;
}

/// "; 3,353,032,704 of them a token", where experts are chosen.
Text active_text(const ModelCard& model) {
  if (model.active_parameters == model.parameters) return {};
  return filled(", {} of them active for a token", {view::count(model.active_parameters)});
}

}  // namespace

view::Document model_document(const ModelCard& model) {
  view::Document document;
  document.title = model.name;
  document
      .say(filled(
          "{} ({}): {} parameters in {} tensors{}, {} blocks",
          {model.name, model.model_type, view::count(model.parameters),
           whole_number(model.tensors.size()), active_text(model), whole_number(model.blocks)}))
      .say(filled("Micro-batch {} x {} tokens, tensor split {}: {} forward per rank, {} of "
                  "activations saved without recomputation, {} operators a step",
                  {whole_number(model.micro_batch), whole_number(model.sequence),
                   whole_number(model.tensor_ways),
                   view::number(model.forward_flops, view::Quantity::trillions, "FLOP"),
                   view::memory(model.saved_bytes), whole_number(model.operators)}));
  for (const std::string& note : model.notes) document.say("Note: " + note);
  document.add(weight_table(model));
  if (model.activations) document.add(activation_table(*model.activations));
  return document;
}

std::string model_report(const ModelCard& model, const Screen& screen) {
  return to_text(model_document(model), screen);
}

}  // namespace spillway::reports
