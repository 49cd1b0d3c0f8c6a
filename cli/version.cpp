#include "cli/version.hpp"

#include "explore/points/scenario_key.hpp"
#include "scenarios/description/data_files.hpp"

#include <fstream>

namespace spillway::cli {

std::string version_number() { return SPILLWAY_VERSION; }

std::string version_text() {
  std::string commit;
  std::ifstream file(description::commit_file());
  if (!std::getline(file, commit)) commit = "commit not known";
  return "spillway " + version_number() + ", " + commit + ", model version " +
         std::to_string(explore::model_version);
}

}  // namespace spillway::cli
