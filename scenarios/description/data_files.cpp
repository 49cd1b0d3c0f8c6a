#include "scenarios/description/data_files.hpp"

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "scenarios/description/errors.hpp"

namespace spillway::description {
namespace {

namespace fs = std::filesystem;

bool holds_data(const fs::path& folder) {
  std::error_code ignored;  // a folder that cannot be read holds nothing for us
  return fs::is_directory(folder / "models/library", ignored);
}

/// The folder above `bin/`, where the running program lies.
const fs::path& prefix() {
  static const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  return folder;
}

fs::path plugin_folder() {
  if (const char* chosen = std::getenv("SPILLWAY_PLUGINS"); chosen != nullptr && *chosen != '\0')
    return chosen;
  return prefix() / "lib/spillway";
}

[[noreturn]] void fail(std::string message, std::string hint) {
  Complaint complaint;
  complaint.message = std::move(message);
  complaint.hint = std::move(hint);
  throw ScenarioError({std::move(complaint)});
}

}  // namespace

fs::path data_root() {
  if (const char* chosen = std::getenv("SPILLWAY_DATA"); chosen != nullptr && *chosen != '\0') {
    if (holds_data(chosen)) return chosen;
    fail("SPILLWAY_DATA=" + std::string(chosen) + " has no folder models/library",
         "unset it, or name the folder that holds models/ and scenarios/");
  }
  const fs::path installed = prefix() / "share/spillway";
  if (holds_data(installed)) return installed;
  const fs::path source = SPILLWAY_SOURCE_DIR;
  if (holds_data(source)) return source;
  fail("no data files in " + installed.string() + " or " + source.string(),
       "set SPILLWAY_DATA to the folder that holds models/ and scenarios/");
}

fs::path plugin_file(std::string_view name) {
  return plugin_folder() / ("spillway_" + std::string(name) + ".so");
}

fs::path helper_file(std::string_view name) {
  return plugin_folder() / ("spillway_" + std::string(name));
}

fs::path commit_file() { return prefix() / "share/spillway/commit"; }

}  // namespace spillway::description
