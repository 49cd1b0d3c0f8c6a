#pragma once

#include "scenarios/description/machine_file.hpp"
#include "scenarios/evidence/evidence.hpp"

#include <nlohmann/json.hpp>

namespace spillway::answers {

/// `power.gpu` as the driver limits it, where the machine file says more, or what an earlier limit
/// was; nothing where the file counts no energy: a limit is no draw of a card that takes less.
std::optional<evidence::Reading> power_reading(const description::MachineFile& before,
                                               const evidence::Evidence& each);

/// `power.gpu_waiting` that follows from `power.gpu` stays what it was before the limit, which a
/// card that waits does not reach, and says so.
///   machine  `before` with the limit
void keep_waiting_power(const description::MachineFile& before, nlohmann::json& machine);

/// What a limit below the usual one does to the machine's numbers, and what it does not.
///   after  with the readings of all files
std::optional<text::Text> power_note(const description::MachineFile& after,
                                     const evidence::Evidence& each);

}  // namespace spillway::answers
