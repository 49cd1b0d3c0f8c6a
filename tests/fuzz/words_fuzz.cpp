#include "explore/points/interval.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/document/offers.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "tests/fuzz/harmless.hpp"
#include "tests/fuzz/read_text.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace {

using namespace spillway;

/// A text is an expression whose value lies in the range that is said of it, or is refused at a
/// place in it.
void read_expression(const std::string& text) {
  try {
    const explore::Expression read(text);
    std::vector<double> values;
    std::vector<explore::Interval> ranges;
    for (std::size_t i = 0; i < read.names().size(); ++i) {
      values.push_back(static_cast<double>(i) - 1);
      ranges.push_back({values.back() - 1, values.back() + 2});
    }
    const double value = read(values);
    const explore::Interval range = explore::range_of(read, ranges);
    ENSURE(!(value < range.least) && !(value > range.most), "a value outside its range");
  } catch (const explore::ExpressionError& error) {
    ENSURE(error.column() >= 1 && error.column() <= text.size() + 1, "a place outside the text");
  }
}

/// A text is a quantity that is the same when it is written and read again, or is refused.
void read_quantities(const std::string& text) {
  using description::Dimension;
  for (const auto dimension :
       {Dimension::bytes, Dimension::bytes_per_second, Dimension::seconds,
        Dimension::flops_per_second, Dimension::params, Dimension::params_per_second}) {
    const auto once = description::parse_quantity(dimension, text);
    if (!once.problem.empty()) {
      ENSURE(!once.hint.empty(), "a refusal without a remedy");
      continue;
    }
    const auto twice =
        description::parse_quantity(dimension, description::print_quantity(dimension, once.value));
    ENSURE(twice.problem.empty() && twice.value == once.value, "a quantity that reads as another");
  }
  const auto count = description::parse_count(text);
  ENSURE(!count.problem.empty() || (count.value > 0 && count.value <= 1e18L), "a count beyond all");
}

/// What is made of a text to be shown or handed to a shell.
void write_text(const std::string& text) {
  fuzz::ensure_printable(description::printable(text));
  const std::string valid = description::as_utf8(text);
  ENSURE(description::as_utf8(valid) == valid, "bytes that are no UTF-8");
  ENSURE(description::shortened(text).size() <= 60 || text.size() <= 60, "a text that stays long");
  fuzz::ensure_printable(description::shell_word(valid));
  ENSURE(description::shell_quoted(text).find('\n') == std::string::npos, "a word of two lines");
  fuzz::ensure_harmless(view::Document{text, {}}.say(text));
}

}  // namespace

/// A short text, as people write them behind an option or in a file: each of its readers reads it
/// or says what is wrong.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<scenarios::SystemInfo> systems = scenarios::test_systems();
  static const nlohmann::json scenario = {
      {"model", "gpt2"}, {"machine", "gaming_4090"}, {"strategy", {{"system", "resident"}}}};
  const std::string text = fuzz::text_of(data, size);
  read_expression(text);
  read_quantities(text);
  write_text(text);
  scenarios::drive_size_in(text);
  scenarios::counted_name(text);
  if (const auto day = scenarios::day_number(text))
    ENSURE(*day > -800'000 && *day < 4'000'000, "a day that no calendar has");
  fuzz::read_or_refuse([&] { scenarios::find_part(scenarios::PartKind::gpu, text); });
  fuzz::read_or_refuse([&] { scenarios::find_part(scenarios::PartKind::drive, text); });
  fuzz::read_or_refuse([&] { scenarios::read_offers({text}, ""); });
  fuzz::read_or_refuse([&] {
    const nlohmann::json once = scenarios::read_scenario(scenario, {text}, systems).scenario;
    const nlohmann::json twice = scenarios::read_scenario(once, {}, systems).scenario;
    ENSURE(once == twice, "a scenario with a setting resolves to another");
  });
  return 0;
}
