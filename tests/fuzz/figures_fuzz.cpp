#include "explore/expressions/expression.hpp"
#include "scenarios/reading/read_figures.hpp"
#include "tests/fuzz/read_text.hpp"

/// A list is one of open figures, which are written as they are read, or of published ones, or of
/// neither: then both readers say why.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  const std::string file = fuzz::file_with(fuzz::text_of(data, size), "figures.json");
  fuzz::read_or_refuse([&] {
    const std::string once = scenarios::write_open_figures(scenarios::read_open_figures(file));
    const std::string again = fuzz::file_with(once, "written.json");
    const std::string twice = scenarios::write_open_figures(scenarios::read_open_figures(again));
    ENSURE(once == twice, "open figures that were written read as others");
  });
  fuzz::read_or_refuse([&] {
    for (const scenarios::Figure& figure : scenarios::read_figures({file})) {
      ENSURE(!figure.paper().empty(), "a figure of no paper");
      try {
        const explore::Expression metric(figure.metric);
      } catch (const explore::ExpressionError&) {
        // who simulates it says so
      }
    }
  });
  return 0;
}
