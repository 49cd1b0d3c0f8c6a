#include <cstddef>
#include <cstdint>
#include <string>

#include "scenarios/description/errors.hpp"
#include "scenarios/reading/lifetimes_file.hpp"
#include "scenarios/trace/import_trace.hpp"

/// Any trace is either refused or becomes a profile that is written and read back; a zero byte
/// divides it from its execution trace.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\0');
  const std::string execution = end == std::string::npos ? "" : text.substr(end + 1);
  try {
    const auto imported = scenarios::import_trace(text.substr(0, end), "t", execution, "e");
    scenarios::parse_lifetimes(scenarios::write_lifetimes(imported.lifetimes), "p.csv");
  } catch (const description::ScenarioError& error) {
    ENSURE(!error.complaints().empty(), "a refusal without a complaint");
  }
  return 0;
}
