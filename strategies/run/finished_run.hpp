#pragma once

#include "reports/result/finished_run.hpp"
#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"

#include <optional>

namespace spillway::strategies {

/// Bytes of a checkpoint of `params` trainable parameters: 16-bit or fp32 weights, fp32 masters
/// where precision is mixed, and the optimizer's states: Adam's two, SGD without momentum none.
double checkpoint_bytes(const description::Training& training, double params);

/// What `run.tokens` of training mean in days, energy, dollars and drives.
///   steps      run.tokens over the tokens of a step, rounded up
///   days       the steps, and checkpoints for which training waits: each rank writes its share at
///              run.checkpoint_rate, all of a node together no faster than its drives take them
///   energy     a card takes power.gpu while it computes and power.gpu_waiting else; the rest of a
///              node and its drives take theirs all the time
///   drives     what steps and checkpoints write over what the warranty and the flash allow; all
///              drives of a storage reach the end of their warranty at once and are replaced whole
///   Source     of the default rate: torch.save reaches about 1 GB/s (DeepNVMe, June 2025)
///   Result     absent without run.tokens, and for what does not fit or trains nothing
std::optional<result::FinishedRun> finished_run(const description::Scenario& scenario,
                                                const result::Result& result, double params);

/// A note where checkpoints of the finished run have no room on the drives that are taken to hold
/// them, two at a time.
///   result  with its `run`, peaks and notes
void note_room_of_checkpoints(const description::Scenario& scenario, result::Result& result);

}  // namespace spillway::strategies
