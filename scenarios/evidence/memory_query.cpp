#include "scenarios/evidence/formats.hpp"

#include <fmt/format.h>

namespace spillway::evidence {

namespace {

/// A module of DRAM, as the board's firmware knows it.
struct Module {
  std::string slot;
  double bytes = 0;
  std::optional<double> rated, set;  ///< MT/s
};

double bytes_of(std::string_view size) {
  const double number = number_after(std::string("=").append(size), "=").value_or(0);
  if (size.find("GB") != std::string_view::npos) return number * (1 << 30);
  if (size.find("MB") != std::string_view::npos) return number * (1 << 20);
  return 0;  // "No Module Installed"
}

std::vector<Module> modules_of(std::string_view text) {
  std::vector<Module> modules;
  for (const std::string_view line : lines_of(text)) {
    if (trimmed(line) == "Memory Device") modules.emplace_back();
    if (modules.empty()) continue;
    Module& module = modules.back();
    const auto rate = [](std::string_view value) {
      return number_after(std::string("=").append(value), "=");
    };
    if (const auto value = value_of(line, "Size"); !value.empty()) module.bytes = bytes_of(value);
    if (const auto value = value_of(line, "Locator"); !value.empty()) module.slot = value;
    if (const auto value = value_of(line, "Speed"); !value.empty()) module.rated = rate(value);
    for (const char* key : {"Configured Memory Speed", "Configured Clock Speed"})
      if (const auto value = value_of(line, key); !value.empty()) module.set = rate(value);
  }
  std::erase_if(modules, [](const Module& module) { return module.bytes <= 0; });
  return modules;
}

}  // namespace

void read_memory_query(std::string_view text, Evidence& into) {
  into.kind = "dmidecode";
  const std::vector<Module> modules = modules_of(text);
  if (modules.empty())
    refuse_file(into.file, "output of dmidecode without a memory module",
                "write it with dmidecode -t memory, as root");
  double bytes = 0;
  bool slow = false;
  for (const Module& module : modules) {
    bytes += module.bytes;
    if (slow || !module.rated || !module.set || *module.set >= *module.rated) continue;
    into.shortfalls.push_back({"memory module " + module.slot, "MT/s", *module.rated, *module.set,
                               "the profile (XMP, EXPO) in the board's firmware"});
    slow = true;  // modules of a board run alike
  }
  into.readings.push_back(
      {"host.memory", "bytes", bytes,
       fmt::format("{} module{}", modules.size(), modules.size() == 1 ? "" : "s")});
  if (modules.size() == 1)
    into.shortfalls.push_back({"memory channels in use", "count", 2, 1,
                               "a second module of the same kind: half of the rate is missing"});
}

}  // namespace spillway::evidence
