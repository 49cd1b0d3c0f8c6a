#pragma once

#include "strategies/parts/renewed_weights.hpp"
#include "strategies/parts/replay.hpp"
#include "strategies/parts/weights.hpp"

/// Which implementation of each part a scenario stands for.
namespace spillway::strategies {

/// A rank's weights, and those of their sources that an update which no step waits for must know.
struct MadeWeights {
  std::unique_ptr<Weights> all;
  RenewedWeights* renewed = nullptr;    ///< an update renews them beside all steps
  ReplayedWeights* replayed = nullptr;  ///< what such an update did is done again
};
MadeWeights make_weights(Machine& machine, Rank rank, const Job& job);

}  // namespace spillway::strategies
