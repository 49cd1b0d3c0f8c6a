#pragma once

#include "scenarios/description/units.hpp"

#include "scenarios/json/located_json.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spillway::scenarios {

/// What all parts have. `parts` are pieces of a machine file by their key there, each number with
/// an entry in `sources` ("gpu.memory"); `sources.price_usd` is the price's.
struct Part {
  std::string name;
  std::vector<std::string> aliases;  ///< other names that people write
  double price_usd = 0;
  std::string date;              ///< for which the price stands: "2026-06-03"
  std::uint64_t lanes = 0;       ///< of PCI Express: that it takes, or that a host gives
  std::uint64_t generation = 0;  ///< of PCI Express; 0: not stated
  double watts = 0;              ///< from the plug while training; 0: not stated
  std::string form;              ///< of the place that it takes; a card's is "card" if not stated
  bool rebuilt = false;          ///< by workshops: no answer says to buy it
  nlohmann::json parts = nlohmann::json::object();
  std::map<std::string, std::string> sources;
};

/// A board with a case, a processor and a power supply, without cards, DRAM and drives.
struct HostPart : Part {
  double dram_usd_per_gib = 0;
  std::string dram_date;                       ///< for which that price stands; "" when not said
  std::vector<description::Bytes> memory;      ///< sizes that are sold, ascending
  std::vector<std::uint64_t> gpus;             ///< counts of cards that it takes, ascending
  std::map<std::string, std::uint64_t> slots;  ///< drives at most, by form
  std::string card = "card";                   ///< form of the cards that it takes
};

struct DrivePart : Part {};

/// A price list: what boxes are built from (scenarios/parts). Its parts stand in the file, or are
/// named ("RTX 4090") and stand in the catalogue; {"part": "RTX 4090", "price_usd": 1500} changes
/// some numbers of one.
struct PriceList {
  std::string name;
  std::string date;  ///< for which its prices stand
  std::vector<Part> gpus;
  std::vector<HostPart> hosts;
  std::vector<DrivePart> drives;
};

/// Reads a price list: a shipped name or a path.
///   Throws  ScenarioError with everything that is wrong: the schema's complaints, a piece that no
///           machine file could have, a name that stands twice, a number without its source
PriceList read_price_list(const std::string& name_or_path);

/// The same of a document at hand, in which no part of the catalogue is named.
PriceList price_list_of(LocatedJson document);

}  // namespace spillway::scenarios
