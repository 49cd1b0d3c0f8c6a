#include "answers/fit/purchase.hpp"

#include "answers/fit/board.hpp"
#include "explore/remedies/more_memory.hpp"
#include "reports/result/needs.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/box.hpp"
#include "scenarios/document/part_catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::answers {

using description::Bytes;
using description::MachineFile;
using description::Scenario;
using scenarios::HostPart;
using scenarios::Part;

namespace {

/// All that lies on a board, with so much memory.
Load load_of(const MachineFile& machine, Bytes memory) {
  const scenarios::PriceList& list = scenarios::part_catalogue();
  Load load{scenarios::bought_part(machine, list.gpus, "gpu"), machine.gpu.count, memory, nullptr,
            0};
  for (const description::StorageSpec& storage : machine.storage)
    if (const auto* drive = scenarios::bought_part(machine, list.drives, "storage." + storage.name);
        drive && !load.drive)
      load.drive = drive, load.drives = storage.count;
  return load;
}

/// What the catalogue makes of the machine's parts on a board, in full.
nlohmann::json assembled(const HostPart& board, const Load& load) {
  scenarios::PriceList list;
  list.gpus = {*load.card};
  list.hosts = {board};
  list.hosts.front().memory = {load.memory};
  list.hosts.front().gpus = {load.cards};
  if (load.drive) list.drives = {*load.drive};
  const scenarios::Box box{.gpus = load.cards, .drives = load.drives};
  return scenarios::machine_of(list, box).get<MachineFile>();
}

/// The machine on another board with so much memory: what a board decides of drives and cards
/// changes, what else was said of the machine stays.
std::string on_board(const MachineFile& machine, const HostPart& own, const HostPart& other,
                     Bytes memory) {
  const nlohmann::json change =
      nlohmann::json::diff(assembled(own, load_of(machine, machine.host.memory)),
                           assembled(other, load_of(machine, memory)));
  nlohmann::json changed = machine;
  for (const nlohmann::json& one : change)
    if (one.at("op") == "add" ||
        changed.contains(nlohmann::json::json_pointer(one.at("path").get<std::string>())))
      changed.patch_inplace(nlohmann::json::array({one}));  // else the machine says nothing of it
  return "machine=" + changed.dump();
}

/// Puts purchases for the tiers together.
class Shopping {
 public:
  Shopping(const Scenario& scenario, const result::Result& result)
      : machine_(scenario.machine), result_(result) {}

  std::optional<Purchase> run() {
    for (const result::TierNeed& need : result::shortages_of(result_)) {
      const bool done = need.tier == "host"  ? host_memory(need.needed)
                        : need.tier == "gpu" ? card(need.needed)
                                             : drives(need.needed);
      if (!done) return std::nullopt;
    }
    if (purchase_.set.empty()) return std::nullopt;
    return std::move(purchase_);
  }

 private:
  void add(const std::string& words, const std::string& set) {
    if (!words.empty()) purchase_.words += (purchase_.words.empty() ? "" : " and ") + words;
    purchase_.set.push_back(set);
  }

  bool host_memory(std::uint64_t bytes) {
    if (const std::uint64_t size = host_memory_for(machine_, bytes); size > 0) {
      const std::string text = description::to_text(Bytes(size));
      add(text + " of host memory", "machine.host.memory=\"" + text + "\"");
      return true;
    }
    return board(bytes);
  }
  /// A board that takes the cards, the drives and more memory.
  bool board(std::uint64_t bytes) {
    const HostPart* cheapest = nullptr;
    std::uint64_t memory = 0;
    double least = 0;
    for (const HostPart& one : scenarios::part_catalogue().hosts)
      for (const Bytes size : one.memory) {
        const Load load = load_of(machine_, size);
        if (size.value() < bytes || !load.card || !refusal(one, load).empty()) continue;
        const double gib = static_cast<double>(size.value()) / static_cast<double>(1ull << 30);
        const double usd = one.price_usd + gib * one.dram_usd_per_gib;
        if (!cheapest || usd < least) cheapest = &one, memory = size.value(), least = usd;
      }
    if (!cheapest) return false;
    const std::string text = description::to_text(Bytes(memory));
    const std::string words = fmt::format("a {} with {} of host memory", cheapest->name, text);
    if (const HostPart* own = board_of(machine_)) {
      add(words, on_board(machine_, *own, *cheapest, Bytes(memory)));
    } else {
      add(words, "machine.host.part=\"" + cheapest->name + "\"");
      add("", "machine.host.memory=\"" + text + "\"");
    }
    return true;
  }

  /// Of the same form; one that its maker sells and that has the memory.
  bool card(std::uint64_t bytes) {
    const scenarios::PriceList& list = scenarios::part_catalogue();
    const Part* own = scenarios::bought_part(machine_, list.gpus, "gpu");
    const Part* cheapest = nullptr;
    if (!own) return false;
    for (const Part& one : list.gpus) {
      const auto memory =
          description::quantity_from<Bytes>(one.parts.at("gpu").at("memory").get<std::string>());
      if (one.form == own->form && one.price_usd > 0 && !one.rebuilt && memory.value() >= bytes &&
          (!cheapest || one.price_usd < cheapest->price_usd))
        cheapest = &one;
    }
    if (!cheapest) return false;
    const std::uint64_t count = machine_.gpu.count;
    add(count == 1 ? "an " + cheapest->name + " in place of the " + own->name
                   : fmt::format("{} x {} in place of the cards", count, cheapest->name),
        "machine.gpu.part=\"" + cheapest->name + "\"");
    return true;
  }

  /// More of the first kind, while the board has places; where there is none, of a common one.
  bool drives(std::uint64_t bytes) {
    for (const description::StorageSpec& storage : machine_.storage) {
      if (storage.kind != description::StorageKind::ssd || storage.capacity.value() == 0) continue;
      const std::uint64_t count = description::divide_up(bytes, storage.room().value());
      add(fmt::format("{} drives of {}", std::max(count, storage.count + 1), storage.name),
          fmt::format("machine.storage.{}.count={}", storage.name,
                      std::max(count, storage.count + 1)));
      return true;
    }
    const HostPart* host = board_of(machine_);
    for (const scenarios::DrivePart& drive : scenarios::part_catalogue().drives) {
      if (!host || !host->slots.contains(drive.form)) continue;
      const auto capacity = description::quantity_from<Bytes>(
          drive.parts.at("drive").at("capacity").get<std::string>());
      const std::uint64_t count = description::divide_up(bytes, capacity.value());
      add(fmt::format("{} x {}", count, drive.name),
          fmt::format(R"(machine.storage=[{{"part": "{}", "count": {}}}])", drive.name, count));
      return true;
    }
    return false;
  }

  const MachineFile& machine_;
  const result::Result& result_;
  Purchase purchase_;
};

}  // namespace

const HostPart* board_of(const MachineFile& machine) {
  return scenarios::bought_part(machine, scenarios::part_catalogue().hosts, "host");
}

std::uint64_t host_memory_for(const MachineFile& machine, std::uint64_t bytes) {
  const HostPart* board = board_of(machine);
  const std::uint64_t size = explore::sold_host_memory(bytes);
  if (!board || size == 0) return size;
  if (size > board->memory.back().value()) return 0;
  return std::max(size, board->memory.front().value());
}

std::vector<Purchase> dearer_boards(const MachineFile& machine) {
  const HostPart* own = board_of(machine);
  const Load load = load_of(machine, machine.host.memory);
  if (!own || !load.card) return {};
  constexpr double of_the_same_kind = 1.5;  // times its price: no server in place of a desktop
  std::vector<Purchase> boards;
  for (const HostPart& one : scenarios::part_catalogue().hosts)
    if (one.price_usd > own->price_usd && one.price_usd <= of_the_same_kind * own->price_usd &&
        refusal(one, load).empty())
      boards.push_back({fmt::format("a {} in place of the {}", one.name, own->name),
                        {on_board(machine, *own, one, machine.host.memory)}});
  return boards;
}

std::optional<Purchase> purchase_for(const Scenario& scenario, const result::Result& result) {
  return Shopping(scenario, result).run();
}

}  // namespace spillway::answers
