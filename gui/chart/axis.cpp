#include "gui/chart/axis.hpp"

#include "reports/words/human.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::gui {

namespace {

/// Years of an axis that is shorter are said in days.
constexpr double years_in_days = 1;

/// Seconds with as many digits as tell ticks apart that are `step` apart.
QString time_text(double seconds, double step) {
  const double size = std::max(std::abs(seconds), step);
  const struct {
    const char* name;
    double unit;
  } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  const auto* unit = &units[0];
  while (unit != &units[3] && size < unit->unit * 0.9995) ++unit;
  const int decimals =
      std::clamp(static_cast<int>(std::ceil(-std::log10(step / unit->unit) - 1e-9)), 0, 9);
  return QString("%1 %2").arg(seconds / unit->unit, 0, 'f', decimals).arg(unit->name);
}

}  // namespace

double round_up_to_nice(Quantity quantity, double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
  if (quantity == Quantity::whole) value = std::max(value, 1.0);
  if (quantity == Quantity::memory) return std::exp2(std::ceil(std::log2(value) - 1e-9));
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

Axis Axis::zoomed(double about, double factor) const {
  return Axis(about - (about - from_) / factor, about + (to_ - about) / factor, low_, high_);
}

Axis Axis::panned(double pixels) const {
  const double by = pixels * per_pixel();
  return Axis(from_ + by, to_ + by, low_, high_);
}

Axis Axis::within(double least, double most, double least_span) const {
  double width = std::clamp(span(), std::min(least_span, most - least), most - least);
  if (!(width > 0)) width = 1;
  double start = from_ + (span() - width) / 2;
  start = std::clamp(start, least, std::max(least, most - width));
  return Axis(start, start + width, low_, high_);
}

std::vector<Tick> Axis::ticks(Quantity quantity, double spacing) const {
  const bool in_days = quantity == Quantity::years && span() < years_in_days;
  const double unit = in_days ? 1. / 365 : 1;
  const double step = unit * round_up_to_nice(quantity, std::abs(per_pixel()) * spacing / unit);
  std::vector<Tick> all;
  for (double i = std::ceil(from_ / step - 1e-9); i * step <= to_ + step * 1e-9; ++i) {
    const double value = i * step;
    QString text = value == 0 ? QString("0") : text_of(quantity, value);
    if (quantity == Quantity::seconds) text = time_text(value, step);
    if (in_days) text = QString("%1 days").arg(value / unit, 0, 'g', 4);
    const bool number = quantity == Quantity::number || quantity == Quantity::whole;
    if (number && step >= 1 && value >= 0)
      text = QString::fromStdString(reports::human_count(static_cast<std::uint64_t>(value + 0.5)));
    all.push_back({value, text});
    if (all.size() > 1000) break;
  }
  return all;
}

std::vector<Tick> ticks_of(const Dimension& dimension, const Axis& axis, double spacing) {
  if (!dimension.of_words()) return axis.ticks(dimension.quantity, spacing);
  const double apart = std::abs(axis.pixel(1) - axis.pixel(0));
  const double room = std::abs(spacing) / std::max(apart, 1e-9);
  const auto step = static_cast<std::size_t>(std::max(1., std::ceil(room - 1e-9)));
  std::vector<Tick> all;
  for (std::size_t i = 0; i < dimension.words.size(); i += step) {
    const auto at = static_cast<double>(i);
    if (at >= axis.from() && at <= axis.to()) all.push_back({at, dimension.words[i]});
  }
  return all;
}

}  // namespace spillway::gui
