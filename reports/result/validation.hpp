#pragma once

#include "reports/result/result.hpp"

namespace spillway::result {

/// How emulated kernels and copies kept the time of the machine they stand for.
struct Pacing {
  std::uint64_t jobs = 0;
  std::uint64_t overruns = 0;  ///< took longer than that machine would: the comparison is void
  double largest_share = 0;    ///< of a deadline, that real work took
  double late_s = 0;           ///< sum of what deadlines were missed by, for want of a core
};

/// Growth of memory since the end of the set-up, host and emulated GPUs together: what the ledger
/// says, and what the kernel does.
struct MemoryBooks {
  std::uint64_t ledger_bytes = 0, kernel_bytes = 0;
  std::uint64_t locked_ledger_bytes = 0, locked_kernel_bytes = 0;  ///< at the end of the set-up

  /// Relative to the ledger's; 0 when nothing grew.
  double difference() const;
};

/// Bytes of one storage over the whole run: what the engine was asked for, and what the disk under
/// it counted, of all programs.
struct StorageTotals {
  StorageBytes asked;
  std::optional<StorageBytes> disk;
  bool direct = true;  ///< past the page cache
};

/// One scenario on the real server beside its simulation (FORMATS, "validate").
struct Validation {
  std::string device;
  std::vector<std::string> real, emulated;
  std::vector<text::Text> notes;
  Result measured, predicted;
  std::map<std::string, double> errors;  ///< (predicted - measured) / measured, by path
  std::vector<text::Text> suspects;      ///< assumptions behind the largest errors, in words
  bool synthetic = false;                ///< nothing was computed on the GPU
  std::optional<bool> weights_equal;     ///< absent: nothing to compare with
  std::vector<double> losses;            ///< by step, the warm-up first
  std::optional<Pacing> pacing;
  MemoryBooks memory;
  std::map<std::string, StorageTotals> storage;
  nlohmann::json machine;

  /// Kernels took the time that was predicted for them, or were paced to; else only bytes compare.
  bool times_compare() const { return !synthetic || pacing.has_value(); }
};

inline constexpr const char* validation_schema = "spillway/validation/1";

void to_json(nlohmann::json& json, const Validation& validation);
/// Reads what to_json writes, of this release or an older one (result.hpp).
///   Throws  ScenarioError on another schema, and with the path of a value of the wrong type
void from_json(const nlohmann::json& json, Validation& validation);

/// What a step reads and writes of each storage that either side has: predicted, measured.
std::map<std::string, std::pair<StorageBytes, StorageBytes>> storages_of(const Validation& v);

/// Fills `errors` and `suspects` from `measured` and `predicted`.
///   errors    step and phase times, where they compare, bytes by storage, h2d, d2h, peaks; those
///             that are 0 on both sides are left out, and one that is 0 on the measured side alone
///             is 1. Of a scenario that does not fit, the peaks until then
void compare(Validation& validation);

}  // namespace spillway::result
