#include "scenarios/document/machine_parts.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/document/power.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

namespace spillway::scenarios {

using description::BytesPerSecond;
using description::Complaint;
using nlohmann::json;

namespace {

constexpr int deepest_heritage = 16;
void leaves(const json& value, const std::string& path,
            const std::function<void(const std::string&)>& each) {
  if (!value.is_object()) return each(path);
  for (const auto& [key, child] : value.items())
    leaves(child, path.empty() ? key : path + "." + key, each);
}

/// Drops sources and dates of everything at and below a dotted path.
void drop_notes(LocatedJson& machine, const std::string& path) {
  for (const char* notes : {"sources", "dates"}) {
    if (!machine.value.contains(notes) || !machine.value[notes].is_object()) continue;
    json kept = json::object();
    for (const auto& [key, text] : machine.value[notes].items())
      if (key != path && !key.starts_with(path + ".")) kept[key] = text;
    machine.value[notes] = std::move(kept);
  }
}

template <class Q>
double quantity(const json& text) {
  return static_cast<double>(description::quantity_from<Q>(text.get<std::string>()).value());
}

bool is_object_at(const LocatedJson& machine, const std::string& pointer) {
  const json* value = machine.find(pointer);
  return value && value->is_object();
}

bool names_part(const LocatedJson& machine, const std::string& pointer) {
  return is_object_at(machine, pointer) && machine.find(pointer)->contains("part");
}

void erase_at(LocatedJson& machine, const std::string& parent, const std::string& key) {
  if (!is_object_at(machine, parent)) return;
  machine.value[json::json_pointer(parent)].erase(key);
  machine.forget(pointer_to(parent, key));
}

/// What `above` says over what `below` says.
LocatedJson over(LocatedJson below, const LocatedJson& above) {
  for (const char* key : {"gpu", "host"})
    if (names_part(above, pointer_to("", key))) forget_part(below, pointer_to("", key));
  if (above.value.contains("storage")) {
    drop_notes(below, "storage");
    if (!above.value.contains("prices_usd") || !above.value["prices_usd"].contains("ssd")) {
      erase_at(below, "/prices_usd", "ssd");
      drop_notes(below, "prices_usd.ssd");
    }
  }
  json said = above.value;
  for (const char* notes : {"sources", "dates", "bought", "extends"}) said.erase(notes);
  leaves(said, "", [&](const std::string& path) { drop_notes(below, path); });
  merge_over(below, above, "/strategy");
  below.values[""] = above.place("");
  return below;
}

LocatedJson inherited(LocatedJson machine, std::vector<Complaint>& complaints, int depth) {
  if (!machine.value.is_object() || !machine.value.contains("extends")) return machine;
  const json parent = machine.value["extends"];
  const Place place = machine.place("/extends");
  erase_at(machine, "", "extends");
  const auto complain = [&](const std::string& message, const std::string& hint) {
    complaints.push_back({place.file, place.line, place.column, "extends", message, hint});
    return machine;
  };
  if (!parent.is_string()) return complain("is no text", "write the name of a machine");
  if (depth == deepest_heritage)
    return complain(fmt::format("more than {} machines extend each other", deepest_heritage),
                    "the files may do so in a circle");
  const Referenced base =
      read_reference(parent.get<std::string>(), "scenarios/machines", place, "extends", complaints);
  if (!base.present) return machine;
  return over(inherited(base.json, complaints, depth + 1), machine);
}

/// Puts the parts of one machine into it.
class Assembler {
 public:
  Assembler(LocatedJson& machine, std::vector<Complaint>& complaints)
      : machine_(machine), complaints_(complaints) {}

  void run() {
    gpu_ = part_named("/gpu", PartKind::gpu);
    host_ = part_named("/host", PartKind::host);
    if (gpu_) put(*gpu_, "gpu", "/gpu", "gpu"), put(*gpu_, "pcie", "/pcie", "pcie");
    if (host_) put_host();
    if (gpu_) {
      put_number("/gpu/lanes", gpu_->lanes, gpu_->sources, "lanes", "gpu.lanes");
      bought("gpu", *gpu_);
    }
    if (const json* storages = machine_.find("/storage"); storages && storages->is_array())
      for (std::size_t i = 0; i < storages->size(); ++i) put_drive(i);
    // a price without those of the other parts would be that of no box
    if (gpu_ && priced()) put_price("gpu", gpu_->price_usd, *gpu_, "price_usd");
    put_power();
  }

 private:
  /// The part that the object at `pointer` names; its name is taken out.
  const Part* part_named(const std::string& pointer, PartKind kind) {
    if (!names_part(machine_, pointer)) return nullptr;
    const std::string key = pointer_to(pointer, "part");
    const Place place = machine_.place(key);
    json name = *machine_.find(key);
    if (name.is_number()) name = name.dump();  // --set machine.gpu.part=5090
    erase_at(machine_, pointer, "part");
    if (!name.is_string()) {
      complain(place, dotted(key), "is no text", "write the name of a part, such as RTX 4090");
      return nullptr;
    }
    try {
      const FoundPart found = find_part(kind, name.get<std::string>(), place, dotted(key));
      if (found.count == 1) return &part_at(kind, found.index);
      complain(place, dotted(key), "a part stands with its number here",
               fmt::format("write \"count\": {} beside it", found.count));
    } catch (const description::ScenarioError& error) {
      complaints_.insert(complaints_.end(), error.complaints().begin(), error.complaints().end());
    }
    return nullptr;
  }
  void complain(const Place& place, const std::string& path, const std::string& message,
                const std::string& hint) {
    complaints_.push_back({place.file, place.line, place.column, path, message, hint});
  }

  /// The part's numbers below `key`, where the machine says nothing itself.
  void put(const Part& part, const std::string& key, const std::string& pointer,
           const std::string& name) {
    if (!part.parts.contains(key)) return;
    put_value(part.parts.at(key), pointer, part.sources, key, name);
  }
  void put_value(const json& value, const std::string& pointer,
                 const std::map<std::string, std::string>& sources, const std::string& source,
                 const std::string& name) {
    if (value.is_object() && (!machine_.find(pointer) || is_object_at(machine_, pointer))) {
      for (const auto& [key, child] : value.items())
        put_value(child, pointer_to(pointer, key), sources, source + "." + key, name + "." + key);
      return;
    }
    const json* parent = machine_.find(parent_of(pointer));
    if (machine_.find(pointer) || (parent && !parent->is_object())) return;  // wrong: the schema's
    machine_.put(pointer, located_at(value, machine_.place(parent_of(pointer))));
    const auto found = sources.find(source);
    if (found != sources.end()) note("sources", name, found->second);
  }
  void put_number(const std::string& pointer, std::uint64_t number,
                  const std::map<std::string, std::string>& sources, const std::string& source,
                  const std::string& name) {
    if (number > 0) put_value(number, pointer, sources, source, name);
  }
  /// Unless the machine says it itself.
  void note(const char* list, const std::string& path, const std::string& text) {
    json& notes = machine_.value[list];
    if (notes.is_null()) notes = json::object();
    if (notes.is_object() && !notes.contains(path)) notes[path] = text;
  }
  void bought(const std::string& path, const Part& part) {
    json& all = machine_.value["bought"];
    if (all.is_null() || all.is_object()) all[path] = part.name;
  }

  bool priced() const { return machine_.find("/prices_usd/server") != nullptr; }
  void put_price(const std::string& key, double price, const Part& part,
                 const std::string& source) {
    put_price(key, price, part, source, part.date);
  }
  void put_price(const std::string& key, double price, const Part& part, const std::string& source,
                 const std::string& date) {
    const std::string pointer = pointer_to("/prices_usd", key);
    if (machine_.find(pointer) ||
        (machine_.find("/prices_usd") && !is_object_at(machine_, "/prices_usd")))
      return;
    machine_.put(pointer, located_at(price, machine_.place("")));
    note("sources", "prices_usd." + key, part.sources.at(source));
    if (!date.empty()) note("dates", "prices_usd." + key, date);
  }

  void put_host() {
    slower_link();
    put(*host_, "host", "/host", "host");
    put(*host_, "network", "/network", "network");
    json slots = host_->parts.value("slots", json::object());
    for (const auto& [form, count] : slots.items())
      put_value(count, "/host/slots/" + form, {}, "", "host.slots." + form);
    put_number("/host/lanes", host_->lanes, host_->sources, "lanes", "host.lanes");
    bought("host", *host_);
    put_price("server", host_->price_usd, *host_, "price_usd");
    put_price("dram_per_gib", host_->parts.value("dram_usd_per_gib", 0.0), *host_,
              "dram_usd_per_gib", host_at(*host_).dram_date);
  }
  /// Of card and board the slower end decides.
  void slower_link() {
    if (!host_->parts.contains("pcie")) return;
    for (const auto& [key, value] : host_->parts.at("pcie").items()) {
      const std::string pointer = pointer_to("/pcie", key);
      const bool card_says = gpu_ && gpu_->parts.contains("pcie") && machine_.find(pointer) &&
                             gpu_->parts.at("pcie").contains(key) &&
                             gpu_->parts.at("pcie").at(key) == *machine_.find(pointer);
      const bool slower =
          card_says &&
          (key == "latency" ? quantity<description::Seconds>(value) >
                                  quantity<description::Seconds>(*machine_.find(pointer))
                            : quantity<BytesPerSecond>(value) <
                                  quantity<BytesPerSecond>(*machine_.find(pointer)));
      if (slower) {
        drop_notes(machine_, "pcie." + key);
        erase_at(machine_, "/pcie", key);
      }
      put_value(value, pointer, host_->sources, "pcie." + key, "pcie." + key);
    }
  }
  /// Of cards and host where both say it, and of the drives; what the machine says itself stays.
  void put_power() {
    if (!gpu_ && !host_ && drives_.empty()) return;
    const auto stated = [](const Part* part) { return part && part->watts > 0; };
    const json* written = machine_.find("/power");
    if (written ? !written->is_object() : !stated(gpu_) || !stated(host_)) return;
    if (stated(gpu_)) put_watts("gpu", gpu_->watts, gpu_->sources.at("watts"));
    if (stated(host_)) put_watts("host", host_->watts, host_->sources.at("watts"));
    put_drive_watts();
    json& sources = machine_.value["sources"];
    if (sources.is_null()) sources = json::object();
    if (sources.is_object() && priced()) add_price_of_energy(machine_.value, sources);
  }
  void put_watts(const std::string& key, double watts, const std::string& source) {
    put_value(watts, pointer_to("/power", key), {{"watts", source}}, "watts", "power." + key);
  }
  /// The mean over the drives, of which a machine file has one number.
  void put_drive_watts() {
    const UsualPower usual = usual_drive_power();
    double watts = 0, count = 0;
    std::set<std::string> sources;
    for (const auto& [part, number] : drives_) {
      const bool stated = part->watts > 0;
      watts += number * (stated ? part->watts : usual.watts);
      sources.insert(stated ? part->sources.at("watts") : usual.source);
      count += number;
    }
    if (drives_.empty()) return put_watts("ssd", usual.watts, usual.source);
    put_watts("ssd", watts / count,
              sources.size() == 1 ? *sources.begin() : "assumed: the mean of its drives");
  }

  void put_drive(std::size_t index) {
    const std::string pointer = pointer_to("/storage", std::to_string(index));
    const Part* part = part_named(pointer, PartKind::drive);
    if (!part) return;
    const json* written = machine_.find(pointer_to(pointer, "name"));
    if (!written || !written->is_string()) return;  // the schema says what is wrong
    const std::string name = written->get<std::string>();
    const std::string own = "storage." + name;
    put_value("ssd", pointer_to(pointer, "kind"), {}, "", own + ".kind");
    if (host_)
      for (const auto& [way, slower] : slower_slot(drive_at(*part), host_at(*host_)))
        put_value(slower.first, pointer_to(pointer, way), {{way, slower.second}}, way,
                  own + "." + way);
    put(*part, "drive", pointer, own);
    put_value(part->parts.at("form"), pointer_to(pointer, "form"), {}, "", own + ".form");
    put_number(pointer_to(pointer, "lanes"), part->lanes, part->sources, "lanes", own + ".lanes");
    if (host_ && host_->parts.contains("array"))
      for (const char* way : {"read", "write"})
        put_value(host_->parts["array"][way], pointer_to(pointer, std::string("array_") + way),
                  host_->sources, std::string("array.") + way, own + ".array_" + way);
    bought(own, *part);
    put_drive_price(pointer, *part, own);
    const json* count = machine_.find(pointer_to(pointer, "count"));
    drives_.emplace_back(part, count && count->is_number_unsigned() ? count->get<double>() : 1);
  }
  /// The first drives' price is that of all; others say theirs.
  void put_drive_price(const std::string& pointer, const Part& part, const std::string& own) {
    if (!priced() || machine_.find(pointer_to(pointer, "price_usd"))) return;
    put_price("ssd", part.price_usd, part, "price_usd");
    const json* common = machine_.find("/prices_usd/ssd");
    if (!common || *common == part.price_usd) return;
    if (!several_kinds()) return;  // the machine says what its drives cost
    put_value(part.price_usd, pointer_to(pointer, "price_usd"), part.sources, "price_usd",
              own + ".price_usd");
    note("dates", own + ".price_usd", part.date);
  }
  static const DrivePart& drive_at(const Part& part) { return static_cast<const DrivePart&>(part); }
  static const HostPart& host_at(const Part& part) { return static_cast<const HostPart&>(part); }
  bool several_kinds() const {
    std::set<std::string> kinds;
    const json parts = machine_.value.value("bought", json::object());
    for (const auto& [path, name] : parts.items())
      if (path.starts_with("storage.") && name.is_string()) kinds.insert(name.get<std::string>());
    return kinds.size() > 1;
  }

  LocatedJson& machine_;
  std::vector<Complaint>& complaints_;
  const Part* gpu_ = nullptr;
  const Part* host_ = nullptr;
  std::vector<std::pair<const Part*, double>> drives_;  ///< that were named, and how many
};

}  // namespace

double lane_bytes_per_s(std::uint64_t generation) {
  constexpr double third = 8e9 / 8 * 128 / 130;
  double rate = third;
  for (std::uint64_t at = 3; at < generation; ++at) rate *= 2;
  for (std::uint64_t at = generation; at < 3; ++at) rate /= 2;
  return rate;
}

std::map<std::string, std::pair<std::string, std::string>> slower_slot(const DrivePart& drive,
                                                                       const HostPart& host) {
  std::map<std::string, std::pair<std::string, std::string>> slower;
  if (host.generation == 0 || drive.generation <= host.generation) return slower;
  const double link =
      drives_reach * static_cast<double>(drive.lanes) * lane_bytes_per_s(host.generation);
  const std::string source =
      fmt::format("assumed: {} of the rate of {} lanes of PCI Express {}.0, which is the slot's",
                  drives_reach, drive.lanes, host.generation);
  for (const char* way : {"read", "write"})
    if (quantity<BytesPerSecond>(drive.parts.at("drive").at(way)) > link)
      slower[way] = {fmt::format("{:.3g} GB/s", link / 1e9), source};
  return slower;
}

void inherit_machine(LocatedJson& machine, std::vector<Complaint>& complaints) {
  machine = inherited(std::move(machine), complaints, 0);
}

void name_storages(LocatedJson& machine) {
  const json* storages = machine.find("/storage");
  if (!storages || !storages->is_array()) return;
  std::set<std::string> taken;
  for (const json& storage : *storages)
    if (storage.is_object() && storage.contains("name") && storage["name"].is_string())
      taken.insert(storage["name"].get<std::string>());
  for (std::size_t i = 0; i < machine.find("/storage")->size(); ++i) {
    const std::string pointer = pointer_to("/storage", std::to_string(i));
    if (!names_part(machine, pointer) || machine.find(pointer_to(pointer, "name"))) continue;
    std::string name = "nvme";
    for (int number = 2; !taken.insert(name).second; ++number)
      name = "nvme" + std::to_string(number);
    machine.put(pointer_to(pointer, "name"), located_at(name, machine.place(pointer)));
  }
}

void forget_part(LocatedJson& machine, const std::string& pointer) {
  if (!is_object_at(machine, pointer)) return;
  const json old = *machine.find(pointer);
  const bool storage = pointer.starts_with("/storage/");
  const std::string kept[] = {storage || pointer == "/gpu" ? "count" : "memory", "name"};
  const std::string path =
      storage ? "storage." + old.value("name", std::string()) : pointer.substr(1);
  json fresh = json::object();
  for (const std::string& key : kept)
    if (old.contains(key)) fresh[key] = old[key];
  for (const auto& [key, value] : old.items())
    if (!fresh.contains(key)) {
      erase_at(machine, pointer, key);
      drop_notes(machine, path + "." + key);
    }
  const auto forget_price = [&](const char* key) {
    erase_at(machine, "/prices_usd", key);
    drop_notes(machine, std::string("prices_usd.") + key);
  };
  const auto forget_power = [&](const char* key) {
    erase_at(machine, "/power", key);
    drop_notes(machine, std::string("power.") + key);
  };
  if (storage) forget_price("ssd"), forget_power("ssd");
  if (pointer == "/host") forget_power("host");
  if (pointer == "/gpu") forget_power("gpu"), forget_power("gpu_waiting");
  if (pointer == "/host") forget_price("server"), forget_price("dram_per_gib");
  if (pointer != "/gpu") return;
  forget_price("gpu");
  erase_at(machine, "", "pcie");
  drop_notes(machine, "pcie");
}

void put_parts(LocatedJson& machine, std::vector<Complaint>& complaints) {
  if (!machine.value.is_object()) return;
  name_storages(machine);
  Assembler(machine, complaints).run();
}

void fill_named_parts(LocatedJson& list, std::vector<Complaint>& complaints) {
  if (!list.value.is_object()) return;
  constexpr std::pair<const char*, PartKind> lists[] = {
      {"gpus", PartKind::gpu}, {"hosts", PartKind::host}, {"drives", PartKind::drive}};
  for (const auto& [key, kind] : lists) {
    const json* items = list.find(pointer_to("", key));
    if (!items || !items->is_array()) continue;
    for (std::size_t i = 0; i < items->size(); ++i) {
      const std::string pointer = pointer_to(pointer_to("", key), std::to_string(i));
      const json item = *list.find(pointer);
      const bool own = item.is_object() && item.contains("part") && item["part"].is_string();
      if (!item.is_string() && !own) continue;
      const Place place = list.place(pointer);
      try {
        const std::string name = own ? item["part"].get<std::string>() : item.get<std::string>();
        LocatedJson part = written_part(kind, find_part(kind, name, place, dotted(pointer)).index);
        if (own) {
          LocatedJson above = part_of(list, pointer);
          erase_at(above, "", "part");
          json said = above.value;
          said.erase("sources");
          leaves(said, "", [&](const std::string& path) { drop_notes(part, path); });
          merge_over(part, above, "/strategy");
        }
        part.values[""] = place;
        list.put(pointer, part);
      } catch (const description::ScenarioError& error) {
        complaints.insert(complaints.end(), error.complaints().begin(), error.complaints().end());
      }
    }
  }
}

}  // namespace spillway::scenarios
