#include "answers/server/preflight.hpp"

#include "hw_backend/storage/disk_counts.hpp"
#include "hw_backend/storage/store_directory.hpp"
#include "reports/words/human.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <algorithm>
#include <map>

namespace spillway::answers {

namespace {

using description::Scenario;
using result::Purpose;
using result::Result;

std::uint64_t of(const result::PeakBytes& peak, std::initializer_list<Purpose> purposes) {
  std::uint64_t bytes = 0;
  for (const Purpose purpose : purposes) {
    const auto found = peak.by_purpose.find(std::string(to_string(purpose)));
    if (found != peak.by_purpose.end()) bytes += found->second;
  }
  return bytes;
}

/// Bytes on drives and elsewhere.
std::uint64_t stored(const Result& predicted) {
  return predicted.ssd.total + predicted.remote.total;
}

double steps(const Scenario& scenario) {
  return static_cast<double>(scenario.run.warmup_steps + scenario.run.steps);
}

double written_per_step(const Result& predicted) {
  double bytes = 0;
  for (const auto& [name, each] : predicted.io.by_storage) bytes += static_cast<double>(each.write);
  return bytes;
}

}  // namespace

MemoryNeed memory_need(const Scenario& scenario, const Result& predicted, std::uint64_t masters,
                       bool cuda) {
  MemoryNeed need;
  need.host =
      predicted.host.total - of(predicted.host, {Purpose::process_base, Purpose::runtime_base});
  const std::uint64_t each = predicted.gpu.total - of(predicted.gpu, {Purpose::context});
  (cuda ? need.device : need.gpus) = cuda ? each : scenario.node_ranks() * each;
  for (const result::PeakEntry& entry : predicted.host.entries)
    if (entry.pinned) need.locked += entry.count * entry.charged_bytes;
  need.masters = 4 * masters;
  return need;
}

std::vector<std::uint64_t> file_need(const Scenario& scenario, const Result& predicted) {
  std::vector<std::uint64_t> bytes;
  for (const description::StorageSpec& storage : scenario.machine.storage)
    bytes.push_back(scenario.strategy.io_engine == description::IoEngine::direct &&
                            storage.kind == description::StorageKind::ssd
                        ? storage.total_room().value()
                        : stored(predicted));
  return bytes;
}

void size_storages(Scenario& scenario, const Result& predicted) {
  const std::uint64_t need = stored(predicted) + stored(predicted) / 16 + (64u << 20);
  for (description::StorageSpec& storage : scenario.machine.storage)
    if (storage.capacity.value() == 0 || storage.capacity.value() > need)
      storage.capacity = description::Bytes(need / 4096 * 4096);
}

double bytes_written(const Scenario& scenario, const Result& predicted) {
  return static_cast<double>(stored(predicted)) + steps(scenario) * written_per_step(predicted);
}

std::string announcement(const Scenario& scenario, const Result& predicted,
                         const MemoryNeed& memory, bool reference) {
  const double written = bytes_written(scenario, predicted);
  std::string text =
      fmt::format("Predicted: {:.0f} steps of {} or more{}; {} on storage, {} written in all",
                  steps(scenario), reports::human_time(predicted.step_time_s),
                  reference ? ", then as many of resident training to compare with" : "",
                  reports::human_memory(stored(predicted)), reports::human_bytes(written));
  if (predicted.wear && predicted.wear->lifetime_write_bytes)
    text +=
        fmt::format(" ({:.2g} % of what {} may write in its life)",
                    100 * written / *predicted.wear->lifetime_write_bytes, predicted.wear->storage);
  else if (written > 0)
    text += " (no drive has a rating in the machine file: their wear is not known)";
  text +=
      fmt::format("; {} of host memory and ", reports::human_memory(memory.host + memory.masters));
  const char* const s = scenario.node_ranks() == 1 ? "" : "s";
  if (memory.device > 0 && scenario.node_ranks() == 1)
    return text + reports::human_memory(memory.device) + " on the GPU.\n";
  if (memory.device > 0)
    return text + fmt::format("{} on each of {} GPUs.\n", reports::human_memory(memory.device),
                              scenario.node_ranks());
  return text + fmt::format("{} for {} emulated GPU{}.\n", reports::human_memory(memory.gpus),
                            scenario.node_ranks(), s);
}

void require_room(const std::vector<StoragePath>& places, const std::vector<std::uint64_t>& files) {
  std::map<dev_t, std::uint64_t> by_file_system;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].raw) continue;
    const hw_backend::StoreDirectory directory(places[i].path);
    struct stat status {};
    if (stat(directory.path().c_str(), &status) != 0) continue;  // opened a moment ago
    directory.require_room(by_file_system[status.st_dev] += files[i]);
  }
}

void require_memory(const MemoryNeed& need, std::uint64_t usable) {
  if (need.total() <= usable) return;
  std::vector<std::string> parts;
  for (const auto& [bytes, what] : {std::pair{need.host, "for the host's buffers"},
                                    {need.gpus, "for emulated GPUs"},
                                    {need.masters, "for the weights to compare"},
                                    {need.files, "for files in memory"}})
    if (bytes > 0) parts.push_back(reports::human_memory(bytes) + " " + what);
  throw description::DeviceError(fmt::format(
      "the run needs {} of memory ({}) and {} are available; run a smaller model or micro-batch, "
      "or a system that keeps less in host memory (spillway compare)",
      reports::human_memory(need.total()), fmt::join(parts, ", "), reports::human_memory(usable)));
}

std::optional<std::string> shared_disk(const std::vector<StoragePath>& places,
                                       const description::MachineFile& machine) {
  std::map<std::string, std::vector<std::string>> by_disk;
  for (const StoragePath& place : places) {
    const auto told = [&](const description::StorageSpec& storage) {
      return storage.name == place.name && !storage.device.empty();
    };
    if (std::any_of(machine.storage.begin(), machine.storage.end(), told)) continue;
    if (const auto counts = hw_backend::read_disk_counts(place.path))
      by_disk[counts->disk].push_back(place.name);
  }
  for (const auto& [disk, names] : by_disk)
    if (names.size() > 1)
      return fmt::format(
          "{} lie on one disk, {}, and share what it can do, where the prediction gives each all "
          "of what the machine file says; name the disk in each one's \"device\"",
          fmt::join(names, " and "), disk);
  return std::nullopt;
}

}  // namespace spillway::answers
