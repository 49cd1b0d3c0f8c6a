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

/// The drives of a machine file that a drive which somebody asked is one of.
struct DriveOf {
  const description::StorageSpec* storage;
  bool is_other;  ///< not as large: another one than the file's ratings, cache and price are of
  bool is_rated;  ///< the file's endurance is what the maker says of this drive
};

/// Nothing where `evidence` is not of a drive.
///   Throws  ScenarioError: as storage_of
std::optional<DriveOf> drive_of(const description::MachineFile& machine,
                                const evidence::Evidence& evidence);

/// Puts the readings into `into.machine`, which is `before` as JSON, and says which and why not. Of
/// several drives of one storage each tells what was written to it, and the one that has used up
/// most of its life all else; drives without a file are taken to be as worn as that one.
/// Rates that nobody measured become no more than the narrowest link of a file carries.
void put_readings(const description::MachineFile& before,
                  const std::vector<evidence::Evidence>& all, answer::Calibration& into);

/// Rates of a machine whose sources say that nobody measured them.
std::vector<std::string> still_assumed(const nlohmann::json& machine);

}  // namespace spillway::answers
