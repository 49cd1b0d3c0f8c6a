#include "reports/range.hpp"

#include <fmt/format.h>

namespace spillway::reports {

std::string with_range(const std::string& text, const result::Result& result,
                       const std::string& path, std::string (*words)(double)) {
  const auto range = result.range.find(path);
  if (range == result.range.end()) return text;
  const std::string low = words(range->second.first), high = words(range->second.second);
  return low == high ? text : fmt::format("{} ({} to {})", text, low, high);
}

view::Text with_range(const view::Number& number, const result::Result& result,
                      const std::string& path) {
  const auto range = result.range.find(path);
  if (range == result.range.end()) return number;
  view::Number low = number, high = number;
  low.value = range->second.first;
  high.value = range->second.second;
  if (view::words(low) == view::words(high)) return number;
  return view::Text(number) + " (" + low + " to " + high + ")";
}

std::string range_note(const result::Result& result) {
  if (result.range.empty()) return "";
  return "Ranges hold nine of ten draws of the machine's numbers that nobody states; what data "
         "sheets and measurements state, and the model's own error (spillway fidelity), are not in "
         "them.";
}

}  // namespace spillway::reports
