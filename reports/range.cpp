#include "reports/range.hpp"

namespace spillway::reports {

view::Text with_range(const view::Number& number, const result::Result& result,
                      const std::string& path, double times) {
  const auto range = result.range.find(path);
  if (range == result.range.end()) return number;
  view::Number low = number, high = number;
  low.value = times * range->second.first;
  high.value = times * range->second.second;
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
