#pragma once

#include "explore/trials/trials.hpp"

namespace spillway::answers {

/// Tries micro-batches between those of trials: of each way the ones between the largest that fits
/// and the next, which does not, where steps that take no longer with more samples would make it
/// 2 % faster than the fastest. A dozen simulations at most, the most promising ones first; each
/// trial that comes of it stands behind the one of its way that is smaller.
///   trials  have been tried; those of one way differ in `training.micro_batch` alone
void try_between(const explore::Backend& backend, const nlohmann::json& base,
                 std::vector<answer::Trial>& trials, answer::TrialCounts& counts);

}  // namespace spillway::answers
