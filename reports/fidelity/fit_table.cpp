#include "reports/fidelity/fit_table.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"

#include <cmath>

namespace spillway::reports {

using result::Fit;
using view::filled;
using view::Number;
using view::Origin;
using view::Quantity;
using view::Text;

namespace {

view::Number percent(double share) { return view::number(share, Quantity::error); }

Table parameters(const Fit& fit) {
  Table table{{{"parameter", Align::left},
               {"machine file"},
               {"fitted"},
               {"change"},
               {"sensitivity"},
               {"by its figures", Align::left},
               {"note", Align::left}},
              {}};
  for (const result::FitParameter& one : fit.parameters)
    table.rows.push_back({one.path, unbroken(one.before), unbroken(one.after), percent(one.change),
                          view::number(one.sensitivity, Quantity::ratio),
                          one.from.empty() ? "" : unbroken(one.low + " to " + one.high), one.note});
  drop_silent_columns(table);
  return table;
}

constexpr std::size_t widest_list = 24;
/// Sensitivities below this are rounding of the schedule, not dependence.
constexpr double noticeable = 0.005;

/// "host.adam -0.61, gpu.compute.fp16 -0.30"
Text moved_by(const Fit& fit, const result::FitFigure& figure) {
  Text text;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j)
    if (std::abs(figure.sensitivity[j]) >= noticeable)
      text += (text.empty() ? "" : ", ") + Text(unbroken(fit.parameters[j].path + " ")) +
              view::number(figure.sensitivity[j], Quantity::effect);
  return text;
}

Table figures(const Fit& fit) {
  Table table{{{"figure", Align::left},
               {"published"},
               {"before"},
               {"after"},
               {"% by 1 % of", Align::left, widest_list}},
              {}};
  for (const result::FitFigure& one : fit.figures)
    table.rows.push_back({one.id, Number{one.published, Quantity::figure, Origin::paper, one.unit},
                          percent(one.error_before()), percent(one.error_after()),
                          moved_by(fit, one)});
  return table;
}

}  // namespace

view::Document fit_table_document(const Fit& fit) {
  view::Document document;
  document.title = fit.machine + ", fitted again";
  if (!fit.figures.empty()) document.add(parameters(fit)).add(figures(fit));
  for (const result::FitChoice& one : fit.chosen)
    document.say(filled(
        "chosen  {} = {} on {}",
        {one.setting, one.value,
         one.figures.size() == 1
             ? Text(one.figures.front())
             : filled("{} figures from {}", {view::plain(static_cast<double>(one.figures.size())),
                                             one.figures.front()})}));
  for (const auto& [id, why] : fit.left_out) document.say(filled("left out  {}: {}", {id, why}));
  return document;
}

std::string fit_table(const Fit& fit, const Screen& screen) {
  // an empty line ends the figures, whether anything follows or not
  const bool last = !fit.figures.empty() && fit.chosen.empty() && fit.left_out.empty();
  return to_text(fit_table_document(fit), screen) + (last ? "\n" : "");
}

}  // namespace spillway::reports
