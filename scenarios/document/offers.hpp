#pragma once

#include "scenarios/description/machine_file.hpp"
#include "scenarios/document/price_list.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::scenarios {

/// A price that holds in place of those of files.
struct Offer {
  /// dram (a GiB), ssd (a drive), ssd_per_tb, gpu, server, gpu_hour (rent), kwh, or a part's name
  std::string name;
  double usd = 0;      ///< finite, > 0; of kwh and gpu_hour also 0
  std::string date;    ///< "2026-11-22"; "" when it is not said
  std::string source;  ///< "--price", or where the file of offers has it from
};

/// Reads what stands behind `--price` ("dram=11", "ssd=440,990 PRO 4TB=800") and the lines of a
/// CSV file: name, price, date, source, with or without that as its first line.
///   csv      "" for none
///   Throws   ScenarioError with everything that is wrong: no number, no such part, a price of 0,
///   which files have for what is in another part's price: memory would then be sold with its board
std::vector<Offer> read_offers(const std::vector<std::string>& prices, const std::string& csv);

/// Puts offers into the prices of a machine that has some; a part's go to where it was bought. A
/// price of 0, of what is in another part's price, stays; gpu_hour and kwh need no price before.
///   Result  how many of its prices changed
std::size_t apply_offers(const std::vector<Offer>& offers, description::MachineFile& machine);

/// The same for the parts of a list.
std::size_t apply_offers(const std::vector<Offer>& offers, PriceList& list);

/// The same for the catalogue: what is read from now on has these prices.
void price_catalogue(const std::vector<Offer>& offers);

/// "machine.prices_usd.gpu_hour=2" for offers of what no part is: for scenarios that are read
/// later.
std::vector<std::string> hourly_overrides(const std::vector<Offer>& offers);

/// Days of civil dates, for differences; "2026-06-03" or "2026-06".
///   Result  nothing where the text is no date
std::optional<long> day_number(const std::string& date);

/// Prices of the machine that stand for a day more than a year before `today`, with that day:
/// "gpu" -> "2024-03-11", "dram", "nvme.price_usd".
std::map<std::string, std::string> old_prices(const description::MachineFile& machine,
                                              const std::string& today);

}  // namespace spillway::scenarios
