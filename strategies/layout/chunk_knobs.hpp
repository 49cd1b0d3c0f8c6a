#pragma once

#include "scenarios/description/scenario.hpp"

namespace spillway::strategies {

/// `weights.chunk` and `chunk_cache`, as the scenario or the system's defaults have them.
struct ChunkKnobs {
  bool used = false;                      ///< the schedule moves weights by chunks
  std::optional<std::uint64_t> elements;  ///< none: searched
  std::optional<std::uint64_t> cache;  ///< bytes of a GPU for idle chunks; none: not resolved yet
};
ChunkKnobs chunk_knobs(const description::Strategy& strategy);

/// Gradients take the place of the 16-bit weights that they are of, which nobody reads again before
/// the update renews them: one micro-batch, and masters of their own.
bool reuses_chunks(const description::Scenario& scenario);

}  // namespace spillway::strategies
