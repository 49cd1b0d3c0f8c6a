#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"
#include "scenarios/document/price_list.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// Words and overrides of one purchase: "192 GiB of host memory", machine.host.memory="192 GiB".
struct Purchase {
  std::string words;
  std::vector<std::string> set;
};

/// What to buy for a result that does not fit and knows its needs.
///   Result  nothing where no part of the catalogue does it
std::optional<Purchase> purchase_for(const description::Scenario& scenario,
                                     const result::Result& result);

/// The size of host memory that is sold for the machine's board and holds `bytes`; 0 where none
/// does.
std::uint64_t host_memory_for(const description::MachineFile& machine, std::uint64_t bytes);

/// The board that the machine was put together from; nullptr where it was not, or by another list.
const scenarios::HostPart* board_of(const description::MachineFile& machine);

/// Boards of its kind that take all that lies on the machine's and cost more, by half at most; none
/// where its parts are not known.
std::vector<Purchase> dearer_boards(const description::MachineFile& machine);

}  // namespace spillway::answers
