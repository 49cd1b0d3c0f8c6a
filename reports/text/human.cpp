#include "reports/text/human.hpp"

#include "scenarios/description/grouped.hpp"

#include <fmt/format.h>
#include <cmath>
#include <span>

namespace spillway::text {

using description::grouped;

namespace {

struct Unit {
  const char* name;
  double next;  ///< how many of it make one of the next unit; 0: the last
};

/// Two decimals below 10, one below 100 and, of four digits, above: "9.53", "91.1", "1012.3".
std::string short_decimal(double value, int digits = 4) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 || digits > 3 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

/// The largest unit of which there is at least one after rounding. Values are in units[0].
std::string in_units(double value, std::span<const Unit> units, int digits = 4) {
  std::size_t at = 0;
  const double rounding = digits > 3 ? 0.05 : 0.5;
  while (at + 1 < units.size() && std::abs(value) >= units[at].next - rounding)
    value /= units[at++].next;
  return fmt::format("{} {}", short_decimal(value, digits), units[at].name);
}

constexpr Unit binary[] = {{"B", 1024},   {"KiB", 1024}, {"MiB", 1024},
                           {"GiB", 1024}, {"TiB", 1024}, {"PiB", 0}};
constexpr Unit decimal[] = {{"B", 1000},  {"kB", 1000}, {"MB", 1000},
                            {"GB", 1000}, {"TB", 1000}, {"PB", 0}};
constexpr Unit instants[] = {{"ns", 1000}, {"us", 1000}, {"ms", 1000}, {"s", 0}};
constexpr Unit long_times[] = {{"min", 60}, {"h", 24}, {"days", 0}};

std::string whole_bytes(double bytes) { return fmt::format("{:.0f} B", bytes); }

}  // namespace

std::string human_memory(std::uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  return bytes < 1024 ? whole_bytes(value) : in_units(value, binary);
}

std::string human_bytes(double bytes) {
  return std::abs(bytes) < 999.5 ? whole_bytes(bytes) : in_units(bytes, decimal);
}

std::string human_rate(double bytes_per_s) { return human_bytes(bytes_per_s) + "/s"; }

std::string human_time(double seconds) {
  if (std::abs(seconds) < 1e-12) return "0 s";  // what a difference of equal times leaves over
  if (std::abs(seconds) >= 599.5) return in_units(seconds / 60, long_times, 3);
  return in_units(seconds * 1e9, instants, 3);
}

std::string human_years(double years) {
  if (years >= 1000) return "over 1,000 years";
  if (years >= 0.95) return fmt::format("{:.1f} years", years);
  constexpr double days = 365, hours = 24 * days;
  if (years * days >= 1.95) return fmt::format("{:.0f} days", years * days);
  return fmt::format("{:.1f} hours", years * hours);
}

std::string human_number(double number) {
  if (std::abs(number) < 99.95) return short_decimal(number);
  return grouped(fmt::format("{:.0f}", number));
}

std::string human_count(std::uint64_t count) { return grouped(std::to_string(count)); }

std::string human_share(double share) {
  return fmt::format("{:.1f} %", std::abs(share) < 0.0005 ? 0 : 100 * share);  // no "-0.0 %"
}

std::string human_change(double share) {
  return fmt::format("{:+.1f} %", std::abs(share) < 0.0005 ? 0 : 100 * share);
}

std::string human_price(double usd) { return "$" + grouped(fmt::format("{:.0f}", usd)); }

}  // namespace spillway::text
