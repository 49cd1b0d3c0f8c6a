#include "strategies/decide/tensors_json.hpp"

#include "reports/result/reading.hpp"
#include "scenarios/description/names.hpp"

#include <fmt/format.h>

#include <array>

namespace spillway::strategies {

namespace {

using nlohmann::json;
using result::read;
using result::read_part;

constexpr std::array<std::string_view, 3> group_names{"none", "data", "expert_data"};
constexpr std::array<std::string_view, 3> state_names{"master", "momentum", "variance"};

[[noreturn]] void refuse_table(const std::string& path, const std::string& message) {
  throw description::ScenarioError({{"", 0, 0, path, message, "take what decision_json() wrote"}});
}

/// Reads a member that is one of the words of an enum, in the order of its declaration.
template <class E, std::size_t N>
void read_word(const json& in, const char* key, const std::array<std::string_view, N>& words,
               E& member) {
  std::string word;
  read(in, key, word);
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) refuse_table(key, fmt::format("no \"{}\"", word));
  member = static_cast<E>(found - words.begin());
}

template <class E>
void read_word(const json& in, const char* key, E& member) {
  read_word(in, key, description::names_of<E>, member);
}

// ---- Formats

json format_json(const NumberFormat& format) {
  const auto type = description::name_of(format.type);
  if (format.block == 0) return type;
  json packed = {
      {"type", type}, {"block", format.block}, {"scale", description::name_of(format.scale)}};
  if (format.scale_block > 0) packed["scale_block"] = format.scale_block;
  if (format.factored) packed["factored"] = true;
  return packed;
}

NumberFormat read_format(const json& in, const std::string& key) {
  NumberFormat format;
  if (!in.contains(key)) refuse_table(key, "is missing");
  if (in.at(key).is_string()) {
    read_word(in, key.c_str(), format.type);
    return format;
  }
  read_part(in, key, [&](const json& all) {
    read_word(all, "type", format.type);
    read(all, "block", format.block);
    read_word(all, "scale", format.scale);
    if (all.contains("scale_block")) read(all, "scale_block", format.scale_block);
    if (all.contains("factored")) read(all, "factored", format.factored);
  });
  return format;
}

// ---- Rows

json shards_json(const Partition& shards) {
  return {{"group", group_names.at(static_cast<std::size_t>(shards.group))},
          {"ways", shards.ways},
          {"weights", shards.weights},
          {"gradients", shards.gradients},
          {"states", shards.states}};
}

/// What rows have in common that differ in their elements and their sub-group.
TensorRow without_size(TensorRow row) {
  row.elements = 0;
  row.subgroup.reset();
  return row;
}

json row_json(const TensorRow& row) {
  json all = {{"weight", format_json(row.weight)},
              {"home", description::name_of(row.home)},
              {"whole", row.whole},
              {"shards", shards_json(row.shards)}};
  if (row.is_cast()) all["parameter"] = format_json(row.parameter);
  if (row.gradient) all["gradient"] = format_json(*row.gradient);
  for (const StateFormat& state : row.states)
    all["states"][std::string(state_names.at(static_cast<std::size_t>(state.kind)))] =
        format_json(state.format);
  if (!row.states.empty()) all["state_home"] = description::name_of(row.state_home);
  if (row.has_copy) all["has_copy"] = true;
  if (row.updater) all["updater"] = description::name_of(*row.updater);
  return all;
}

TensorRow read_row(const json& in) {
  TensorRow row;
  row.weight = read_format(in, "weight");
  read_word(in, "home", row.home);
  read(in, "whole", row.whole);
  read_part(in, "shards", [&](const json& shards) {
    read_word(shards, "group", group_names, row.shards.group);
    read(shards, "ways", row.shards.ways);
    read(shards, "weights", row.shards.weights);
    read(shards, "gradients", row.shards.gradients);
    read(shards, "states", row.shards.states);
  });
  if (row.shards.ways == 0) refuse_table("shards.ways", "is 0");
  if (in.contains("gradient")) row.gradient = read_format(in, "gradient");
  read_part(in, "states", [&](const json& states) {
    for (std::size_t kind = 0; kind < state_names.size(); ++kind)
      if (const std::string name(state_names.at(kind)); states.contains(name))
        row.states.push_back({static_cast<StateKind>(kind), read_format(states, name)});
  });
  if (in.contains("state_home")) read_word(in, "state_home", row.state_home);
  read(in, "has_copy", row.has_copy);
  // absent: that of the weight; in files of older releases that of a copied master
  row.parameter = in.contains("parameter") ? read_format(in, "parameter")
                  : row.has_copy           ? row.master()
                                           : row.weight;
  if (in.contains("updater")) read_word(in, "updater", row.updater.emplace());
  return row;
}

/// An entry of `of_weights`.
struct RowRun {
  std::size_t row = 0;
  std::optional<std::uint32_t> subgroup;
  std::size_t count = 0;
};

RowRun read_run(const json& in, std::size_t rows) {
  RowRun run;
  const auto whole = [](const json& number) { return number.is_number_unsigned(); };
  if (!in.is_array() || in.size() != 3 || !whole(in[0]) || !whole(in[2]) ||
      !(in[1].is_null() || whole(in[1])))
    refuse_table("of_weights", "an entry is not such as [row, sub-group, count]");
  run.row = in[0].get<std::size_t>();
  if (!in[1].is_null()) run.subgroup = in[1].get<std::uint32_t>();
  run.count = in[2].get<std::size_t>();
  if (run.row >= rows) refuse_table("of_weights", fmt::format("there is no row {}", run.row));
  return run;
}

}  // namespace

json tensors_json(const TensorTable& table) {
  std::vector<TensorRow> kinds;
  json rows = json::array(), runs = json::array();
  for (const TensorRow& row : table.rows()) {
    const TensorRow kind = without_size(row);
    auto found = std::find(kinds.begin(), kinds.end(), kind);
    if (found == kinds.end()) {
      found = kinds.insert(kinds.end(), kind);
      rows.push_back(row_json(row));
    }
    const json subgroup = result::or_null(row.subgroup);
    const auto number = static_cast<std::size_t>(found - kinds.begin());
    if (!runs.empty() && runs.back()[0] == number && runs.back()[1] == subgroup)
      runs.back()[2] = runs.back()[2].get<std::size_t>() + 1;
    else
      runs.push_back({number, subgroup, std::size_t{1}});
  }
  return {{"rows", std::move(rows)}, {"of_weights", std::move(runs)}};
}

TensorTable read_tensors(const json& in, const std::vector<std::uint64_t>& elements) {
  std::vector<TensorRow> kinds, rows;
  if (!in.contains("rows") || !in["rows"].is_array()) refuse_table("rows", "is no list");
  for (const json& row : in["rows"]) kinds.push_back(read_row(row));
  if (!in.contains("of_weights") || !in["of_weights"].is_array())
    refuse_table("of_weights", "is no list");
  for (const json& entry : in["of_weights"]) {
    const RowRun run = read_run(entry, kinds.size());
    if (run.count > elements.size() - rows.size())
      refuse_table("of_weights",
                   fmt::format("is of more weights than the model has: {}", elements.size()));
    for (std::size_t i = 0; i < run.count; ++i) {
      TensorRow& row = rows.emplace_back(kinds[run.row]);
      row.elements = elements[rows.size() - 1];
      row.subgroup = run.subgroup;
    }
  }
  if (rows.size() != elements.size())
    refuse_table("of_weights",
                 fmt::format("is of {} weights, the model has {}", rows.size(), elements.size()));
  return TensorTable(std::move(rows));
}

}  // namespace spillway::strategies
