#pragma once

#include "reports/answer/calibration.hpp"
#include "scenarios/description/machine_file.hpp"
#include "scenarios/evidence/evidence.hpp"

namespace spillway::answers {

/// Of a drive's life that it says is used, in whole percent: below, what follows from it is off by
/// a tenth and more.
constexpr unsigned least_percent = 5;

/// The files of drives of the same storage as that of `each`, the one with least left first.
std::vector<const evidence::Evidence*> drives_of(const description::MachineFile& machine,
                                                 const std::vector<evidence::Evidence>& all,
                                                 const evidence::Evidence& each);

/// Drives of a storage differ in it: what was written to them, and what of others lies on them.
bool is_of_each_drive(const evidence::Reading& reading);

/// What the drives of a storage say of themselves, each of its own.
struct DriveReadings {
  const evidence::Evidence* fullest = nullptr;  ///< null: none says what lies on it
  evidence::Reading held;       ///< of the fullest: data is spread evenly, and none has more room
  std::vector<double> written;  ///< to each; a drive without a file is as worn as the most worn one
  evidence::Reading sum;        ///< of `written`
  std::string files;            ///< that `written` is from: "s0.json, s1.json"
  std::vector<answer::KeptParameter> kept;
};

/// Where there are more files than drives, those with least left count.
///   drives  as drives_of
DriveReadings drive_readings(const description::StorageSpec& storage,
                             const std::vector<const evidence::Evidence*>& drives);

}  // namespace spillway::answers
