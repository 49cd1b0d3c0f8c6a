#include "answers/fit/box.hpp"

#include "scenarios/box.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/power.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace spillway::answers {

using description::Bytes;
using description::Complaint;
using nlohmann::json;
using scenarios::Box;
using scenarios::PriceList;

namespace {

/// "4090x2" is {"4090", 2}.
struct Counted {
  std::string name;
  std::uint64_t count = 1;
};

Counted counted(const std::string& word) {
  const std::size_t cross = word.find_last_of("xX*");
  if (cross == std::string::npos || cross == 0 || cross + 1 == word.size()) return {word, 1};
  Counted result{word.substr(0, cross), 0};
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data() + cross + 1, end, result.count);
  if (error != std::errc() || at != end || result.count == 0) return {word, 1};
  while (!result.name.empty() && result.name.back() == ' ') result.name.pop_back();
  return result;
}

/// Letters and digits in lower case: "RTX 4090" and "rtx-4090" are one name.
std::string plain(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// "128G", "1.5T", "64 GiB" as bytes; `binary`: G is GiB.
std::optional<Bytes> size_of(const std::string& word, bool binary) {
  std::string text = word;
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (!text.empty() && std::string("GgTtMm").find(text.back()) != std::string::npos) {
    text.back() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    text += binary ? "iB" : "B";
  }
  if (binary && text.ends_with("GB")) text.replace(text.size() - 2, 2, "GiB");
  const auto parsed = description::parse_quantity(description::Dimension::bytes, text);
  if (!parsed.problem.empty() || parsed.value <= 0) return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(parsed.value));
}

template <class PartList>
std::vector<std::string> names_of(const PartList& parts) {
  std::vector<std::string> names;
  for (const auto& part : parts) names.push_back(part.name);
  return names;
}

/// The part of that name, or the only one whose name ends with it ("4090").
template <class PartList>
std::optional<std::size_t> part_named(const PartList& parts, const std::string& word) {
  std::optional<std::size_t> found;
  const std::string asked = plain(word);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string own = plain(parts[i].name);
    if (own == asked) return i;
    if (!own.ends_with(asked) || asked.empty()) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

Bytes capacity_of(const scenarios::DrivePart& drive) {
  return description::quantity_from<Bytes>(
      drive.parts.at("drive").at("capacity").get<std::string>());
}

/// Makes the box out of a list of its own, in which what is asked for is allowed.
class Reader {
 public:
  Reader(const BoxWords& words, const PriceList& list) : words_(words), list_(list) {}

  NamedBox read() {
    read_gpu();
    read_ram();
    read_ssd();
    if (!complaints_.empty()) throw description::ScenarioError(complaints_);
    choose_host();
    if (!complaints_.empty()) throw description::ScenarioError(complaints_);
    json machine = scenarios::machine_of(list_, box_);
    scenarios::add_power(machine, list_.gpus[box_.gpu].name);
    return {std::move(machine), std::move(notes_)};
  }

 private:
  void complain(const char* option, const std::string& message, const std::string& hint) {
    complaints_.push_back({"command line", 0, 0, option, message, hint});
  }
  void unknown(const char* option, const std::string& word, const std::vector<std::string>& known) {
    const std::string near = description::nearest_name(word, known);
    complain(option, "no \"" + word + "\" in the price list " + list_.name,
             (near.empty() ? "" : "did you mean \"" + near + "\"? ") +
                 fmt::format("known: {}", fmt::join(known, ", ")));
  }

  void read_gpu() {
    const Counted asked = counted(words_.gpu);
    box_.gpus = asked.count;
    if (const auto found = part_named(list_.gpus, asked.name))
      box_.gpu = *found;
    else
      unknown("--gpu", asked.name, names_of(list_.gpus));
  }

  void read_ram() {
    const auto size = size_of(words_.ram, true);
    if (!size || size->value() < (1ull << 30))
      complain("--ram", "\"" + words_.ram + "\" is no size of memory", "write for example 128G");
    else
      memory_ = *size;
  }

  void read_ssd() {
    if (words_.ssd.empty() || words_.ssd == "none" || words_.ssd == "0") return;
    const Counted asked = counted(words_.ssd);
    box_.drives = asked.count;
    if (const auto found = part_named(list_.drives, asked.name)) {
      box_.drive = *found;
      return;
    }
    const auto size = size_of(asked.name, false);
    if (size)
      take_drive_of(*size);
    else
      unknown("--ssd", asked.name, names_of(list_.drives));
  }

  /// The nearest in size; the cheaper of two.
  void take_drive_of(Bytes size) {
    if (list_.drives.empty())
      return complain("--ssd", "the price list " + list_.name + " has no drives", "");
    const auto distance = [&](const scenarios::DrivePart& drive) {
      return std::abs(std::log(static_cast<double>(capacity_of(drive).value()) /
                               static_cast<double>(size.value())));
    };
    const auto nearer = [&](const scenarios::DrivePart& one, const scenarios::DrivePart& other) {
      constexpr double same = 0.1;  // 1.92 TB is sold beside 2 TB
      const bool both = distance(one) < same && distance(other) < same;
      return both ? one.price_usd < other.price_usd : distance(one) < distance(other);
    };
    const auto best = std::min_element(list_.drives.begin(), list_.drives.end(), nearer);
    box_.drive = static_cast<std::size_t>(best - list_.drives.begin());
    const double ratio =
        static_cast<double>(size.value()) / static_cast<double>(capacity_of(*best).value());
    if (std::abs(ratio - 1) < 0.15) {
      notes_.push_back(fmt::format("the drive is taken to be a {}", best->name));
      return;
    }
    resize(*best, size, ratio);
  }

  void resize(scenarios::DrivePart& drive, Bytes size, double ratio) {
    notes_.push_back(
        fmt::format("the drive is taken to be a {} of {}, price and rated writes in proportion",
                    drive.name, description::to_text(size)));
    json& own = drive.parts["drive"];
    own["capacity"] = description::to_text(size);
    drive.price_usd *= ratio;
    drive.sources["drive.capacity"] = "assumed: as asked for";
    if (own.contains("endurance") && own["endurance"].contains("rated")) {
      const auto rated =
          description::quantity_from<Bytes>(own["endurance"]["rated"].get<std::string>());
      own["endurance"]["rated"] = description::to_text(
          Bytes(static_cast<std::uint64_t>(static_cast<double>(rated.value()) * ratio)));
      drive.sources["drive.endurance.rated"] = "assumed: in proportion to the capacity";
    }
    drive.name += " of " + description::to_text(size);
  }

  /// The cheapest board for so many cards and so much memory; the one for most of either where none
  /// takes them all.
  void choose_host() {
    const auto takes = [&](const scenarios::HostPart& host) {
      return !host.gpus.empty() && host.gpus.back() >= box_.gpus && !host.memory.empty() &&
             host.memory.back().value() >= memory_.value();
    };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < list_.hosts.size(); ++i)
      if (takes(list_.hosts[i]) &&
          (!best || list_.hosts[i].price_usd < list_.hosts[*best].price_usd))
        best = i;
    if (!best) best = largest_host();
    if (!best) return complain("--gpu", "the price list " + list_.name + " has no hosts", "");
    box_.host = *best;
    scenarios::HostPart& host = list_.hosts[*best];
    if (host.memory.empty() || host.memory.back().value() < memory_.value())
      notes_.push_back(fmt::format("a {} with {} is not on the price list {}", host.name,
                                   description::to_text(memory_), list_.name));
    if (host.gpus.empty() || host.gpus.back() < box_.gpus)
      notes_.push_back(fmt::format("a {} with {} cards is not on the price list {}", host.name,
                                   box_.gpus, list_.name));
    host.memory = {memory_};
    host.gpus = {box_.gpus};
  }

  std::optional<std::size_t> largest_host() const {
    std::optional<std::size_t> most;
    for (std::size_t i = 0; i < list_.hosts.size(); ++i)
      if (!list_.hosts[i].gpus.empty() && !list_.hosts[i].memory.empty() &&
          (!most || size(list_.hosts[i]) > size(list_.hosts[*most])))
        most = i;
    return most;
  }
  static std::pair<std::uint64_t, std::uint64_t> size(const scenarios::HostPart& host) {
    return {host.gpus.back(), host.memory.back().value()};
  }

  const BoxWords& words_;
  PriceList list_;
  Box box_;
  Bytes memory_;
  std::vector<std::string> notes_;
  std::vector<Complaint> complaints_;
};

}  // namespace

NamedBox box_of(const BoxWords& words, const PriceList& list) { return Reader(words, list).read(); }

}  // namespace spillway::answers
