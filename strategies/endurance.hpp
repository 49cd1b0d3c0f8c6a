#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/machine_file.hpp"
#include "strategies/write_sizes.hpp"

#include <optional>

namespace spillway::strategies {

/// How much longer flash lasts when data must survive `retention` instead of what its rating
/// assumes: a factor 86 between 3 years and 1 day, a power law between and beyond.
///   Source  SSDTrain, section III-D (86x); the law between its two points is assumed
double retention_relaxation(description::Seconds retention, description::Seconds rated);

/// Write amplification of small writes at uniformly random places, whose garbage is collected from
/// the emptiest block: a / (a + W(-a exp(-a))), a = 1 + over-provisioning, W the principal branch
/// of Lambert's function.
///   over_provisioning   (flash - capacity) / capacity, > 0
///   Source  Xiang and Kurkoski, "An Improved Analytic Expression for Write Amplification in NAND
///           Flash", arXiv 1110.4245 (ICNC 2012); at 0.3 they simulate 2.35 and compute 2.36
double random_write_waf(double over_provisioning);

/// Write amplification of a run's writes on `storage`: what its machine file states, else the mean
/// over the bytes written. A drive sees its part of a write, padded to mapping units; from
/// `large_write` on the part fills erase units and costs no copies, below it costs what random
/// writes do.
///   writes   as the storage took them, all drives together; none: 1
double workload_waf(const description::StorageSpec& storage, const WriteSizes& writes);

/// Host writes that all drives of `storage` take before they are worn out, bytes: rated x rating
/// WAF / workload WAF x relaxation x drives.  Result  absent without a rating
std::optional<double> lifetime_writes(const description::StorageSpec& storage, double waf);

/// What steps of a node wrote, and what each of them trained.
struct StepWrites {
  std::vector<WriteSizes> by_storage;  ///< of all `steps`, parallel to machine.storage
  double seconds = 0;                  ///< of one
  double tokens = 0;                   ///< of one, all nodes together
  double nodes = 1;                    ///< that write alike
  double steps = 1;
};

/// Wear of the storage that wears out first; the price of what all of them lose.
///   Result  absent when the machine has no drive
std::optional<result::Wear> wear_of(const description::MachineFile& machine,
                                    const StepWrites& step);

}  // namespace spillway::strategies
