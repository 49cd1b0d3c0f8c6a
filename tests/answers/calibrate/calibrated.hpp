#pragma once

#include "answers/calibrate/put.hpp"

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

}  // namespace spillway::answers
