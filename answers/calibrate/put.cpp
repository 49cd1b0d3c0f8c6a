#include "answers/calibrate/put.hpp"

#include "answers/calibrate/drive_readings.hpp"
#include "answers/calibrate/power_limit.hpp"
#include "answers/calibrate/writes.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/json/located_json.hpp"
#include "scenarios/reading/plausible.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace spillway::answers {

using description::MachineFile;
using evidence::Evidence;
using evidence::Reading;
using nlohmann::json;

namespace {

constexpr std::string_view of_storage = "storage.";
const std::string of_another = "assumed: of a drive of ";

/// As machine files have it, so that the number read again is this one to six digits.
json written(const Reading& reading) {
  if (reading.unit == "bytes_per_s") return fmt::format("{:.6g} GB/s", reading.value / 1e9);
  if (reading.unit == "flops_per_s") return fmt::format("{:.6g} TFLOPS", reading.value / 1e12);
  if (reading.unit == "bytes") return fmt::format("{:.0f} B", reading.value);
  if (reading.unit == "s") return fmt::format("{:.6g} us", reading.value * 1e6);
  if (reading.unit == "count") return static_cast<std::uint64_t>(reading.value);
  return reading.value;
}

/// The same, to be read.
std::string text_of(Reading reading, double value) {
  reading.value = value;
  const json one = written(reading);
  return one.is_string() ? one.get<std::string>() : one.dump();
}

std::optional<description::Dimension> dimension_of_unit(const std::string& unit) {
  if (unit == "bytes") return description::Dimension::bytes;
  if (unit == "bytes_per_s") return description::Dimension::bytes_per_second;
  if (unit == "flops_per_s") return description::Dimension::flops_per_second;
  if (unit == "s") return description::Dimension::seconds;
  return {};
}

/// In base units; of a list, what its numbers add up to.
std::optional<double> number_of(const json& value, const std::string& unit) {
  if (value.is_number()) return value.get<double>();
  if (value.is_array()) {
    double sum = 0;
    for (const json& one : value) sum += number_of(one, unit).value_or(0);
    return sum;
  }
  const auto dimension = dimension_of_unit(unit);
  if (!dimension || !value.is_string()) return {};
  const auto read = description::parse_quantity(*dimension, value.get<std::string>());
  return read.problem.empty() ? std::optional(static_cast<double>(read.value)) : std::nullopt;
}

/// The machine's own number at `path`, in base units; nothing where it says none.
std::optional<double> number_at(const json& machine, const std::string& path,
                                const std::string& unit) {
  const json* found = scenarios::value_at(machine, path);
  return found ? number_of(*found, unit) : std::nullopt;
}

/// Why a machine cannot take a reading; "": it can.
std::string reason_against(const MachineFile& machine, const std::string& path, double value) {
  if (path.starts_with("gpu.compute.") &&
      machine.gpu.elementwise == description::ElementwiseCost::included)
    return "gpu.compute of this machine is a rate of whole passes, elementwise kernels included; "
           "the trace tells that of products alone: say gpu.elementwise: separate to use it";
  if (path == "host.memory" && machine.gpu.one_memory)
    return "GPU and host share one memory in this machine";
  if (path.ends_with(".endurance.written") || path.ends_with(".endurance.held"))
    for (const description::StorageSpec& storage : machine.storage)
      if (path.starts_with("storage." + storage.name + ".endurance.") && !storage.endurance)
        return "the machine file does not say how long its drives last";
  if (!(value > 0)) return "it is 0";
  return "";
}

/// Makes room for a path whose parents a machine file may leave out.
json& place(json& machine, const std::string& path) {
  if (json* found = scenarios::value_at(machine, path)) return *found;
  const std::size_t dot = path.rfind('.');
  json* parent = scenarios::value_at(machine, path.substr(0, dot));
  ENSURE(parent != nullptr, "a machine without " + path.substr(0, dot));
  return (*parent)[path.substr(dot + 1)];
}

/// Gives `machine` the reading; `before` is what it said until then.
void put(const Reading& reading, std::optional<double> before, const std::string& source,
         answer::Calibration& into) {
  place(into.machine, reading.path) = written(reading);
  into.machine["sources"][reading.path] = source;
  std::erase_if(into.moved, [&](const auto& earlier) { return earlier.path == reading.path; });
  into.moved.push_back({reading.path, reading.unit, before, reading.value, source});
}

/// "" where the machine says none.
std::string source_of(const json& machine, const std::string& path) {
  const auto sources = machine.find("sources");
  return sources == machine.end() ? "" : sources->value(path, "");
}

/// What of a machine goes over the link of a card, as long as nobody has narrowed it. Cards reach
/// each other over it where they do so no faster than a whole link lets them: NVLink is faster.
std::vector<std::string> rates_of_link(const json& machine) {
  constexpr double near = 1.25;  // rates are assumed as shares of what links are rated for
  std::vector<std::string> paths = {"pcie.h2d", "pcie.d2h", "pcie.link"};
  double whole = 0;
  for (const std::string& path : paths)
    whole = std::max(whole, number_at(machine, path, "bytes_per_s").value_or(0));
  for (const char* path : {"gpu.peer_rate", "network.intra_node_per_gpu"})
    if (number_at(machine, path, "bytes_per_s").value_or(0) <= near * whole) paths.push_back(path);
  if (source_of(machine, "network.per_gpu").find("as pcie") != std::string::npos)
    paths.push_back("network.per_gpu");
  return paths;
}

/// Rates of the link that nobody measured and that are more than it carries, each once: a file may
/// not say how much that is.
void put_link(const Evidence& each, answer::Calibration& into) {
  for (const std::string& path : rates_of_link(into.machine)) {
    const auto rate = number_at(into.machine, path, "bytes_per_s");
    const std::string said = source_of(into.machine, path);
    if (!rate || *rate <= each.link->most.value_or(0) || said.starts_with("measured") ||
        said.ends_with(each.link->why))
      continue;
    put({path, "bytes_per_s", *rate * each.link->share, ""}, rate,
        fmt::format("assumed: {}, {}", each.file, each.link->why), into);
  }
}

/// What a drive of this storage carries: its lanes, of the generation that its own rates need, and
/// no less than the fourth; of one alone the fifth, as who measures it may have another than the
/// file says.
double most_of_drive(const description::StorageSpec& storage) {
  const double lanes = storage.lanes > 0 ? static_cast<double>(storage.lanes) : 4;
  const double rated = std::max(storage.read.value(), storage.write.value());
  for (int generation = storage.count == 1 ? 5 : 4;; ++generation) {
    const auto lane = evidence::rate_of_lane(generation);
    if (!lane) return std::numeric_limits<double>::infinity();
    if (rated <= *lane * lanes) return *lane * lanes;
  }
}

/// Why a reading is not one of a drive of this storage; "": it is.
std::string reason_against(const description::StorageSpec& storage, const Reading& reading) {
  const bool rate = reading.path == "storage.read" || reading.path == "storage.write";
  if (!rate || storage.kind != description::StorageKind::ssd ||
      reading.value <= most_of_drive(storage))
    return "";
  if (storage.count == 1)
    return "a drive's lanes carry less: it looks like the rate of several drives or of memory, and "
           "a machine file has that of one: run fio on the drive's own device";
  return fmt::format(
      "a drive's lanes carry less: it looks like the rate of an array of several drives, and a "
      "machine file has that of one: run fio on a drive's own device, or write this rate as "
      "storage.{}.{}, if it is that of all drives together",
      storage.name, reading.path == "storage.read" ? "array_read" : "array_write");
}

/// A topology has all displays, nvidia-smi the cards that its driver runs.
bool overrides_driver(const Evidence& each, const Reading& reading, const json& machine) {
  const std::string said = source_of(machine, reading.path);
  return reading.path == "gpu.count" && each.kind == "hwloc" && said.starts_with("measured") &&
         !said.ends_with(reading.how);
}

/// A board that has more cards than the file's takes is another one: it has their slots, and how
/// many lanes is not known.
void fit_board(json& machine) {
  const json* cards = scenarios::value_at(machine, "gpu.count");
  json* slots = scenarios::value_at(machine, "host.slots.card");
  if (!cards || !slots || *cards <= *slots) return;
  *slots = *cards;
  machine["host"].erase("lanes");
  machine["sources"].erase("host.lanes");
}

/// The file whose link carries least; null: none is narrow.
const Evidence* narrowest(const std::vector<Evidence>& all) {
  const Evidence* found = nullptr;
  for (const Evidence& each : all)
    if (each.link && (!found || each.link->share < found->link->share)) found = &each;
  return found;
}

/// What the sheet of another drive says beside its rating: what the drive itself counts holds the
/// amplification of what was written to it, and no maker's promise.
void forget_sheet(const description::StorageSpec& storage, answer::Calibration& into) {
  const std::string of_drive = "storage." + storage.name + ".endurance";
  json& endurance = place(into.machine, of_drive);
  json& sources = into.machine["sources"];
  for (const char* field : {"dwpd", "warranty"}) {
    endurance.erase(field);
    sources.erase(of_drive + "." + field);
  }
  endurance["rating_waf"] = 1;
  sources[of_drive + ".rating_waf"] =
      "assumed: as for a drive whose data sheet is not at hand; its own log counts what its flash "
      "took";
}

/// What a drive of which nobody has the sheet takes in all, by the share that it says is used.
void put_life(const Evidence& each, const description::StorageSpec& storage,
              answer::Calibration& into) {
  if (!storage.endurance || each.drive->percent_used < least_percent ||
      each.drive->percent_used >= 100)
    return;
  put({"storage." + storage.name + ".endurance.rated", "bytes",
       each.drive->bytes_written * 100 / each.drive->percent_used, ""},
      static_cast<double>(storage.endurance->rated.value()),
      "measured: " + each.file + ", bytes written by percentage used", into);
  forget_sheet(storage, into);
}

/// What the file says of a drive's life, cache and price is that of another one.
void doubt_ratings(const description::StorageSpec& storage, answer::Calibration& into) {
  const std::string own = "storage." + storage.name + ".";
  const std::string size = description::to_text(storage.capacity);
  for (auto& [path, source] : into.machine["sources"].items()) {
    const bool of_drive = path.starts_with(own + "endurance.") ||
                          path.starts_with(own + "slc_cache.") || path == own + "price_usd";
    const auto said = source.get<std::string>();
    if (of_drive && !said.starts_with("assumed") && !said.starts_with("measured"))
      source = of_another + size + "; " + said;
  }
}

}  // namespace

const description::StorageSpec& storage_of(const MachineFile& machine, const Evidence& evidence) {
  std::vector<std::string> names;
  for (const description::StorageSpec& one : machine.storage) {
    if (one.name == evidence.storage) return one;
    names.push_back(one.name);
  }
  if (evidence.storage.empty() && names.size() == 1) return machine.storage.front();
  if (names.empty())
    description::refuse("--from " + evidence.file, "the machine has no storage that it could be of",
                        "leave the file out");
  if (!evidence.storage.empty())
    description::refuse("--from " + evidence.storage + "=" + evidence.file,
                        description::no_such_name(evidence.storage) + " among the storages",
                        description::known_names(evidence.storage, names));
  description::refuse(
      "--from " + evidence.file, "the machine has several storages",
      fmt::format("say of which it is: --from {}={}", names.front(), evidence.file));
}

std::optional<DriveOf> drive_of(const MachineFile& machine, const Evidence& evidence) {
  if (!evidence.drive) return {};
  constexpr double alike = 0.05;  // sheets round
  const description::StorageSpec& storage = storage_of(machine, evidence);
  const auto size = static_cast<double>(storage.capacity.value());
  const bool other = size > 0 && std::any_of(evidence.readings.begin(), evidence.readings.end(),
                                             [size](const Reading& reading) {
                                               return reading.path == "storage.capacity" &&
                                                      std::abs(reading.value - size) > alike * size;
                                             });
  const auto source = machine.sources.find("storage." + storage.name + ".endurance.rated");
  const std::string said = source == machine.sources.end() ? "" : source->second;
  const bool of_maker = !said.starts_with("measured") && !said.starts_with(of_another);
  return DriveOf{&storage, other, !other && of_maker};
}

namespace {

/// Why a number is none that a machine has: most often a unit that slipped, or a job of fio that
/// measured something else; "": it is one.
std::string reason_against(const Reading& reading, const json& machine) {
  json with_it = machine;
  place(with_it, reading.path) = written(reading);
  for (const description::Complaint& one : scenarios::implausible(with_it.get<MachineFile>()))
    if (one.path == "machine." + reading.path) return one.message + ": " + one.hint;
  return "";
}

/// Drives that were measured at the same time did not know of a lower limit of all together that
/// somebody took for theirs.
void lift_limit(const description::StorageSpec& storage, const Reading& reading,
                const std::string& source, answer::Calibration& into) {
  const bool reads = reading.path.ends_with(".read");
  if (reading.together < 2 || !(reads || reading.path.ends_with(".write"))) return;
  const std::string path =
      fmt::format("storage.{}.{}", storage.name, reads ? "array_read" : "array_write");
  const auto limit = number_at(into.machine, path, reading.unit);
  const double all = reading.value * static_cast<double>(reading.together);
  if (limit && *limit < all)
    put({path, reading.unit, all, ""}, limit, source + ", all of them together", into);
}

/// Two files that say different things of one number: the later one counts.
void note_contradiction(const Evidence& each, const Reading& reading, answer::Calibration& into) {
  constexpr double alike = 0.02;  // two runs of one program
  const std::string begin = "measured: ";
  for (const answer::MovedParameter& earlier : into.moved) {
    if (earlier.path != reading.path || !earlier.source.starts_with(begin) ||
        earlier.source.starts_with(begin + each.file + ",") ||
        std::abs(earlier.after - reading.value) <= alike * std::abs(reading.value))
      continue;
    const std::string file =
        earlier.source.substr(begin.size(), earlier.source.find(',') - begin.size());
    into.kept.push_back(
        {reading.path, file,
         fmt::format("it says {}, and {} says {}; the file that is named last counts: name the one "
                     "that is of this machine alone, or last",
                     text_of(reading, earlier.after), each.file, text_of(reading, reading.value))});
  }
}

void put_reading(const MachineFile& before, const json& own, const Evidence& each, Reading reading,
                 answer::Calibration& into) {
  std::string why;
  const description::StorageSpec* storage = nullptr;
  if (reading.path.starts_with(of_storage)) {
    storage = &storage_of(before, each);
    why = reason_against(*storage, reading);
    reading.path =
        fmt::format("storage.{}.{}", storage->name, reading.path.substr(of_storage.size()));
  }
  if (why.empty()) why = reason_against(before, reading.path, reading.value);
  if (why.empty() && overrides_driver(each, reading, into.machine))
    why = "nvidia-smi has counted the cards";
  if (why.empty()) why = reason_against(reading, into.machine);
  if (!why.empty()) {
    into.kept.push_back({reading.path, each.file, std::move(why)});
    return;
  }
  note_contradiction(each, reading, into);
  const std::string source = "measured: " + each.file + ", " + reading.how;
  put(reading, number_at(own, reading.path, reading.unit), source, into);
  if (storage) lift_limit(*storage, reading, source, into);
}

/// What follows from it depends on the drive's cache.
bool is_of_writes(const Evidence& each, const Reading& reading) {
  return !each.writes.empty() &&
         (reading.path == "storage.write" || reading.path == "storage.mixed_efficiency");
}

/// What the drives of one storage say of themselves, each of its own.
///   drives  as drives_of
void put_drives(const MachineFile& before, const json& own,
                const std::vector<const Evidence*>& drives, answer::Calibration& into) {
  const description::StorageSpec& storage = storage_of(before, *drives.front());
  DriveReadings found = drive_readings(storage, drives);
  if (found.fullest) put_reading(before, own, *found.fullest, found.held, into);
  if (found.written.empty()) return;
  Evidence together = *drives.front();
  together.file = found.files;
  const std::size_t moved = into.moved.size();
  put_reading(before, own, together, found.sum, into);
  if (into.moved.size() == moved) return;
  json& each = place(into.machine, into.moved.back().path) = json::array();
  for (const double bytes : found.written) each.push_back(written({"", found.sum.unit, bytes, ""}));
  std::move(found.kept.begin(), found.kept.end(), std::back_inserter(into.kept));
}

/// Rates of writes. What is left of a cache follows from other readings, and what is behind it from
/// how fast it is by all files: these come first.
void put_writes(const MachineFile& before, const json& own, const std::vector<Evidence>& all,
                answer::Calibration& into) {
  for (const auto readings_of : {steady_writes, writes_past_cache})
    for (const Evidence& each : all) {
      if (each.writes.empty()) continue;
      const auto machine = into.machine.get<MachineFile>();
      WriteReadings found = readings_of(storage_of(machine, each), each);
      for (Reading& reading : found.readings)
        put_reading(before, own, each, std::move(reading), into);
      std::move(found.kept.begin(), found.kept.end(), std::back_inserter(into.kept));
    }
}

}  // namespace

void put_readings(const MachineFile& before, const std::vector<Evidence>& all,
                  answer::Calibration& into) {
  const json own = before;
  for (const Evidence& each : all) {
    std::vector<const Evidence*> drives;
    if (each.drive) drives = drives_of(before, all, each);
    if (!drives.empty() && drives.front() != &each) continue;
    for (const Reading& reading : each.readings)
      if (!is_of_writes(each, reading) && !is_of_each_drive(reading))
        put_reading(before, own, each, reading, into);
    if (const auto power = power_reading(before, each)) {
      put_reading(before, own, each, *power, into);
      keep_waiting_power(before, into.machine);
    }
    if (!drives.empty()) put_drives(before, own, drives, into);
    if (const auto drive = drive_of(before, each); drive && drive->is_other) {
      doubt_ratings(*drive->storage, into);
      put_life(each, *drive->storage, into);
    }
  }
  put_writes(before, own, all, into);
  fit_board(into.machine);
  if (const Evidence* narrow = narrowest(all)) put_link(*narrow, into);
}

std::vector<std::string> still_assumed(const json& machine) {
  std::vector<std::string> paths;
  const auto sources = machine.find("sources");
  if (sources == machine.end()) return paths;
  for (const auto& [path, source] : sources->items()) {
    const bool rate =
        path.starts_with("gpu.compute.") || path == "gpu.memory_rate" ||
        path.starts_with("pcie.") || path == "host.memory_rate" || path == "host.adam" ||
        path == "host.convert" ||
        (path.starts_with(of_storage) &&
         (path.ends_with(".read") || path.ends_with(".write") ||
          path.ends_with(".slc_cache.folded_write") || path.ends_with(".mixed_efficiency")));
    if (rate && source.is_string() && !source.get<std::string>().starts_with("measured"))
      paths.push_back(path);
  }
  return paths;
}

}  // namespace spillway::answers
