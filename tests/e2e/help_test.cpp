#include "tests/e2e/command.hpp"

#include <gtest/gtest.h>
#include <sstream>

namespace spillway::e2e {
namespace {

/// The commands that `help` shows below "Example:" or "Examples:".
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> commands;
  std::istringstream lines(help.substr(help.find("\nExample")));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ")) commands.push_back(line.substr(2));
  return commands;
}

class Help : public testing::TestWithParam<std::string> {};

TEST_P(Help, ShowsAnExampleThatWorksAsPasted) {
  const Ended help = spillway(GetParam() + " --help");
  ASSERT_EQ(help.exit, 0);
  ASSERT_NE(help.out.find("\nExample"), std::string::npos) << help.out;
  const std::vector<std::string> commands = examples_in(help.out);
  EXPECT_FALSE(commands.empty()) << help.out;
  for (const std::string& command : commands) {
    EXPECT_NE(command.find("spillway " + GetParam()), std::string::npos) << command;
    const Workplace place;
    const Ended ended = shell(place, command);
    EXPECT_EQ(ended.exit, 0) << command << "\n" << ended.err;
    // import's example writes its answer to a file
    EXPECT_FALSE(ended.out.empty() && place.files().empty()) << command;
    EXPECT_EQ(ended.out.find("\"errors\""), std::string::npos) << ended.out;
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, Help,
                         testing::Values("", "fit", "new", "describe", "simulate", "compare",
                                         "model", "machine", "systems", "import", "export",
                                         "lifetimes", "worker", "fidelity", "probe", "validate",
                                         "explore", "plan"),
                         [](const auto& verb) {
                           return verb.param.empty() ? "program" : verb.param;
                         });

TEST(HelpOfTheProgram, NamesEachVerb) {
  const Ended help = spillway("--help");
  for (const char* verb :
       {"fit", "new", "describe", "simulate", "compare", "model", "machine", "systems", "import",
        "export", "worker", "fidelity", "probe", "validate", "explore", "plan"})
    EXPECT_NE(line_of(help.out, verb), "") << verb;
}

// --help must not need the simulator: its plugin takes longer to load than a help text may.
TEST(HelpOfTheProgram, LoadsNoPlugin) {
  EXPECT_EQ(shell(Workplace(), "SPILLWAY_PLUGINS=/nowhere spillway simulate --help").exit, 0);
}

}  // namespace
}  // namespace spillway::e2e
