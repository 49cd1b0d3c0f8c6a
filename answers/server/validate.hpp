#pragma once

#include "answers/server/validation_plan.hpp"
#include "reports/result/validation.hpp"

namespace spillway::answers {

/// Predicts a scenario on this server, says what a run takes and writes, runs it, and compares:
/// step, bytes, peaks, and the master weights with those of resident training. A scenario that does
/// not fit is not run.
///   Throws  ScenarioError, DeviceError, Interrupted; nothing of a run stays on the drives
result::Validation validate(const explore::Backend& backend, const ValidateQuestion& question,
                            const ValidateTalk& talk);

}  // namespace spillway::answers
