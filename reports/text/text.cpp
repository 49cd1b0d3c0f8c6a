#include "reports/text/text.hpp"

#include "reports/text/human.hpp"

#include <fmt/format.h>
#include <cmath>
#include <nlohmann/json.hpp>

namespace spillway::text {

namespace {

constexpr std::string_view origins[] = {"computed",  "measured", "paper",
                                        "datasheet", "fitted",   "assumed"};
constexpr double seconds_a_day = 86400;
constexpr double exact_whole = 9007199254740992;  // 2^53: beyond it a double leaves whole ones out

// In the order of Quantity.
constexpr std::string_view quantities[] = {
    "number",    "plain",    "few",       "ratio", "effect", "difference", "figure",
    "digits",    "billions", "trillions", "count", "memory", "bytes",      "rate",
    "seconds",   "days",     "years",     "share", "part",   "change",     "gain",
    "deviation", "error",    "dollars",   "money", "cents",  "factor",     "tokens_rate"};
static_assert(std::size(quantities) == static_cast<std::size_t>(Quantity::tokens_rate) + 1);

}  // namespace

std::string_view to_string(Quantity quantity) {
  return quantities[static_cast<std::size_t>(quantity)];
}

std::optional<Quantity> quantity_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(quantities); ++i)
    if (quantities[i] == name) return static_cast<Quantity>(i);
  return std::nullopt;
}

std::string_view to_string(Origin origin) { return origins[static_cast<std::size_t>(origin)]; }

Origin origin_of(std::string_view source) {
  const std::string_view word = source.substr(0, source.find_first_of(":;, "));
  for (std::size_t i = 0; i < std::size(origins); ++i)
    if (origins[i] == word) return static_cast<Origin>(i);
  return Origin::computed;
}

Number memory(std::uint64_t bytes, Origin origin) {
  return {static_cast<double>(bytes), Quantity::memory, origin};
}
Number bytes(double bytes, Origin origin) { return {bytes, Quantity::bytes, origin}; }
Number rate(double bytes_per_s, Origin origin) { return {bytes_per_s, Quantity::rate, origin}; }
Number seconds(double seconds, Origin origin) { return {seconds, Quantity::seconds, origin}; }
Number years(double years, Origin origin) { return {years, Quantity::years, origin}; }
Number share(double share, Origin origin) { return {share, Quantity::share, origin}; }
Number change(double share, Origin origin) { return {share, Quantity::change, origin}; }
Number dollars(double usd, Origin origin) { return {usd, Quantity::dollars, origin}; }
Number count(std::uint64_t count, Origin origin) {
  return {static_cast<double>(count), Quantity::count, origin};
}
Number number(double value, std::string unit) {
  return {value, Quantity::number, Origin::computed, std::move(unit)};
}

Number plain(double value) { return {value, Quantity::plain}; }
Number number(double value, Quantity quantity, std::string unit) {
  return {value, quantity, Origin::computed, std::move(unit)};
}

namespace {

/// `of` after a number, "" after one of nothing.
std::string beside(const std::string& of) { return of.empty() ? "" : " " + of; }

/// Of the quantities that only few reports have.
std::string rare_words(const Number& n) {
  switch (n.quantity) {
    case Quantity::few:
      return fmt::format("{:.2g}", n.value);
    case Quantity::ratio:
      return fmt::format("{:.2f}", n.value);
    case Quantity::effect:
      return fmt::format("{:+.2f}", n.value);
    case Quantity::difference:
      return fmt::format("{:+.3g}", n.value);
    case Quantity::figure:  // no unit of a paper is parted from its number
      return unbroken(fmt::format("{:.5g}", n.value) + beside(n.unit));
    case Quantity::digits:
      return fmt::format("{:.6g}", n.value) + beside(n.unit);
    case Quantity::billions:
      return human_number(n.value / 1e9) + " G" + n.unit;
    case Quantity::trillions:
      return human_number(n.value / 1e12) + " T" + n.unit;
    case Quantity::part:
      return n.value < 0.005 ? "<1 %" : fmt::format("{:.0f} %", 100 * n.value);
    case Quantity::gain:
      return fmt::format("{:+.0f} %", 100 * n.value);
    case Quantity::deviation:
      return fmt::format("{:.2f} %", 100 * n.value);
    case Quantity::error:
      return fmt::format("{:+.2f} %", 100 * n.value);
    default:
      return "";
  }
}

}  // namespace

std::string words(const Number& n) {
  switch (n.quantity) {
    case Quantity::number:
      return human_number(n.value) + beside(n.unit);
    case Quantity::plain:
      return exact(n) + beside(n.unit);
    case Quantity::count:
      return human_count(static_cast<std::uint64_t>(n.value));
    case Quantity::memory:
      return human_memory(static_cast<std::uint64_t>(n.value));
    case Quantity::bytes:
      return human_bytes(n.value);
    case Quantity::rate:
      return human_rate(n.value);
    case Quantity::seconds:
      return human_time(n.value);
    case Quantity::days:
      return human_time(n.value * seconds_a_day);
    case Quantity::years:
      return human_years(n.value);
    case Quantity::share:
      return human_share(n.value);
    case Quantity::change:
      return human_change(n.value);
    case Quantity::dollars:
      return human_price(n.value);
    case Quantity::money:
      return n.value < 10 ? fmt::format("${:.2f}", n.value) : human_price(n.value);
    case Quantity::cents:
      return fmt::format("${:.3g}", n.value);
    case Quantity::factor:
      return fmt::format("x{:.2f}", n.value);
    case Quantity::tokens_rate:
      return human_number(n.value) + " tokens/s";
    default:
      return rare_words(n);
  }
}

std::string unit_of(const Number& n) {
  switch (n.quantity) {
    case Quantity::number:
    case Quantity::plain:
    case Quantity::figure:
    case Quantity::digits:
    case Quantity::billions:
    case Quantity::trillions:
      return n.unit;
    case Quantity::memory:
    case Quantity::bytes:
      return "B";
    case Quantity::rate:
      return "B/s";
    case Quantity::seconds:
      return "s";
    case Quantity::days:
      return "days";
    case Quantity::years:
      return "years";
    case Quantity::dollars:
    case Quantity::money:
    case Quantity::cents:
      return "USD";
    case Quantity::tokens_rate:
      return "tokens/s";
    default:
      return "";
  }
}

std::string exact(const Number& n) {
  if (n.value == std::trunc(n.value) && std::abs(n.value) < exact_whole)
    return fmt::format("{}", static_cast<std::int64_t>(n.value));
  return nlohmann::json(n.value).dump();
}

Text::Text(std::string words) {
  if (!words.empty()) pieces_.push_back({std::move(words)});
}

Text::Text(Number number) { pieces_.push_back({"", true, std::move(number)}); }

Text& Text::operator+=(const Text& more) {
  pieces_.insert(pieces_.end(), more.pieces_.begin(), more.pieces_.end());
  return *this;
}

const Number* Text::number() const {
  for (const Piece& piece : pieces_)
    if (piece.is_number) return &piece.number;
  return nullptr;
}

Text filled(std::string_view pattern, std::initializer_list<Text> values) {
  Text text;
  for (const Text& value : values) {
    const std::size_t gap = std::min(pattern.find("{}"), pattern.size());
    text += std::string(pattern.substr(0, gap));
    text += value;
    pattern.remove_prefix(std::min(gap + 2, pattern.size()));
  }
  return text + std::string(pattern);
}

Text joined(const std::vector<Text>& texts, std::string_view between) {
  Text all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) all += std::string(between);
    all += texts[i];
  }
  return all;
}

std::string unbroken(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == ' ' ? std::string(no_break_space) : std::string(1, c);
  return out;
}

std::string breakable(std::string text) {
  const std::string space = no_break_space;
  for (std::size_t at = 0; (at = text.find(space, at)) != std::string::npos; ++at)
    text.replace(at, space.size(), " ");
  return text;
}

std::string words(const Text& text) {
  std::string out;
  for (const Text::Piece& piece : text.pieces())
    out += piece.is_number ? words(piece.number) : piece.words;
  return out;
}

bool operator==(const Text& text, std::string_view other) {
  return words(text).compare(other) == 0;
}

}  // namespace spillway::text
