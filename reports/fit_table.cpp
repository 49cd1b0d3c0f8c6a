#include "reports/fit_table.hpp"

#include "reports/table.hpp"

#include <fmt/format.h>
#include <cmath>

namespace spillway::reports {

using result::Fit;

namespace {

std::string percent(double share) { return unbroken(fmt::format("{:+.2f} %", 100 * share)); }

std::string parameters(const Fit& fit, const Screen& screen) {
  Table table{{{"parameter", Align::left},
               {"machine file"},
               {"fitted"},
               {"change"},
               {"sensitivity"},
               {"note", Align::left}},
              {}};
  for (const result::FitParameter& one : fit.parameters)
    table.rows.push_back({one.path, unbroken(one.before), unbroken(one.after), percent(one.change),
                          fmt::format("{:.2f}", one.sensitivity), one.note});
  drop_silent_columns(table);
  return to_text(table, screen);
}

constexpr std::size_t widest_list = 24;
/// Sensitivities below this are rounding of the schedule, not dependence.
constexpr double noticeable = 0.005;

/// "host.adam -0.61, gpu.compute.fp16 -0.30"
std::string moved_by(const Fit& fit, const result::FitFigure& figure) {
  std::string text;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j)
    if (std::abs(figure.sensitivity[j]) >= noticeable)
      text += (text.empty() ? "" : ", ") +
              unbroken(fmt::format("{} {:+.2f}", fit.parameters[j].path, figure.sensitivity[j]));
  return text;
}

std::string figures(const Fit& fit, const Screen& screen) {
  Table table{{{"figure", Align::left},
               {"published"},
               {"before"},
               {"after"},
               {"% by 1 % of", Align::left, widest_list}},
              {}};
  for (const result::FitFigure& one : fit.figures)
    table.rows.push_back({one.id, unbroken(fmt::format("{:.5g} {}", one.published, one.unit)),
                          percent(one.error_before()), percent(one.error_after()),
                          moved_by(fit, one)});
  return to_text(table, screen);
}

}  // namespace

std::string fit_table(const Fit& fit, const Screen& screen) {
  std::string text;
  if (!fit.figures.empty()) text += parameters(fit, screen) + "\n" + figures(fit, screen) + "\n";
  for (const result::FitChoice& one : fit.chosen)
    text += paragraph(
        fmt::format("chosen  {} = {} on {}", one.setting, one.value,
                    one.figures.size() == 1 ? one.figures.front()
                                            : fmt::format("{} figures from {}", one.figures.size(),
                                                          one.figures.front())),
        screen);
  for (const auto& [id, why] : fit.left_out)
    text += paragraph(fmt::format("left out  {}: {}", id, why), screen);
  return text;
}

}  // namespace spillway::reports
