#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <set>
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

/// Verbs whose examples take some four seconds and more.
bool takes_long(const std::string& verb) {
  return std::set<std::string>{
      "explore", "explore explain", "explore merge", "explore show", "fidelity",
      "plan",    "plan drives",     "plan machine",  "probe",        "validate"}
      .contains(verb);
}

class Help : public testing::TestWithParam<std::string> {};

TEST_P(Help, ShowsAnExampleThatWorksAsPasted) {
  const Ended help = spillway(GetParam() + " --help");
  ASSERT_EQ(help.exit, 0);
  ASSERT_NE(help.out.find("\nExample"), std::string::npos) << help.out;
  const std::vector<std::string> commands = examples_in(help.out);
  EXPECT_FALSE(commands.empty()) << help.out;
  if (takes_long(GetParam())) LONG_TEST();
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
                                         "calibrate", "explore", "plan", "help", "version"),
                         [](const auto& verb) {
                           return verb.param.empty() ? "program" : verb.param;
                         });

/// A verb below another one shows its own example, after what has to come before it.
class HelpBelow : public testing::TestWithParam<std::string> {};

TEST_P(HelpBelow, ShowsAnExampleOfItsOwn) {
  const Ended help = spillway(GetParam() + " --help");
  ASSERT_EQ(help.exit, 0);
  ASSERT_NE(help.out.find("\nExample"), std::string::npos) << help.out;
  const std::vector<std::string> commands = examples_in(help.out);
  ASSERT_FALSE(commands.empty());
  EXPECT_EQ(commands.back().find("spillway " + GetParam()), 0u) << commands.back();
  if (takes_long(GetParam())) LONG_TEST();
  const Workplace place;
  for (const std::string& command : commands) {
    const Ended ended = shell(place, command);
    EXPECT_EQ(ended.exit, 0) << command << "\n" << ended.err;
    EXPECT_FALSE(ended.out.empty()) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, HelpBelow,
                         testing::Values("plan drives", "plan settings", "plan largest",
                                         "plan machine", "explore show", "explore explain",
                                         "explore merge"),
                         [](const auto& verb) {
                           std::string name = verb.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(HelpVerb, SaysWhatTheOptionSays) {
  EXPECT_EQ(spillway("help plan drives").out, spillway("plan drives --help").out);
  EXPECT_EQ(spillway("help").out, spillway("--help").out);
  EXPECT_EQ(spillway("version").out, spillway("--version").out);
  const Ended wrong = spillway("help simulat");
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_NE(wrong.err.find("did you mean \"simulate\"?"), std::string::npos) << wrong.err;
}

TEST(HelpOfTheProgram, NamesEachVerb) {
  const Ended help = spillway("--help");
  for (const char* verb :
       {"fit", "new", "describe", "simulate", "compare", "model", "machine", "systems", "import",
        "export", "worker", "fidelity", "probe", "validate", "explore", "plan", "gui"})
    EXPECT_NE(line_of(help.out, verb), "") << verb;
}

// --help must not need the simulator: its plugin takes longer to load than a help text may.
TEST(HelpOfTheProgram, LoadsNoPlugin) {
  EXPECT_EQ(shell(Workplace(), "SPILLWAY_PLUGINS=/nowhere spillway simulate --help").exit, 0);
}

}  // namespace
}  // namespace spillway::e2e
