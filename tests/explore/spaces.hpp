#pragma once

#include "explore/search/explorer.hpp"
#include "tests/scenarios/temporary_files.hpp"

#include <string>

namespace spillway::explore {

/// Owns a directory with a space file and a database.
class SpaceFiles : public scenarios::TemporaryFiles {
 public:
  scenarios::Space space(const std::string& text) const {
    return scenarios::read_space(write("space.json", text), known_systems());
  }
  std::string database() const { return path("results.db"); }
};

/// A space over `base` keys of gpt2 on a gaming box.
inline std::string space_over(const std::string& axes, const std::string& more = "",
                              const std::string& system = "resident") {
  return R"({ "base": { "model": "gpt2", "machine": "gaming_4090", "run": { "steps": 1 },
    "strategy": { "system": ")" +
         system + R"(" } }, "axes": {)" + axes + R"(}, "objectives": { "step_time_s": "min" })" +
         more + "}";
}

}  // namespace spillway::explore
