#include "explore/points/points.hpp"
#include "tests/fuzz/read_text.hpp"
#include "tests/scenarios/test_systems.hpp"

/// Any space is either refused or has points whose numbers come back, and whose conditions, names
/// and overrides can be asked for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  static const std::vector<scenarios::SystemInfo> systems = scenarios::test_systems();
  const std::string file = fuzz::file_with(fuzz::text_of(data, size), "space.json");
  fuzz::read_or_refuse([&] {
    const scenarios::Space space = scenarios::read_space(file, systems);
    const explore::Points points(space);
    if (points.count() == 0) return;
    for (const std::uint64_t number : {std::uint64_t{0}, points.count() / 2, points.count() - 1}) {
      const explore::Coordinates at = points.at(number);
      ENSURE(points.number(at) == number, "a point has another number");
      ENSURE(points.shown(at).size() == space.axes.size(), "a point lacks an axis");
      if (!points.allowed(at)) continue;
      const auto overrides = points.overrides(at);
      fuzz::read_or_refuse([&] { scenarios::read_scenario(space.base, overrides, systems); });
    }
  });
  return 0;
}
