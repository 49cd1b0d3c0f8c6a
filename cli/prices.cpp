#include "cli/prices.hpp"

#include "answers/simulate/simulate.hpp"
#include "cli/common.hpp"
#include "explore/outcome/outcomes.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/reading/plausible.hpp"

#include <fmt/format.h>
#include <cstdlib>
#include <ctime>
#include <set>

namespace spillway::cli {

void add_prices(CLI::App& verb, PriceOptions& options) {
  verb.add_option(
          "--price", options.prices,
          "dollars that hold instead, comma separated: dram=11 a GiB, ssd=440 a drive, "
          "ssd_per_tb=110, gpu=2000, server=1500, gpu_hour=2 (rent of a card), kwh=0.3, or a "
          "part: \"990 PRO 4TB=800\"")
      ->type_name("NAME=USD")
      ->allow_extra_args(false);
  verb.add_option("--prices", options.offers,
                  "a CSV file of offers: name,price,date,source, a name as for --price");
}

void price_anew(const PriceOptions& options, description::MachineFile& machine) {
  if (!options.any()) return;
  const auto offers = scenarios::read_offers(options.prices, options.offers);
  const bool hourly = !scenarios::hourly_overrides(offers).empty();
  if (!machine.prices_usd && !hourly)
    refuse("--price", machine.name + " has no prices",
           "give it prices_usd, or parts; gpu_hour and kwh need none");
  if (scenarios::apply_offers(offers, machine) == 0 && !offers.empty())
    refuse("--price", machine.name + " has none of these parts at a price of their own",
           "spillway machine " + (machine.shown_by.empty() ? machine.name : machine.shown_by) +
               " shows its prices");
}

namespace {

/// TB of the first drives of a machine file; 0 without any.
double drive_terabytes(const nlohmann::json& machine) {
  for (const nlohmann::json& storage : machine.value("storage", nlohmann::json::array()))
    if (storage.is_object() && storage.contains("capacity") && storage["capacity"].is_string())
      if (const auto size = scenarios::drive_size_in(storage["capacity"].get<std::string>()))
        return static_cast<double>(size->value()) / 1e12;
  return 0;
}

/// prices_usd that offers put in the place of those that the machine states.
nlohmann::json new_prices(const std::vector<scenarios::Offer>& offers,
                          const nlohmann::json& machine) {
  const nlohmann::json old = machine.value("prices_usd", nlohmann::json::object());
  const auto put = [&](nlohmann::json& prices, const char* key, double usd) {
    if (old.value(key, 0.0) > 0) prices[key] = usd;
  };
  nlohmann::json prices = nlohmann::json::object();
  for (const scenarios::Offer& offer : offers) {
    if (offer.name == "dram") put(prices, "dram_per_gib", offer.usd);
    if (offer.name == "ssd_per_tb") put(prices, "ssd", offer.usd * drive_terabytes(machine));
    for (const char* key : {"ssd", "gpu", "server"})
      if (offer.name == key) put(prices, key, offer.usd);
    for (const char* key : {"gpu_hour", "kwh"})  // a machine need not have these
      if (offer.name == key) prices[key] = offer.usd;
  }
  return prices;
}

}  // namespace

void price_anew(const PriceOptions& options, scenarios::LocatedJson& base) {
  if (!options.any()) return;
  const auto offers = scenarios::read_offers(options.prices, options.offers);
  scenarios::price_catalogue(offers);
  const scenarios::Document document = scenarios::assemble(base, {});
  const nlohmann::json machine = document.machine.json.value;
  if (!machine.is_object()) return;  // whoever reads the base says what is wrong
  scenarios::LocatedJson changed = scenarios::located_at({{"prices_usd", {}}}, {"--price"});
  changed.value["prices_usd"] = new_prices(offers, machine);
  if (changed.value["prices_usd"].empty()) return;
  const nlohmann::json* own = base.find("/machine");
  if (own && own->is_object()) {
    for (const auto& [key, usd] : changed.value["prices_usd"].items())
      base.put("/machine/prices_usd/" + key, scenarios::located_at(usd, {"--price"}));
  } else if (own) {
    const scenarios::Place place = base.place("/machine");
    changed.value["extends"] = *own;
    base.put("/machine", scenarios::located_at(changed.value, place));
  }
}

void warn_of_prices(const description::MachineFile& machine) {
  static std::set<std::string> said;  // a comparison has one machine many times
  for (const std::string& warning : scenarios::doubts_of_price(machine))
    if (said.insert(warning).second) warn(warning);
}

void warn_of_prices(const result::Result& result) {
  warn_of_prices(explore::scenario_of(result).machine);
}

std::string today() {
  if (const char* said = std::getenv("SPILLWAY_TODAY")) return said;
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  gmtime_r(&now, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

std::string old_prices_words(const result::Result& result) {
  return old_prices_words(explore::scenario_of(result).machine);
}

std::string old_prices_words(const description::MachineFile& machine) {
  return answers::old_prices_words(machine, today());
}

}  // namespace spillway::cli
