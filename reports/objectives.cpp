#include "reports/objectives.hpp"

#include "reports/human.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace spillway::reports {

std::string objective_title(const std::string& path) {
  constexpr std::pair<std::string_view, std::string_view> titles[] = {
      {"throughput.tokens_per_s", "tokens/s"},
      {"step_time_s", "step"},
      {"price_usd", "price"},
      {"wear.lifetime_years", "drives last"},
      {"wear.usd_per_million_tokens", "SSD per 1M tokens"},
      {"peak_bytes.gpu.total", "GPU peak"},
      {"peak_bytes.host.total", "host peak"},
      {"peak_bytes.ssd.total", "SSD peak"},
  };
  for (const auto& [known, title] : titles)
    if (path == known) return std::string(title);
  return path;
}

std::string human_value(const std::string& path, const nlohmann::json& value) {
  if (!value.is_number())
    return value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : value.dump();
  const double number = value.get<double>();
  const std::string last = path.substr(path.find_last_of('.') + 1);
  if (last.starts_with("usd_per_")) return fmt::format("${:.3g}", number);
  if (last.ends_with("_usd")) return human_price(number);
  if (last.ends_with("_years")) return human_years(number);
  if (last.ends_with("per_s")) return human_number(number);
  if (last.ends_with("_s")) return human_time(number);
  if (path.starts_with("peak_bytes.")) return human_memory(static_cast<std::uint64_t>(number));
  return human_number(number);
}

}  // namespace spillway::reports
