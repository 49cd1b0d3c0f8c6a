#pragma once

#include "scenarios/description/units.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace spillway::description {

/// What a quantity measures; decides which units a person may write behind the number.
enum class Dimension {
  bytes,             ///< B, kB .. EB, KiB .. EiB
  bytes_per_second,  ///< the same "/s"
  seconds,  ///< ns, us, ms, s, min, hours, days, weeks, months (year / 12), years (365 days)
  flops_per_second,   ///< FLOPS .. EFLOPS
  params,             ///< params, Mparams, Gparams
  params_per_second,  ///< param/s .. Tparam/s
};

/// The dimension that a schema's `format` names: "bytes", "bytes-per-second", ...; none for other
/// formats.
std::optional<Dimension> dimension_of_format(std::string_view format);
std::string_view format_of(Dimension dimension);

/// A number read from text, or why it could not be.
struct ParsedQuantity {
  long double value = 0;  ///< SI base units; whole for bytes and params
  std::string problem;    ///< "" when fine, else `"6.8" has no unit`
  std::string hint;       ///< `write a rate such as "6.8 GB/s"`
};

/// Reads "6.9 GB/s": a decimal number, spaces if wanted, a unit of `dimension`.
///   Accepts  0 for bytes, seconds and params; rates start at 1 per second
///   Refuses  no unit, another unit, negative, not finite, beyond 2^60 B, 1e18 params, 1e11 s or
///            1e24 per s
ParsedQuantity parse_quantity(Dimension dimension, std::string_view text);

/// The complaint about a JSON number where a quantity is wanted: `6.8 has no unit`.
ParsedQuantity missing_unit(Dimension dimension, const std::string& number);

/// Reads a count as people write it: "60M", "1.5B", "2T", "1e9", "1,000,000"; k, M, B or G, T are
/// thousands to 1e12.
///   Refuses  what is no number above 0, or beyond 1e18
ParsedQuantity parse_count(std::string_view text);

/// Text that parse_quantity reads back as exactly `value`, in the unit that needs the fewest
/// characters.
std::string print_quantity(Dimension dimension, long double value);

template <class Q>
inline constexpr Dimension dimension_of = Dimension::bytes;
template <>
inline constexpr Dimension dimension_of<BytesPerSecond> = Dimension::bytes_per_second;
template <>
inline constexpr Dimension dimension_of<Seconds> = Dimension::seconds;
template <>
inline constexpr Dimension dimension_of<FlopsPerSecond> = Dimension::flops_per_second;
template <>
inline constexpr Dimension dimension_of<Params> = Dimension::params;
template <>
inline constexpr Dimension dimension_of<ParamsPerSecond> = Dimension::params_per_second;

/// parse_quantity for one unit type.
///   Throws  std::invalid_argument with problem and hint
template <class Q>
Q quantity_from(std::string_view text) {
  const ParsedQuantity parsed = parse_quantity(dimension_of<Q>, text);
  if (!parsed.problem.empty()) throw std::invalid_argument(parsed.problem + "; " + parsed.hint);
  return Q(static_cast<typename Q::rep>(parsed.value));
}

template <class Tag, class Rep>
std::string to_text(Quantity<Tag, Rep> quantity) {
  return print_quantity(dimension_of<Quantity<Tag, Rep>>,
                        static_cast<long double>(quantity.value()));
}

}  // namespace spillway::description
