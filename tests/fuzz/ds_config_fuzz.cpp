#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/json/hjson.hpp"
#include "tests/scenarios/test_systems.hpp"

/// Any ds_config.json is either refused or becomes a scenario, which is refused or can be exported
/// again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  static const std::vector<scenarios::SystemInfo> systems = scenarios::test_systems();
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const scenarios::LocatedJson config = scenarios::parse_hjson(text, "ds_config.json");
    scenarios::ImportOptions options;
    options.model = "gpt2";
    options.machine = "memascend_c1";
    const auto imported = scenarios::import_deepspeed(config, options);
    const auto resolved = scenarios::read_scenario(imported.scenario, {}, systems);
    scenarios::export_deepspeed(resolved.scenario, systems);
  } catch (const description::ScenarioError& error) {
    ENSURE(!error.complaints().empty(), "a refusal without a complaint");
  }
  return 0;
}
