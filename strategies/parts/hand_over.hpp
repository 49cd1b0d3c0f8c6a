#pragma once

#include "strategies/layout/handovers.hpp"
#include "strategies/machine/machine.hpp"

namespace spillway::strategies {

/// GPU memory that another rank fills.
struct Incoming {
  std::uint64_t key;  ///< of the hand-over: both ends name it alike
  View into;
};

/// GPU memory whose bytes go to another rank.
struct Outgoing {
  std::uint64_t key;
  Rank peer;
  View from;  ///< kept alive by the operation that sends it, and no longer
};

/// Sends `out` to other ranks while these fill `in`: each sender writes where the receiver says.
/// Returns when all that is sent and all that comes has arrived. `board` outlives it.
Task<> hand_over(Machine& machine, Rank rank, Handovers& board, std::vector<Incoming> in,
                 std::vector<Outgoing> out);

}  // namespace spillway::strategies
