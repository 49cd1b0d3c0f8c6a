#pragma once

#include "scenarios/description/errors.hpp"
#include "scenarios/document/price_list.hpp"
#include "scenarios/json/located_json.hpp"

#include <string>
#include <vector>

namespace spillway::scenarios {

/// Replaces `extends` of a machine (a shipped name, or a path relative to the file) by what that
/// machine says and this one does not. Lists are replaced whole; a part that is named replaces all
/// that is said of the earlier one but how many there are. Sources of numbers that are replaced
/// are dropped.
void inherit_machine(LocatedJson& machine, std::vector<description::Complaint>& complaints);

/// Gives storages without a name one ("nvme", "nvme2"), so that paths can name them.
void name_storages(LocatedJson& machine);

/// Names another part at `pointer` ("/gpu", "/host", "/storage/0"), which replaces what is said
/// there.
void forget_part(LocatedJson& machine, const std::string& pointer);

/// Puts the numbers of the catalogue in the place of the parts that a machine names:
/// {"part": "RTX 4090", "count": 2} as `gpu`, {"part": "desktop", "memory": "64 GiB"} as `host`,
/// {"part": "990 PRO 4TB", "count": 4} as a storage. What the machine says itself stays. Each
/// number keeps its source and each price its day; `bought` says which parts they were. A machine
/// that says nothing of parts stays as it is.
void put_parts(LocatedJson& machine, std::vector<description::Complaint>& complaints);

/// The same for the parts that a price list names: "RTX 4090", or {"part": "RTX 4090",
/// "price_usd": 1500}.
void fill_named_parts(LocatedJson& list, std::vector<description::Complaint>& complaints);

/// Raw rate of one lane of PCI Express each way, bytes a second after 128b/130b coding.
double lane_bytes_per_s(std::uint64_t generation);

/// Of its link's raw rate, what a drive reaches.
inline constexpr double drives_reach = 0.95;

/// What a drive reads and writes in the slots of a host of an older generation of PCI Express: by
/// "read" and "write" the rate and its source, where it is less than the drive's own.
std::map<std::string, std::pair<std::string, std::string>> slower_slot(const DrivePart& drive,
                                                                       const HostPart& host);

}  // namespace spillway::scenarios
