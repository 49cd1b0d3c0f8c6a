#include "reports/exploration/objectives.hpp"

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

view::Text objective_text(const std::string& path, const nlohmann::json& value) {
  using view::Quantity;
  if (!value.is_number())
    return value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : value.dump();
  const double number = value.get<double>();
  const std::string last = path.substr(path.find_last_of('.') + 1);
  if (last.starts_with("usd_per_")) return view::number(number, Quantity::cents);
  if (last.ends_with("_usd")) return view::dollars(number);
  if (last.ends_with("_years")) return view::years(number);
  if (last.ends_with("per_s")) return view::number(number);
  if (last.ends_with("_s")) return view::seconds(number);
  if (path.starts_with("peak_bytes.")) return view::memory(static_cast<std::uint64_t>(number));
  return view::number(number);
}

view::Text memory_without_price(const nlohmann::json& scenario) {
  const nlohmann::json::json_pointer place("/machine/prices_usd");
  if (!scenario.contains(place) || !scenario.at(place).is_object()) return {};
  const nlohmann::json& prices = scenario.at(place);
  if (prices.value("server", 0.0) <= 0 || prices.value("dram_per_gib", 0.0) > 0) return {};
  return "Host memory has no price of its own on this machine: each size of it costs the same "
         "here. "
         "Give it one, in dollars: machine.prices_usd.dram_per_gib.";
}

view::Text axis_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return value.dump();
  const view::Number number = view::plain(value.get<double>());
  // a whole one with a point, or beyond what a double holds: its own words
  return view::exact(number) == value.dump() ? view::Text(number) : view::Text(value.dump());
}

}  // namespace spillway::reports
