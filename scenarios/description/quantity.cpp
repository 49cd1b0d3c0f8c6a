#include "scenarios/description/quantity.hpp"

#include "scenarios/description/text.hpp"

#include <fmt/format.h>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

namespace spillway::description {

namespace {

struct Unit {
  std::string_view name;
  long double scale;
  bool printed = true;
};

constexpr long double kibi = 1024.0L;
constexpr long double day = 86400.0L;

constexpr Unit byte_units[] = {{"B", 1},
                               {"kB", 1e3L, false},
                               {"KB", 1e3L},
                               {"MB", 1e6L},
                               {"GB", 1e9L},
                               {"TB", 1e12L},
                               {"PB", 1e15L},
                               {"EB", 1e18L},
                               {"KiB", kibi},
                               {"MiB", kibi* kibi},
                               {"GiB", kibi* kibi* kibi},
                               {"TiB", kibi* kibi* kibi* kibi},
                               {"PiB", kibi* kibi* kibi* kibi* kibi},
                               {"EiB", kibi* kibi* kibi* kibi* kibi* kibi}};
constexpr Unit byte_rate_units[] = {{"B/s", 1},
                                    {"kB/s", 1e3L, false},
                                    {"KB/s", 1e3L},
                                    {"MB/s", 1e6L},
                                    {"GB/s", 1e9L},
                                    {"TB/s", 1e12L},
                                    {"PB/s", 1e15L},
                                    {"KiB/s", kibi, false},
                                    {"MiB/s", kibi* kibi, false},
                                    {"GiB/s", kibi* kibi* kibi, false},
                                    {"TiB/s", kibi* kibi* kibi* kibi, false}};
constexpr Unit time_units[] = {{"ns", 1e-9L},
                               {"us", 1e-6L},
                               {"ms", 1e-3L},
                               {"s", 1},
                               {"min", 60},
                               {"h", 3600, false},
                               {"hour", 3600, false},
                               {"hours", 3600},
                               {"day", day, false},
                               {"days", day},
                               {"week", 7 * day, false},
                               {"weeks", 7 * day, false},
                               {"month", 365 * day / 12, false},
                               {"months", 365 * day / 12},
                               {"year", 365 * day, false},
                               {"years", 365 * day}};
constexpr Unit flops_units[] = {{"FLOPS", 1},     {"KFLOPS", 1e3L, false}, {"MFLOPS", 1e6L},
                                {"GFLOPS", 1e9L}, {"TFLOPS", 1e12L},       {"PFLOPS", 1e15L},
                                {"EFLOPS", 1e18L}};
constexpr Unit param_units[] = {{"params", 1},
                                {"param", 1, false},
                                {"kparams", 1e3L, false},
                                {"Mparams", 1e6L, false},
                                {"Gparams", 1e9L, false},
                                {"Tparams", 1e12L, false}};
constexpr Unit param_rate_units[] = {{"param/s", 1},
                                     {"params/s", 1, false},
                                     {"kparam/s", 1e3L},
                                     {"Mparam/s", 1e6L},
                                     {"Gparam/s", 1e9L},
                                     {"Tparam/s", 1e12L},
                                     {"Mparams/s", 1e6L, false},
                                     {"Gparams/s", 1e9L, false}};

struct Kind {
  std::string_view format, noun, number, unit;
  std::span<const Unit> units;
  long double lowest, highest;
  bool whole;
};

const Kind& kind(Dimension dimension) {
  static const std::array<Kind, 6> kinds{{
      {"bytes", "a size", "24", "GiB", byte_units, 0, kibi * kibi * kibi * kibi * kibi * kibi,
       true},
      {"bytes-per-second", "a rate", "6.9", "GB/s", byte_rate_units, 1, 1e24L, false},
      {"seconds", "a time", "85", "us", time_units, 0, 1e11L, false},
      {"flops-per-second", "a speed", "149", "TFLOPS", flops_units, 1, 1e24L, false},
      {"params", "a count", "1e8", "params", param_units, 0, 1e18L, true},
      {"params-per-second", "a rate", "0.95", "Gparam/s", param_rate_units, 1, 1e24L, false},
  }};
  return kinds[static_cast<std::size_t>(dimension)];
}

/// "14 GB/s" of 112 "Gb/s", "Gbit/s" or "Gbps"; "" where the unit is none of them.
std::string bits(Dimension dimension, long double number, std::string_view unit) {
  if (dimension != Dimension::bytes_per_second || unit.size() < 3) return "";
  const std::string_view rest = unit.substr(1);
  if (rest != "b/s" && rest != "bit/s" && rest != "bps") return "";
  if (std::string_view("kKMGT").find(unit.front()) == std::string_view::npos) return "";
  return fmt::format("{} {}B/s", static_cast<double>(number / 8), unit.front());
}

ParsedQuantity failed(const Kind& which, std::string problem, std::string_view number) {
  return {0, std::move(problem),
          fmt::format("write {} such as \"{} {}\"", which.noun,
                      number.empty() ? which.number : number, which.unit)};
}

/// Of a number without a unit. One that is large is hardly of the unit in which people write these:
/// it is of the base unit, which programs print.
ParsedQuantity without_unit(Dimension dimension, std::string problem, std::string_view digits) {
  constexpr long double of_programs = 1e6L;
  const Kind& which = kind(dimension);
  long double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool counts = dimension == Dimension::seconds || dimension == Dimension::params;
  if (counts || value < of_programs || value > which.highest)
    return failed(which, std::move(problem), digits);
  const std::string fitting = print_quantity(dimension, which.whole ? std::round(value) : value);
  return {0, std::move(problem), fmt::format("write {} such as \"{}\"", which.noun, fitting)};
}

bool reads_back(Dimension dimension, const std::string& text, long double value) {
  const ParsedQuantity back = parse_quantity(dimension, text);
  if (!back.problem.empty()) return false;
  return kind(dimension).whole ? back.value == value
                               : static_cast<double>(back.value) == static_cast<double>(value);
}

/// Whether a number of so many decimals may read back as `value`: false where the nearest one is
/// further away than any rounding takes it, which spares writing and reading it.
///   power  ten to the power of the decimals
bool may_read_back(bool whole, long double value, const Unit& unit, long double power) {
  const long double scaled = value / unit.scale;
  const long double gap = std::fabs(std::round(scaled * power) / power - scaled) * unit.scale;
  constexpr long double of_doubles = 4 * std::numeric_limits<double>::epsilon();
  return gap <= (whole ? 1 : 0) + of_doubles * std::fabs(value);
}

/// The shortest decimal that reads back as `value` in units of `unit`; "" when 15 decimals are not
/// enough, or the text would have more than `most` characters.
std::string exact_decimal(Dimension dimension, long double value, const Unit& unit,
                          std::size_t most) {
  const bool whole = kind(dimension).whole;
  long double power = 1;
  for (int decimals = 0; decimals <= 15; ++decimals, power *= 10) {
    if (!may_read_back(whole, value, unit, power)) continue;
    const std::string text =
        fmt::format("{:.{}f} {}", static_cast<double>(value / unit.scale), decimals, unit.name);
    if (text.size() > most) break;
    if (reads_back(dimension, text, value)) return text;
  }
  return "";
}

/// "1e8", "25e7", "123456": parameter counts are round in powers of ten.
std::string count_text(std::uint64_t value) {
  int zeros = 0;
  std::uint64_t mantissa = value;
  for (; mantissa != 0 && mantissa % 10 == 0; mantissa /= 10) ++zeros;
  return zeros < 4 ? std::to_string(value) : fmt::format("{}e{}", mantissa, zeros);
}

}  // namespace

std::optional<Dimension> dimension_of_format(std::string_view format) {
  for (int i = 0; i <= static_cast<int>(Dimension::params_per_second); ++i)
    if (kind(static_cast<Dimension>(i)).format == format) return static_cast<Dimension>(i);
  return std::nullopt;
}

std::string_view format_of(Dimension dimension) { return kind(dimension).format; }

ParsedQuantity parse_quantity(Dimension dimension, std::string_view whole_text) {
  const Kind& which = kind(dimension);
  const std::string_view text = trimmed(whole_text);
  const auto quoted = [&] { return "\"" + shortened(whole_text) + "\""; };
  long double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range)
    return failed(which, quoted() + " is out of range", "");
  if (error != std::errc{} || !std::isfinite(number))
    return failed(which, quoted() + " is not " + std::string(which.noun), "");
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.data()));
  if (std::signbit(number)) return failed(which, quoted() + " is negative", "");
  if (digits.size() > 60) return failed(which, quoted() + " has too many digits", "");
  const std::string_view name = trimmed(text.substr(digits.size()));
  if (name.empty()) return without_unit(dimension, quoted() + " has no unit", digits);
  for (const Unit& unit : which.units) {
    if (unit.name != name) continue;
    const long double value = which.whole ? std::round(number * unit.scale) : number * unit.scale;
    if (value > which.highest) return failed(which, quoted() + " is too large", "");
    if (value < which.lowest) return failed(which, quoted() + " is too small", "");
    return {value, "", ""};
  }
  if (const auto in_bytes = bits(dimension, number, name); !in_bytes.empty())
    return {0, quoted() + " counts bits", "in bytes it is \"" + in_bytes + "\""};
  return failed(which, quoted() + " is not " + std::string(which.noun), digits);
}

ParsedQuantity parse_count(std::string_view whole_text) {
  const std::string quoted = "\"" + shortened(whole_text) + "\"";
  const std::string hint = "write for example 60M, 1.5B or 1e9";
  std::string text(trimmed(whole_text));
  std::erase(text, ',');
  long double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{} || !std::isfinite(number)) return {0, quoted + " is no number", hint};
  const std::string_view suffix = trimmed(std::string_view(end, last));
  constexpr std::pair<std::string_view, long double> scales[] = {
      {"", 1}, {"k", 1e3L}, {"K", 1e3L}, {"M", 1e6L}, {"B", 1e9L}, {"G", 1e9L}, {"T", 1e12L}};
  for (const auto& [name, scale] : scales) {
    if (name != suffix) continue;
    if (number <= 0) return {0, quoted + " is not above 0", hint};
    if (number * scale > 1e18L) return {0, quoted + " is too large", ""};
    return {number * scale, "", ""};
  }
  return {0, quoted + " has no suffix that is known", hint};
}

ParsedQuantity missing_unit(Dimension dimension, const std::string& number) {
  const bool negative = !number.empty() && number.front() == '-';
  std::string_view digits = number;
  if (digits.ends_with(".0")) digits.remove_suffix(2);
  if (negative) return failed(kind(dimension), number + " is negative", "");
  return without_unit(dimension, number + " has no unit", digits);
}

std::string print_quantity(Dimension dimension, long double value) {
  const Kind& which = kind(dimension);
  if (dimension == Dimension::params)
    return count_text(static_cast<std::uint64_t>(value)) + " params";
  std::string best;
  for (const Unit& unit : which.units) {
    // People write numbers between 1 and some thousands: "850 us", not "0.85 ms".
    const long double scaled = value / unit.scale;
    const bool natural = (scaled >= 1 && scaled < 10000) || value == 0;
    if (!natural || !(unit.printed || value == unit.scale)) continue;
    const std::size_t most = best.empty() ? std::string::npos : best.size();
    if (std::string text = exact_decimal(dimension, value, unit, most); !text.empty())
      best = std::move(text);
  }
  if (!best.empty()) return best;
  const std::string_view base = dimension == Dimension::seconds ? "s" : which.units[0].name;
  return which.whole ? fmt::format("{} {}", static_cast<std::uint64_t>(value), base)
                     : fmt::format("{} {}", static_cast<double>(value), base);
}

}  // namespace spillway::description
