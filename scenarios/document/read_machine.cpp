#include "scenarios/document/read_machine.hpp"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/machine_parts.hpp"
#include "scenarios/json/schema_check.hpp"

namespace spillway::scenarios {

using description::Bytes;
using description::Complaint;
using description::Seconds;
using nlohmann::json;

namespace {

/// Checks beyond the schema, on a machine that passed it.
class MachineCheck {
 public:
  MachineCheck(const LocatedJson& document, const std::string& prefix)
      : document_(document), prefix_(prefix) {}

  std::vector<Complaint> run() {
    const json& machine = document_.value;
    if (machine["gpu"]["compute"].empty())
      complain("/gpu/compute", "no element type has a rate", "write \"fp16\": \"149 TFLOPS\"");
    for (const char* part : {"gpu", "host"}) check_memory(part);
    check_products();
    check_dirty();
    if (machine.value("nodes", 1) > 1 && !document_.find("/network/per_gpu"))
      complain("/nodes", "several nodes need network.per_gpu, each GPU's rate to other nodes",
               "add \"network\": {\"per_gpu\": \"12.5 GB/s\"}, which is 100 Gb/s");
    if (const json* storages = document_.find("/storage"))
      for (std::size_t i = 0; i < storages->size(); ++i)
        check_storage((*storages)[i], pointer_to("/storage", std::to_string(i)));
    check_board();
    return std::move(complaints_);
  }

 private:
  void complain(const std::string& pointer, const std::string& message, const std::string& hint) {
    const Place place = document_.place(pointer);
    complaints_.push_back(
        {place.file, place.line, place.column, prefix_ + dotted(pointer), message, hint});
  }

  /// There is memory, and some of it is left. In a machine that is read 0 would be no limit.
  void check_memory(const std::string& part) {
    const json& own = document_.value[part];
    if (quantity<Bytes>(own["memory"]).value() == 0)
      return complain("/" + part + "/memory", "no memory at all, with which nothing runs",
                      part == "gpu" ? "write its size; strategy.gpu_capacity \"unlimited\" takes a "
                                      "card without limit"
                                    : "write its size; needed_bytes of an answer says what a run "
                                      "would take");
    if (!own.contains("reserve")) return;
    if (quantity<Bytes>(own["reserve"]) < quantity<Bytes>(own["memory"])) return;
    complain("/" + part + "/reserve",
             "leaves nothing of " + part + ".memory, " + own["memory"].get<std::string>(),
             part == "gpu" ? "write what desktop and driver take, such as \"300 MiB\""
                           : "write what the system takes, such as \"4 GiB\"");
  }

  /// Keys of gpu.products are shapes, and each number of rows comes with each width.
  void check_products() {
    const json* products = document_.find("/gpu/products");
    if (!products) return;
    std::set<std::uint64_t> rows, widths;
    for (const auto& [shape, share] : products->items()) {
      std::uint64_t tokens = 0, width = 0;
      int read = 0;
      const int numbers =
          std::sscanf(shape.c_str(), "%" SCNu64 "x%" SCNu64 "%n", &tokens, &width, &read);
      if (numbers != 2 || static_cast<std::size_t>(read) != shape.size() || tokens == 0 ||
          width == 0 || shape != std::to_string(tokens) + "x" + std::to_string(width))
        return complain(pointer_to("/gpu/products", shape),
                        "\"" + shape + "\" is no shape of a product",
                        "write its rows and its width, as in \"1024x4096\": 0.9");
      rows.insert(tokens);
      widths.insert(width);
    }
    if (rows.size() * widths.size() != products->size())
      complain("/gpu/products",
               std::to_string(rows.size()) + " numbers of rows and " +
                   std::to_string(widths.size()) + " widths make " +
                   std::to_string(rows.size() * widths.size()) + " products, " +
                   std::to_string(products->size()) + " are there",
               "measure each number of rows with each width");
  }

  void check_dirty() {
    const json& host = document_.value["host"];
    const double background = host.value("dirty_background", 0.1);
    if (background <= host.value("dirty_limit", std::max(0.2, background))) return;
    complain("/host/dirty_limit", "less than host.dirty_background: writes would wait for nothing",
             "write what sysctl vm.dirty_ratio says, over 100");
  }

  void check_storage(const json& storage, const std::string& pointer) {
    const std::string name = storage["name"].get<std::string>();
    if (const auto [first, fresh] = names_.emplace(name, pointer); !fresh)
      complain(pointer + "/name",
               "\"" + name + "\" is the name of " + dotted(first->second) + " too",
               "give each storage a name of its own");
    check_capacity(storage, pointer);
    if (storage.contains("endurance")) check_endurance(storage, pointer + "/endurance");
    const std::uint64_t gpus = document_.value["gpu"].value("count", std::uint64_t{1});
    if (!storage.contains("gpus")) return;
    for (std::size_t i = 0; i < storage["gpus"].size(); ++i)
      if (storage["gpus"][i].get<std::uint64_t>() >= gpus)
        complain(pointer + "/gpus/" + std::to_string(i),
                 "there is no GPU " + storage["gpus"][i].dump(),
                 "a node has " + std::to_string(gpus) + ", counted from 0");
  }

  /// What is put into the board, part by part, until a kind of slot or the lanes are used up.
  void check_board() {
    const json& host = document_.value["host"];
    const json slots = host.value("slots", json::object());
    lanes_left_ = host.value("lanes", std::uint64_t{0});
    const bool counted = lanes_left_ > 0;
    const json& gpu = document_.value["gpu"];
    std::map<std::string, std::uint64_t> used;
    const auto plug = [&](const json& part, const std::string& pointer, const std::string& form) {
      const std::uint64_t count = part.value("count", std::uint64_t{1});
      const std::uint64_t lanes = counted ? count * part.value("lanes", std::uint64_t{0}) : 0;
      used[form] += count;
      const std::string where = part.contains("count") ? pointer + "/count" : pointer;
      if (slots.contains(form) && used[form] > slots[form].get<std::uint64_t>())
        complain(where, no_slot(form, slots[form].get<std::uint64_t>(), used[form]),
                 "take fewer, or another board; host.slots says how many it has");
      else if (lanes > lanes_left_)
        complain(where,
                 "its lanes are full: of " + std::to_string(host["lanes"].get<std::uint64_t>()) +
                     " of PCI Express " + std::to_string(lanes_left_) + " are left, and " +
                     std::to_string(lanes) + " are needed",
                 "take fewer, or another board; host.lanes says how many it has");
      else
        lanes_left_ -= lanes;
    };
    plug(gpu, "/gpu", "card");
    if (const json* storages = document_.find("/storage"))
      for (std::size_t i = 0; i < storages->size(); ++i)
        if ((*storages)[i].value("kind", "ssd") == "ssd")
          plug((*storages)[i], pointer_to("/storage", std::to_string(i)),
               (*storages)[i].value("form", ""));
  }
  static std::string no_slot(const std::string& form, std::uint64_t has, std::uint64_t wanted) {
    const std::string kind = form == "m2" ? "M.2" : form == "u2" ? "U.2" : form;
    return "the board has " + std::to_string(has) + " " + kind +
           (has == 1 ? " slot, " : " slots, ") + std::to_string(wanted) + " are asked for";
  }

  /// A rating is bytes, or drive writes a day over years; where it is both they must agree.
  void check_endurance(const json& storage, const std::string& pointer) {
    const json& endurance = storage["endurance"];
    const bool daily = endurance.contains("dwpd") && endurance.contains("warranty");
    if (!endurance.contains("rated") && !daily)
      return complain(pointer, "no rating",
                      "write \"rated\": \"1.2 PB\", or \"dwpd\": 0.3 and \"warranty\": \"5 "
                      "years\"");
    if (const json& unit = endurance.value("mapping_unit", json("4 KiB"));
        quantity<Bytes>(unit).value() == 0)
      complain(pointer + "/mapping_unit", "a unit of no bytes", "write \"4 KiB\"");
    if (const json& block = endurance.value("erase_block", json("1 GiB"));
        quantity<Bytes>(block).value() == 0)
      complain(pointer + "/erase_block", "a block of no bytes", "write \"1 GiB\"");
    if (!endurance.contains("rated") || !daily || !storage.contains("capacity")) return;
    const double years = quantity<Seconds>(endurance["warranty"]).value() / (365 * 86400.0);
    const double written = static_cast<double>(quantity<Bytes>(endurance["rated"]).value());
    const double by_days = endurance["dwpd"].get<double>() * 365 * years *
                           static_cast<double>(quantity<Bytes>(storage["capacity"]).value());
    constexpr double rounding = 0.05;  // data sheets print two digits
    if (std::abs(by_days - written) > rounding * written)
      complain(pointer + "/dwpd",
               "with capacity and warranty it is " +
                   description::to_text(Bytes(static_cast<std::uint64_t>(by_days))) +
                   ", but rated says " + endurance["rated"].get<std::string>(),
               "keep one of the two");
  }
  template <class Q>
  static Q quantity(const json& text) {
    return description::quantity_from<Q>(text.get<std::string>());
  }

  void check_capacity(const json& storage, const std::string& pointer) {
    if (!storage.contains("capacity")) {
      if (storage.value("kind", "ssd") == "ssd")
        complain(pointer, "an SSD needs a capacity", "write \"capacity\": \"3.84 TB\"");
      return;
    }
    const Bytes one = description::quantity_from<Bytes>(storage["capacity"].get<std::string>());
    if (one.value() == 0 && storage.value("kind", "ssd") == "ssd")
      complain(pointer + "/capacity", "a drive that holds nothing",
               "write its size, such as \"3.84 TB\", or leave the storage out");
    const std::uint64_t count = storage.value("count", std::uint64_t{1});
    if (one.value() > (std::uint64_t{1} << 62) / count)
      complain(pointer + "/count", "the drives together are larger than 4 EiB", "");
  }

  const LocatedJson& document_;
  const std::string& prefix_;
  std::map<std::string, std::string> names_;
  std::uint64_t lanes_left_ = 0;
  std::vector<Complaint> complaints_;
};

}  // namespace

std::vector<Complaint> check_machine(const LocatedJson& document, const std::string& prefix) {
  std::vector<Complaint> complaints = check_schema(document, "machine", prefix);
  return complaints.empty() ? MachineCheck(document, prefix).run() : complaints;
}

description::MachineFile read_machine(const std::string& name_or_path) {
  std::vector<Complaint> complaints;
  Referenced referenced =
      read_reference(name_or_path, "scenarios/machines", {}, "machine", complaints);
  if (referenced.present) {
    inherit_machine(referenced.json, complaints);
    put_parts(referenced.json, complaints);
  }
  if (complaints.empty()) complaints = check_machine(referenced.json);
  if (!complaints.empty()) throw description::ScenarioError(complaints);
  auto machine = referenced.json.value.get<description::MachineFile>();
  machine.shown_by = referenced.shown_by;
  return machine;
}

}  // namespace spillway::scenarios
