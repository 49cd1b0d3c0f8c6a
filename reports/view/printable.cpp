#include "reports/view/printable.hpp"

#include "scenarios/description/text.hpp"

namespace spillway::view {

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    out += description::printable(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return out + description::printable(text);
}

}  // namespace spillway::view
