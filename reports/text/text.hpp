#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway::text {

/// What a number counts. It decides the unit, and how a renderer writes the number.
enum class Quantity : unsigned char {
  number,      ///< of `unit`, or of nothing
  plain,       ///< as somebody wrote it, all digits and no commas: of a point, of a setting
  few,         ///< two digits of it
  ratio,       ///< two digits after the point
  effect,      ///< the same, with its sign
  difference,  ///< three digits of it, with its sign
  figure,      ///< of `unit`, five digits of it, as papers print theirs
  digits,      ///< of `unit`, six digits of it: of what somebody's expression computes
  billions,    ///< of `unit`, said in 10^9 of it: "GFLOPS"
  trillions,   ///< of `unit`, said in 10^12 of it: "TFLOP"
  count,       ///< whole things
  memory,      ///< bytes, said in GiB as memory is sold
  bytes,       ///< bytes, said in GB as drives are sold
  rate,        ///< bytes a second
  seconds,     ///< said in ms, min, days where that is shorter
  days,        ///< said as seconds are
  years,       ///< said in days and hours where that is shorter
  share,       ///< of 1, said in percent
  part,        ///< of 1, said in whole percent, "<1 %" of less than half of one
  change,      ///< of 1, said in percent with its sign
  gain,        ///< the same, in whole percent
  deviation,   ///< of 1, said in percent with two digits after the point
  error,       ///< the same, with its sign
  dollars,     ///< whole ones
  money,       ///< dollars, with cents where there are less than ten
  cents,       ///< dollars, three digits of them
  factor,      ///< "x1.25"
  tokens_rate  ///< tokens a second
};

/// Its name above: what renderers in other languages know it by.
std::string_view to_string(Quantity quantity);
/// The quantity of that name; nothing: there is none.
std::optional<Quantity> quantity_of(std::string_view name);

/// Where a number comes from.
enum class Origin : unsigned char { computed, measured, paper, datasheet, fitted, assumed };
std::string_view to_string(Origin origin);
/// Of "datasheet: Samsung 990 PRO": what its first word says; computed where it says none of them.
Origin origin_of(std::string_view source);

/// A number before it is written. No report rounds one.
struct Number {
  double value = 0;
  Quantity quantity = Quantity::number;
  Origin origin = Origin::computed;
  std::string unit = {};  ///< beside what `quantity` says: "kWh"
};

Number memory(std::uint64_t bytes, Origin origin = Origin::computed);
Number bytes(double bytes, Origin origin = Origin::computed);
Number rate(double bytes_per_s, Origin origin = Origin::computed);
Number seconds(double seconds, Origin origin = Origin::computed);
Number years(double years, Origin origin = Origin::computed);
Number share(double share, Origin origin = Origin::computed);
Number change(double share, Origin origin = Origin::computed);
Number dollars(double usd, Origin origin = Origin::computed);
Number count(std::uint64_t count, Origin origin = Origin::computed);
Number number(double value, std::string unit = "");
/// As it is written elsewhere, without commas: of a point, of a micro-batch.
Number plain(double value);
/// Of a quantity that no other function here makes.
Number number(double value, Quantity quantity, std::string unit = "");

/// "91.1 GiB", "12.5 min": as people say it, unit included.
std::string words(const Number& number);
/// The unit of `value` itself, not of the words: "B", "s", "B/s", "USD"; "" of what has none.
std::string unit_of(const Number& number);
/// The value as JSON and CSV write it: read back bit for bit, whole numbers without a point.
std::string exact(const Number& number);

/// A sentence, or a part of one: words with numbers among them.
class Text {
 public:
  struct Piece {
    std::string words;  ///< of a number: ""
    bool is_number = false;
    Number number = {};
  };

  Text() = default;
  Text(std::string words);
  Text(const char* words) : Text(std::string(words)) {}
  Text(Number number);

  Text& operator+=(const Text& more);

  const std::vector<Piece>& pieces() const { return pieces_; }
  bool empty() const { return pieces_.empty(); }
  /// The first number in it; null: there is none.
  const Number* number() const;

 private:
  std::vector<Piece> pieces_;
};

inline Text operator+(Text text, const Text& more) { return std::move(text += more); }

/// `pattern` with a value for each "{}" in it: filled("{} of {}", {memory(5), "gpu"}).
Text filled(std::string_view pattern, std::initializer_list<Text> values);

/// One after the other with `between` them.
Text joined(const std::vector<Text>& texts, std::string_view between);

/// With its numbers as people say them.
std::string words(const Text& text);

inline constexpr const char* no_break_space = "\u00a0";
/// `text` with its spaces as no-break spaces, for a piece that is to stay on one line.
std::string unbroken(std::string_view text);
/// The other way round.
std::string breakable(std::string text);

/// Whether they read the same.
bool operator==(const Text& text, std::string_view words);
inline bool operator==(const Text& text, const char* words) {
  return text == std::string_view(words);
}
inline bool operator==(const Text& text, const std::string& words) {
  return text == std::string_view(words);
}
inline bool operator==(const Text& one, const Text& other) { return one == words(other); }

}  // namespace spillway::text
