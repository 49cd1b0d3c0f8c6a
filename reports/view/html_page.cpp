#include "reports/view/html_page.hpp"

#include "reports/view/chart_data.hpp"
#include "reports/view/packed.hpp"
#include "reports/view/page_files.hpp"
#include "reports/view/printable.hpp"
#include "reports/view/text.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::view {

namespace {

constexpr std::size_t packed_from = 1'000'000;  // bytes of a chart's data
constexpr int colours = 8;                      // of the style: .c0 to .c7

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// No "</script>" and no "<!--" can stand in it.
std::string for_script(std::string_view json) {
  std::string out;
  for (const char c : json) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

/// What stands on demand beside a number: its exact value, its unit, where it comes from.
std::string about(const Number& n) {
  const std::string unit = unit_of(n);
  std::string text = exact(n) + (unit.empty() ? "" : " " + unit);
  if (n.origin != Origin::computed) text += ", " + std::string(to_string(n.origin));
  return text;
}

std::string html(const Number& n) {
  const bool assumed = n.origin == Origin::assumed;
  std::string text = escaped(words(n));
  for (std::size_t at = 0; (at = text.find(' ', at)) != std::string::npos;)
    text.replace(at, 1, "&nbsp;");
  return fmt::format("<span class=\"number{}\" data-value=\"{}\" title=\"{}\">{}</span>{}",
                     assumed ? " assumed" : "", exact(n), escaped(about(n)), text,
                     assumed ? "<sup class=\"mark\">assumed</sup>" : "");
}

std::string html(const Text& text) {
  std::string out;
  for (const Text::Piece& piece : text.pieces())
    out += piece.is_number ? html(piece.number) : escaped(piece.words);
  return out;
}

double width_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/// Makes the blocks of one page; counts its charts.
class Page {
 public:
  std::string body(const Document& document) {
    std::string out;
    for (const Block& block : document.blocks)
      out += std::visit([this](const auto& one) { return html_of(one); }, block.content);
    return out;
  }

 private:
  std::string html_of(const Heading& heading) {
    const std::string id = heading.id.empty() ? "" : fmt::format(" id=\"{}\"", escaped(heading.id));
    return fmt::format("<h{0}{1}>{2}</h{0}>\n", heading.level, id, html(heading.text));
  }

  std::string html_of(const Paragraph& paragraph) {
    if (paragraph.text.empty()) return "";
    constexpr const char* classes[] = {"", " class=\"verdict\"", " class=\"warning\"",
                                       " class=\"note\""};
    return fmt::format("<p{}>{}</p>\n", classes[static_cast<std::size_t>(paragraph.tone)],
                       html(paragraph.text));
  }

  std::string html_of(const Verbatim& verbatim) {
    const std::string text = "<pre>" + escaped(verbatim.text) + "</pre>";
    if (!verbatim.folded)
      return "<figure class=\"verbatim\">" + caption(verbatim.title) + text + "</figure>\n";
    return "<details><summary>" + escaped(verbatim.title) + "</summary>" + text + "</details>\n";
  }

  static std::string caption(const std::string& title) {
    return title.empty() ? "" : "<figcaption>" + escaped(title) + "</figcaption>";
  }

  std::string html_of(const Table& table) {
    if (table.rows.empty()) return "";
    std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
    for (const Column& column : table.columns)
      out += fmt::format("<th scope=\"col\"{}>{}</th>", align(column), escaped(column.title));
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      out += "<tr>";
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        out += c < table.rows[i].size() ? cell(table.columns[c], table.rows[i][c], c == 0)
                                        : "<td></td>";
      out += "</tr>\n";
      if (const auto remark = table.remarks.find(i); remark != table.remarks.end())
        out += fmt::format("<tr class=\"remark\"><td colspan=\"{}\">{}</td></tr>\n",
                           table.columns.size(), html(remark->second));
    }
    out += "</tbody></table></div>\n";
    if (table.folded.empty()) return out;
    return "<details><summary>" + escaped(table.folded) + "</summary>" + out + "</details>\n";
  }

  static std::string align(const Column& column) {
    return column.align == Align::right ? " class=\"n\"" : "";
  }

  static std::string cell(const Column& column, const Cell& cell, bool first) {
    const std::string plain = words(cell.text);
    const std::size_t indent = std::min(plain.find_first_not_of(' '), plain.size());
    std::string text = html(cell.text);
    if (cell.best)
      text = "<strong>" + text +
             "</strong><span class=\"best\" title=\"the best of its row\">*</span>";
    const std::string note =
        cell.note.empty() ? "" : fmt::format(" title=\"{}\"", escaped(cell.note));
    const std::string style =
        first && indent > 0 ? fmt::format(" style=\"padding-left:{}em\"", 0.6 * double(indent))
                            : "";
    if (first) return fmt::format("<th scope=\"row\"{}{}>{}</th>", style, note, text);
    return fmt::format("<td{}{}>{}</td>", align(column), note, text);
  }

  std::string html_of(const Tree& tree) {
    double whole = 0;
    for (const Node& root : tree.roots) whole = std::max(whole, root.amount.value);
    std::string out =
        "<details class=\"tree\"><summary>" + escaped(tree.title) + "</summary>\n<ul>";
    for (const Node& root : tree.roots) out += node(root, whole);
    return out + "</ul></details>\n";
  }

  std::string node(const Node& one, double whole) {
    std::string out = fmt::format(
        "<li><div class=\"node\"><span>{}</span><div class=\"share\" "
        "style=\"width:{:.2f}%\"></div>{}</div>",
        html(one.label), width_of(one.amount.value, whole) / 4, html(one.amount));
    if (!one.note.empty()) out += "<div class=\"note\">" + escaped(one.note) + "</div>";
    if (!one.parts.empty()) {
      out += "<ul>";
      for (const Node& part : one.parts) out += node(part, whole);
      out += "</ul>";
    }
    return out + "</li>\n";
  }

  std::string html_of(const Bars& bars) {
    double widest = 0;
    for (const Bar& bar : bars.bars) widest = std::max(widest, scale_of(bar));
    std::string out = "<figure class=\"bars\">";
    out += caption(bars.title);
    for (const Bar& one : bars.bars) out += bar(one, bars.each_its_own ? scale_of(one) : widest);
    return out + "</figure>\n";
  }

  static double sum_of(const Bar& bar) {
    double sum = 0;
    for (const BarPart& part : bar.parts) sum += part.amount.value;
    return sum;
  }
  static double scale_of(const Bar& bar) {
    return std::max(sum_of(bar), bar.limit ? bar.limit->value : 0);
  }

  std::string bar(const Bar& bar, double scale) {
    std::string out = "<div class=\"bar\"><div class=\"bar-head\"><b>" + escaped(bar.label) +
                      "</b><span>" + html(bar.beside) + "</span></div>\n<div class=\"track\">";
    int colours_used = 0;
    std::string legend;
    for (const BarPart& part : bar.parts) {
      const double width = width_of(part.amount.value, scale);
      const std::string what = escaped(part.label) + " " + escaped(words(part.amount));
      const std::string colour =
          part.spare ? "spare" : fmt::format("c{}", colours_used++ % colours);
      out += fmt::format("<div class=\"{}\" style=\"width:{:.3f}%\" title=\"{}\">{}</div>", colour,
                         width, what,
                         width > 0.9 * static_cast<double>(part.label.size()) + 1
                             ? "<em>" + escaped(part.label) + "</em>"
                             : "");
      legend += fmt::format("<li{}><div class=\"swatch {}\"></div>{} {}</li>",
                            part.note.empty() ? "" : " title=\"" + escaped(part.note) + "\"",
                            colour, escaped(part.label), html(part.amount));
    }
    if (bar.limit)
      out += fmt::format("<div class=\"limit\" style=\"left:{:.3f}%\" title=\"{} {}\"></div>",
                         width_of(bar.limit->value, scale), escaped(bar.limit_label),
                         escaped(words(*bar.limit)));
    return out + "</div><ul class=\"legend\">" + legend + "</ul></div>\n";
  }

  std::string html_of(const Series& series) {
    return chart("series", series.title, chart_data(series));
  }
  std::string html_of(const Lanes& lanes) { return chart("lanes", lanes.title, chart_data(lanes)); }

  std::string chart(const char* kind, const std::string& title, const std::string& data) {
    const int number = ++charts_;
    const bool packed = data.size() > packed_from;
    return fmt::format(
        "<figure class=\"chart {0}\" id=\"chart-{1}\"><figcaption>{2}</figcaption></figure>\n"
        "<script type=\"{3}\" class=\"chart-data\" data-chart=\"chart-{1}\">{4}</script>\n",
        kind, number, escaped(title), packed ? "text/plain" : "application/json",
        packed ? base64(deflated(data)) : for_script(data));
  }

  std::string html_of(const Columns& columns) {
    std::string out = fmt::format("<div class=\"columns\" style=\"--columns:{}\">\n",
                                  std::max<std::size_t>(1, columns.documents.size()));
    for (const Document& document : columns.documents)
      out += "<div>\n" + body(document) + "</div>\n";
    return out + "</div>\n";
  }

  std::string html_of(const Data& data) {
    return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n",
                       escaped(data.id), for_script(data.json));
  }

  int charts_ = 0;
};

constexpr const char* head =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n";

}  // namespace

std::string to_html(const Document& document) {
  Page page;
  std::string out = head;
  out += "<title>" + escaped(document.title) + "</title>\n<style>\n" + std::string(page_style) +
         "</style>\n</head>\n<body>\n<main>\n";
  out += page.body(document);
  out +=
      "</main>\n<noscript><p class=\"note\">The timeline and the memory over time are drawn by a "
      "script, which this viewer does not run; all else is complete.</p></noscript>\n<script>\n";
  out += page_script;
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace spillway::view
