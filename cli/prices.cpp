#include "cli/prices.hpp"

#include "cli/common.hpp"

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
