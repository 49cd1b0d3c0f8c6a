#include "answers/calibrate/put.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/located_json.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace spillway::answers {

using description::MachineFile;
using evidence::Evidence;
using evidence::Reading;
using nlohmann::json;

namespace {

constexpr std::string_view of_storage = "storage.";

/// As machine files have it, so that the number read again is this one to six digits.
json written(const Reading& reading) {
  if (reading.unit == "bytes_per_s") return fmt::format("{:.6g} GB/s", reading.value / 1e9);
  if (reading.unit == "flops_per_s") return fmt::format("{:.6g} TFLOPS", reading.value / 1e12);
  if (reading.unit == "bytes") return fmt::format("{:.0f} B", reading.value);
  if (reading.unit == "s") return fmt::format("{:.6g} us", reading.value * 1e6);
  if (reading.unit == "count") return static_cast<std::uint64_t>(reading.value);
  return reading.value;
}

std::optional<description::Dimension> dimension_of_unit(const std::string& unit) {
  if (unit == "bytes") return description::Dimension::bytes;
  if (unit == "bytes_per_s") return description::Dimension::bytes_per_second;
  if (unit == "flops_per_s") return description::Dimension::flops_per_second;
  if (unit == "s") return description::Dimension::seconds;
  return {};
}

/// The machine's own number at `path`, in base units; nothing where it says none.
std::optional<double> number_at(const json& machine, const std::string& path,
                                const std::string& unit) {
  const json* found = scenarios::value_at(machine, path);
  if (!found) return {};
  if (found->is_number()) return found->get<double>();
  const auto dimension = dimension_of_unit(unit);
  if (!dimension || !found->is_string()) return {};
  const auto read = description::parse_quantity(*dimension, found->get<std::string>());
  return read.problem.empty() ? std::optional(static_cast<double>(read.value)) : std::nullopt;
}

/// Why a machine cannot take a reading; "": it can.
std::string reason_against(const MachineFile& machine, const std::string& path, double value) {
  if (path.starts_with("gpu.compute.") &&
      machine.gpu.elementwise == description::ElementwiseCost::included)
    return "gpu.compute of this machine is a rate of whole passes, elementwise kernels included; "
           "the trace tells that of products alone: say gpu.elementwise: separate to use it";
  if (path == "host.memory" && machine.gpu.one_memory)
    return "GPU and host share one memory in this machine";
  if (path.ends_with(".endurance.written"))
    for (const description::StorageSpec& storage : machine.storage)
      if (path == "storage." + storage.name + ".endurance.written" && !storage.endurance)
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

bool is_measured(const json& sources, const std::string& path) {
  const auto source = sources.find(path);
  return source != sources.end() && source->get<std::string>().starts_with("measured");
}

/// Rates of the link that nobody measured and that are more than it carries.
void put_link(const Evidence& each, answer::Calibration& into) {
  for (const char* path : {"pcie.h2d", "pcie.d2h", "pcie.link"}) {
    const auto rate = number_at(into.machine, path, "bytes_per_s");
    if (!rate || *rate <= each.link->most.value_or(0) || is_measured(into.machine["sources"], path))
      continue;
    put({path, "bytes_per_s", *rate * each.link->share, ""}, rate,
        fmt::format("assumed: {}, {}", each.file, each.link->why), into);
  }
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

/// What a drive of which nobody has the sheet takes in all, by the share that it says is used.
void put_life(const Evidence& each, const description::StorageSpec& storage,
              answer::Calibration& into) {
  if (!storage.endurance || each.drive->percent_used == 0 || each.drive->percent_used >= 100)
    return;
  put({"storage." + storage.name + ".endurance.rated", "bytes",
       each.drive->bytes_written * 100 / each.drive->percent_used, ""},
      static_cast<double>(storage.endurance->rated.value()),
      "measured: " + each.file + ", bytes written by percentage used", into);
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
      source = "assumed: of a drive of " + size + "; " + said;
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
  return DriveOf{&storage, other};
}

void put_readings(const MachineFile& before, const std::vector<Evidence>& all,
                  answer::Calibration& into) {
  const json own = before;
  for (const Evidence& each : all) {
    for (Reading reading : each.readings) {
      if (reading.path.starts_with(of_storage))
        reading.path = fmt::format("storage.{}.{}", storage_of(before, each).name,
                                   reading.path.substr(of_storage.size()));
      if (std::string why = reason_against(before, reading.path, reading.value); !why.empty())
        into.kept.push_back({reading.path, each.file, std::move(why)});
      else
        put(reading, number_at(own, reading.path, reading.unit),
            "measured: " + each.file + ", " + reading.how, into);
    }
    if (const auto drive = drive_of(before, each); drive && drive->is_other) {
      doubt_ratings(*drive->storage, into);
      put_life(each, *drive->storage, into);
    }
  }
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
        (path.starts_with(of_storage) && (path.ends_with(".read") || path.ends_with(".write") ||
                                          path.ends_with(".mixed_efficiency")));
    if (rate && source.is_string() && !source.get<std::string>().starts_with("measured"))
      paths.push_back(path);
  }
  return paths;
}

}  // namespace spillway::answers
