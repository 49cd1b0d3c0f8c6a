#include "gui/chart/axis.hpp"

#include "reports/human.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::gui {

namespace {

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

QString text_of(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::seconds:
      return QString::fromStdString(reports::human_time(value));
    case Quantity::memory:
      return QString::fromStdString(
          reports::human_memory(static_cast<std::uint64_t>(std::max(0.0, value))));
    case Quantity::bytes:
      return QString::fromStdString(reports::human_bytes(value));
    case Quantity::rate:
      return QString::fromStdString(reports::human_rate(value));
    case Quantity::number:
      return QString::fromStdString(reports::human_number(value));
  }
  return {};
}

double round_up_to_nice(Quantity quantity, double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
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
  const double step = round_up_to_nice(quantity, std::abs(per_pixel()) * spacing);
  std::vector<Tick> all;
  for (double i = std::ceil(from_ / step - 1e-9); i * step <= to_ + step * 1e-9; ++i) {
    const double value = i * step;
    all.push_back({value, quantity == Quantity::seconds ? time_text(value, step)
                          : value == 0                  ? QString("0")
                                                        : text_of(quantity, value)});
    if (all.size() > 1000) break;
  }
  return all;
}

Quantity quantity_of(const QString& name) {
  const bool per_second = name.endsWith("_per_s");
  if (per_second) return name.contains("bytes") ? Quantity::rate : Quantity::number;
  if (name.endsWith("_s")) return Quantity::seconds;
  if (name.contains("bytes")) return Quantity::bytes;
  return Quantity::number;
}

}  // namespace spillway::gui
