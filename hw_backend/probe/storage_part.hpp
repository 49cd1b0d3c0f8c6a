#pragma once

#include "hw_backend/probe/mix_probe.hpp"
#include "hw_backend/storage/store_directory.hpp"

namespace spillway::hw_backend {

/// How much is moved, and for how long.
struct StorageEffort {
  std::uint64_t file = 0;     ///< that is written once, then read and written again
  std::uint64_t written = 0;  ///< at most, to measure writes
  std::uint64_t mixed = 0;    ///< twice what each mixture moves: three quarters of it are writes
  std::uint64_t small = 0;    ///< that each mixture, and writes alone, move in small requests
  std::uint64_t tensors = 0;  ///< in files of their own; written three times
  std::uint64_t alone = 0;    ///< in transfers that are alone, of each of four sizes
  double fill_s = 0;          ///< at most, for the file's first writing
  double interval_s = 0;
  double small_interval_s = 0;  ///< of what moves in small requests
  double alone_s = 0;           ///< for transfers that are alone, of each kind
};
StorageEffort storage_effort(const ProbeOptions& options);

/// Rates, latency and shares of one directory, with the engine as a run uses it.
///   Fills  all of `storage` but name, kind and capacity
void probe_storage(Session& session, IoEngine& engine, StoreDirectory& directory,
                   description::StorageSpec& storage);

/// Where a drive's fast cache ends: writes 1 GiB after the other until the rate has fallen below
/// six tenths of the first, and goes on for three more; gives up after `cliff_bytes`.
///   intervals  rates of the GiB so far, bytes per second
///   Result     GiB before the fall; nothing: none yet
std::optional<std::size_t> find_cliff(const std::vector<double>& rates);

}  // namespace spillway::hw_backend
