#pragma once

#include "gui/model/link.hpp"
#include "scenarios/document/price_list.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace spillway::gui {

/// A box put together from parts of the catalogue.
struct PartsBox {
  std::string gpu = "RTX 4090";
  std::uint64_t gpus = 1;
  std::string board;  ///< "" for the cheapest that takes the rest
  std::uint64_t memory_gib = 64;
  std::string drive = "990 PRO 2TB";
  std::uint64_t drives = 1;
  Link card_link = {}, drive_link = {};  ///< of each card, and of each drive
  std::string further_drive = "";        ///< a storage of another kind; "" for none
  std::uint64_t further_drives = 0;
  Link further_link = {};

  bool operator==(const PartsBox&) const = default;
};

/// The box as a machine file of parts.
nlohmann::json machine_of(const PartsBox& box);

/// The box that a machine of parts alone describes; nothing where it says anything else.
std::optional<PartsBox> box_in(const nlohmann::json& machine);

/// Whether options of `spillway fit` can say it: links and drives of two kinds cannot be said.
bool in_words(const PartsBox& box);

/// Whole GiB in "64 GiB"; nothing for another size.
std::optional<std::uint64_t> gib_in(const nlohmann::json& size);

/// The board that the box names, else the cheapest of the catalogue that takes cards, memory and
/// drives; nullptr where none does.
const scenarios::HostPart* board_of(const PartsBox& box);

/// "2 x RTX 4090, workstation, 256 GiB, 2 x 990 PRO 4TB".
std::string words_of(const PartsBox& box);

/// The drive of that name; nullptr where the catalogue has none.
const scenarios::DrivePart* drive_named(const std::string& name);

}  // namespace spillway::gui
