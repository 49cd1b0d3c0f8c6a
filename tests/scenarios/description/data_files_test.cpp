#include "scenarios/description/data_files.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "scenarios/description/errors.hpp"

namespace spillway::description {
namespace {

namespace fs = std::filesystem;

/// Sets a variable of the environment for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// The folder above the one that this program lies in, as an installed program sees it.
fs::path prefix() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path(); }

TEST(DataRoot, IsTheSourceTreeForABuildTree) {
  const Variable unset("SPILLWAY_DATA", "");
  EXPECT_EQ(data_root(), fs::path(SPILLWAY_SOURCE_DIR));
}

TEST(DataRoot, IsWhatTheEnvironmentSays) {
  const fs::path folder = fs::temp_directory_path() / ("data_root_" + std::to_string(getpid()));
  fs::create_directories(folder / "models/library");
  const Variable chosen("SPILLWAY_DATA", folder.string());
  EXPECT_EQ(data_root(), folder);
  fs::remove_all(folder);
}

TEST(DataRoot, RefusesAFolderWithoutData) {
  const Variable chosen("SPILLWAY_DATA", "/nowhere");
  try {
    data_root();
    FAIL() << "no ScenarioError";
  } catch (const ScenarioError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("SPILLWAY_DATA=/nowhere"));
  }
}

TEST(Variables, NameAFolderFromTheRootOn) {
  for (const char* variable : {"SPILLWAY_DATA", "SPILLWAY_PLUGINS"}) {
    const Variable chosen(variable, "here");
    try {
      variable == std::string("SPILLWAY_DATA") ? data_root() : plugin_file("sim");
      ADD_FAILURE() << variable << " was taken";
    } catch (const ScenarioError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("=here is no absolute path"));
    }
  }
}

TEST(PluginFile, LiesBesideTheProgram) {
  const Variable unset("SPILLWAY_PLUGINS", "");
  EXPECT_EQ(plugin_file("sim"), prefix() / "lib/spillway/spillway_sim.so");
}

TEST(PluginFile, LiesWhereTheEnvironmentSays) {
  const Variable chosen("SPILLWAY_PLUGINS", "/a");
  EXPECT_EQ(plugin_file("sim"), "/a/spillway_sim.so");
}

TEST(HelperFile, LiesWhereThePluginsLie) {
  const Variable chosen("SPILLWAY_PLUGINS", "/a");
  EXPECT_EQ(helper_file("milp"), "/a/spillway_milp");
}

}  // namespace
}  // namespace spillway::description
