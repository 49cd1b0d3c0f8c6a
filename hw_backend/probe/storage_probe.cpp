#include "hw_backend/probe/file_system.hpp"
#include "hw_backend/probe/parts.hpp"
#include "hw_backend/probe/smart_log.hpp"
#include "hw_backend/probe/storage_part.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <map>

namespace spillway::hw_backend {

using description::Bytes;

namespace {

[[noreturn]] void refuse_memory(const std::filesystem::path& directory) {
  throw description::ScenarioError(
      {{"", 0, 0, "DIR", '"' + directory.string() + "\" is in memory: what it holds takes DRAM",
        "name a directory on a drive's file system; df -T shows them"}});
}

[[noreturn]] void refuse_buffered(const std::filesystem::path& directory) {
  throw description::ScenarioError(
      {{"", 0, 0, "--strict", '"' + directory.string() + "\" has no O_DIRECT",
        "name a directory on a drive's file system, such as ext4 or XFS"}});
}

/// What a drive's own log says of its endurance.
void add_endurance(Session& session, description::StorageSpec& storage, const std::string& disk) {
  const std::optional<SmartLog> log = read_smart_log(disk);
  if (!log) return;
  const std::string path = "storage." + storage.name + ".endurance";
  session.out().measurements.push_back(measurement_of(
      path + ".percent_used", "SMART log of " + disk, Unit::share, {log->percent_used / 100.0}));
  session.out().measurements.push_back(
      measurement_of(path + ".written", "SMART log of " + disk, Unit::bytes, {log->bytes_written}));
  const std::optional<double> rated = rated_bytes(*log);
  if (!rated) return;
  description::EnduranceSpec& endurance = storage.endurance.emplace();
  endurance.rated = Bytes(static_cast<std::uint64_t>(four_digits(*rated)));
  endurance.over_provisioning = 0.0737;
  endurance.erase_block = Bytes(1u << 30);
  endurance.mapping_unit = Bytes(4096);
  endurance.retention = endurance.rated_retention = description::Seconds(3 * 365 * 86400.0);
  session.source(path + ".rated",
                 fmt::format("measured: SMART log of {}, host writes over {} % used", disk,
                             log->percent_used));
  for (const char* field : {"rating_waf", "over_provisioning", "erase_block", "mapping_unit",
                            "retention", "rated_retention"})
    session.source(path + "." + field, "assumed: as for a drive whose data sheet is not at hand");
}

/// Directories of one disk, or of one file system where no disk is known.
std::string shared_by(const FileSystem& system) {
  return system.disk.empty() ? "file_system_" + std::to_string(system.device) : system.disk;
}

}  // namespace

double storage_seconds(const ProbeOptions& options) {
  const StorageEffort effort = storage_effort(options);
  return static_cast<double>(options.directories.size()) *
         (effort.fill_s / 2 + ((3 + mixtures.size()) * effort.interval_s +
                               (2 + mixtures.size()) * effort.small_interval_s + effort.alone_s) *
                                  Session::intervals);
}

std::uint64_t probe_writes(const ProbeOptions& options) {
  const StorageEffort effort = storage_effort(options);
  constexpr std::uint64_t pages = 64 << 20;                         // of probe_threads
  const std::uint64_t small = effort.small + effort.small * 3 / 2;  // alone and in mixtures
  return pages + effort.file + effort.written + effort.mixed + small + 3 * effort.tensors +
         4 * effort.alone + (options.thorough ? options.cliff_bytes : 0);
}

void probe_storages(Session& session, IoEngine& engine) {
  const ProbeOptions& options = session.options();
  const std::vector<std::string> names = storage_names(options.directories);
  // all of them first: a slip in the last name should not cost a minute
  std::vector<std::unique_ptr<StoreDirectory>> stores;
  std::vector<FileSystem> systems;
  std::map<std::string, std::vector<std::string>> sharing;
  std::map<std::string, std::uint64_t> room;
  for (std::size_t i = 0; i < names.size(); ++i) {
    stores.push_back(std::make_unique<StoreDirectory>(options.directories[i],
                                                      std::uint64_t{1} << 30, stop_if_interrupted));
    if (stores.back()->in_memory() && !options.in_memory) refuse_memory(options.directories[i]);
    if (!stores.back()->direct()) {
      if (options.strict) refuse_buffered(options.directories[i]);
      session.out().buffered.push_back(names[i]);
    }
    systems.push_back(file_system_of(stores.back()->path()));
    const std::string disk = shared_by(systems.back());
    sharing[disk].push_back(names[i]);
    room.emplace(disk, stores.back()->room());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    description::StorageSpec storage;
    storage.name = names[i];
    storage.kind = systems[i].kind;
    const auto users = sharing[shared_by(systems[i])].size();
    constexpr std::uint64_t sector = 4096;
    storage.capacity = Bytes(room[shared_by(systems[i])] / users / sector * sector);
    const std::string path = "storage." + storage.name + ".";
    session.source(path + "capacity",
                   users == 1 ? "measured: free for this user, less 1 GiB"
                              : fmt::format("measured: free for this user, less 1 GiB, over {} "
                                            "directories of {}",
                                            users, shared_by(systems[i])));
    session.source(path + "kind", "measured: type of its file system");
    session.source(path + "count", "assumed: one drive a directory");
    session.source(path + "shared_by_nodes", "assumed: this computer's own");
    if (users > 1) {
      storage.device = shared_by(systems[i]);
      session.source(path + "device", "measured: the disk of its file system");
    }
    probe_storage(session, engine, *stores[i], storage);
    add_endurance(session, storage, systems[i].disk);
    session.out().machine.storage.push_back(storage);
  }
  probe_threads(session, stores.empty() ? nullptr : stores.front().get());
  for (const auto& [disk, users] : sharing)
    if (users.size() > 1)
      session.warn(
          fmt::format("{} are on {}: each was measured alone, and as the file says they share its "
                      "time, so that two paths are no faster than one",
                      fmt::join(users, ", "), disk));
}

}  // namespace spillway::hw_backend
