#include "answers/compare/compare.hpp"
#include "answers/plan/largest.hpp"
#include "answers/plan/settings.hpp"
#include "sim/plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>

namespace spillway::answers::plan_test {
namespace {

using answer::Trial;
using testing::ElementsAre;
using testing::HasSubstr;

const explore::Backend& sim() {
  static const explore::Backend backend{"sim", sim::open_sim_machine, sim::prepare_sim};
  return backend;
}

PlanQuestion adapters_of_8b(const std::vector<std::string>& systems) {
  PlanQuestion question;
  question.machine = "gaming_4090";
  question.models = {"llama-3.1-8b"};
  question.systems = systems;
  question.overrides = {"training.method=qlora"};
  return question;
}

/// The number of the last that fits: 9216 of "context 9216 (slideformer)".
int most_of(const std::vector<Trial>& trials) {
  int most = 0;
  for (const Trial& trial : trials)
    if (trial.fits()) most = std::stoi(trial.words.substr(trial.words.find(' ')));
  return most;
}

// The fastest at a context of 4096 holds more beside a sample than slower ones do.
TEST(PlanLargest, GoesOnWithTheSystemThatHasRoomWhereTheFastestHasNone) {
  const answer::Largest fastest = largest(sim(), adapters_of_8b({"superoffload"}));
  const answer::Largest other = largest(sim(), adapters_of_8b({"slideformer"}));
  const answer::Largest both = largest(sim(), adapters_of_8b({"superoffload", "slideformer"}));
  ASSERT_LT(most_of(fastest.contexts), most_of(other.contexts));
  EXPECT_EQ(both.system, "superoffload");
  EXPECT_EQ(most_of(both.contexts), most_of(other.contexts));
  EXPECT_EQ(most_of(both.batches), std::max(most_of(fastest.batches), most_of(other.batches)));
  for (const Trial& trial : both.contexts)
    if (trial.fits()) {
      EXPECT_EQ(trial.words.ends_with(" (slideformer)"), trial.result->system == "slideformer")
          << trial.words;
    }
}

TEST(PlanLargest, KnowsTheLargestWhateverTheOrderInWhichModelsAreNamed) {
  PlanQuestion question = adapters_of_8b({"resident"});
  question.models = {"llama-3.1-8b", "gpt2"};
  EXPECT_EQ(largest(sim(), question).model, "llama-3.1-8b");
}

// 14 GiB in plain PyTorch, where all that backward needs takes 29.
TEST(PlanSettings, TriesResidentWithRecomputation) {
  const PlanQuestion question = adapters_of_8b({"resident"});
  const answer::BestSettings found = settings(sim(), question, "llama-3.1-8b", {});
  const Trial* best = found.best_trial();
  ASSERT_TRUE(best);
  EXPECT_THAT(best->words, HasSubstr("resident with recomputation"));
  EXPECT_EQ(best->result->runs_with->program, "PyTorch");
}

/// A folder that is gone at the end.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("spillway_plan_test_" + std::to_string(::getpid()));
};

constexpr const char* half_a_config = R"({"model_type": "llama", "hidden_size": 4096})";

TEST(PlanQuestions, SayWhatTheFileOfAModelLeavesOpen) {
  const Folder folder;
  const std::string model = folder.write("half.json", half_a_config);
  EXPECT_THAT(notes_of_models({model, "gpt2"}),
              ElementsAre(HasSubstr("half.json: Not in the file: intermediate_size (11008 is")));
}

TEST(Compare, SaysWhatTheFileOfAModelLeavesOpen) {
  const Folder folder;
  folder.write("half.json", half_a_config);
  CompareQuestion question;
  question.scenarios = {folder.write("job.json", R"({"model": "half.json",
    "machine": "gaming_4090", "strategy": {"system": "resident"}})")};
  question.systems = {"resident", "zero_offload"};
  EXPECT_THAT(field_of(question).warnings,
              testing::Contains(HasSubstr("Not in the file: intermediate_size (11008 is")));
}

// The override behind a name is nothing that anybody typed.
TEST(Compare, NamesTheOptionThatAsksForAnUnknownSystem) {
  const Folder folder;
  CompareQuestion question;
  question.scenarios = {folder.write("job.json", R"({"model": "gpt2", "machine": "gaming_4090",
    "strategy": {"system": "resident"}})")};
  question.systems = {"resident", "foo"};
  try {
    field_of(question);
    FAIL();
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(to_string(error.complaints().front()),
                AllOf(HasSubstr("--system: no \"foo\""), testing::Not(HasSubstr("--set"))));
  }
}

}  // namespace
}  // namespace spillway::answers::plan_test
