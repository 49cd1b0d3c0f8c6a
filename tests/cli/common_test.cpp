#include "cli/common.hpp"
#include "cli/program.hpp"

#include <gtest/gtest.h>

namespace spillway::cli {
namespace {

int run(std::vector<const char*> words) {
  words.insert(words.begin(), "spillway");
  return run_program(static_cast<int>(words.size()), words.data());
}

TEST(RunProgram, AnswersHelpAndVersion) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_EQ(run({"compare", "--help"}), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("spillway 0.1"), std::string::npos);
  EXPECT_NE(out.find("Usage: spillway compare"), std::string::npos);
}

TEST(RunProgram, PutsErrorsWhereTheirReaderLooks) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({"model", "gpt3"}), 2);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no \"gpt3\""), std::string::npos);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({"model", "gpt3", "--json"}), 2);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("no \\\"gpt3\\\""), std::string::npos);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// As fit and the other verbs of plan do; the file is looked for before any box.
TEST(PlanMachine, TakesWhatIsTrainedInOneWordAndInAFile) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({"plan", "machine", "--model", "gpt2", "--tokens-per-day", "1", "--budget", "9000",
                 "--method", "lora", "--adapter", "none/adapter_config.json"}),
            2);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("none/adapter_config.json: "), 0u);
}

TEST(ErrorsJson, HasAllPartsOfEachComplaint) {
  const nlohmann::json expected = {{"errors",
                                    {{{"file", "a.json"},
                                      {"line", 3},
                                      {"column", 4},
                                      {"path", "training"},
                                      {"message", "is odd"},
                                      {"hint", "make it even"}}}}};
  EXPECT_EQ(errors_json({{"a.json", 3, 4, "training", "is odd", "make it even"}}), expected);
  EXPECT_EQ(errors_json({}).dump(), R"({"errors":[]})");
}

TEST(AddSet, TakesOneValueEachAndLeavesTheRest) {
  CLI::App app;
  std::vector<std::string> files, overrides;
  app.add_option("files", files);
  add_set(app, overrides, "override");
  const std::vector<const char*> words{"app", "--set", "a=1", "x.json", "--set", "b=2", "y.json"};
  app.parse(static_cast<int>(words.size()), words.data());
  EXPECT_EQ(overrides, (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(files, (std::vector<std::string>{"x.json", "y.json"}));
}

}  // namespace
}  // namespace spillway::cli
