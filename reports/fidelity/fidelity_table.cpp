#include "reports/fidelity/fidelity_table.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <span>

namespace spillway::reports {

using result::Fidelity;
using result::FidelitySummary;
using result::JudgedFigure;
using result::Verdict;
using view::filled;
using view::Number;
using view::Origin;
using view::Quantity;
using view::Text;

namespace {

constexpr std::size_t widest_figure = 56;

bool is_bare(const JudgedFigure& figure) { return figure.unit == "1" || figure.unit == "ratio"; }

Text value_text(const JudgedFigure& figure, double value, Origin origin) {
  if (figure.truth) return value != 0 ? "yes" : "no";
  const std::string unit = figure.unit == "percent" ? "%" : figure.unit;
  return Number{value, Quantity::figure, origin, is_bare(figure) ? "" : unit};
}

Text published_text(const JudgedFigure& figure) {
  const std::string relation = figure.relation == "==" ? "" : figure.relation + " ";
  return unbroken(relation) + value_text(figure, figure.published, Origin::paper);
}

Text error_text(const JudgedFigure& figure) {
  if (!figure.error || figure.truth) return "-";
  return view::number(*figure.error,
                      figure.published == 0 ? Quantity::difference : Quantity::error);
}

Number whole_count(std::size_t number) { return view::plain(static_cast<double>(number)); }

std::vector<Cell> row_of(const JudgedFigure& figure) {
  return {unbroken("  " + figure.id), published_text(figure),
          figure.simulated ? value_text(figure, *figure.simulated, Origin::computed) : "-",
          error_text(figure), result::to_string(figure.verdict)};
}

/// What a reason is about: a verdict, or that a figure which is ok is beyond the common tolerance.
std::string reason_kind(const JudgedFigure& figure) {
  const std::string kind =
      figure.verdict == Verdict::ok ? "beyond" : result::to_string(figure.verdict);
  const bool listed = figure.verdict == Verdict::ok || figure.verdict == Verdict::open;
  const bool unexplained = listed && figure.standing == result::Standing::unexplained;
  return unexplained ? kind + ", unexplained" : kind;
}

/// Adds why figures are not ok, or beyond the common tolerance, each reason once.
void add_reasons(view::Document& document, std::span<const JudgedFigure* const> figures) {
  std::vector<std::string> said;
  for (const JudgedFigure* figure : figures) {
    const std::string key = words(reason_kind(*figure) + figure->reason);
    const bool silent = figure->verdict == Verdict::ok && words(figure->reason).empty();
    if (silent || std::find(said.begin(), said.end(), key) != said.end()) continue;
    said.push_back(key);
    const auto same = std::count_if(figures.begin(), figures.end(), [&](const JudgedFigure* one) {
      return reason_kind(*one) + one->reason == key;
    });
    const Text who = same == 1
                         ? Text(figure->id)
                         : filled("{} figures", {whole_count(static_cast<std::size_t>(same))});
    document.add(
        view::Paragraph{.text = filled("{}  {}: {}", {reason_kind(*figure), who, figure->reason}),
                        .indent = 2},
        true);
  }
}

/// Figures below the place in the paper where they stand.
Table paper_table(std::span<const JudgedFigure* const> figures) {
  Table table{{{"figure", Align::left, widest_figure},
               {"published"},
               {"simulated"},
               {"error"},
               {"verdict", Align::left}},
              {}};
  std::string source;
  for (const JudgedFigure* figure : figures) {
    if (figure->source != source) table.rows.push_back({figure->source});
    source = figure->source;
    table.rows.push_back(row_of(*figure));
  }
  return table;
}

Text share_text(const std::optional<double>& share) {
  return share ? view::number(*share, Quantity::deviation) : Text("-");
}

std::vector<Cell> summary_row(const FidelitySummary& summary) {
  return {summary.paper,
          view::count(summary.figures),
          view::count(summary.ok),
          view::count(summary.open),
          view::count(summary.skipped),
          view::count(summary.failed),
          share_text(summary.median_error),
          share_text(summary.worst_error),
          Text(whole_count(summary.orderings_right)) + unbroken(" of ") +
              whole_count(summary.orderings)};
}

Table summary_table(const Fidelity& fidelity) {
  Table table{{{"paper", Align::left},
               {"figures"},
               {"ok"},
               {"open"},
               {"SKIP"},
               {"fail"},
               {"median"},
               {"worst"},
               {"orderings"}},
              {}};
  for (const FidelitySummary& paper : fidelity.papers) table.rows.push_back(summary_row(paper));
  table.rows.push_back(summary_row(fidelity.overall));
  return table;
}

/// Each paper once, then its kinds below each other.
Table kind_table(const Fidelity& fidelity) {
  Table table{{{"paper", Align::left},
               {"kind", Align::left},
               {"figures"},
               {"allowed"},
               {"within"},
               {"share"},
               {"signed median"},
               {"", Align::left}},
              {}};
  std::string paper;
  for (const result::FidelityKind& kind : fidelity.kinds) {
    const double share = static_cast<double>(kind.within) / static_cast<double>(kind.figures);
    table.rows.push_back(
        {kind.paper == paper ? "" : kind.paper, kind.kind, view::count(kind.figures),
         kind.tolerance > 0 ? Text(view::share(kind.tolerance)) : Text("-"),
         view::count(kind.within), view::number(share, Quantity::part),
         kind.median_error ? Text(view::number(*kind.median_error, Quantity::error)) : Text("-"),
         kind.biased ? "all to one side" : ""});
    paper = kind.paper;
  }
  return table;
}

/// How many figures one tolerance a kind holds, and what is known of the others.
Table standing_table(const Fidelity& fidelity) {
  Table table{{{"paper", Align::left},
               {"figures"},
               {"within"},
               {"beyond, with a mechanism"},
               {"beyond, unexplained"}},
              {}};
  const auto add = [&](const FidelitySummary& of) {
    table.rows.push_back({of.paper, view::count(of.within + of.mechanism + of.unexplained),
                          view::count(of.within), view::count(of.mechanism),
                          view::count(of.unexplained)});
  };
  for (const FidelitySummary& paper : fidelity.papers) add(paper);
  add(fidelity.overall);
  return table;
}

bool has_standings(const FidelitySummary& all) {
  return all.within + all.mechanism + all.unexplained > 0;
}

}  // namespace

view::Document fidelity_document(const Fidelity& fidelity) {
  view::Document document;
  document.title = "Published figures against simulated ones";
  for (const FidelitySummary& paper : fidelity.papers) {
    std::vector<const JudgedFigure*> own;
    for (const JudgedFigure& figure : fidelity.figures)
      if (figure.paper == paper.paper) own.push_back(&figure);
    document.add(paper_table(own));
    add_reasons(document, own);
  }
  document.add(summary_table(fidelity));
  if (!fidelity.kinds.empty()) document.add(kind_table(fidelity));
  if (has_standings(fidelity.overall)) document.add(standing_table(fidelity));
  return document;
}

std::string fidelity_table(const Fidelity& fidelity, const Screen& screen) {
  return to_text(fidelity_document(fidelity), screen);
}

view::Document fidelity_headline_document(const Fidelity& fidelity) {
  view::Document document;
  const auto line = [&](Text text) {
    document.add(view::Paragraph{.text = std::move(text), .wraps = false}, true);
  };
  const FidelitySummary& all = fidelity.overall;
  Text text = filled("{} figures: {} ok, {} open, {} SKIP",
                     {whole_count(all.figures), whole_count(all.ok), whole_count(all.open),
                      whole_count(all.skipped)});
  if (all.failed > 0)
    text += filled(", {} that should hold and do not:", {whole_count(all.failed)});
  line(text);
  if (all.failed == 0) return document;
  for (const JudgedFigure& figure : fidelity.figures)
    if (figure.fails())
      line(filled("  {}  {}  {}", {fmt::format("{:<6}", result::to_string(figure.verdict)),
                                   figure.id, figure.reason}));
  return document;
}

std::string fidelity_headline(const Fidelity& fidelity) {
  return to_text(fidelity_headline_document(fidelity), Screen{});
}

}  // namespace spillway::reports
