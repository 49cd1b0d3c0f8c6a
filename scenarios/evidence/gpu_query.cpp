#include "scenarios/evidence/formats.hpp"
#include "scenarios/evidence/gpu_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <map>

namespace spillway::evidence {

namespace {

/// What is read of one card.
struct Card {
  std::string name = "GPU";
  std::string bus;  ///< "00000000:1E:00.0"; "": the file does not say
  GpuMemory memory;
  std::optional<double> lanes_now, lanes_most;  ///< of PCI Express
  std::optional<double> generation_most, generation_of_host;
  std::optional<double> power_limit, power_usual;  ///< W
  bool is_divided = false;                         ///< by MIG: a program sees one of its instances

  /// The board's slot or a riser gives it fewer lanes than it has.
  bool lacks_lanes() const {
    return lanes_now && lanes_most && 0 < *lanes_now && *lanes_now < *lanes_most;
  }
  bool lacks_generation() const {
    return generation_most && generation_of_host && *generation_of_host < *generation_most;
  }
};

void set(std::optional<double>& into, std::string_view value) {
  if (into || value.empty()) return;
  into = number_after(std::string("=").append(value), "=");
}

void set_mebibytes(std::optional<double>& into, std::string_view value) {
  if (into) return;
  set(into, value);
  if (into) *into *= 1 << 20;
}

/// Of the types "C", "G", "C+G" and, of a process of MPS, "M+C".
bool draws(std::string_view type) { return type.find('G') != std::string_view::npos; }

/// Something that some of the cards of a file have.
struct OfCards {
  std::vector<std::string> buses;
  std::size_t cards = 0;
};

/// " at 00000000:1E:00.0, 1 of 8 cards" after their name; "" of a file's only card.
std::string place_words(const OfCards& some, std::size_t all) {
  if (all < 2) return "";
  if (some.cards == all) return fmt::format(", all {} cards", all);
  return fmt::format("{}{}, {} of {} cards", some.buses.empty() ? "" : " at ",
                     fmt::join(some.buses, ", "), some.cards, all);
}

void add_card(const Card& card, OfCards& into) {
  ++into.cards;
  if (!card.bus.empty()) into.buses.push_back(card.bus);
}

/// Lanes stay while a card rests, and the generation in use does not, so that one says nothing: the
/// host's is compared.
std::vector<Shortfall> shortfalls_of(const Card& card) {
  std::vector<Shortfall> found;
  if (card.lacks_lanes())
    found.push_back({"PCI Express lanes of " + card.name, "count", *card.lanes_most,
                     *card.lanes_now,
                     "another slot, a riser, or a second card that shares the lanes"});
  if (card.lacks_generation())
    found.push_back({"PCI Express generation of " + card.name, "count", *card.generation_most,
                     *card.generation_of_host, "the board's, or a setting of its firmware"});
  if (card.power_limit && card.power_usual && *card.power_limit < *card.power_usual)
    found.push_back({"power limit of " + card.name, "W", *card.power_usual, *card.power_limit,
                     fmt::format("nvidia-smi -pl {:.0f}", *card.power_usual)});
  return found;
}

/// Cards that lack the same are one line, which names them.
void compare(const std::vector<Card>& cards, Evidence& into) {
  std::vector<std::pair<Shortfall, OfCards>> lines;
  for (const Card& card : cards)
    for (Shortfall& one : shortfalls_of(card)) {
      auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& each) {
        return each.first.what == one.what && each.first.rated == one.rated &&
               each.first.found == one.found;
      });
      if (line == lines.end()) line = lines.insert(line, {std::move(one), {}});
      add_card(card, line->second);
    }
  for (auto& [shortfall, cards_of_it] : lines) {
    shortfall.what += place_words(cards_of_it, cards.size());
    const std::string command = "nvidia-smi ";
    if (cards_of_it.cards < cards.size() && shortfall.remedy.starts_with(command))
      shortfall.remedy.insert(command.size(),
                              fmt::format("-i {} ", fmt::join(cards_of_it.buses, ",")));
    into.shortfalls.push_back(std::move(shortfall));
  }
}

/// Nothing of a link that is as good as the card's, or of which the file does not say enough.
std::optional<NarrowLink> narrow_link(const Card& card) {
  NarrowLink link;
  std::vector<std::string> reasons;
  if (card.lacks_lanes()) {
    link.share = *card.lanes_now / *card.lanes_most;
    reasons.push_back(
        fmt::format("{:.0f} of {:.0f} PCI Express lanes", *card.lanes_now, *card.lanes_most));
  }
  const auto host = rate_of_lane(card.generation_of_host.value_or(0));
  const auto own = rate_of_lane(card.generation_most.value_or(0));
  if (host && own && card.lacks_generation()) {
    link.share *= *host / *own;
    reasons.push_back(fmt::format("PCI Express {:.0f} where the card has {:.0f}",
                                  *card.generation_of_host, *card.generation_most));
  }
  if (reasons.empty()) return {};
  if (host && own && card.lanes_now) link.most = std::min(*host, *own) * *card.lanes_now;
  link.why = fmt::format("{} of {}", fmt::join(reasons, " and "), card.name);
  return link;
}

/// The narrowest link of the cards, with the cards that have it: a machine file has one for all.
void find_link(const std::vector<Card>& cards, Evidence& into) {
  OfCards narrow;
  for (const Card& card : cards) {
    const auto link = narrow_link(card);
    if (!link || (into.link && link->share > into.link->share)) continue;
    if (!into.link || link->share < into.link->share) into.link = link, narrow = {};
    add_card(card, narrow);
  }
  if (!into.link) return;
  into.link->why += place_words(narrow, cards.size());
  if (narrow.cards < cards.size())
    into.notes.push_back(fmt::format(
        "{}: a machine file has one link for all its cards, which becomes as narrow; where the "
        "others are not to wait for {}, mend that and calibrate again",
        into.link->why, narrow.cards == 1 ? "it" : "them"));
}

/// The mean of the cards, of which each takes its own; nothing where one does not say.
void find_power(const std::vector<Card>& cards, Evidence& into) {
  PowerLimit power;
  double least = 0, most = 0;
  for (const Card& card : cards) {
    if (!card.power_limit || !card.power_usual) return;
    least = &card == &cards.front() ? *card.power_limit : std::min(least, *card.power_limit);
    most = std::max(most, *card.power_limit);
    power.watts += *card.power_limit / static_cast<double>(cards.size());
    power.usual += *card.power_usual / static_cast<double>(cards.size());
  }
  power.cards = cards.size() == 1 ? cards.front().name
                                  : fmt::format("{} x {}", cards.size(), cards.front().name);
  power.how = least == most
                  ? fmt::format("power limit; by default {:.0f} W", power.usual)
                  : fmt::format("power limit, of {:.0f} to {:.0f} W the mean; by default {:.0f} W",
                                least, most, power.usual);
  into.power = power;
}

/// Of `nvidia-smi -q -i 0` the head counts more cards than are described.
void count_cards(std::size_t described, double attached, const std::string& name, Evidence& into) {
  if (attached <= static_cast<double>(described)) {
    into.readings.push_back({"gpu.count", "count", static_cast<double>(described),
                             fmt::format("{} x {}", described, name)});
    return;
  }
  into.readings.push_back(
      {"gpu.count", "count", attached,
       fmt::format("{:.0f} attached, of which {} described: {}", attached, described, name)});
  into.notes.push_back(fmt::format("{} of {:.0f} GPUs described: the others are taken to be alike",
                                   described, attached));
}

std::vector<std::string> names_of(const std::vector<Card>& cards) {
  std::vector<std::string> names;
  for (const Card& card : cards) names.push_back(card.name);
  return names;
}

/// Takes the cards out that CUDA cannot use as one device each.
///   Result  how many these are
std::size_t take_divided(std::vector<Card>& cards, Evidence& into) {
  const std::size_t described = cards.size();
  const std::string name = cards.front().name;
  const std::size_t divided =
      std::erase_if(cards, [](const Card& card) { return card.is_divided; });
  if (divided == 0) return 0;
  if (cards.empty()) into.card = name;
  into.notes.push_back(fmt::format(
      "MIG is on in {} of {} GPUs: a program sees one instance of such a card, never all of it, so "
      "they do not count; nvidia-smi -i NUMBER -mig 0 makes one whole again",
      divided, described));
  return divided;
}

void put(std::vector<Card> cards, double attached, Evidence& into) {
  if (cards.empty())
    refuse_file(into.file, "output of nvidia-smi without a GPU", "run nvidia-smi -q");
  attached -= static_cast<double>(take_divided(cards, into));
  if (cards.empty()) return;
  const bool alike = std::all_of(cards.begin(), cards.end(), [&](const Card& card) {
    return card.name == cards.front().name && card.memory.total == cards.front().memory.total;
  });
  if (alike) {
    into.card = cards.front().name;
    count_cards(cards.size(), attached, into.card, into);
  } else {
    into.notes.push_back(fmt::format(
        "cards of different kinds ({}): a machine file has one kind, so their number is left as it "
        "is, and their memory is that of the smallest; write a machine file of the slower cards "
        "for "
        "all of them, or read a file of one kind (nvidia-smi -q -i NUMBER)",
        fmt::join(names_of(cards), ", ")));
  }
  std::vector<GpuMemory> memory;
  for (const Card& card : cards) {
    memory.push_back(card.memory);
    memory.back().card = card.name;
    memory.back().bus = card.bus;
  }
  put_memory(memory, into);
  if (alike) find_power(cards, into);
  compare(cards, into);
  find_link(cards, into);
}

/// The text is a tree by indentation: names of the lines above say what a "Current" is of.
class Query {
 public:
  explicit Query(std::vector<Card>& cards) : cards_(cards) {}

  void line(std::string_view text) {
    const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
    const std::string_view inside = trimmed(text);
    if (inside.empty()) return;
    if (indent == 0 && inside.starts_with("GPU "))
      cards_.emplace_back().bus = trimmed(inside.substr(std::string_view("GPU ").size()));
    above_.erase(above_.lower_bound(indent), above_.end());
    const std::size_t colon = inside.find(" : ");
    if (colon == std::string_view::npos) {
      above_[indent] = std::string(inside);
    } else if (!cards_.empty()) {
      value(trimmed(inside.substr(0, colon)), trimmed(inside.substr(colon + 3)));
    }
  }

 private:
  bool under(std::string_view name) const {
    return std::any_of(above_.begin(), above_.end(),
                       [&](const auto& each) { return each.second == name; });
  }

  void value(std::string_view name, std::string_view value) {
    Card& card = cards_.back();
    if (name == "Product Name") card.name = value;
    if (under("MIG Mode") && name == "Current") card.is_divided = value == "Enabled";
    if (name == "Display Active") card.memory.has_display = value == "Enabled";
    if (under("FB Memory Usage")) {
      if (name == "Total") set_mebibytes(card.memory.total, value);
      if (name == "Reserved") set_mebibytes(card.memory.reserved, value);
      if (name == "Used") set_mebibytes(card.memory.used, value);
    }
    if (under("Processes")) process_value(name, value, card.memory.processes);
    if (under("Link Width")) {
      if (name == "Max") set(card.lanes_most, value);
      if (name == "Current") set(card.lanes_now, value);
    }
    if (under("PCIe Generation")) {
      if (name == "Device Max") set(card.generation_most, value);
      if (name == "Host Max") set(card.generation_of_host, value);
    }
    if (under("Power Readings") || under("GPU Power Readings")) {
      if (name == "Power Limit" || name == "Current Power Limit" || name == "Enforced Power Limit")
        set(card.power_limit, value);
      if (name == "Default Power Limit") set(card.power_usual, value);
    }
  }

  /// A process begins with its number.
  static void process_value(std::string_view name, std::string_view value,
                            std::vector<GpuProcess>& processes) {
    if (name == "Process ID") processes.emplace_back();
    if (processes.empty()) return;
    if (name == "Type") processes.back().draws = draws(value);
    if (name == "Name") processes.back().name = program_name(value);
    if (name == "Used GPU Memory") set_mebibytes(processes.back().bytes, value);
  }

  std::vector<Card>& cards_;
  std::map<std::size_t, std::string> above_;  ///< by indentation
};

/// The text between the first <name> in `inside` and its end; "" where there is none.
std::string_view element(std::string_view inside, const std::string& name) {
  const std::size_t first = inside.find("<" + name + ">");
  if (first == std::string_view::npos) return {};
  inside.remove_prefix(first + name.size() + 2);
  return inside.substr(0, inside.find("</" + name + ">"));
}

GpuMemory memory_of(std::string_view gpu) {
  GpuMemory memory;
  const std::string_view usage = element(gpu, "fb_memory_usage");
  set_mebibytes(memory.total, element(usage, "total"));
  set_mebibytes(memory.reserved, element(usage, "reserved"));
  set_mebibytes(memory.used, element(usage, "used"));
  memory.has_display = trimmed(element(gpu, "display_active")) == "Enabled";
  std::string_view processes = element(gpu, "processes");
  constexpr std::string_view begin = "<process_info>";
  for (std::size_t at; (at = processes.find(begin)) != std::string_view::npos;) {
    processes.remove_prefix(at + begin.size());
    const std::string_view one = processes.substr(0, processes.find("</process_info>"));
    GpuProcess& process = memory.processes.emplace_back();
    process.draws = draws(trimmed(element(one, "type")));
    process.name = program_name(trimmed(element(one, "process_name")));
    set_mebibytes(process.bytes, element(one, "used_memory"));
  }
  return memory;
}

Card card_of(std::string_view gpu) {
  Card card;
  if (const auto name = element(gpu, "product_name"); !name.empty()) card.name = trimmed(name);
  card.is_divided = trimmed(element(element(gpu, "mig_mode"), "current_mig")) == "Enabled";
  card.memory = memory_of(gpu);
  const std::string_view link = element(gpu, "pci_gpu_link_info");
  set(card.lanes_now, element(element(link, "link_widths"), "current_link_width"));
  set(card.lanes_most, element(element(link, "link_widths"), "max_link_width"));
  const std::string_view generation = element(link, "pcie_gen");
  set(card.generation_most, element(generation, "max_device_link_gen"));
  set(card.generation_of_host, element(generation, "max_host_link_gen"));
  for (const char* section : {"gpu_power_readings", "power_readings"}) {
    const std::string_view power = element(gpu, section);
    for (const char* key : {"current_power_limit", "power_limit", "enforced_power_limit"})
      set(card.power_limit, element(power, key));
    set(card.power_usual, element(power, "default_power_limit"));
  }
  return card;
}

}  // namespace

std::optional<double> rate_of_lane(double generation) {
  switch (static_cast<int>(generation)) {
    case 1:
      return 2.5e9 * 8 / 10 / 8;
    case 2:
      return 5e9 * 8 / 10 / 8;
    case 3:
      return 8e9 * 128 / 130 / 8;
    case 4:
      return 16e9 * 128 / 130 / 8;
    case 5:
      return 32e9 * 128 / 130 / 8;
    case 6:
      return 64e9 * 242 / 256 / 8;
    default:
      return {};
  }
}

void read_gpu_query(std::string_view text, Evidence& into) {
  into.kind = "nvidia-smi -q";
  std::vector<Card> cards;
  Query query(cards);
  for (const std::string_view line : lines_of(text)) query.line(line);
  put(std::move(cards), number_after(text, "Attached GPUs").value_or(0), into);
}

void read_gpu_query_xml(std::string_view text, Evidence& into) {
  into.kind = "nvidia-smi -q -x";
  std::vector<Card> cards;
  constexpr std::string_view end = "</gpu>";
  for (std::size_t at = text.find("<gpu id="); at != std::string_view::npos;
       at = text.find("<gpu id=", at + 1)) {
    const std::string_view gpu = text.substr(at);
    cards.push_back(card_of(gpu.substr(0, gpu.find(end))));
    const std::size_t id = std::string_view("<gpu id=\"").size();
    if (gpu.size() > id) cards.back().bus = gpu.substr(id, gpu.find('"', id) - id);
  }
  std::optional<double> attached;
  set(attached, element(text, "attached_gpus"));
  put(std::move(cards), attached.value_or(0), into);
}

}  // namespace spillway::evidence
