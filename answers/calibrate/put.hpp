#pragma once

#include "reports/answer/calibration.hpp"
#include "scenarios/description/machine_file.hpp"
#include "scenarios/evidence/evidence.hpp"

namespace spillway::answers {

/// The storage of `machine` that evidence is of: the one that a person named with it, or the only
/// one.
///   Throws  ScenarioError: there are several and none is named, or none of that name
const description::StorageSpec& storage_of(const description::MachineFile& machine,
                                           const evidence::Evidence& evidence);

/// The drive that `evidence` is of is not as large as the storage's drives: it is another one than
/// the machine file's ratings, cache and price are of.
bool is_of_other_drive(const description::StorageSpec& storage, const evidence::Evidence& evidence);

/// Puts the readings into `into.machine`, which is `before` as JSON, and says which and why not. A
/// link with fewer lanes than the card has lowers rates that nobody measured.
void put_readings(const description::MachineFile& before,
                  const std::vector<evidence::Evidence>& all, answer::Calibration& into);

/// Rates of a machine whose sources say that nobody measured them.
std::vector<std::string> still_assumed(const nlohmann::json& machine);

}  // namespace spillway::answers
