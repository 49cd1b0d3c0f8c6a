#include "reports/fidelity_table.hpp"

#include "reports/human.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <span>

namespace spillway::reports {

using result::Fidelity;
using result::FidelitySummary;
using result::JudgedFigure;
using result::Verdict;

namespace {

constexpr std::size_t widest_figure = 56;

bool is_bare(const JudgedFigure& figure) { return figure.unit == "1" || figure.unit == "ratio"; }

std::string value_text(const JudgedFigure& figure, double value) {
  if (figure.truth) return value != 0 ? "yes" : "no";
  const std::string unit = figure.unit == "percent" ? "%" : figure.unit;
  return unbroken(fmt::format("{:.5g}{}", value, is_bare(figure) ? "" : " " + unit));
}

std::string published_text(const JudgedFigure& figure) {
  const std::string relation = figure.relation == "==" ? "" : figure.relation + " ";
  return unbroken(relation + value_text(figure, figure.published));
}

std::string error_text(const JudgedFigure& figure) {
  if (!figure.error || figure.truth) return "-";
  if (figure.published == 0) return unbroken(fmt::format("{:+.3g}", *figure.error));
  return unbroken(fmt::format("{:+.2f} %", 100 * *figure.error));
}

std::vector<Cell> row_of(const JudgedFigure& figure) {
  return {unbroken("  " + figure.id), published_text(figure),
          figure.simulated ? value_text(figure, *figure.simulated) : "-", error_text(figure),
          result::to_string(figure.verdict)};
}

/// Why figures are not ok, each reason once.
std::string reasons_of(std::span<const JudgedFigure* const> figures, const Screen& screen) {
  std::string text;
  std::vector<std::string> said;
  for (const JudgedFigure* figure : figures) {
    const std::string key = result::to_string(figure->verdict) + figure->reason;
    if (figure->verdict == Verdict::ok || std::find(said.begin(), said.end(), key) != said.end())
      continue;
    said.push_back(key);
    const auto same = std::count_if(figures.begin(), figures.end(), [&](const JudgedFigure* one) {
      return result::to_string(one->verdict) + one->reason == key;
    });
    const std::string who = same == 1 ? figure->id : fmt::format("{} figures", same);
    text += paragraph(
        fmt::format("{}  {}: {}", result::to_string(figure->verdict), who, figure->reason), screen,
        2);
  }
  return text;
}

/// Figures below the place in the paper where they stand.
std::string paper_table(std::span<const JudgedFigure* const> figures, const Screen& screen) {
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
  return to_text(table, screen) + reasons_of(figures, screen) + "\n";
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", 100 * *share) : "-";
}

std::vector<Cell> summary_row(const FidelitySummary& summary) {
  return {summary.paper,
          human_count(summary.figures),
          human_count(summary.ok),
          human_count(summary.open),
          human_count(summary.skipped),
          human_count(summary.failed),
          unbroken(share_text(summary.median_error)),
          unbroken(share_text(summary.worst_error)),
          unbroken(fmt::format("{} of {}", summary.orderings_right, summary.orderings))};
}

std::string summary_table(const Fidelity& fidelity, const Screen& screen) {
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
  return to_text(table, screen);
}

}  // namespace

std::string fidelity_table(const Fidelity& fidelity, const Screen& screen) {
  std::string text;
  for (const FidelitySummary& paper : fidelity.papers) {
    std::vector<const JudgedFigure*> own;
    for (const JudgedFigure& figure : fidelity.figures)
      if (figure.paper == paper.paper) own.push_back(&figure);
    text += paper_table(own, screen);
  }
  return text + summary_table(fidelity, screen);
}

std::string fidelity_headline(const Fidelity& fidelity) {
  const FidelitySummary& all = fidelity.overall;
  std::string text = fmt::format("{} figures: {} ok, {} open, {} SKIP", all.figures, all.ok,
                                 all.open, all.skipped);
  if (all.failed == 0) return text + "\n";
  text += fmt::format(", {} that should hold and do not:", all.failed);
  for (const JudgedFigure& figure : fidelity.figures)
    if (figure.fails())
      text += fmt::format("\n  {:<6}  {}  {}", result::to_string(figure.verdict), figure.id,
                          figure.reason);
  return text + "\n";
}

}  // namespace spillway::reports
