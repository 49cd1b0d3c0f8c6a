#pragma once

#include "reports/text/text.hpp"
#include "scenarios/document/price_list.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// What is to be put into a board.
struct Load {
  const scenarios::Part* card = nullptr;
  std::uint64_t cards = 1;
  description::Bytes memory;
  const scenarios::DrivePart* drive = nullptr;  ///< nullptr: none
  std::uint64_t drives = 0;
};

/// Why a board does not take it: "takes 1 card, not 2", "has 4 places for M.2 drives, not 6", "has
/// 32 lanes of PCI Express, and 36 are needed"; "" where it does.
std::string refusal(const scenarios::HostPart& board, const Load& load);

/// The cheapest board of the list that takes it.
std::optional<std::size_t> cheapest_board(const std::vector<scenarios::HostPart>& boards,
                                          const Load& load);

/// "no board takes 64 x RTX 4090 ...: a server takes 8 cards, not 64", for when none does.
std::string no_board(const std::vector<scenarios::HostPart>& boards, const Load& load);

/// It comes with memory, and takes the rest of the load: another memory alone stands against it.
bool lacks_no_more_than_memory(const scenarios::HostPart& board, const Load& load);

/// "1 card, 4 M.2 drives, up to 192 GiB, 32 lanes of PCI Express".
text::Text places_of(const scenarios::HostPart& board);

}  // namespace spillway::answers
