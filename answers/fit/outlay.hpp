#pragma once

#include "scenarios/description/machine_file.hpp"

#include <optional>

namespace spillway::answers {

/// What has to be paid to make one machine of another. A card, a board or drives that others take
/// the place of bring nothing back, as second-hand prices are not known. Memory is added to what is
/// there by the GiB; a board whose memory has another price takes another kind, all of it bought.
/// Drives that nodes share are bought once, and nodes that are more are bought whole.
///   Result  nothing where either machine has no price
std::optional<double> outlay_usd(const description::MachineFile& now,
                                 const description::MachineFile& then);

}  // namespace spillway::answers
