#pragma once

#include "answers/server/places.hpp"
#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"

#include <optional>

/// What a run for real will take of this server, said and checked before it starts.
namespace spillway::answers {

/// Memory that a run adds to this process, by the prediction.
struct MemoryNeed {
  std::uint64_t host = 0;     ///< the host's peak, without what a process has anyway
  std::uint64_t gpus = 0;     ///< peaks of all emulated GPUs
  std::uint64_t device = 0;   ///< that of a CUDA device; no memory of the process
  std::uint64_t masters = 0;  ///< kept to be compared
  std::uint64_t files = 0;    ///< storages that lie in memory (tmpfs)
  std::uint64_t locked = 0;   ///< of `host`

  std::uint64_t total() const { return host + gpus + masters + files; }
};

///   cuda     its GPUs have memory of their own; else they are the host's
///   masters  parameters whose master weights are read in the end, 4 B each
MemoryNeed memory_need(const description::Scenario& scenario, const result::Result& predicted,
                       std::uint64_t masters, bool cuda = false);

/// Bytes of files by storage: whole drives of `direct`, as large as the scenario says they are,
/// else what the tensors take.
std::vector<std::uint64_t> file_need(const description::Scenario& scenario,
                                     const result::Result& predicted);

/// Each storage as large as the prediction needs, with some room for extents that do not fit
/// exactly, and no larger than it is.
void size_storages(description::Scenario& scenario, const result::Result& predicted);

/// Bytes written to all storages from start to end: what is laid down, then steps.
double bytes_written(const description::Scenario& scenario, const result::Result& predicted);

/// Space, wear and time in words.
std::string announcement(const description::Scenario& scenario, const result::Result& predicted,
                         const MemoryNeed& memory, bool reference);

/// Directories that share a file system have room for their files together.
///   Throws  ScenarioError, DeviceError: not usable; not enough room
void require_room(const std::vector<StoragePath>& places, const std::vector<std::uint64_t>& files);

/// Throws  DeviceError: more than `usable` bytes, by what
void require_memory(const MemoryNeed& need, std::uint64_t usable);

/// Places that lie on one disk, in words, where `machine` gives each a device of its own.
std::optional<std::string> shared_disk(const std::vector<StoragePath>& places,
                                       const description::MachineFile& machine);

}  // namespace spillway::answers
