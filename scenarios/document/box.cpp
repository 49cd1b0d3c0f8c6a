#include "scenarios/document/box.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/machine_parts.hpp"
#include "scenarios/document/power.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <set>

namespace spillway::scenarios {

using nlohmann::json;

namespace {

constexpr const char* storage_name = "nvme";

/// Puts a machine file together, piece by piece, with the source of each number.
class Assembly {
 public:
  /// What a machine file says of the slot that a drive takes.
  static void plug(json& storage, const DrivePart& drive) {
    storage["form"] = drive.form;
    if (drive.lanes > 0) storage["lanes"] = drive.lanes;
  }

  Assembly(const PriceList& list, const Box& box)
      : gpu_(list.gpus.at(box.gpu)),
        host_(list.hosts.at(box.host)),
        drive_(box.drives > 0 ? &list.drives.at(box.drive) : nullptr),
        box_(box),
        chosen_(fmt::format("{} the price list {} of {}", chosen, list.name, list.date)) {}

  json machine() && {
    place("nodes", 1, chosen_);
    piece(gpu_, "gpu", "gpu");
    place("gpu.count", box_.gpus, chosen_);
    piece(host_, "host", "host");
    place("host.memory", description::to_text(host_.memory.at(box_.memory)), chosen_);
    if (host_.parts.contains("network")) piece(host_, "network", "network");
    link();
    machine_["bought"] = {{"gpu", gpu_.name}, {"host", host_.name}};
    machine_["host"]["slots"] = host_.parts.at("slots");
    if (host_.lanes > 0) place("host.lanes", host_.lanes, host_.sources.at("lanes"));
    if (gpu_.lanes > 0) place("gpu.lanes", gpu_.lanes, gpu_.sources.at("lanes"));
    if (drive_) drives();
    prices();
    power();
    machine_["sources"] = std::move(sources_);
    return std::move(machine_);
  }

 private:
  /// One number, at a path of the machine, objects only.
  void place(const std::string& path, json value, const std::string& source) {
    json* at = &machine_;
    std::size_t from = 0;
    for (std::size_t dot; (dot = path.find('.', from)) != std::string::npos; from = dot + 1)
      at = &(*at)[path.substr(from, dot - from)];
    (*at)[path.substr(from)] = std::move(value);
    sources_[path] = source;
  }

  void piece(const Part& part, const std::string& key, const std::string& into) {
    machine_[into].update(part.parts.at(key));
    copy_sources(part, key, into);
  }
  void copy_sources(const Part& part, const std::string& key, const std::string& into) {
    for (const auto& [path, source] : part.sources)
      if (path.starts_with(key + ".")) sources_[into + path.substr(key.size())] = source;
  }

  /// The slower end decides.
  void link() {
    piece(gpu_, "pcie", "pcie");
    if (!host_.parts.contains("pcie")) return;
    for (const auto& [key, value] : host_.parts.at("pcie").items()) {
      const json& own = machine_["pcie"];
      if (!own.contains(key) ||
          (key == "latency" ? less<description::Seconds>(own[key], value)
                            : less<description::BytesPerSecond>(value, own[key])))
        place("pcie." + key, value, host_.sources.at("pcie." + key));
    }
  }
  template <class Q>
  static bool less(const json& one, const json& other) {
    return description::quantity_from<Q>(one.get<std::string>()).value() <
           description::quantity_from<Q>(other.get<std::string>()).value();
  }

  void drives() {
    json storage = drive_->parts.at("drive");
    storage["name"] = storage_name;
    storage["kind"] = "ssd";
    storage["count"] = box_.drives;
    plug(storage, *drive_);
    const std::string own = std::string("storage.") + storage_name;
    copy_sources(*drive_, "drive", own);
    note_lanes(*drive_, own);
    sources_[own + ".count"] = chosen_;
    for (const auto& [way, slower] : slower_slot(*drive_, host_)) {
      storage[way] = slower.first;
      sources_[own + "." + way] = slower.second;
    }
    machine_["bought"][own] = drive_->name;
    if (host_.parts.contains("array"))
      for (const char* way : {"read", "write"}) {
        storage[std::string("array_") + way] = host_.parts["array"][way];
        sources_[own + ".array_" + way] = host_.sources.at(std::string("array.") + way);
      }
    machine_["storage"] = json::array({std::move(storage)});
  }

  void prices() {
    place("prices_usd.server", host_.price_usd, host_.sources.at("price_usd"));
    place("prices_usd.gpu", gpu_.price_usd, gpu_.sources.at("price_usd"));
    place("prices_usd.dram_per_gib", host_.dram_usd_per_gib, host_.sources.at("dram_usd_per_gib"));
    if (drive_) place("prices_usd.ssd", drive_->price_usd, drive_->sources.at("price_usd"));
    machine_["dates"] = {{"prices_usd.server", host_.date},
                         {"prices_usd.gpu", gpu_.date},
                         {"prices_usd.dram_per_gib", host_.dram_date}};
    if (drive_) machine_["dates"]["prices_usd.ssd"] = drive_->date;
    for (const char* path : {"prices_usd.server", "prices_usd.gpu", "prices_usd.dram_per_gib"})
      if (machine_["dates"][path] == "") machine_["dates"].erase(path);  // offered on no day
  }

  /// Where all of them say what they take.
  void power() {
    if (gpu_.watts == 0 || host_.watts == 0 || (drive_ && drive_->watts == 0)) return;
    place("power.gpu", gpu_.watts, gpu_.sources.at("watts"));
    place("power.host", host_.watts, host_.sources.at("watts"));
    place("power.ssd", drive_ ? drive_->watts : 0,
          drive_ ? drive_->sources.at("watts") : "assumed: there is none");
    add_price_of_energy(machine_, sources_);
  }

  void note_lanes(const Part& part, const std::string& own) {
    if (part.lanes > 0) sources_[own + ".lanes"] = part.sources.at("lanes");
  }

  const Part& gpu_;
  const HostPart& host_;
  const DrivePart* drive_;
  const Box& box_;
  const std::string chosen_;
  json machine_ = json::object(), sources_ = json::object();
};

}  // namespace

bool allowed(const PriceList& list, const Box& box) {
  if (box.gpu >= list.gpus.size() || box.host >= list.hosts.size()) return false;
  const HostPart& host = list.hosts[box.host];
  if (host.card != list.gpus[box.gpu].form || box.memory >= host.memory.size()) return false;
  if (std::find(host.gpus.begin(), host.gpus.end(), box.gpus) == host.gpus.end()) return false;
  if (box.drives == 0) return box.drive == 0;
  if (box.drive >= list.drives.size()) return false;
  const DrivePart& drive = list.drives[box.drive];
  const auto slots = host.slots.find(drive.form);
  const std::uint64_t lanes = box.gpus * list.gpus[box.gpu].lanes + box.drives * drive.lanes;
  return slots != host.slots.end() && box.drives <= slots->second &&
         (host.lanes == 0 || lanes <= host.lanes);
}

std::vector<Box> boxes_of(const PriceList& list) {
  std::vector<Box> boxes;
  Box box;
  for (box.host = 0; box.host < list.hosts.size(); ++box.host) {
    const HostPart& host = list.hosts[box.host];
    for (box.gpu = 0; box.gpu < list.gpus.size(); ++box.gpu)
      for (const std::uint64_t gpus :
           host.card == list.gpus[box.gpu].form ? host.gpus : std::vector<std::uint64_t>{})
        for (box.memory = 0; box.memory < host.memory.size(); ++box.memory) {
          box.gpus = gpus;
          box.drive = box.drives = 0;
          boxes.push_back(box);
          for (box.drive = 0; box.drive < list.drives.size(); ++box.drive)
            for (box.drives = 1; allowed(list, box); ++box.drives) boxes.push_back(box);
        }
  }
  return boxes;
}

double price_of(const PriceList& list, const Box& box) {
  const HostPart& host = list.hosts.at(box.host);
  const double gib =
      static_cast<double>(host.memory.at(box.memory).value()) / static_cast<double>(1ull << 30);
  const double drives =
      box.drives == 0 ? 0 : static_cast<double>(box.drives) * list.drives.at(box.drive).price_usd;
  return host.price_usd + static_cast<double>(box.gpus) * list.gpus.at(box.gpu).price_usd + drives +
         gib * host.dram_usd_per_gib;
}

json machine_of(const PriceList& list, const Box& box) {
  json machine = Assembly(list, box).machine();
  machine["name"] = words_of(list, box);
  return machine;
}

json with_drives(json machine, const std::string& storage, const PriceList& list, std::size_t drive,
                 std::uint64_t count) {
  const DrivePart& part = list.drives.at(drive);
  const std::string own = "storage." + storage + ".";
  json& sources = machine["sources"];
  for (json& old : machine["storage"]) {
    if (old.at("name") != storage) continue;
    json fresh = part.parts.at("drive");
    std::set<std::string> kept;
    for (const char* key : {"name", "kind", "array_read", "array_write", "process_efficiency",
                            "gpus", "shared_by_nodes", "device"})
      if (old.contains(key)) fresh[key] = old[key], kept.insert(own + key);
    fresh["count"] = count;
    Assembly::plug(fresh, part);
    old = std::move(fresh);
    const auto stays = [&](const std::string& path) {
      return std::any_of(kept.begin(), kept.end(),
                         [&](const std::string& key) { return path.starts_with(key); });
    };
    json left = json::object();
    for (const auto& [path, source] : sources.items())
      if (!path.starts_with(own) || stays(path)) left[path] = source;
    sources = std::move(left);
  }
  for (const auto& [path, source] : part.sources)
    if (path.starts_with("drive.")) sources[own + path.substr(6)] = source;
  if (part.lanes > 0) sources[own + "lanes"] = part.sources.at("lanes");
  machine["bought"]["storage." + storage] = part.name;
  machine["dates"]["prices_usd.ssd"] = part.date;
  sources[own + "count"] = fmt::format("{} the price list {} of {}", chosen, list.name, list.date);
  machine["prices_usd"]["ssd"] = part.price_usd;
  sources["prices_usd.ssd"] = part.sources.at("price_usd");
  if (machine.contains("power") && part.watts > 0) {
    machine["power"]["ssd"] = part.watts;
    sources["power.ssd"] = part.sources.at("watts");
  }
  return machine;
}

std::string memory_words(description::Bytes memory) {
  const double gib = static_cast<double>(memory.value()) / static_cast<double>(1ull << 30);
  return gib == std::floor(gib) ? description::to_text(memory) : fmt::format("{:.1f} GiB", gib);
}

std::string words_of(const PriceList& list, const Box& box) {
  const auto times = [](std::uint64_t count, const std::string& name) {
    return count == 1 ? name : fmt::format("{} x {}", count, name);
  };
  const HostPart& host = list.hosts.at(box.host);
  std::string words = fmt::format("{}, {}, {}", times(box.gpus, list.gpus.at(box.gpu).name),
                                  host.name, memory_words(host.memory.at(box.memory)));
  words +=
      box.drives == 0 ? ", no drive" : ", " + times(box.drives, list.drives.at(box.drive).name);
  return words;
}

}  // namespace spillway::scenarios
