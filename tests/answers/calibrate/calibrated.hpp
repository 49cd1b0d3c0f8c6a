#pragma once

#include "answers/calibrate/put.hpp"

#include <string>
#include <vector>

namespace spillway::answers {

/// The answer of evidence about `machine`.
inline answer::Calibration with(const description::MachineFile& machine,
                                const std::vector<evidence::Evidence>& all) {
  answer::Calibration into;
  into.machine = machine;
  put_readings(machine, all, into);
  return into;
}

/// The machine file of an answer, read again.
inline description::MachineFile again(const answer::Calibration& answer) {
  return answer.machine.get<description::MachineFile>();
}

/// What smartctl says of one drive: `used` percent, bytes written, bytes in all.
inline evidence::Evidence of_drive(const std::string& file, unsigned used, double written,
                                   double capacity) {
  evidence::Evidence drive;
  drive.file = file;
  drive.kind = "smartctl";
  drive.readings = {{"storage.capacity", "bytes", capacity, "what the drive says"},
                    {"storage.endurance.written", "bytes", written, "what the drive says"}};
  drive.drive = evidence::DriveWear{"X", written, used, {}};
  return drive;
}

}  // namespace spillway::answers
