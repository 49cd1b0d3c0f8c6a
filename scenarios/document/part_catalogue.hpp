#pragma once

#include "scenarios/description/machine_file.hpp"
#include "scenarios/document/price_list.hpp"
#include "scenarios/json/located_json.hpp"

#include <algorithm>
#include <optional>

namespace spillway::scenarios {

enum class PartKind { gpu, host, drive };

/// All parts of scenarios/parts/catalogue, read once: cards, hosts and drives that machine files
/// and price lists name.
///   Throws  ScenarioError with everything that is wrong with those files
const PriceList& part_catalogue();

/// The same, to change prices before anything is read; not for threads.
PriceList& editable_part_catalogue();

/// Of `parts` the one that a piece of the machine was bought as; nullptr: none of them.
///   piece  as in MachineFile::bought: "gpu", "host", "storage.<name>"
template <class List>
const typename List::value_type* bought_part(const description::MachineFile& machine,
                                             const List& parts, const std::string& piece) {
  const auto name = machine.bought.find(piece);
  if (name == machine.bought.end()) return nullptr;
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [&](const Part& one) { return one.name == name->second; });
  return part == parts.end() ? nullptr : &*part;
}

/// A part as its file has it, with the place where it stands there.
const LocatedJson& written_part(PartKind kind, std::size_t index);

/// A part of the catalogue, and how many of it were asked for.
struct FoundPart {
  std::size_t index = 0;  ///< in part_catalogue().gpus, hosts or drives
  std::uint64_t count = 1;
  bool by_size = false;  ///< of a drive only the capacity was given: the first with that capacity
};

/// The part that `text` means: its name, one of its other names, or enough words of them that no
/// other part has them all ("4090", "rtx 4090", "990 pro 4tb"); a count may stand before or behind
/// ("2x5090", "5090 x2"). "2T" is the first drive of 2 TB.
///   place, path   of the text, for the complaint
///   Throws  ScenarioError: no such part and the nearest name, or several that it may mean
FoundPart find_part(PartKind kind, const std::string& text, const Place& place = {},
                    const std::string& path = "");

/// The same in another price list.
FoundPart find_part_in(const PriceList& list, PartKind kind, const std::string& text,
                       const Place& place = {}, const std::string& path = "");

const Part& part_at(PartKind kind, std::size_t index);

/// Bytes of "2T", "3.84 TB", "500G"; nothing where the text is no size.
std::optional<description::Bytes> drive_size_in(const std::string& text);

/// "5090 x 2" and "2x5090" taken apart; nothing where no count stands there. A count of 0 is one.
struct CountedName {
  std::string name;
  std::uint64_t count = 1;
};
std::optional<CountedName> counted_name(const std::string& text);

}  // namespace spillway::scenarios
