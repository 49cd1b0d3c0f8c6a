#pragma once

#include "answers/calibrate/put.hpp"
#include "reports/answer/calibration.hpp"
#include "reports/result/result.hpp"
#include "scenarios/evidence/evidence.hpp"

#include <string>

namespace spillway::answers {

/// When the drive of `evidence` is worn out, if `run` goes on on it: by its maker's rating, and by
/// the share of its endurance that it says the bytes written so far have used up. The second holds
/// the write amplification that the drive really had; it is known to half a percent of the whole.
///   drive   what it is one of
///   run     what is trained, on a machine with this storage; null: nobody says
///   today   "2026-11-25"
answer::DriveForecast forecast(const evidence::Evidence& evidence, const DriveOf& drive,
                               const result::Result* run, const std::string& today);

/// The day that comes `days` after `day` ("2026-11-25"); nothing beyond the year 9999.
std::optional<std::string> day_after(const std::string& day, double days);

}  // namespace spillway::answers
