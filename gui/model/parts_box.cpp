#include "gui/model/parts_box.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/machine_parts.hpp"
#include "scenarios/document/part_catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <initializer_list>
#include <map>
#include <vector>

namespace spillway::gui {

using nlohmann::json;

namespace {

constexpr std::uint64_t most_lanes_of_a_card = 16, most_lanes_of_a_drive = 16;
constexpr const char* storage_names[] = {"nvme", "nvme2"};  // as machines of parts have them

template <class Parts>
auto* named(const Parts& parts, const std::string& name) {
  for (const auto& part : parts)
    if (part.name == name) return &part;
  return static_cast<decltype(parts.data())>(nullptr);
}

/// Drives of one kind.
struct Drives {
  std::string part;
  std::uint64_t count = 0;
  Link link = {};
};

std::vector<Drives> drives_of(const PartsBox& box) {
  std::vector<Drives> all;
  if (box.drives > 0) all.push_back({box.drive, box.drives, box.drive_link});
  if (!box.further_drive.empty() && box.further_drives > 0)
    all.push_back({box.further_drive, box.further_drives, box.further_link});
  return all;
}

std::string rate_text(double bytes_per_s) { return fmt::format("{:.3g} GB/s", bytes_per_s / 1e9); }

/// A rate that was asked for keeps all its digits.
std::string rate_text(const Link& link, double bytes_per_s) {
  return link.lanes > 0 ? rate_text(bytes_per_s) : words_of(link);
}

double rate_in(const json& object, const char* key) {
  return description::quantity_from<description::BytesPerSecond>(object.at(key).get<std::string>())
      .value();
}

using Sources = std::map<std::string, std::string>;

/// A link is no faster than the card at its end, unless its rate was measured and asked for.
json card_link_of(const PartsBox& box, Sources& sources) {
  const Link& link = box.card_link;
  const auto* card = named(scenarios::part_catalogue().gpus, box.gpu);
  json pcie = json::object();
  const auto put = [&](const char* key, const std::string& rate) {
    pcie[key] = rate;
    sources[std::string("pcie.") + key] = source_of(link, card_reaches);
  };
  const json own =
      card && card->parts.contains("pcie") ? card->parts.at("pcie") : json(json::object());
  const double rate = card_rate(link);
  for (const char* key : {"h2d", "d2h"}) {
    const bool card_is_slower = link.lanes > 0 && own.contains(key) && rate_in(own, key) < rate;
    put(key, card_is_slower ? rate_text(rate_in(own, key)) : rate_text(link, rate));
  }
  for (const char* key : {"pageable_h2d", "pageable_d2h"})
    if (own.contains(key) && rate_in(own, key) > rate) put(key, rate_text(link, rate));
  return pcie;
}

/// Slots that are stated stand for what the board would allow.
json storage_of(const Drives& drives, const scenarios::HostPart* board, const std::string& name,
                Sources& sources) {
  json storage = {{"part", drives.part}, {"count", drives.count}};
  const scenarios::DrivePart* part = drive_named(drives.part);
  const Link& link = drives.link;
  if (!link.stated() || !part) return storage;
  const std::string own = "storage." + name + ".";
  const std::string source = source_of(link, scenarios::drives_reach);
  const bool board_limits = board && !scenarios::slower_slot(*part, *board).empty();
  for (const char* key : {"read", "write"}) {
    const double itself = rate_in(part->parts.at("drive"), key), rate = drive_rate(link);
    if (rate >= itself && !board_limits) continue;
    storage[key] = rate < itself ? rate_text(link, rate) : rate_text(itself);
    sources[own + key] = source;
  }
  if (link.lanes > 0) {
    storage["lanes"] = link.lanes;
    sources[own + "lanes"] = "assumed: as asked for";
  }
  return storage;
}

std::uint64_t count_of_part(const json& object) {
  const json count = object.value("count", json(1));
  return count.is_number_unsigned() ? count.get<std::uint64_t>() : 1;
}

std::string text_at(const json& object, const char* key) {
  const json word = object.value(key, json());
  return word.is_string() ? word.get<std::string>() : std::string();
}

bool has_only(const json& object, std::initializer_list<const char*> keys) {
  if (!object.is_object()) return false;
  for (const auto& [key, value] : object.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return false;
  return true;
}

/// Links that a machine of parts may have: what is built, and the rates that it states itself.
std::vector<Link> candidates(std::uint64_t most_lanes, const json& rates) {
  std::vector<Link> links = {Link()};
  for (const Link& link : known_links(most_lanes)) links.push_back(link);
  for (const char* key : {"h2d", "d2h", "read", "write"})
    if (rates.is_object() && rates.contains(key) && rates[key].is_string())
      if (const auto link = link_in(rates[key].get<std::string>())) links.push_back(*link);
  return links;
}

/// The link with which `made` makes what was `given`.
template <class Make>
std::optional<Link> link_that_makes(const json& given, std::uint64_t most_lanes, const Make& made) {
  for (const Link& link : candidates(most_lanes, given)) {
    Sources sources;
    if (made(link, sources) == given) return link;
  }
  return std::nullopt;
}

/// Drives of one entry of a machine's storages.
std::optional<Drives> drives_in(json storage, const scenarios::HostPart* board,
                                const std::string& name) {
  if (!has_only(storage, {"part", "count", "name", "lanes", "read", "write"})) return std::nullopt;
  Drives drives{text_at(storage, "part"), count_of_part(storage)};
  storage.erase("name");
  storage["count"] = drives.count;
  const auto link =
      link_that_makes(storage, most_lanes_of_a_drive, [&](const Link& one, Sources& sources) {
        return storage_of({drives.part, drives.count, one}, board, name, sources);
      });
  if (!link) return std::nullopt;
  drives.link = *link;
  return drives;
}

bool takes(const scenarios::HostPart& board, const PartsBox& box) {
  const auto* gpu = named(scenarios::part_catalogue().gpus, box.gpu);
  if (!gpu || board.card != gpu->form || board.gpus.empty() || board.gpus.back() < box.gpus ||
      board.memory.empty() || board.memory.back().value() >> 30 < box.memory_gib)
    return false;
  const auto lanes_of = [](const Link& link, const scenarios::Part* part) {
    return link.lanes > 0 ? link.lanes : part ? part->lanes : 0;
  };
  std::uint64_t lanes = box.gpus * lanes_of(box.card_link, gpu);
  std::map<std::string, std::uint64_t> places;
  for (const Drives& drives : drives_of(box)) {
    const scenarios::DrivePart* drive = drive_named(drives.part);
    places[drive ? drive->form : ""] += drives.count;
    lanes += drives.count * lanes_of(drives.link, drive);
  }
  for (const auto& [form, count] : places) {
    const auto slots = board.slots.find(form);
    if (slots == board.slots.end() || slots->second < count) return false;
  }
  return board.lanes == 0 || lanes <= board.lanes;
}

}  // namespace

const scenarios::DrivePart* drive_named(const std::string& name) {
  return named(scenarios::part_catalogue().drives, name);
}

std::optional<std::uint64_t> gib_in(const json& size) {
  if (!size.is_string()) return std::nullopt;
  const auto parsed =
      description::parse_quantity(description::Dimension::bytes, size.get<std::string>());
  const auto bytes = static_cast<std::uint64_t>(parsed.value);
  if (!parsed.problem.empty() || bytes == 0 || bytes % (1ull << 30) != 0) return std::nullopt;
  return bytes >> 30;
}

bool in_words(const PartsBox& box) {
  return !box.card_link.stated() && !box.drive_link.stated() &&
         (box.further_drive.empty() || box.further_drives == 0);
}

json machine_of(const PartsBox& box) {
  const scenarios::HostPart* board = board_of(box);
  Sources sources;
  json machine = {{"name", words_of(box)},
                  {"gpu", {{"part", box.gpu}, {"count", box.gpus}}},
                  {"host",
                   {{"part", board               ? board->name
                             : box.board.empty() ? "server"
                                                 : box.board},
                    {"memory", fmt::format("{} GiB", box.memory_gib)}}}};
  if (box.card_link.stated()) machine["pcie"] = card_link_of(box, sources);
  if (box.card_link.lanes > 0) {
    machine["gpu"]["lanes"] = box.card_link.lanes;
    sources["gpu.lanes"] = "assumed: as asked for";
  }
  const char* const* name = storage_names;
  for (const Drives& drives : drives_of(box))
    machine["storage"].push_back(storage_of(drives, board, *name++, sources));
  if (!sources.empty()) machine["sources"] = sources;
  return machine;
}

std::optional<PartsBox> box_in(const json& machine) {
  if (!has_only(machine, {"name", "gpu", "host", "storage", "pcie", "sources"}))
    return std::nullopt;
  const json gpu = machine.value("gpu", json()), host = machine.value("host", json());
  const json storage = machine.value("storage", json::array());
  const bool of_parts = has_only(gpu, {"part", "count", "lanes"}) &&
                        has_only(host, {"part", "memory"}) && gpu.contains("part") &&
                        host.contains("part") && storage.is_array() && storage.size() <= 2;
  if (!of_parts) return std::nullopt;
  const auto memory = gib_in(host.value("memory", json()));
  if (!memory) return std::nullopt;
  PartsBox box{text_at(gpu, "part"),  count_of_part(gpu),
               text_at(host, "part"), *memory,
               PartsBox().drive,      0};
  for (std::size_t i = 0; i < storage.size(); ++i) {
    const auto drives = drives_in(storage[i], board_of(box), storage_names[i]);
    if (!drives) return std::nullopt;
    (i == 0 ? box.drive : box.further_drive) = drives->part;
    (i == 0 ? box.drives : box.further_drives) = drives->count;
    (i == 0 ? box.drive_link : box.further_link) = drives->link;
  }
  const json pcie = machine.value("pcie", json(json::object()));
  const auto link =
      link_that_makes(pcie, most_lanes_of_a_card, [&](const Link& one, Sources& sources) {
        PartsBox with = box;
        with.card_link = one;
        if (gpu.value("lanes", json(one.lanes)) != json(one.lanes)) return json();
        return one.stated() ? card_link_of(with, sources) : json(json::object());
      });
  if (!link) return std::nullopt;
  box.card_link = *link;
  // numbers whose sources somebody wrote stay a machine of its own
  if (machine.contains("sources") && machine_of(box).value("sources", json()) != machine["sources"])
    return std::nullopt;
  return box;
}

const scenarios::HostPart* board_of(const PartsBox& box) {
  const scenarios::HostPart* best = nullptr;
  for (const scenarios::HostPart& board : scenarios::part_catalogue().hosts) {
    if (!box.board.empty()) {
      if (board.name == box.board) return &board;
      continue;
    }
    const auto price = [&](const scenarios::HostPart& one) {
      return one.price_usd + one.dram_usd_per_gib * static_cast<double>(box.memory_gib);
    };
    if (takes(board, box) && (!best || price(board) < price(*best))) best = &board;
  }
  return best;
}

std::string words_of(const PartsBox& box) {
  const auto behind = [](const Link& link) {
    return link.stated() ? fmt::format(" on {}", words_of(link)) : std::string();
  };
  const scenarios::HostPart* board = board_of(box);
  std::string words = fmt::format("{} x {}{}, {}{} GiB", box.gpus, box.gpu, behind(box.card_link),
                                  board ? board->name + ", " : "", box.memory_gib);
  for (const Drives& drives : drives_of(box))
    words += fmt::format(", {} x {}{}", drives.count, drives.part, behind(drives.link));
  return words;
}

}  // namespace spillway::gui
