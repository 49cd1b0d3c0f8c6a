#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/machine/machine.hpp"

namespace spillway::bench {

/// A box of `ranks` GPUs and one SSD array, with room for everything below.
description::Scenario bench_box(std::uint64_t ranks);

/// Operations that one round of `mixed_verbs` issues.
inline constexpr std::uint64_t operations_per_round = 6;

/// The shape of a streaming system's inner loop, double buffered: read, copy to the GPU, kernel,
/// copy back, CPU kernel and write, chained by `After`; each round awaits the round before the
/// last.
strategies::Task<> mixed_verbs(strategies::Machine& machine, strategies::Rank rank,
                               std::uint64_t rounds);

/// Runs `mixed_verbs` on every rank to the end.
void run_mixed_verbs(strategies::Machine& machine, std::uint64_t rounds);

}  // namespace spillway::bench
