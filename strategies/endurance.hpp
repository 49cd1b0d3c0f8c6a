#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/machine_file.hpp"

#include <optional>

namespace spillway::strategies {

/// How much longer flash lasts when data must survive `retention` instead of what its rating
/// assumes: a factor 86 between 3 years and 1 day, a power law between and beyond.
///   Source  SSDTrain, section III-D (86x); the law between its two points is assumed
double retention_relaxation(description::Seconds retention, description::Seconds rated);

/// Host writes that all drives of `storage` take before they are worn out, bytes: rated x rating
/// WAF / workload WAF x relaxation x drives.  Result  absent without a rating
std::optional<double> lifetime_writes(const description::StorageSpec& storage);

/// Wear of the storage that wears out first.
///   written   bytes per step, parallel to machine.storage
std::optional<result::Wear> wear_of(const description::MachineFile& machine,
                                    const std::vector<result::StorageBytes>& written,
                                    double step_time_s);

}  // namespace spillway::strategies
