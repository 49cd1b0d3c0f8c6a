#include "reports/words/dated_price.hpp"

namespace spillway::reports {

std::string old_prices_beside(const result::Result& result) {
  std::string text;
  for (const auto& [name, date] : result.old_prices)
    text += (text.empty() ? " (" : ", ") + name + " of " + date;
  return text.empty() ? "" : text + ")";
}

}  // namespace spillway::reports
