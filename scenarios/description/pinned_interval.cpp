#include "scenarios/description/pinned_interval.hpp"

#include "scenarios/description/quantity.hpp"

#include <charconv>

namespace spillway::description {

namespace {

constexpr std::string_view between = " to ", made_by = " by ", next = ", ";

/// Where the bracket at the end of a source begins; npos: it has none.
std::size_t bracket_of(const std::string& source) {
  return source.ends_with("]") ? source.rfind(" [") : std::string::npos;
}

}  // namespace

std::optional<PinnedInterval> pinned_interval(const std::string& source) {
  const std::size_t begin = bracket_of(source);
  if (begin == std::string::npos || !source.starts_with("fitted")) return std::nullopt;
  const std::string text = source.substr(begin + 2, source.size() - begin - 3);
  const std::size_t to = text.find(between), by = text.find(made_by);
  if (to == std::string::npos || by == std::string::npos || by < to) return std::nullopt;
  PinnedInterval interval{
      text.substr(0, to), text.substr(to + between.size(), by - to - between.size()), {}};
  std::string rest = text.substr(by + made_by.size());
  while (!rest.empty()) {
    const std::size_t end = rest.find(next);
    interval.figures.push_back(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + next.size());
  }
  return interval;
}

std::string without_interval(const std::string& source) {
  return pinned_interval(source) ? source.substr(0, bracket_of(source)) : source;
}

std::string with_interval(const std::string& source, const PinnedInterval& interval) {
  std::string text =
      without_interval(source) + " [" + interval.low + std::string(between) + interval.high;
  for (const std::string& figure : interval.figures)
    text += std::string(&figure == &interval.figures.front() ? made_by : next) + figure;
  return text + "]";
}

std::optional<WrittenNumber> written_number(const std::string& text) {
  for (const Dimension dimension :
       {Dimension::bytes_per_second, Dimension::flops_per_second, Dimension::params_per_second,
        Dimension::bytes, Dimension::seconds})
    if (const auto parsed = parse_quantity(dimension, text); parsed.problem.empty())
      return WrittenNumber{static_cast<double>(parsed.value), static_cast<int>(dimension)};
  WrittenNumber number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace spillway::description
