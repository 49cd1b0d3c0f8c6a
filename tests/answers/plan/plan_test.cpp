#include "answers/compare/compare.hpp"
#include "answers/plan/drives.hpp"
#include "answers/plan/largest.hpp"
#include "answers/plan/machine.hpp"
#include "answers/plan/settings.hpp"
#include "reports/result/needs.hpp"
#include "scenarios/description/data_files.hpp"
#include "tests/answers/simulator.hpp"
#include "tests/long_test.hpp"

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

/// What a trial needs of the tier that lacks most, of what that has.
double times_needed(const Trial& trial) {
  double most = 0;
  for (const result::TierNeed& need : result::shortages_of(*trial.result))
    most = std::max(most, static_cast<double>(need.needed) / static_cast<double>(need.capacity));
  return most;
}

// The fastest at a context of 4096 holds more beside a sample than slower ones do.
TEST(PlanLargest, GoesOnWithTheSystemThatHasRoomWhereTheFastestHasNone) {
  LONG_TEST();
  const answer::Largest fastest = largest(sim(), adapters_of_8b({"superoffload"}));
  const answer::Largest other = largest(sim(), adapters_of_8b({"slideformer"}));
  const answer::Largest both = largest(sim(), adapters_of_8b({"superoffload", "slideformer"}));
  ASSERT_LT(most_of(fastest.contexts), most_of(other.contexts));
  EXPECT_EQ(both.system, "superoffload");
  EXPECT_EQ(most_of(both.contexts), most_of(other.contexts));
  EXPECT_EQ(most_of(both.batches), std::max(most_of(fastest.batches), most_of(other.batches)));
  for (const Trial& trial : both.contexts)
    if (trial.fits()) {
      EXPECT_EQ(trial.words.find(" (slideformer") != std::string::npos,
                trial.result->system == "slideformer")
          << trial.words;
    }
  // what is shown to have no room lacks less than any way that had room before
  const auto miss = std::find_if(both.batches.begin(), both.batches.end(),
                                 [](const Trial& trial) { return !trial.fits(); });
  ASSERT_NE(miss, both.batches.end());
  ASSERT_GT(times_needed(*miss), 1);
  const PlanQuestion question = adapters_of_8b({"superoffload", "slideformer"});
  const nlohmann::json base = plan_base(question, question.models.front());
  for (const Trial& trial : both.batches) {
    if (!trial.fits()) continue;
    Trial larger = trial;
    larger.overrides.back() = miss->overrides.back();
    answer::TrialCounts counts;
    try_one(sim(), base, larger, counts);
    explore::find_needs(sim(), base, {&larger});
    ASSERT_TRUE(larger.result) << larger.words;
    EXPECT_LE(times_needed(*miss), times_needed(larger)) << trial.words;
  }
}

/// Settings of zero_infinity, whose best micro-batch is between powers of two.
answer::BestSettings settings_of_experts(const std::vector<std::uint64_t>& batches) {
  PlanQuestion question;
  question.machine = "gaming_4090";
  question.models = {"deepseek-v2-lite"};
  question.systems = {"zero_infinity"};
  question.overrides = {"machine.host.memory=\"128 GiB\""};
  question.batches = batches;
  return settings(sim(), question, question.models.front(), {});
}

TEST(PlanSettings, TriesMicroBatchesBetweenPowersOfTwoUnlessSomeAreNamed) {
  const answer::BestSettings found = settings_of_experts(usual_batches);
  ASSERT_TRUE(found.best_trial());
  const Trial& best = *found.best_trial();
  EXPECT_EQ(best.words, "zero_infinity, micro-batch 3");
  EXPECT_EQ(best.result->scenario.at("training").at("micro_batch"), 3);
  const Trial& smaller = found.trials.at(*found.best - 1);
  EXPECT_EQ(smaller.words, "zero_infinity, micro-batch 2");
  EXPECT_GT(best.result->tokens_per_s, 1.4 * smaller.result->tokens_per_s);
  const answer::BestSettings named = settings_of_experts({2, 4});
  ASSERT_TRUE(named.best_trial());
  EXPECT_EQ(named.best_trial()->words, "zero_infinity, micro-batch 2");
  // the system, and with its experts in host memory or on drives, each with a cache or without
  EXPECT_EQ(named.trials.size(), 5 * 2u);
}

TEST(PlanSettings, NarrowsGradientsWhereDeepSpeedsOwnHaveNoRoom) {
  PlanQuestion question;
  question.machine = "gaming_4090";
  question.models = {"llama-3.1-8b"};
  question.systems = {"zero_offload"};
  question.overrides = {"machine.host.memory=\"192 GiB\""};
  question.runnable = true;
  const answer::BestSettings found = settings(sim(), question, question.models.front(), {});
  ASSERT_TRUE(found.best_trial());
  EXPECT_EQ(found.best_trial()->words, "zero_offload + gradients.accumulation fp16, micro-batch 2");
  ASSERT_TRUE(found.deepspeed);
}

// Cards that cut layers do it too, half as fast and with nothing that people can run.
TEST(PlanSettings, TakesCheckpointsInHostMemoryAndOnlySplitsThatPeopleCanRun) {
  PlanQuestion question;
  question.machine = "lohan_4090x2";
  question.models = {"qwen3-32b"};
  question.systems = {"zero_offload", "zero_infinity"};
  question.sequence = 32768;
  question.batches = {1};
  question.overrides = {"training.method=lora", "training.loss=fused",
                        "training.fused_kernels=true"};
  question.runnable = true;
  const answer::BestSettings found = settings(sim(), question, question.models.front(), {});
  ASSERT_TRUE(found.best_trial() && found.deepspeed);
  EXPECT_EQ(found.best_trial()->words,
            "zero_offload + activations.policy checkpoint_host, micro-batch 1");
  EXPECT_TRUE(found.deepspeed->is_best);
  for (const Trial& trial : found.trials)
    if (trial.fits()) {
      EXPECT_TRUE(trial.result->runs_with->runnable) << trial.words;
    }
}

// Slideformer has no maintained program either: what people could run is left out, not refused.
TEST(PlanMachine, BuysACheaperBoxWhereAMicroBatchBetweenPowersOfTwoIsEnough) {
  LONG_TEST();
  MachineQuestion question;
  question.list = scenarios::read_price_list("one_box");
  question.model = "llama-3.1-8b";
  question.systems = {"slideformer"};
  question.overrides = {"training.fused_kernels=true"};
  question.tokens_per_day = 60e6;
  question.budget_usd = 4000;
  const answer::BestMachine found = machine(sim(), question).answer;
  ASSERT_TRUE(found.answer);
  EXPECT_EQ(found.answer->trial.result->scenario.at("training").at("micro_batch"), 3);
  EXPECT_FALSE(found.more_samples);
  // with a way that people can run, but on no cheaper box
  question.systems.emplace_back("zero_infinity");
  const answer::BestMachine both = machine(sim(), question).answer;
  ASSERT_TRUE(both.answer);
  EXPECT_TRUE(!both.more_samples || both.more_samples->price_usd < both.answer->price_usd);
  question.systems.pop_back();
  question.batches = {1, 2, 4};
  EXPECT_FALSE(machine(sim(), question).answer.answer);
}

TEST(PlanSettings, SplitsTheSamplesOfAStepIntoAnyMicroBatchThatMakesSoMany) {
  PlanQuestion question;
  question.global_batch = 12;
  std::vector<std::string> names;
  for (const BatchSplit& split : batches_of(question, 2)) names.push_back(split.name);
  EXPECT_THAT(names, ElementsAre(", micro-batch 1 x 6", ", micro-batch 2 x 3",
                                 ", micro-batch 3 x 2", ", micro-batch 6"));
}

TEST(PlanLargest, KeepsGradientsBetweenTheMicroBatchesThatAreAskedFor) {
  LONG_TEST();
  PlanQuestion question = adapters_of_8b({"superoffload"});
  question.accumulations = {4};
  const answer::Largest found = largest(sim(), question);
  ASSERT_TRUE(found.largest());
  for (const auto* trials : {&found.models, &found.contexts, &found.batches})
    for (const Trial& trial : *trials)
      if (trial.result) {
        EXPECT_EQ(trial.result->scenario.at("training").at("gradient_accumulation"), 4)
            << trial.words;
      }
}

TEST(PlanLargest, KnowsTheLargestWhateverTheOrderInWhichModelsAreNamed) {
  PlanQuestion question = adapters_of_8b({"resident"});
  question.models = {"llama-3.1-8b", "gpt2"};
  EXPECT_EQ(largest(sim(), question).model, "llama-3.1-8b");
}

// 14 GiB in plain PyTorch, where all that backward needs takes 29; in 16 GiB of host memory it
// cannot wait either.
TEST(PlanSettings, TriesResidentWithRecomputation) {
  PlanQuestion question = adapters_of_8b({"resident"});
  question.overrides.emplace_back("machine.host.memory=16 GiB");
  const answer::BestSettings found = settings(sim(), question, "llama-3.1-8b", {});
  const Trial* best = found.best_trial();
  ASSERT_TRUE(best);
  EXPECT_THAT(best->words, HasSubstr("resident with recomputation"));
  EXPECT_EQ(best->result->runs_with->program, "PyTorch");
}

// 2 TiB of host memory hold what eight drives a node do, faster and without wear.
// Two cards have room for a layer's share of 70B and nothing that backward computes again; more of
// them would exchange more, or one sample less would be under way.
TEST(PlanSettings, TriesEverySplitOfTheCards) {
  LONG_TEST();
  PlanQuestion question;
  question.machine = "h100_8gpu";
  question.models = {"llama-3.1-70b"};
  question.systems = {"resident"};
  question.batches = {1, 4};
  question.overrides = {"training.method=lora"};
  const answer::BestSettings found = settings(sim(), question, question.models.front(), {});
  ASSERT_TRUE(found.best_trial());
  EXPECT_EQ(found.best_trial()->words, "resident, tensor 2, micro-batch 1");
  std::vector<std::string> words;
  for (const Trial& trial : found.trials) words.push_back(trial.words);
  EXPECT_THAT(words, testing::Contains("resident, tensor 2, pipeline 4, micro-batch 4"));
}

// Half of the states in host memory, half of the drive's traffic.
TEST(PlanSettings, SearchesForWhatASystemsOwnSearchChooses) {
  PlanQuestion question;
  question.machine = "gaming_4090";
  question.models = {"llama-3.2-1b"};
  question.systems = {"greedysnake"};
  question.batches = {1};
  question.accumulations = {8};
  const answer::BestSettings found = settings(sim(), question, question.models.front(), {});
  ASSERT_EQ(found.trials.size(), 2u);  // as it stands, and the fastest of the others
  EXPECT_EQ(found.trials[0].words, "greedysnake, micro-batch 1 x 8");
  ASSERT_EQ(found.best, 1u);
  EXPECT_THAT(found.trials[1].words, HasSubstr(" + optimizer.ssd_share 0"));
  ASSERT_TRUE(found.trials[0].fits());
  EXPECT_GT(found.trials[1].result->tokens_per_s, 1.2 * found.trials[0].result->tokens_per_s);
}

TEST(Compare, ShowsTheFastestThatASystemsOwnSearchChooses) {
  const auto labels_with = [](const std::vector<std::string>& more) {
    CompareQuestion question;
    question.scenarios = {description::data_root() /
                          "scenarios/examples/systems_2026/greedysnake.json"};
    question.systems = {"zero_infinity", "greedysnake"};
    question.overrides = {"model=gpt2"};
    question.overrides.insert(question.overrides.end(), more.begin(), more.end());
    std::vector<std::string> labels;
    for (const answer::Compared& run : compare(sim(), field_of(question), {}).runs)
      labels.push_back(run.label);
    return labels;
  };
  EXPECT_THAT(labels_with({}), ElementsAre("zero_infinity", "greedysnake",
                                           testing::StartsWith("greedysnake + optimizer.")));
  EXPECT_THAT(labels_with({"strategy.optimizer.delayed_share=0", "strategy.optimizer.ssd_share=1",
                           "strategy.micro_batches=by_layer"}),
              ElementsAre("zero_infinity", "greedysnake"));
}

// What costs nothing is what the answer's own scenario has with it.
TEST(PlanSettings, SaysWhatCostsNothingBesideTheFastest) {
  PlanQuestion question;
  question.machine = "workstation_2gpu";
  question.models = {"llama-3.2-1b"};
  question.systems = {"zero_infinity"};
  question.batches = {2};
  const answer::BestSettings found = settings(sim(), question, question.models.front(), {});
  ASSERT_TRUE(found.best_trial());
  ASSERT_FALSE(found.faster.empty());
  Trial again = *found.best_trial();
  const auto& more = found.faster.front().overrides;
  again.overrides.insert(again.overrides.end(), more.begin(), more.end());
  std::vector<Trial> trials = {again};
  EXPECT_FALSE(explore::try_all(sim(), plan_base(question, question.models.front()), trials));
  ASSERT_TRUE(trials.front().fits()) << found.faster.front().words;
  EXPECT_NEAR(trials.front().result->tokens_per_s, found.faster.front().tokens_per_s,
              1e-3 * found.faster.front().tokens_per_s);
  EXPECT_GT(found.faster.front().tokens_per_s, found.best_trial()->result->tokens_per_s);
}

TEST(PlanDrives, SaysWhereHostMemoryTakesTheirPlace) {
  const auto asked = [](const char* memory) {
    const nlohmann::json job = {{"model", "llama-3.1-8b"},
                                {"machine", "h100_8gpu"},
                                {"training", {{"precision", "bf16_mixed"}, {"sequence", 4096}}},
                                {"parallel", {{"data", 2}, {"zero_stage", 3}}},
                                {"strategy", {{"system", "zero_infinity"}}}};
    DrivesQuestion question;
    question.scenario =
        scenarios::read_scenario(
            job, {"machine.gpu.count=2", std::string("machine.host.memory=") + memory},
            explore::known_systems())
            .scenario;
    question.most = 2;
    return drives(sim(), question);
  };
  const answer::Drives large = asked("2 TiB");
  ASSERT_TRUE(large.result);
  EXPECT_THAT(text::words(large.result->notes.back()),
              HasSubstr("--set strategy.weights.home=host"));
  const answer::Drives small = asked("128 GiB");
  ASSERT_TRUE(small.result);
  for (const text::Text& note : small.result->notes)
    EXPECT_THAT(text::words(note), testing::Not(HasSubstr("without a drive")));
}

// All states lie on the second array, which has one slow drive; the first has two, at rest.
TEST(PlanDrives, CountsThoseOfTheBusiestArray) {
  nlohmann::json first = {{"name", "first"}, {"part", "990 PRO 4TB"}, {"count", 2}};
  nlohmann::json second = {{"name", "second"}, {"part", "990 PRO 4TB"}, {"count", 1}};
  const nlohmann::json job = {
      {"model", "gpt2"},
      {"machine", {{"extends", "gaming_4090"}, {"storage", {first, second}}}},
      {"training", {{"precision", "bf16_mixed"}}},
      {"strategy",
       {{"system", "mlp_offload"},
        {"optimizer", {{"paths", {{"second", 1}}}, {"host_cache", "0 B"}}}}}};
  DrivesQuestion question;
  question.scenario = scenarios::read_scenario(job, {}, explore::known_systems()).scenario;
  question.most = 3;
  const answer::Drives found = drives(sim(), question);
  ASSERT_TRUE(found.result);
  EXPECT_EQ(found.classes.front().name, "second");
  EXPECT_GT(found.cheapest()->drives, 1u);
  EXPECT_EQ(text::words(found.result->notes.back()),
            "the drives of second are counted, first keeps its 2: --storage first counts those");
  question.storage = "first";
  EXPECT_EQ(drives(sim(), question).cheapest()->drives, 1u) << "no step uses it";
  question.storage = "third";
  EXPECT_THROW(drives(sim(), question), description::ScenarioError);
}

// The machine's two drives have written 300 and 100 TB; a third, and those of the list, nothing.
TEST(PlanDrives, CountsDrivesThatWouldBeBoughtAsNew) {
  nlohmann::json own = {{"name", "own"}, {"part", "990 PRO 4TB"}, {"count", 2}};
  own["endurance"]["written"] = {"100 TB", "300 TB"};
  const nlohmann::json job = {{"model", "gpt2"},
                              {"machine", {{"extends", "gaming_4090"}, {"storage", {own}}}},
                              {"training", {{"precision", "bf16_mixed"}}},
                              {"strategy", {{"system", "zero_infinity"}}}};
  DrivesQuestion question;
  question.scenario = scenarios::read_scenario(job, {}, explore::known_systems()).scenario;
  question.most = 3;
  question.parts = "one_box";
  const answer::Drives found = drives(sim(), question);
  ASSERT_TRUE(found.result);
  const auto before = [&](const answer::Trial& trial) {
    return trial.result ? trial.result->wear.value().written_before_bytes : -1;
  };
  const std::vector<answer::Trial>& trials = found.classes.front().trials;
  EXPECT_EQ(before(trials.at(0)), 100e12);  // the one that is worn more is left out
  EXPECT_EQ(before(trials.at(1)), 400e12);
  EXPECT_EQ(before(trials.at(2)), 400e12);
  ASSERT_GT(found.classes.size(), 1u);
  EXPECT_EQ(before(found.classes.at(1).trials.at(0)), 0);
  EXPECT_THAT(text::words(found.result->notes.back()),
              HasSubstr("have been written to before (400.0 TB in all, 300.0 TB on the most worn"));
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
