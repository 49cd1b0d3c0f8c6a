#pragma once

#include "scenarios/description/machine_file.hpp"
#include "scenarios/evidence/evidence.hpp"

#include <optional>

namespace spillway::answers {

/// What to say where evidence is of another card than the machine file was made of: than the part
/// that was bought, or the one whose data sheet its sources name; where neither is said, than one
/// with the machine file's figures. Nothing where it is the same, or nobody knows.
std::optional<text::Text> another_card(const description::MachineFile& before,
                                       const evidence::Evidence& evidence);

}  // namespace spillway::answers
