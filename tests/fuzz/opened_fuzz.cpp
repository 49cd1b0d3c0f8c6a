#include "gui/model/open_file.hpp"
#include "scenarios/json/input_file.hpp"
#include "scenarios/trace/import_trace.hpp"
#include "tests/fuzz/read_text.hpp"

/// Any file, packed or not, is either refused in words or has what its kind says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  using Kind = gui::Opened::Kind;
  const std::string file = fuzz::file_with(fuzz::text_of(data, size), "a file.json");
  fuzz::read_or_refuse([&] {
    const gui::Opened opened = gui::open_file(file);
    ENSURE(opened.label == "a file", "a file of another name");
    ENSURE((opened.kind == Kind::trace) == (opened.trace != nullptr), "a trace without events");
    ENSURE((opened.kind == Kind::results) == !opened.results.empty(), "results without one");
  });
  fuzz::read_or_refuse([&] {
    const std::string text = scenarios::read_packed(file);
    if (scenarios::looks_like_trace(text)) scenarios::import_trace(text, file, "", "");
  });
  return 0;
}
