#include "scenarios/document/part_catalogue.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/json/shipped.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <set>

namespace spillway::scenarios {

using description::Complaint;
using nlohmann::json;

namespace {

constexpr const char* folder = "scenarios/parts/catalogue";
constexpr std::array lists = {"gpus", "hosts", "drives"};
constexpr std::array words_of_kind = {"card", "host", "drive"};
/// A number behind an "x" up to which it is a count, and no name ("RTX 4090").
constexpr std::uint64_t most_counted = 1024;

/// The three lists as one price list, and each part as it is written.
struct Catalogue {
  PriceList list;
  std::array<std::vector<LocatedJson>, lists.size()> written;
};

Catalogue read_catalogue() {
  LocatedJson all = located_at({{"name", "catalogue"}, {"date", "each part"}}, {});
  for (const char* key : lists) {
    LocatedJson file =
        read_located(shipped_file(folder, key), std::string(folder) + "/" + key + ".json");
    const json* list = file.find(pointer_to("", key));
    if (!file.value.is_object() || !list)
      throw description::ScenarioError(
          {{file.place("").file, 1, 1, key, "missing", "write the list of these parts"}});
    all.put(pointer_to("", key), part_of(file, pointer_to("", key)));
  }
  Catalogue catalogue{price_list_of(all), {}};
  for (std::size_t kind = 0; kind < lists.size(); ++kind)
    for (std::size_t i = 0; i < all.value[lists[kind]].size(); ++i)
      catalogue.written[kind].push_back(
          part_of(all, pointer_to(pointer_to("", lists[kind]), std::to_string(i))));
  return catalogue;
}

Catalogue& catalogue() {
  static Catalogue all = read_catalogue();
  return all;
}

/// Lower-case words of letters and digits; a change between the two does not divide a word, but
/// what people leave out everywhere does not count.
std::vector<std::string> words(const std::string& text) {
  static const std::set<std::string> makers = {"nvidia",   "geforce", "amd",      "instinct",
                                               "samsung",  "crucial", "micron",   "wd",
                                               "solidigm", "kioxia",  "instinct", "gpu"};
  std::vector<std::string> found(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.')
      found.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!found.back().empty())
      found.emplace_back();
  }
  std::erase_if(found,
                [](const std::string& word) { return word.empty() || makers.contains(word); });
  return found;
}

std::string joined(const std::vector<std::string>& some) {
  return fmt::format("{}", fmt::join(some, ""));
}

std::vector<std::string> names_of(const Part& part) {
  std::vector<std::string> names = part.aliases;
  names.insert(names.begin(), part.name);
  return names;
}

bool is_called(const Part& part, const std::vector<std::string>& asked) {
  const auto names = names_of(part);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return joined(words(name)) == joined(asked); });
}

bool has_all(const Part& part, const std::vector<std::string>& asked) {
  const auto names = names_of(part);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto own = words(name);
    return std::all_of(asked.begin(), asked.end(), [&](const std::string& word) {
      return std::find(own.begin(), own.end(), word) != own.end();
    });
  });
}

std::vector<const Part*> parts_in(const PriceList& list, PartKind kind) {
  std::vector<const Part*> parts;
  if (kind == PartKind::gpu)
    for (const Part& part : list.gpus) parts.push_back(&part);
  else if (kind == PartKind::host)
    for (const Part& part : list.hosts) parts.push_back(&part);
  else
    for (const Part& part : list.drives) parts.push_back(&part);
  return parts;
}

template <class Test>
std::vector<std::size_t> parts_that(const PriceList& list, PartKind kind, const Test& test) {
  const std::vector<const Part*> parts = parts_in(list, kind);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (test(*parts[i])) found.push_back(i);
  return found;
}

/// Whether a card whose name has these words besides is another one than is asked for: an RTX 4060
/// is no RTX 4060 Ti.
bool is_another_card(const Part& part, const std::vector<std::string>& asked) {
  static const std::set<std::string> of_another = {"ti", "super", "ada", "pro", "xt", "xtx"};
  const auto own = words(part.name);
  return std::any_of(own.begin(), own.end(), [&](const std::string& word) {
    return of_another.contains(word) && std::find(asked.begin(), asked.end(), word) == asked.end();
  });
}

/// "RTX5060Ti" is "RTX 5060 Ti".
std::string with_number_apart(const std::string& text) {
  static const std::regex number("(rtx)?([0-9]{4})(ti|super|xtx?)", std::regex::icase);
  return std::regex_replace(text, number, "$1 $2 $3 ");
}

/// All that the words may mean: by name, else by words in a name.
std::vector<std::size_t> meant_by(const PriceList& list, PartKind kind, const std::string& text) {
  const auto asked = words(kind == PartKind::gpu ? with_number_apart(text) : text);
  if (asked.empty()) return {};
  auto found = parts_that(list, kind, [&](const Part& part) { return is_called(part, asked); });
  if (found.empty())
    found = parts_that(list, kind, [&](const Part& part) {
      return has_all(part, asked) && (kind != PartKind::gpu || !is_another_card(part, asked));
    });
  return found;
}

std::optional<std::uint64_t> count_in(const std::string& digits) {
  if (digits.empty() || digits.size() > 4) return std::nullopt;
  if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const std::uint64_t count = std::stoull(digits);
  return count <= most_counted ? std::optional(count) : std::nullopt;
}

std::string without_marks(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" *"), to = text.find_last_not_of(" *");
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

std::vector<std::size_t> drives_of_size(const PriceList& list, description::Bytes size) {
  return parts_that(list, PartKind::drive, [&](const Part& part) {
    return description::quantity_from<description::Bytes>(
               part.parts["drive"]["capacity"].get<std::string>()) == size;
  });
}

std::optional<FoundPart> found_in(const PriceList& list, PartKind kind, const CountedName& asked,
                                  std::vector<std::size_t>& several) {
  if (kind == PartKind::drive)
    if (const auto size = drive_size_in(asked.name))
      if (const auto drives = drives_of_size(list, *size); !drives.empty())
        return FoundPart{drives.front(), asked.count, true};
  const auto meant = meant_by(list, kind, asked.name);
  if (meant.size() == 1) return FoundPart{meant.front(), asked.count, false};
  if (several.empty()) several = meant;
  return std::nullopt;
}

[[noreturn]] void refuse_part(const PriceList& list, PartKind kind, const std::string& text,
                              const std::vector<std::size_t>& several, const Place& place,
                              const std::string& path) {
  std::vector<std::string> known;
  const std::vector<const Part*> parts = parts_in(list, kind);
  if (!several.empty()) {
    for (const std::size_t i : several) known.push_back(parts[i]->name);
    throw description::ScenarioError(
        {{place.file, place.line, place.column, path,
          fmt::format("\"{}\" may be several {}s", text, words_of_kind[static_cast<int>(kind)]),
          fmt::format("write {}", fmt::join(known, " or "))}});
  }
  std::vector<std::string> names;
  for (const Part* part : parts) {
    known.push_back(part->name);
    for (const std::string& name : names_of(*part)) names.push_back(name);
    const std::vector<std::string> own = words(part->name);
    if (!own.empty()) names.push_back(own.back());  // "4090"
  }
  const auto apart = counted_name(text);
  description::Complaint complaint = unknown_name(place, path, apart ? apart->name : text, known);
  const std::string near = description::nearest_name(apart ? apart->name : text, names);
  if (!near.empty() && complaint.hint.find("did you mean") == std::string::npos)
    complaint.hint = "did you mean \"" + near + "\"? " + complaint.hint;
  if (kind == PartKind::gpu) complaint.hint += "; a machine file describes any other";
  throw description::ScenarioError({complaint});
}

}  // namespace

const PriceList& part_catalogue() { return catalogue().list; }

PriceList& editable_part_catalogue() { return catalogue().list; }

const LocatedJson& written_part(PartKind kind, std::size_t index) {
  return catalogue().written.at(static_cast<std::size_t>(kind)).at(index);
}

const Part& part_at(PartKind kind, std::size_t index) {
  const PriceList& list = part_catalogue();
  if (kind == PartKind::gpu) return list.gpus.at(index);
  if (kind == PartKind::host) return list.hosts.at(index);
  return list.drives.at(index);
}

std::optional<CountedName> counted_name(const std::string& text) {
  const std::size_t last = text.find_last_of("xX"), first = text.find_first_of("xX");
  if (last == std::string::npos) return std::nullopt;
  if (const auto count = count_in(without_marks(text.substr(last + 1))); count && last > 0)
    return CountedName{without_marks(text.substr(0, last)), *count};
  if (const auto count = count_in(without_marks(text.substr(0, first))))
    return CountedName{without_marks(text.substr(first + 1)), *count};
  return std::nullopt;
}

std::optional<description::Bytes> drive_size_in(const std::string& text) {
  std::string sized = without_marks(text);
  if (sized.empty() || !std::isdigit(static_cast<unsigned char>(sized.front()))) return {};
  if (sized.back() == 'T' || sized.back() == 't' || sized.back() == 'G' || sized.back() == 'g')
    sized += 'B';
  for (char& c : sized) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto parsed = description::parse_quantity(description::Dimension::bytes, sized);
  if (!parsed.problem.empty()) return std::nullopt;
  return description::Bytes(static_cast<std::uint64_t>(parsed.value));
}

FoundPart find_part_in(const PriceList& list, PartKind kind, const std::string& text,
                       const Place& place, const std::string& path) {
  std::vector<std::size_t> several;
  if (const auto found = found_in(list, kind, {text, 1}, several)) return *found;
  const auto apart = counted_name(text);
  if (apart && apart->count > 0)
    if (const auto found = found_in(list, kind, *apart, several)) return *found;
  refuse_part(list, kind, text, several, place, path);
}

FoundPart find_part(PartKind kind, const std::string& text, const Place& place,
                    const std::string& path) {
  return find_part_in(part_catalogue(), kind, text, place, path);
}

}  // namespace spillway::scenarios
