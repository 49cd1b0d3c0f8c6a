#include "reports/view/json_page.hpp"

#include "reports/view/chart_data.hpp"

namespace spillway::view {

namespace {

using nlohmann::json;

json json_of(const Number& n) {
  return {{"value", n.value},
          {"quantity", to_string(n.quantity)},
          {"unit", unit_of(n)},
          {"origin", to_string(n.origin)},
          {"words", words(n)}};
}

json json_of(const Text& text) {
  json out = json::array();
  for (const Text::Piece& piece : text.pieces())
    out.push_back(piece.is_number ? json_of(piece.number) : json(piece.words));
  return out;
}

json json_of(const Node& node) {
  json parts = json::array();
  for (const Node& part : node.parts) parts.push_back(json_of(part));
  return {{"label", json_of(node.label)},
          {"amount", json_of(node.amount)},
          {"note", node.note},
          {"parts", parts}};
}

json json_of(const Bar& bar) {
  json parts = json::array();
  for (const BarPart& part : bar.parts)
    parts.push_back({{"label", part.label}, {"amount", json_of(part.amount)}, {"note", part.note}});
  return {{"label", bar.label},
          {"parts", parts},
          {"limit", bar.limit ? json_of(*bar.limit) : json(nullptr)},
          {"beside", json_of(bar.beside)}};
}

/// One block; its member "block" says which.
struct Blocks {
  json operator()(const Heading& one) const {
    return {
        {"block", "heading"}, {"text", json_of(one.text)}, {"level", one.level}, {"id", one.id}};
  }
  json operator()(const Paragraph& one) const {
    constexpr const char* tones[] = {"plain", "verdict", "warning", "note"};
    return {{"block", "paragraph"},
            {"text", json_of(one.text)},
            {"tone", tones[static_cast<std::size_t>(one.tone)]}};
  }
  json operator()(const Verbatim& one) const {
    return {{"block", "verbatim"}, {"title", one.title}, {"text", one.text}};
  }
  json operator()(const Table& table) const {
    json out = {{"block", "table"}, {"columns", json::array()}, {"rows", json::array()}};
    for (const Column& column : table.columns) out["columns"].push_back(column.title);
    for (const std::vector<Cell>& row : table.rows) {
      json cells = json::array();
      for (const Cell& cell : row)
        cells.push_back({{"text", json_of(cell.text)}, {"best", cell.best}, {"note", cell.note}});
      out["rows"].push_back(std::move(cells));
    }
    return out;
  }
  json operator()(const Tree& tree) const {
    json out = {{"block", "tree"}, {"title", tree.title}, {"roots", json::array()}};
    for (const Node& root : tree.roots) out["roots"].push_back(json_of(root));
    return out;
  }
  json operator()(const Bars& bars) const {
    json out = {{"block", "bars"}, {"title", bars.title}, {"bars", json::array()}};
    for (const Bar& bar : bars.bars) out["bars"].push_back(json_of(bar));
    return out;
  }
  json operator()(const Series& series) const {
    return {{"block", "series"}, {"series", json::parse(chart_data(series))}};
  }
  json operator()(const Lanes& lanes) const {
    return {{"block", "lanes"}, {"lanes", json::parse(chart_data(lanes))}};
  }
  json operator()(const Columns& columns) const {
    json out = {{"block", "columns"}, {"documents", json::array()}};
    for (const Document& document : columns.documents)
      out["documents"].push_back(to_json(document));
    return out;
  }
  json operator()(const Data& data) const {
    return {{"block", "data"}, {"id", data.id}, {"json", json::parse(data.json)}};
  }
};

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// "time" of numbers in seconds: "time [s]".
std::string header_of(const Table& table, std::size_t c) {
  const Column& column = table.columns[c];
  std::string unit;
  for (const std::vector<Cell>& row : table.rows) {
    const Number* number = c < row.size() ? row[c].text.number() : nullptr;
    if (number && unit.empty()) unit = unit_of(*number);
  }
  return (column.name.empty() ? column.title : column.name) +
         (unit.empty() ? "" : " [" + unit + "]");
}

std::string field_of(const Cell& cell) {
  const bool alone = cell.text.pieces().size() == 1 && cell.text.number();
  return alone ? exact(*cell.text.number()) : words(cell.text);
}

}  // namespace

json to_json(const Document& document) {
  json blocks = json::array();
  for (const Block& block : document.blocks) blocks.push_back(std::visit(Blocks(), block.content));
  return {{"title", document.title}, {"blocks", std::move(blocks)}};
}

std::string to_csv(const Table& table) {
  std::string out;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += (c ? "," : "") + quoted(header_of(table, c));
  out += "\n";
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      out += (c ? "," : "") + (c < row.size() ? quoted(field_of(row[c])) : "");
    out += "\n";
  }
  return out;
}

}  // namespace spillway::view
