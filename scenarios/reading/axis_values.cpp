#include "scenarios/reading/axis_values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "scenarios/description/quantity.hpp"
#include "scenarios/json/schema_check.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::Dimension;
using nlohmann::json;

namespace {

constexpr Dimension dimensions[] = {Dimension::bytes,   Dimension::bytes_per_second,
                                    Dimension::seconds, Dimension::flops_per_second,
                                    Dimension::params,  Dimension::params_per_second};

/// An end or step of a range: a plain number or a quantity.
struct Amount {
  long double value = 0;
  std::optional<Dimension> dimension;
  bool whole = false;  ///< a plain whole number
};

std::optional<Amount> amount_of(const json& written) {
  if (written.is_number())
    return Amount{written.get<long double>(), std::nullopt, written.is_number_integer()};
  if (!written.is_string()) return std::nullopt;
  for (const Dimension dimension : dimensions) {
    const auto parsed = description::parse_quantity(dimension, written.get<std::string>());
    if (parsed.problem.empty()) return Amount{parsed.value, dimension, false};
  }
  return std::nullopt;
}

json written_as(const Amount& like, bool whole, long double value) {
  if (like.dimension) return description::print_quantity(*like.dimension, value);
  if (whole) return static_cast<std::int64_t>(std::llround(value));
  return static_cast<double>(value);
}

/// Reads one axis.
class AxisReader {
 public:
  AxisReader(const LocatedJson& space, std::string pointer, const std::string& name,
             std::vector<Complaint>& complaints)
      : space_(space), pointer_(std::move(pointer)), complaints_(complaints) {
    axis_.name = name;
    axis_.place = space.key_place(pointer_);
  }

  Axis read() {
    const json& written = *space_.find(pointer_);
    if (written.is_array())
      read_list(written);
    else if (written.contains("from") || written.contains("to"))
      read_range(written);
    else
      read_alternatives(written);
    if (axis_.values.empty() && !wrong_)
      complain(pointer_, "has no values",
               "write a list, a range {\"from\", \"to\"} or alternatives");
    return std::move(axis_);
  }

 private:
  void complain(const std::string& pointer, const std::string& message, const std::string& hint) {
    const Place place = space_.place(pointer);
    complaints_.push_back({place.file, place.line, place.column, dotted(pointer), message, hint});
    wrong_ = true;
  }

  void add(const json& value, const Place& place) {
    axis_.values.push_back({value, {axis_.name + "=" + value.dump()}, place});
  }

  void read_list(const json& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string at = pointer_to(pointer_, std::to_string(i));
      if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
          list.begin() + static_cast<std::ptrdiff_t>(i))
        complain(at, list[i].dump() + " stands twice", "");
      else
        add(list[i], space_.place(at));
    }
  }

  void read_alternatives(const json& written) {
    axis_.alternatives = true;
    for (const auto& [label, changes] : written.items()) {
      const std::string at = pointer_to(pointer_, label);
      if (!changes.is_object()) {
        complain(at, "is no set of paths and values",
                 "write an alternative such as { \"machine.gpu.memory\": \"24 GiB\" }");
        continue;
      }
      AxisValue value{label, {}, space_.place(at)};
      for (const auto& [path, change] : changes.items())
        value.overrides.push_back(path + "=" + change.dump());
      axis_.values.push_back(std::move(value));
    }
    // as they stand in the file
    std::sort(axis_.values.begin(), axis_.values.end(), [](const auto& a, const auto& b) {
      return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    });
  }

  std::optional<Amount> end(const json& range, const char* key) {
    const std::string at = pointer_to(pointer_, key);
    if (!range.contains(key)) {
      complain(pointer_, fmt::format("a range has no \"{}\"", key),
               R"(write { "from": 1, "to": 12 }, with a "step" or "times" if wanted)");
      return std::nullopt;
    }
    const auto amount = amount_of(range[key]);
    if (!amount)
      complain(at, range[key].dump() + " is neither a number nor a quantity",
               R"(write for example 4, "64 GiB" or "3.5 GB/s")");
    return amount;
  }

  /// Keys other than those of a range.
  void check_keys(const json& range) {
    for (const auto& [key, unused] : range.items())
      if (key != "from" && key != "to" && key != "step" && key != "times")
        complain(pointer_to(pointer_, key), "no such key", "known: from, to, step, times");
    if (range.contains("step") && range.contains("times"))
      complain(pointer_, "has both a step and a factor", "keep \"step\" or \"times\"");
  }

  void read_range(const json& range) {
    check_keys(range);
    const auto from = end(range, "from"), to = end(range, "to");
    if (!from || !to) return;
    if (from->dimension != to->dimension)
      return complain(pointer_, "from and to have different units", "");
    if (to->value < from->value)
      return complain(pointer_, "ends before it starts", "swap from and to");
    if (range.contains("times")) return read_factor(range, *from, *to);
    Amount step{1, std::nullopt, true};
    if (range.contains("step")) {
      const auto given = end(range, "step");
      if (!given) return;
      step = *given;
    } else if (from->dimension) {
      return complain(pointer_, "a range of quantities has no step",
                      R"(write a "step", such as "64 GiB", or a factor "times")");
    }
    if (step.dimension != from->dimension)
      return complain(pointer_to(pointer_, "step"), "is of another unit than from and to", "");
    if (step.value <= 0) return complain(pointer_to(pointer_, "step"), "is not above 0", "");
    const bool whole = from->whole && step.whole;
    fill(
        *from, (to->value - from->value) / step.value,
        [&](std::size_t i) { return from->value + static_cast<long double>(i) * step.value; },
        whole);
  }

  void read_factor(const json& range, const Amount& from, const Amount& to) {
    const std::string at = pointer_to(pointer_, "times");
    const json& factor = range["times"];
    if (!factor.is_number() || factor.get<double>() <= 1)
      return complain(at, factor.dump() + " is not a factor above 1", "write for example 2");
    if (from.value <= 0)
      return complain(pointer_to(pointer_, "from"), "a geometric range starts above 0", "");
    const long double times = factor.get<long double>();
    const bool whole = from.whole && factor.is_number_integer();
    fill(
        from, std::log(to.value / from.value) / std::log(times),
        [&](std::size_t i) { return from.value * std::pow(times, static_cast<long double>(i)); },
        whole);
  }

  /// `steps` after the first; one that misses a whole number by rounding alone is that number.
  template <class Value>
  void fill(const Amount& like, long double steps, Value value, bool whole) {
    const long double count = std::floor(steps * (1 + 1e-12L) + 1e-9L) + 1;
    if (count > static_cast<long double>(most_axis_values))
      return complain(pointer_, fmt::format("has {:.0f} values", static_cast<double>(count)),
                      fmt::format("{} are the most", most_axis_values));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      add(written_as(like, whole, value(i)), axis_.place);
  }

  const LocatedJson& space_;
  const std::string pointer_;
  std::vector<Complaint>& complaints_;
  Axis axis_;
  bool wrong_ = false;
};

}  // namespace

Axis read_axis(const LocatedJson& space, const std::string& pointer, const std::string& name,
               std::vector<Complaint>& complaints) {
  return AxisReader(space, pointer, name, complaints).read();
}

}  // namespace spillway::scenarios
