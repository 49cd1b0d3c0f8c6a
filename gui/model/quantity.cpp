#include "gui/model/quantity.hpp"

#include "gui/model/text.hpp"
#include "reports/view/text.hpp"
#include "reports/words/human.hpp"

#include <algorithm>

namespace spillway::gui {

QString text_of(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::seconds:
      return qt(reports::human_time(value));
    case Quantity::memory:
      return qt(reports::human_memory(static_cast<std::uint64_t>(std::max(0.0, value))));
    case Quantity::bytes:
      return qt(reports::human_bytes(value));
    case Quantity::rate:
      return qt(reports::human_rate(value));
    case Quantity::dollars:
      return qt(view::words(view::dollars(value)));
    case Quantity::cents:
      return qt(view::words(view::number(value, view::Quantity::cents)));
    case Quantity::years:
      return qt(reports::human_years(value));
    case Quantity::whole:
    case Quantity::number:
      return qt(reports::human_number(value));
  }
  return {};
}

Quantity quantity_of(const QString& path) {
  const QString last = path.section('.', -1);
  if (last.endsWith("per_s")) return path.contains("bytes") ? Quantity::rate : Quantity::number;
  if (last.endsWith("_s")) return Quantity::seconds;
  if (last.startsWith("usd_per_")) return Quantity::cents;
  if (last.endsWith("_usd")) return Quantity::dollars;
  if (last.endsWith("_years")) return Quantity::years;
  if (path.startsWith("peak_bytes.")) return Quantity::memory;
  if (path.contains("bytes")) return Quantity::bytes;
  return Quantity::number;
}

}  // namespace spillway::gui
