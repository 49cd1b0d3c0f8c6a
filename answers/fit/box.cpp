#include "answers/fit/box.hpp"

#include "answers/fit/board.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/box.hpp"
#include "scenarios/document/part_catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>

namespace spillway::answers {

using description::Bytes;
using description::Complaint;
using nlohmann::json;
using scenarios::Box;
using scenarios::PartKind;
using scenarios::PriceList;

namespace {

constexpr const char* command_line = "command line";

/// "128G", "1.5T", "64 GiB" as bytes, where G is GiB; nothing for what has no unit.
std::optional<Bytes> memory_in(const std::string& word) {
  std::string text = word;
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (!text.empty() && std::string("GgTtMm").find(text.back()) != std::string::npos) {
    text.back() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    text += "iB";
  }
  for (const char* decimal : {"GB", "TB"})
    if (text.ends_with(decimal)) text.insert(text.size() - 1, "i");
  const auto parsed = description::parse_quantity(description::Dimension::bytes, text);
  if (!parsed.problem.empty() || parsed.value <= 0) return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(parsed.value));
}

/// Of a number alone, which is of GiB, or of bytes where it is large.
std::string with_unit(const std::string& number) {
  constexpr double gibibyte = 1ull << 30, of_programs = 1e6;
  const double value = std::strtod(number.c_str(), nullptr);
  return value < of_programs ? number + "G" : fmt::format("{:.6g}G", value / gibibyte);
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
    guarded([&] { read_gpu(); });
    guarded([&] { read_ram(); });
    guarded([&] { read_ssd(); });
    stop_when_wrong();
    guarded([&] { take_board(); });
    stop_when_wrong();
    return {scenarios::machine_of(list_, box_), std::move(notes_)};
  }

 private:
  void complain(const char* option, const std::string& message, const std::string& hint) {
    complaints_.push_back({command_line, 0, 0, option, message, hint});
  }
  template <class Read>
  void guarded(const Read& read) {
    try {
      read();
    } catch (const description::ScenarioError& error) {
      complaints_.insert(complaints_.end(), error.complaints().begin(), error.complaints().end());
    }
  }
  void stop_when_wrong() const {
    if (!complaints_.empty()) throw description::ScenarioError(complaints_);
  }

  scenarios::FoundPart find(PartKind kind, const std::string& word, const char* option) const {
    return scenarios::find_part_in(list_, kind, word, {command_line}, option);
  }
  /// Whether the word counts none of something.
  bool counts_none(const std::string& word, const char* option, const char* hint) {
    const auto apart = scenarios::counted_name(word);
    if (!apart || apart->count > 0) return false;
    complain(option, "\"" + word + "\" counts none", hint);
    return true;
  }

  void read_gpu() {
    if (counts_none(words_.gpu, "--gpu", "write at least one, such as 4090")) return;
    const scenarios::FoundPart found = find(PartKind::gpu, words_.gpu, "--gpu");
    box_.gpu = found.index;
    box_.gpus = found.count;
  }
  bool one_memory() const {
    return list_.gpus[box_.gpu].parts.at("gpu").value("one_memory", false);
  }

  /// Firmware takes some of the one memory that a box is sold with.
  Bytes as_measured(Bytes sold) const {
    constexpr double most_of_firmware = 0.08;
    const Bytes own = memory_in(list_.gpus[box_.gpu].parts.at("gpu").at("memory")).value_or(sold);
    const auto missing = static_cast<double>(sold.value()) - static_cast<double>(own.value());
    return missing > 0 && missing <= most_of_firmware * static_cast<double>(sold.value()) ? own
                                                                                          : sold;
  }

  void read_ram() {
    constexpr std::uint64_t least = 1ull << 30;
    json& card = list_.gpus[box_.gpu].parts["gpu"];
    const bool shared = complaints_.empty() && one_memory();
    const std::string word =
        words_.ram.empty() && shared ? card.at("memory").get<std::string>() : words_.ram;
    if (word.empty()) return complain("--ram", "missing", "write for example --ram 128G");
    const auto size = memory_in(word);
    const bool bare = !word.empty() && word.find_first_not_of("0123456789.") == std::string::npos;
    if (bare) return complain("--ram", "\"" + word + "\" has no unit", "write " + with_unit(word));
    if (!size)
      return complain("--ram", "\"" + word + "\" is no size of memory", "write for example 128G");
    if (size->value() < least)
      return complain("--ram", "\"" + word + "\" is less than 1 GiB", "write for example 128G");
    memory_ = shared ? as_measured(*size) : *size;
    if (shared) card["memory"] = description::to_text(memory_);
  }

  void read_ssd() {
    const std::string& word = words_.ssd;
    if (word.empty() || word == "none" || word == "0") return;
    if (counts_none(word, "--ssd", "write none, or leave --ssd out")) return;
    const auto apart = scenarios::counted_name(word);
    const auto size = scenarios::drive_size_in(apart ? apart->name : word);
    if (size && size->value() == 0)
      return complain("--ssd", "\"" + word + "\" is no size of a drive", "write for example 2T");
    if (size) {
      box_.drives = apart ? apart->count : 1;
      return take_drive_of(*size);
    }
    const scenarios::FoundPart found = find(PartKind::drive, word, "--ssd");
    box_.drive = found.index;
    box_.drives = found.count;
  }

  /// Forms of drives that the named board, or any for these cards, has places for.
  std::set<std::string> forms() const {
    std::set<std::string> all;
    for (std::size_t i = 0; i < list_.hosts.size(); ++i) {
      const scenarios::HostPart& host = list_.hosts[i];
      const bool meant = words_.board.empty()
                             ? host.card == list_.gpus[box_.gpu].form
                             : i == find(PartKind::host, words_.board, "--board").index;
      for (const auto& [form, count] : host.slots)
        if (meant && count > 0) all.insert(form);
    }
    return all;
  }

  /// The first of the size that a board has a place for, else the next in size, M.2 first.
  void take_drive_of(Bytes size) {
    const std::set<std::string> known = forms();
    const auto distance = [&](const scenarios::DrivePart& drive) {
      return std::abs(std::log(static_cast<double>(capacity_of(drive).value()) /
                               static_cast<double>(size.value())));
    };
    std::optional<std::size_t> best;
    const auto nearer = [&](const scenarios::DrivePart& one, const scenarios::DrivePart& other) {
      const bool sold = capacity_of(one) == size, other_sold = capacity_of(other) == size;
      if (sold || other_sold) return sold && !other_sold;
      const bool m2 = one.form == "m2", other_m2 = other.form == "m2";
      return m2 != other_m2 ? m2 : distance(one) < distance(other);
    };
    for (std::size_t i = 0; i < list_.drives.size(); ++i)
      if (known.contains(list_.drives[i].form) &&
          (!best || nearer(list_.drives[i], list_.drives[*best])))
        best = i;
    if (!best)
      return complain("--ssd", "no board for these cards has a place for a drive of the price list",
                      "leave --ssd out, or write a machine file and name it by --machine");
    box_.drive = *best;
    scenarios::DrivePart& drive = list_.drives[*best];
    if (capacity_of(drive) != size) return resize(drive, size);
    notes_.emplace_back(
        fmt::format("the drive is taken to be a {}; --ssd takes names too", drive.name));
  }

  void resize(scenarios::DrivePart& drive, Bytes size) {
    const double ratio =
        static_cast<double>(size.value()) / static_cast<double>(capacity_of(drive).value());
    notes_.push_back(
        text::filled("the drive is taken to be a {} of {}, price and rated writes in proportion",
                     {drive.name, text::bytes(static_cast<double>(size.value()))}));
    json& own = drive.parts["drive"];
    own["capacity"] = description::to_text(size);
    drive.price_usd *= ratio;
    drive.sources["drive.capacity"] = "assumed: as asked for";
    const auto scale = [&](json& of, const char* key, const std::string& path) {
      if (!of.contains(key)) return;
      const auto bytes = description::quantity_from<Bytes>(of[key].get<std::string>());
      of[key] = description::to_text(
          Bytes(static_cast<std::uint64_t>(static_cast<double>(bytes.value()) * ratio)));
      drive.sources[path] = "assumed: in proportion to the capacity";
    };
    if (own.contains("endurance")) scale(own["endurance"], "rated", "drive.endurance.rated");
    if (own.contains("slc_cache")) scale(own["slc_cache"], "size", "drive.slc_cache.size");
    drive.name += " of " + description::to_text(size);
  }

  std::string remedy_of(const Load& load) const {
    const bool brings_memory = std::any_of(
        list_.hosts.begin(), list_.hosts.end(),
        [&](const scenarios::HostPart& board) { return lacks_no_more_than_memory(board, load); });
    return brings_memory ? "leave --ram out: memory is the board's own"
                         : "take less, or write a machine file and name it by --machine";
  }

  void take_board() {
    const Load load{&list_.gpus[box_.gpu], box_.gpus, memory_,
                    box_.drives > 0 ? &list_.drives[box_.drive] : nullptr, box_.drives};
    if (words_.board.empty()) {
      const auto cheapest = cheapest_board(list_.hosts, load);
      if (!cheapest) return complain("--gpu", no_board(list_.hosts, load), remedy_of(load));
      box_.host = *cheapest;
    } else {
      box_.host = find(PartKind::host, words_.board, "--board").index;
      if (const std::string why = refusal(list_.hosts[box_.host], load); !why.empty())
        return complain("--board", "a " + list_.hosts[box_.host].name + " " + why,
                        "take less, or another board: without --board the cheapest that does");
    }
    scenarios::HostPart& host = list_.hosts[box_.host];
    notes_.push_back(
        text::filled("the board is {}{}: {}{}",
                     {words_.board.empty() ? "taken to be " : "", "a " + host.name, places_of(host),
                      words_.board.empty() ? "; --board names another" : ""}));
    if (!std::binary_search(host.gpus.begin(), host.gpus.end(), box_.gpus) &&
        box_.gpus < host.gpus.front())
      notes_.push_back(
          text::filled("it is sold with {} cards; speed and price here are those of {}",
                       {text::count(host.gpus.front()), text::count(box_.gpus)}));
    host.memory = {memory_};
    host.gpus = {box_.gpus};
  }

  const BoxWords& words_;
  PriceList list_;
  Box box_;
  Bytes memory_;
  std::vector<text::Text> notes_;
  std::vector<Complaint> complaints_;
};

}  // namespace

NamedBox box_of(const BoxWords& words, const PriceList& list) { return Reader(words, list).read(); }

}  // namespace spillway::answers
