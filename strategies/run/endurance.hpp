#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/machine_file.hpp"
#include "strategies/run/write_amplification.hpp"

#include <optional>

namespace spillway::strategies {

/// How much longer flash lasts when data must survive `retention` instead of what its rating
/// assumes: a factor 86 between 3 years and 1 day, a power law between and beyond.
///   Source  SSDTrain, section III-D (86x); the law between its two points is assumed
double retention_relaxation(description::Seconds retention, description::Seconds rated);

/// Host writes that all drives of `storage` take before they are worn out, bytes: rated x rating
/// WAF / workload WAF x relaxation x drives.  Result  absent without a rating
std::optional<double> lifetime_writes(const description::StorageSpec& storage, double waf);

/// What steps of a node wrote, or of several that differ, and what each of them trained.
struct StepWrites {
  /// Of all `steps`, parallel to machine.storage; of several nodes one after the other.
  std::vector<WriteSizes> by_storage;
  double seconds = 0;       ///< of one
  double tokens = 0;        ///< of one, all nodes together
  std::uint64_t nodes = 1;  ///< that write like it, or like each
  double steps = 1;
  std::vector<double> live_bytes = {};  ///< at most, parallel to by_storage; empty: nothing stays
};

/// Wear of the storage that wears out first, of the node where it does; of those without a rating
/// one whose drives take more than any other's, as nobody knows how long it lasts. And the price of
/// what all of them lose.
///   Result  absent when the machine has no drive
std::optional<result::Wear> wear_of(const description::MachineFile& machine,
                                    const StepWrites& step);

/// Bytes a second that all drives of a storage take step after step. A drive empties its SLC cache
/// at `folded_write` while nothing is read or written: what is written fast has taken that time
/// before.
double lasting_write(const description::StorageSpec& storage);

/// What the caches of the drives that a run writes to are like; a note of each drive that is taken
/// to sustain its rate although it is rated as those are that have such a cache, or has no rating,
/// and one of each on which something else lies.
///   result   of the run, with its bytes by storage
void note_caches(const description::MachineFile& machine, result::Result& result);

}  // namespace spillway::strategies
