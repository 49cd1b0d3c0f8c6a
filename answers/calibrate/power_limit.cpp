#include "answers/calibrate/power_limit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

namespace spillway::answers {

using description::MachineFile;
using evidence::Evidence;

namespace {

constexpr const char* of_card = "power.gpu";
constexpr const char* of_waiting = "power.gpu_waiting";
constexpr const char* by_limit = "power limit";  ///< in the source of what power_reading reads

std::string said_of(const MachineFile& machine, const std::string& path) {
  const auto found = machine.sources.find(path);
  return found == machine.sources.end() ? "" : found->second;
}

text::Text watts(double value, text::Origin origin) {
  text::Number number = text::number(value, "W");
  number.origin = origin;
  return number;
}

/// Rates of the machine that clocks decide: "gpu.compute.*".
struct ClockedRates {
  std::vector<std::string> names;
  bool are_measured = true;  ///< all of them
};

ClockedRates clocked_rates(const MachineFile& machine) {
  ClockedRates rates;
  for (const std::string group : {"gpu.compute.", "gpu.attention."})
    for (const auto& [path, source] : machine.sources) {
      if (!path.starts_with(group)) continue;
      if (rates.names.empty() || rates.names.back() != group + "*")
        rates.names.push_back(group + "*");
      rates.are_measured &= source.starts_with("measured");
    }
  return rates;
}

/// Who finds out how fast cards are under their limit.
text::Text who_measures(const MachineFile& machine) {
  text::Text words =
      " this machine, under this limit, `spillway probe DIR` measures them, and a trace of "
      "PyTorch's profiler tells gpu.compute (--from trace.json";
  if (machine.gpu.elementwise == description::ElementwiseCost::included)
    words += ", in a machine file with gpu.elementwise \"separate\"";
  return words + ")";
}

}  // namespace

std::optional<evidence::Reading> power_reading(const MachineFile& before, const Evidence& each) {
  if (!each.power || !before.power) return {};
  const bool follows = said_of(before, of_card).find(by_limit) != std::string::npos;
  if (each.power->watts >= before.power->gpu && !follows) return {};
  return evidence::Reading{of_card, "W", each.power->watts, each.power->how};
}

void keep_waiting_power(const MachineFile& before, nlohmann::json& machine) {
  if (!before.power || !said_of(before, of_waiting).starts_with("default")) return;
  nlohmann::json& power = machine.at("power");
  power["gpu_waiting"] = std::min(before.power->gpu_waiting, power.at("gpu").get<double>());
  machine["sources"][of_waiting] = fmt::format(
      "assumed: a quarter of {:.0f} W, power.gpu without its limit: clocks stay up while a context "
      "is open",
      before.power->gpu);
}

std::optional<text::Text> power_note(const MachineFile& after, const Evidence& each) {
  if (!each.power || each.power->watts >= each.power->usual) return {};
  text::Text words =
      text::filled("{} may draw {} and not the usual {}: ",
                   {each.power->cards, watts(each.power->watts, text::Origin::measured),
                    watts(each.power->usual, text::Origin::datasheet)});
  if (after.power)
    words += text::filled("energy is counted with power.gpu {}. ",
                          {watts(after.power->gpu, text::Origin::measured)});
  else
    words += "the machine file has no power, so that no energy is counted. ";
  const ClockedRates rates = clocked_rates(after);
  words +=
      fmt::format("No rate follows: the limit lowers clocks, on which {} depend, and {}. On",
                  fmt::join(rates.names, " and "),
                  rates.are_measured ? "the file does not say whether they were measured under it"
                                     : "nobody measured how fast the card is under it");
  return words + who_measures(after) +
         ". Until then a step may take longer than predicted, and its energy be more.";
}

}  // namespace spillway::answers
