#include "cli/prices.hpp"

#include "cli/common.hpp"
#include "scenarios/document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cstdlib>
#include <ctime>

namespace spillway::cli {

void add_prices(CLI::App& verb, PriceOptions& options) {
  verb.add_option("--price", options.prices,
                  "dollars that hold instead, comma separated: dram=11 a GiB, ssd=440 a drive, "
                  "ssd_per_tb=110, gpu=2000, server=1500, or a part: \"990 PRO 4TB=800\"")
      ->type_name("NAME=USD")
      ->allow_extra_args(false);
  verb.add_option("--prices", options.offers,
                  "a CSV file of offers: name,price,date,source, a name as for --price");
}

void price_anew(const PriceOptions& options, description::MachineFile& machine) {
  if (!options.any()) return;
  const auto offers = scenarios::read_offers(options.prices, options.offers);
  if (!machine.prices_usd)
    refuse("--price", machine.name + " has no prices", "give it prices_usd, or parts");
  if (scenarios::apply_offers(offers, machine) == 0 && !offers.empty())
    refuse("--price", machine.name + " has none of these parts at a price of their own",
           "spillway machine " + machine.name + " shows its prices");
}

void price_anew(const PriceOptions& options, scenarios::LocatedJson& base) {
  if (!options.any()) return;
  const auto offers = scenarios::read_offers(options.prices, options.offers);
  scenarios::price_catalogue(offers);
  const scenarios::Document document = scenarios::assemble(base, {});
  const nlohmann::json machine = document.machine.json.value;
  if (!machine.is_object()) return;  // whoever reads the base says what is wrong
  const nlohmann::json prices = machine.value("prices_usd", nlohmann::json::object());
  const std::map<std::string, std::string> keys = {
      {"dram", "dram_per_gib"}, {"ssd", "ssd"}, {"gpu", "gpu"}, {"server", "server"}};
  scenarios::LocatedJson changed = scenarios::located_at({{"prices_usd", {}}}, {"--price"});
  changed.value["prices_usd"] = nlohmann::json::object();
  for (const scenarios::Offer& offer : offers)
    if (const auto key = keys.find(offer.name);
        key != keys.end() && prices.value(key->second, 0.0) > 0)
      changed.value["prices_usd"][key->second] = offer.usd;
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

namespace {
/// The day on which the answer is given; $SPILLWAY_TODAY stands for it where it is set.
std::string today() {
  if (const char* said = std::getenv("SPILLWAY_TODAY")) return said;
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  gmtime_r(&now, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}
}  // namespace

std::string old_prices_words(const description::MachineFile& machine) {
  const auto old = scenarios::old_prices(machine, today());
  if (old.empty()) return "";
  return fmt::format("More than a year old: the prices of {}; --price gives today's.",
                     fmt::join(old, ", "));
}

}  // namespace spillway::cli
