#pragma once

#include "scenarios/document/price_list.hpp"

namespace spillway::scenarios {

/// Which parts, and how many of each.
struct Box {
  std::size_t gpu = 0, host = 0, memory = 0, drive = 0;  ///< indices; memory among the host's sizes
  std::uint64_t gpus = 1, drives = 0;

  auto operator<=>(const Box&) const = default;
};

/// Every box that the list allows, those without drives included, each once.
std::vector<Box> boxes_of(const PriceList& list);

/// Whether the parts go together: the host takes so many cards and drives of that form.
bool allowed(const PriceList& list, const Box& box);

/// Dollars for all of it; that of its machine file.
double price_of(const PriceList& list, const Box& box);

/// A machine file of the box; sources say of what was chosen "assumed: chosen from" the list.
nlohmann::json machine_of(const PriceList& list, const Box& box);

/// `machine` with so many drives of the list in the place of its storage of that name, behind the
/// link that it has; their price becomes its `ssd`.
///   machine  a machine file, as JSON
nlohmann::json with_drives(nlohmann::json machine, const std::string& storage,
                           const PriceList& list, std::size_t drive, std::uint64_t count);

/// How sources of chosen numbers begin.
inline constexpr const char* chosen = "assumed: chosen from";

/// "128 GiB"; what is no whole number of GiB to a tenth of one, "119.7 GiB".
std::string memory_words(description::Bytes memory);

/// "2 x RTX 4090, desktop, 128 GiB, 3 x 990 PRO 2TB".
std::string words_of(const PriceList& list, const Box& box);

}  // namespace spillway::scenarios
