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

[[noreturn]] void fail(std::string message, std::string hint) {
  Complaint complaint;
  complaint.message = std::move(message);
  complaint.hint = std::move(hint);
  throw ScenarioError({std::move(complaint)});
}

/// The folder that a variable names; "" when it is not set, or the process has more rights than who
/// started it. One that depends on where that was is refused: there may be somebody else's plugin.
fs::path folder_in(const char* variable) {
  const char* const chosen = secure_getenv(variable);
  if (chosen == nullptr || *chosen == '\0') return {};
  if (*chosen != '/')
    fail(std::string(variable) + "=" + chosen + " is no absolute path",
         "write it from / on, such as $PWD/" + std::string(chosen));
  return chosen;
}

fs::path plugin_folder() {
  const fs::path chosen = folder_in("SPILLWAY_PLUGINS");
  return chosen.empty() ? prefix() / "lib/spillway" : chosen;
}

}  // namespace

fs::path data_root() {
  if (const fs::path chosen = folder_in("SPILLWAY_DATA"); !chosen.empty()) {
    if (holds_data(chosen)) return chosen;
    fail("SPILLWAY_DATA=" + chosen.string() + " has no folder models/library",
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
