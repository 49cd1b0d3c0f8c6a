#pragma once

#include "explore/outcome/outcomes.hpp"
#include "reports/answer/calibration.hpp"

#include <string>
#include <vector>

namespace spillway::answers {

/// Which of a machine file's numbers follow from what people have measured or logged?
struct CalibrateQuestion {
  std::string machine;                 ///< shipped name or machine file
  std::vector<std::string> files;      ///< of evidence: a path, or "STORAGE=path"
  std::string scenario;                ///< what logged runs trained: a file, or a shipped name
  std::vector<std::string> overrides;  ///< "path=value" of the scenario
  std::string name;                    ///< of the new machine; "": the old one's
  std::string today;                   ///< "2026-11-25": forecasts of drives count from it
};

/// Reads the files and puts what they tell into the machine, each number with "measured: FILE" as
/// its source. Where logs are among them and a scenario is named, it is simulated on the machine
/// before and after.
///   Throws  ScenarioError: a file that is none of those known, in one line; a storage that is not
///           named, where there are several
answer::Calibration calibrate(const explore::Backend& backend, const CalibrateQuestion& question);

}  // namespace spillway::answers
