#include "scenarios/document/power.hpp"

#include "scenarios/json/located_json.hpp"
#include "scenarios/json/shipped.hpp"

namespace spillway::scenarios {

using nlohmann::json;

namespace {

const json& usual_values() {
  static const json values = read_located(shipped_file("scenarios/knobs", "power")).value;
  return values;
}

}  // namespace

void add_price_of_energy(json& machine, json& sources) {
  if (!machine.contains("prices_usd") || !machine["prices_usd"].is_object() ||
      machine["prices_usd"].contains("kwh"))
    return;
  machine["prices_usd"]["kwh"] = usual_values().at("kwh").at("usd");
  sources["prices_usd.kwh"] = usual_values().at("kwh").at("source");
}

UsualPower usual_drive_power() {
  const json& drive = usual_values().at("ssd");
  return {drive.at("w").get<double>(), drive.at("source").get<std::string>()};
}

}  // namespace spillway::scenarios
