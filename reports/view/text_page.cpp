#include "reports/view/text_page.hpp"

#include "reports/view/printable.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::view {

namespace {

/// One block as text that ends with its line end; "" of what text does not show.
class Writer {
 public:
  explicit Writer(const Screen& screen) : screen_(screen) {}

  std::string operator()(const Heading& heading) const {
    std::string out;
    for (const std::string& line : wrapped(words(heading.text), screen_.width))
      out += bold(line, screen_) + "\n";
    return out;
  }
  std::string operator()(const Paragraph& one) const {
    if (one.text.empty()) return "";
    if (!one.wraps) return std::string(one.indent, ' ') + printable_lines(words(one.text)) + "\n";
    return paragraph(words(one.text), screen_, one.indent);
  }
  std::string operator()(const Verbatim& verbatim) const {
    const std::string end = verbatim.text.ends_with("\n") ? "" : "\n";
    const std::string title = verbatim.title.empty() ? "" : verbatim.title + ":\n";
    return printable_lines(title + verbatim.text + end);
  }
  std::string operator()(const Table& table) const {
    return table.rows.empty() ? "" : to_text(table, screen_);
  }
  std::string operator()(const Tree& tree) const {
    Table table{{{tree.title, Align::left}, {"amount"}}, {}};
    for (const Node& root : tree.roots) add(table, root, 0);
    return (*this)(table);
  }
  std::string operator()(const Bars& bars) const {
    Table table{{{bars.title, Align::left}, {"amount"}, {"limit"}}, {}};
    for (const Bar& bar : bars.bars) {
      double sum = 0;
      for (const BarPart& part : bar.parts) sum += part.amount.value;
      Number whole = bar.parts.empty() ? Number{} : bar.parts.front().amount;
      whole.value = sum;
      table.rows.push_back({bar.label, whole, bar.limit ? Cell(*bar.limit) : Cell("-")});
      for (const BarPart& part : bar.parts) table.rows.push_back({"  " + part.label, part.amount});
    }
    drop_silent_columns(table);
    return (*this)(table);
  }
  std::string operator()(const Series& series) const {
    Table table{{{series.title, Align::left}, {"largest"}, {"at"}}, {}};
    for (const Curve& curve : series.curves) {
      const auto most =
          std::max_element(curve.samples.begin(), curve.samples.end(),
                           [](const Sample& a, const Sample& b) { return a.value < b.value; });
      if (most == curve.samples.end()) continue;
      table.rows.push_back({curve.label, Number{most->value, series.quantity}, seconds(most->at)});
    }
    return (*this)(table);
  }
  std::string operator()(const Lanes&) const { return ""; }
  std::string operator()(const Data&) const { return ""; }
  std::string operator()(const Columns& columns) const {
    std::string out;
    for (const Document& document : columns.documents)
      out += (out.empty() ? "" : "\n") + to_text(document, screen_);
    return out;
  }

 private:
  static void add(Table& table, const Node& node, std::size_t depth) {
    table.rows.push_back({std::string(2 * depth, ' ') + words(node.label), node.amount});
    if (!node.note.empty()) table.remarks[table.rows.size() - 1] = node.note;
    for (const Node& part : node.parts) add(table, part, depth + 1);
  }

  const Screen& screen_;
};

}  // namespace

std::string to_text(const Document& document, const Screen& screen) {
  std::string out;
  for (const Block& block : document.blocks) {
    const std::string text = std::visit(Writer(screen), block.content);
    if (text.empty()) continue;
    out += (out.empty() || block.joined ? "" : "\n") + text;
  }
  return out;
}

}  // namespace spillway::view
