#include "scenarios/deepspeed/deepspeed_version.hpp"

#include <array>
#include <cstdio>

#include "scenarios/description/errors.hpp"

namespace spillway::scenarios {

namespace {

/// A series of releases and its last one.
struct Series {
  int minor, last_patch;
  const char* preset;
};

// 0.9.3 and 0.16 are as two papers ran them; the others have DeepSpeed's own defaults. The newest
// is first.
constexpr std::array<Series, 5> known{{{19, 6, "deepspeed_0.19"},
                                       {18, 9, "deepspeed_0.18"},
                                       {17, 6, "deepspeed_0.17"},
                                       {16, 9, "deepspeed_0.16"},
                                       {9, 3, "deepspeed_0.9.3"}}};

}  // namespace

std::string DeepSpeedVersion::text() const { return preset.substr(preset.find('_') + 1); }

DeepSpeedVersion deepspeed_version(const std::string& text) {
  if (text.empty()) return {0, known[0].minor, known[0].last_patch, known[0].preset};
  int major = 0, minor = 0, patch = -1, read = 0;
  const int numbers =
      std::sscanf(text.c_str(), "%d.%d%n.%d%n", &major, &minor, &read, &patch, &read);
  if (numbers >= 2 && major == 0 && static_cast<std::size_t>(read) == text.size())
    for (const Series& series : known)
      if (series.minor == minor)
        return {0, minor, patch >= 0 ? patch : series.last_patch, series.preset};
  throw description::ScenarioError(
      {{"", 0, 0, "--deepspeed", "no \"" + text + "\" of DeepSpeed is described",
        "known: 0.19, 0.18, 0.17, 0.16 and 0.9.3, also with a third number"}});
}

DeepSpeedVersion version_of_preset(const std::string& preset) {
  for (const Series& series : known)
    if (series.preset == preset) return {0, series.minor, series.last_patch, series.preset};
  return deepspeed_version("");
}

}  // namespace spillway::scenarios
