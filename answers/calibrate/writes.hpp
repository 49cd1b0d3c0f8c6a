#pragma once

#include "reports/answer/calibration.hpp"
#include "scenarios/description/machine_file.hpp"
#include "scenarios/evidence/evidence.hpp"

#include <vector>

namespace spillway::answers {

/// What the writes of a file say of one storage.
struct WriteReadings {
  std::vector<evidence::Reading> readings;  ///< paths as of a drive: "storage.write"
  std::vector<answer::KeptParameter> kept;  ///< jobs that tell no number, and why
};

/// The rate of writes, and what a mix with reads costs, by the jobs of `evidence` that wrote no
/// more than the cache of `storage` holds, or all where it has none.
WriteReadings steady_writes(const description::StorageSpec& storage,
                            const evidence::Evidence& evidence);

/// The rate of a drive whose cache is full, by the other jobs: by what they wrote past an empty
/// cache that took the rest at storage.write. A drive that became no slower writes at least at the
/// rate that a job tells, and how slow it becomes does not follow.
WriteReadings writes_past_cache(const description::StorageSpec& storage,
                                const evidence::Evidence& evidence);

}  // namespace spillway::answers
