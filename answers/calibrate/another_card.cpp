#include "answers/calibrate/another_card.hpp"

#include "answers/calibrate/card_names.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/part_catalogue.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::answers {

using description::MachineFile;
using evidence::Evidence;
using scenarios::Part;

namespace {

/// A number of a card, in base units.
struct Figure {
  std::string path;
  double value = 0;
};

bool is_apart(double one, double other, double alike) {
  return std::abs(one - other) > alike * std::max(one, other);
}

std::optional<double> memory_of(const Evidence& evidence) {
  for (const evidence::Reading& reading : evidence.readings)
    if (reading.path == "gpu.memory") return reading.value;
  return {};
}

constexpr double alike_memory = 0.08;  // ECC takes a sixteenth of GDDR6

/// The card that the file was made of, by the part that was bought or by the data sheet that a
/// source names, as "datasheet: H100 SXM5, dense"; "": neither is said.
std::string card_of(const MachineFile& machine) {
  const auto bought = machine.bought.find("gpu");
  if (bought != machine.bought.end()) return bought->second;
  constexpr std::string_view of_sheet = "datasheet: ";
  for (const char* path : {"gpu.memory_rate", "gpu.peak.bf16", "gpu.peak.fp16", "gpu.memory"}) {
    const auto source = machine.sources.find(path);
    if (source == machine.sources.end() || !source->second.starts_with(of_sheet)) continue;
    const std::string sheet = source->second.substr(of_sheet.size());
    const std::string name = sheet.substr(0, sheet.find_first_of(",;"));
    if (names_card(name)) return name;
  }
  return "";
}

double quantity_in(const nlohmann::json& object, const char* key, description::Dimension of) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return 0;
  return static_cast<double>(description::parse_quantity(of, found->get<std::string>()).value);
}

const nlohmann::json& card_in(const Part& part) { return part.parts.at("gpu"); }

/// The part of the catalogue that the evidence is of; null: it has none of that name and memory.
const Part* part_of(const Evidence& evidence) {
  if (!names_card(evidence.card)) return nullptr;
  const auto memory = memory_of(evidence);
  for (const Part& part : scenarios::part_catalogue().gpus) {
    const double has = quantity_in(card_in(part), "memory", description::Dimension::bytes);
    if (is_same_card(part.name, evidence.card) &&
        (!memory || !is_apart(*memory, has, alike_memory)))
      return &part;
  }
  return nullptr;
}

/// What the machine file says of its card and `part` says otherwise; nothing: they agree in all
/// that was not measured.
std::optional<std::pair<Figure, Figure>> other_figure(const MachineFile& machine,
                                                      const Part& part) {
  constexpr double alike = 0.05;  // sheets round
  const auto apart = [&](const std::string& path, double own, double sheets) {
    const auto source = machine.sources.find(path);
    const bool is_measured = source != machine.sources.end() &&
                             text::origin_of(source->second) == text::Origin::measured;
    return own > 0 && sheets > 0 && !is_measured && is_apart(own, sheets, alike);
  };
  using Both = std::pair<Figure, Figure>;
  const nlohmann::json& card = card_in(part);
  const double own = machine.gpu.memory_rate.value();
  const double sheets = quantity_in(card, "memory_rate", description::Dimension::bytes_per_second);
  if (apart("gpu.memory_rate", own, sheets))
    return Both{{"gpu.memory_rate", own}, {"gpu.memory_rate", sheets}};
  for (const auto& [type, peak] : machine.gpu.peak) {
    const double most = quantity_in(card.value("peak", nlohmann::json::object()), type.c_str(),
                                    description::Dimension::flops_per_second);
    const std::string path = "gpu.peak." + type;
    if (apart(path, peak.value(), most)) return Both{{path, peak.value()}, {path, most}};
  }
  return {};
}

text::Text said(const Figure& figure, text::Origin origin) {
  if (figure.path == "gpu.memory_rate") return text::rate(figure.value, origin);
  text::Number number = text::number(figure.value, text::Quantity::trillions, "FLOPS");
  number.origin = origin;
  return number;
}

/// How a person gets a machine file of the card.
text::Text remedy(const Part* part) {
  text::Text words =
      "write what its sheet says as gpu.compute, gpu.memory_rate and the others, or begin with a "
      "machine that has this card";
  if (part)
    words += text::filled(
        "; the catalogue has it: {} in a file that extends this machine takes its numbers",
        {nlohmann::json{{"gpu", {{"part", part->name}}}}.dump()});
  return words;
}

/// What is other, without a remedy.
std::optional<text::Text> difference(const MachineFile& before, const Evidence& each,
                                     const Part* part) {
  const std::string own = card_of(before);
  if (!is_same_card(own, each.card))
    return text::filled("the machine file's rates, power and price are of the {}, this one is {}",
                        {own, each.card});
  const auto has = static_cast<double>(before.gpu.memory.value());
  const auto memory = memory_of(each);
  if (memory && std::abs(*memory - has) > alike_memory * has)
    return text::filled(
        "the machine file's rates, power and price are of a card of {}, this one has {}",
        {text::bytes(has, text::Origin::datasheet), text::bytes(*memory, text::Origin::measured)});
  if (!part || !own.empty()) return {};
  const auto figures = other_figure(before, *part);
  if (!figures) return {};
  return text::filled(
      "the machine file's {} is {}, this one is {}, whose sheet says {}: its rates, power and "
      "price are of another card",
      {figures->first.path, said(figures->first, text::Origin::computed), each.card,
       said(figures->second, text::Origin::datasheet)});
}

}  // namespace

std::optional<text::Text> another_card(const MachineFile& before, const Evidence& evidence) {
  const Part* part = part_of(evidence);
  auto words = difference(before, evidence, part);
  if (words) *words += ": " + remedy(part);
  return words;
}

}  // namespace spillway::answers
