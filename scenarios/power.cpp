#include "scenarios/power.hpp"

#include "scenarios/located_json.hpp"
#include "scenarios/shipped.hpp"

namespace spillway::scenarios {

using nlohmann::json;

void add_power(json& machine, const std::string& card) {
  const json known = read_located(shipped_file("scenarios/knobs", "power")).value;
  const auto found = known.at("gpus").find(card);
  if (machine.contains("power") || found == known.at("gpus").end()) return;
  json& sources = machine["sources"];
  for (const auto& [key, part] :
       {std::pair{"gpu", *found}, {"host", known.at("host")}, {"ssd", known.at("ssd")}}) {
    machine["power"][key] = part.at("w");
    sources[std::string("power.") + key] = part.at("source");
  }
  if (!machine.contains("prices_usd") || machine["prices_usd"].contains("kwh")) return;
  machine["prices_usd"]["kwh"] = known.at("kwh").at("usd");
  sources["prices_usd.kwh"] = known.at("kwh").at("source");
}

}  // namespace spillway::scenarios
