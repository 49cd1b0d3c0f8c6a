#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/description/errors.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "tests/scenarios/test_systems.hpp"

/// Any scenario is either refused with complaints or resolved, and what is resolved reads back as
/// itself. A line behind the JSON, after a zero byte, is an override.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  static const std::vector<scenarios::SystemInfo> systems = scenarios::test_systems();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\0');
  std::vector<std::string> overrides;
  if (end != std::string_view::npos) overrides.emplace_back(text.substr(end + 1));
  try {
    const auto read = scenarios::parse_located(text.substr(0, end), "fuzz.json");
    const nlohmann::json once = scenarios::read_scenario(read, overrides, systems).scenario;
    const nlohmann::json twice = scenarios::read_scenario(once, {}, systems).scenario;
    ENSURE(once == twice, "a resolved scenario resolves to another");
  } catch (const description::ScenarioError& error) {
    ENSURE(!error.complaints().empty(), "a refusal without a complaint");
  }
  return 0;
}
