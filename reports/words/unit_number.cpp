#include "reports/words/unit_number.hpp"

namespace spillway::reports {

view::Number number_in(const std::string& unit, double value, view::Origin origin) {
  using view::Quantity;
  if (unit == "bytes") return view::bytes(value, origin);
  if (unit == "memory") return {value, Quantity::memory, origin};
  if (unit == "bytes_per_s") return view::rate(value, origin);
  if (unit == "flops_per_s") return {value, Quantity::billions, origin, "FLOPS"};
  if (unit == "params_per_s") return {value, Quantity::billions, origin, "param/s"};
  if (unit == "s") return view::seconds(value, origin);
  if (unit == "share") return view::share(value, origin);
  if (unit == "W" || unit == "MT/s") return {value, Quantity::number, origin, unit};
  if (unit == "per_s") return {value, Quantity::ratio, origin};
  return {value, Quantity::plain, origin};
}

}  // namespace spillway::reports
