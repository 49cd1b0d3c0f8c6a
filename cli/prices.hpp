#pragma once

#include "reports/result/result.hpp"
#include "scenarios/document/offers.hpp"
#include "scenarios/json/located_json.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace spillway::cli {

/// `--price` and `--prices`.
struct PriceOptions {
  std::vector<std::string> prices;
  std::string offers;  ///< a CSV file
  bool any() const { return !prices.empty() || !offers.empty(); }
};
void add_prices(CLI::App& verb, PriceOptions& options);
/// Puts what they say into the machine.
///   Throws  ScenarioError: what cannot be read, and offers for none of its parts
void price_anew(const PriceOptions& options, description::MachineFile& machine);
/// The same for all that a base scenario resolves to: parts of the catalogue get these prices, and
/// so does the machine where it states its own.
void price_anew(const PriceOptions& options, scenarios::LocatedJson& base);
/// Warns once of each card and drive that is larger than the part whose price it has.
void warn_of_prices(const description::MachineFile& machine);
/// Of the machine that the result is about.
void warn_of_prices(const result::Result& result);
/// The day on which the answer is given; $SPILLWAY_TODAY stands for it where it is set.
std::string today();
/// "The prices of gpu (2024-03-11) are more than a year old: ..."; "" where none is.
std::string old_prices_words(const description::MachineFile& machine);
/// Of the machine that the result is about.
std::string old_prices_words(const result::Result& result);

}  // namespace spillway::cli
