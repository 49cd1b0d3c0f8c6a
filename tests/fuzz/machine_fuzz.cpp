#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scenarios/description/errors.hpp"
#include "scenarios/document/read_machine.hpp"

/// Any machine is either refused with complaints or read, and written it reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const scenarios::LocatedJson read = scenarios::parse_located(text, "fuzz.json");
    if (!scenarios::check_machine(read).empty()) return 0;
    const nlohmann::json once = read.value.get<description::MachineFile>();
    const auto again = scenarios::located_at(once, {});
    ENSURE(scenarios::check_machine(again).empty(), "a machine that was written is refused");
    const nlohmann::json twice = once.get<description::MachineFile>();
    ENSURE(once == twice, "a machine that was written reads as another");
  } catch (const description::ScenarioError& error) {
    ENSURE(!error.complaints().empty(), "a refusal without a complaint");
  }
  return 0;
}
