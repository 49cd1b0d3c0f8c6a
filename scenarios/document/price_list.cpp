#include "scenarios/document/price_list.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/machine_parts.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/schema_check.hpp"

#include <algorithm>
#include <set>

namespace spillway::scenarios {

using description::Bytes;
using description::Complaint;
using nlohmann::json;

namespace {

/// A machine of which every piece may be replaced by one of a part.
LocatedJson any_machine() {
  return located_at(
      json::parse(R"({"name": "any", "gpu": {"memory": "1 GiB", "compute": {"bf16": "1 TFLOPS"},
                      "memory_rate": "1 GB/s"}, "pcie": {"h2d": "1 GB/s", "d2h": "1 GB/s"},
                      "host": {"memory": "1 GiB", "memory_rate": "1 GB/s"}})"),
      {});
}

/// A piece of a machine file that a part holds.
struct Piece {
  const char* key;
  const char* place;                 ///< in a machine file; "": the schema has checked it
  std::vector<const char*> decided;  ///< keys that only a box decides
  const char* filled = "";           ///< of them, one that a machine needs, and with what
  const char* filling = "";
};

/// Takes a file to a PriceList, collecting complaints on the way.
class ListReader {
 public:
  explicit ListReader(LocatedJson document) : document_(std::move(document)) {}

  PriceList read() {
    complaints_ = check_schema(document_, "parts");
    stop_when_wrong();
    const json& written = document_.value;
    PriceList list{written["name"], written["date"], {}, {}, {}};
    for (std::size_t i = 0; i < written["gpus"].size(); ++i)
      list.gpus.push_back(part("gpus", i, {{"gpu", "/gpu", {"count"}}, {"pcie", "/pcie", {}}}));
    for (std::size_t i = 0; i < written["hosts"].size(); ++i) list.hosts.push_back(host(i));
    for (std::size_t i = 0; i < written["drives"].size(); ++i) list.drives.push_back(drive(i));
    stop_when_wrong();
    return list;
  }

 private:
  void stop_when_wrong() {
    if (complaints_.empty()) return;
    tidy(complaints_);
    throw description::ScenarioError(complaints_);
  }
  void complain(const std::string& pointer, const std::string& message, const std::string& hint) {
    const Place place = document_.key_place(pointer);
    complaints_.push_back({place.file, place.line, place.column, dotted(pointer), message, hint});
  }

  Part part(const char* list, std::size_t index, const std::vector<Piece>& pieces) {
    const std::string pointer = pointer_to(pointer_to("", list), std::to_string(index));
    const json& written = *document_.find(pointer);
    Part part{written["name"],
              written.value("aliases", std::vector<std::string>{}),
              written["price_usd"],
              written.value("date", document_.value["date"].get<std::string>()),
              written.value("lanes", std::uint64_t{0}),
              written.value("generation", std::uint64_t{0}),
              written.value("watts", 0.0),
              written.value("form", std::string("card")),
              written.value("rebuilt", false),
              json::object(),
              written["sources"]};
    if (!names_[list].insert(part.name).second)
      complain(pointer, "\"" + part.name + "\" stands twice", "give each part a name of its own");
    std::set<std::string> numbers = {"price_usd"};
    for (const Piece& piece : pieces) {
      if (!written.contains(piece.key)) continue;
      part.parts[piece.key] = written[piece.key];
      check_piece(pointer, piece);
      add_leaves(written[piece.key], piece.key, numbers);
    }
    for (const char* own : {"dram_usd_per_gib", "lanes", "watts"})
      if (written.contains(own)) numbers.insert(own);
    check_sources(pointer, part, numbers);
    return part;
  }

  /// Puts the piece into a machine, where the machine's own checks see it at its place.
  void check_piece(const std::string& pointer, const Piece& piece) {
    const std::string own = pointer_to(pointer, piece.key);
    for (const char* key : piece.decided)
      if (document_.find(own)->contains(key))
        complain(pointer_to(own, key), "is decided box by box", "leave it out");
    if (*piece.place == '\0') return;
    LocatedJson machine = any_machine();
    machine.put(piece.place, part_of(document_, own));
    if (*piece.filled != '\0')
      machine.put(pointer_to(piece.place, piece.filled), located_at(piece.filling, {}));
    for (Complaint complaint : check_machine(machine)) {
      complaint.path = dotted(own) + ": " + complaint.path;
      complaints_.push_back(std::move(complaint));
    }
  }

  static void add_leaves(const json& value, const std::string& path, std::set<std::string>& into) {
    if (!value.is_object()) {
      into.insert(path);
      return;
    }
    for (const auto& [key, child] : value.items()) add_leaves(child, path + "." + key, into);
  }

  void check_sources(const std::string& pointer, const Part& part,
                     const std::set<std::string>& numbers) {
    static const std::vector<std::string> words = {
        "paper:", "datasheet:", "measured:", "fitted:", "assumed:"};
    const std::string own = pointer_to(pointer, "sources");
    for (const std::string& number : numbers)
      if (!part.sources.contains(number))
        complain(own, number + " has no source", "say where it is from, or \"assumed: why\"");
    for (const auto& [path, source] : part.sources) {
      if (!numbers.contains(path))
        complain(pointer_to(own, path), "the part has no such number", "leave it out");
      if (std::none_of(words.begin(), words.end(),
                       [&](const std::string& word) { return source.starts_with(word); }))
        complain(pointer_to(own, path), "does not say of what kind it is",
                 "begin with paper:, datasheet:, measured:, fitted: or assumed:");
    }
  }

  HostPart host(std::size_t index) {
    const json& written = document_.value["hosts"][index];
    HostPart host{part("hosts", index,
                       {{"host", "/host", {"memory"}, "memory", "1 GiB"},
                        {"pcie", "/pcie", {}},
                        {"network", "/network", {}},
                        {"array", "", {}}}),
                  written["dram_usd_per_gib"],
                  {},
                  {},
                  written["gpus"],
                  written["slots"],
                  written.value("card", std::string("card"))};
    host.parts["dram_usd_per_gib"] = host.dram_usd_per_gib;
    host.dram_date = host.date;
    host.parts["slots"] = written["slots"];
    host.parts["slots"]["card"] = *std::max_element(host.gpus.begin(), host.gpus.end());
    for (const json& size : written["memory"])
      host.memory.push_back(description::quantity_from<Bytes>(size.get<std::string>()));
    std::sort(host.memory.begin(), host.memory.end());
    std::sort(host.gpus.begin(), host.gpus.end());
    return host;
  }

  DrivePart drive(std::size_t index) {
    const Piece piece{"drive",
                      "/storage/0",
                      {"name", "kind", "count", "array_read", "array_write", "gpus"},
                      "name",
                      "nvme"};
    DrivePart drive{part("drives", index, {piece})};
    drive.parts["form"] = drive.form;
    return drive;
  }

  LocatedJson document_;
  std::map<std::string, std::set<std::string>> names_;  ///< by list
  std::vector<Complaint> complaints_;
};

}  // namespace

PriceList price_list_of(LocatedJson document) { return ListReader(std::move(document)).read(); }

PriceList read_price_list(const std::string& name_or_path) {
  std::vector<Complaint> complaints;
  Referenced referenced = read_reference(name_or_path, "scenarios/parts", {}, "parts", complaints);
  if (complaints.empty()) fill_named_parts(referenced.json, complaints);
  if (!complaints.empty()) throw description::ScenarioError(complaints);
  return price_list_of(std::move(referenced.json));
}

}  // namespace spillway::scenarios
