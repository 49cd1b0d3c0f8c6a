#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Which libraries a process of the program may have in it, by the dynamic linker's own list.
namespace spillway::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string libraries_of(const fs::path& file) {
  const Ended ended = shell(Workplace(), "ldd '" + file.string() + "'");
  EXPECT_EQ(ended.exit, 0) << file << ended.err;
  return ended.out;
}

const fs::path built = fs::path(SPILLWAY_PROGRAM).parent_path().parent_path();

/// The program and the plugins that it may open beside each other.
std::vector<fs::path> of_one_process() {
  std::vector<fs::path> files{SPILLWAY_PROGRAM};
  for (const auto& entry : fs::directory_iterator(built / "lib/spillway"))
    if (entry.path().extension() == ".so") files.push_back(entry.path());
  return files;
}

TEST(Licences, KeepEplCodeOutOfTheProcessThatLoadsGplCode) {
  EXPECT_GE(of_one_process().size(), 3u);  // the program, sim, evolution
  for (const fs::path& file : of_one_process()) {
    const std::string libraries = libraries_of(file);
    for (const char* epl : {"libCbc", "libClp", "libCgl", "libOsi", "libCoinUtils"})
      EXPECT_THAT(libraries, Not(HasSubstr(epl))) << file;
    EXPECT_THAT(libraries, Not(HasSubstr("libalglib"))) << file;
  }
  const std::string solver = libraries_of(built / "lib/spillway/spillway_milp");
  EXPECT_THAT(solver, HasSubstr("libCbc"));
  for (const char* gpl : {"libsimgrid", "libns3", "libgsl", "libalglib"})
    EXPECT_THAT(solver, Not(HasSubstr(gpl)));
}

TEST(Licences, NameTheSolverThatCannotBeStarted) {
  const Workplace place;
  const Ended ended =
      shell(place, "mkdir plugins && ln -s '" + (built / "lib/spillway/spillway_sim.so").string() +
                       "' plugins && SPILLWAY_PLUGINS=$PWD/plugins spillway simulate "
                       "scenarios/examples/tiny.json --set strategy.system=checkmate");
  EXPECT_EQ(ended.exit, 3) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("plugins/spillway_milp: No such file or directory"));
}

}  // namespace
}  // namespace spillway::e2e
