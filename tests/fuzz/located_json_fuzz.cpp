#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scenarios/description/errors.hpp"
#include "scenarios/json/located_json.hpp"

/// Any text is either refused with a complaint or read, and then every place belongs to a value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const scenarios::LocatedJson read = scenarios::parse_located(text, "fuzz.json");
    for (const auto& [pointer, place] : read.values) {
      ENSURE(read.find(pointer) != nullptr, "a place without a value: " + pointer);
      ENSURE(place.line > 0 && place.column > 0, "a place outside the text: " + pointer);
    }
    for (const auto& [pointer, place] : read.keys)
      ENSURE(read.find(pointer) != nullptr, "a key without a value: " + pointer);
  } catch (const description::ScenarioError& error) {
    ENSURE(!error.complaints().empty(), "a refusal without a complaint");
  }
  return 0;
}
