#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <sstream>

namespace spillway::e2e {
namespace {

namespace fs = std::filesystem;

const fs::path examples = fs::path(SPILLWAY_SOURCE_DIR) / "scenarios/examples";

std::vector<std::string> names_in(const fs::path& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ending) names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> example_names() { return names_in(examples, ".json"); }

/// Standard error without the lines that say how far it is, which a busy machine prints.
std::string without_progress(const std::string& text) {
  std::istringstream lines(text);
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("simulating") && !line.starts_with("looking for")) rest += line + "\n";
  return rest;
}

class Example : public testing::TestWithParam<std::string> {};

// After a change that is meant: tests/e2e/update_expected
TEST_P(Example, PrintsTheReportBesideIt) {
  if (GetParam().starts_with("mix_")) LONG_TEST();
  const Ended ended = spillway("simulate scenarios/examples/" + GetParam() +
                               ".json --limit 600");  // on a busy machine the same
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(ended.out, file_text(examples / "expected" / (GetParam() + ".txt")));
  EXPECT_EQ(without_progress(ended.err), "");
}

INSTANTIATE_TEST_SUITE_P(Shipped, Example, testing::ValuesIn(example_names()),
                         [](const auto& chosen) { return chosen.param; });

TEST(Examples, HaveNoReportOfAScenarioThatIsGone) {
  EXPECT_EQ(names_in(examples / "expected", ".txt"), example_names());
}

}  // namespace
}  // namespace spillway::e2e
