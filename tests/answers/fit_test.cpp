#include "answers/fit/fit.hpp"

#include "answers/fit/box.hpp"
#include "answers/fit/search.hpp"
#include "scenarios/price_list.hpp"
#include "scenarios/schema_check.hpp"
#include "sim/plugin.hpp"
#include "strategies/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::answers {
namespace {

using nlohmann::json;

const explore::Backend& sim() {
  static const explore::Backend backend{"sim", sim::open_sim_machine, sim::prepare_sim};
  return backend;
}

FitQuestion about(const std::string& model, const BoxWords& words) {
  FitQuestion question;
  question.model = model;
  question.machine = box_of(words, scenarios::read_price_list("one_box")).machine;
  return question;
}

/// What the schema refuses, in words.
std::string refused(const FitAnswer& answer) {
  std::string text;
  for (const auto& complaint :
       scenarios::check_schema(scenarios::located_at(json(answer), {}), "answer_fit"))
    text += to_string(complaint) + "\n";
  return text;
}

TEST(Fit, AnswersInTheFormOfItsSchemaWhetherItFitsOrNot) {
  const FitAnswer yes = fit(sim(), about("gpt2", {"4090", "64G", "2T"}));
  EXPECT_TRUE(yes.fits);
  EXPECT_EQ(refused(yes), "");
  const FitAnswer no = fit(sim(), about("opt-175b", {"4090", "64G", ""}));
  EXPECT_FALSE(no.fits);
  EXPECT_FALSE(no.runnable);
  EXPECT_FALSE(no.best);
  EXPECT_NE(no.why_not, "");
  EXPECT_EQ(refused(no), "");
}

TEST(Fit, OffersWhatPeopleCanRunBesideWhatIsFastestOfAll) {
  const FitAnswer answer = fit(sim(), about("llama-3.2-3b", {"4090", "128G", "2T"}));
  ASSERT_TRUE(answer.runnable);
  ASSERT_TRUE(answer.best);
  EXPECT_TRUE(answer.runnable->runs_with->runnable);
  EXPECT_GE(answer.best->tokens_per_s, answer.runnable->tokens_per_s);
  EXPECT_EQ(answer.answer(), &*answer.runnable);
}

TEST(Fit, WithRunnableSaysNothingOfOthers) {
  FitQuestion question = about("llama-3.2-3b", {"4090", "128G", "2T"});
  question.runnable = true;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  EXPECT_FALSE(answer.best);
}

TEST(Fit, GivesTheResultThatItsOwnScenarioHas) {
  const FitAnswer answer = fit(sim(), about("llama-3.2-1b", {"4090", "64G", "2T"}));
  ASSERT_TRUE(answer.answer());
  const auto again = scenarios::read_scenario(answer.answer()->scenario, {},
                                              explore::known_systems(), strategies::unsupported);
  EXPECT_DOUBLE_EQ(explore::simulate(sim(), again.scenario).tokens_per_s,
                   answer.answer()->tokens_per_s);
}

// No system that people can run, at any micro-batch of the search, is faster than the answer.
TEST(Fit, IsTheFastestOfWhatItPrunes) {
  const FitQuestion question = about("llama-3.2-1b", {"4090", "64G", "2T"});
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  const json job = {{"model", question.model},
                    {"machine", question.machine},
                    {"training", {{"precision", "bf16_mixed"}, {"sequence", 4096}}},
                    {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  std::vector<description::Scenario> all;
  for (const Candidate& one : candidates_of(job, {}))
    if (one.runnable) all.push_back(one.scenario);
  // a smaller batch may hide a little more of an update
  constexpr double nearly = 1.03;
  for (const explore::Outcome& outcome : explore::simulate_all(sim(), all)) {
    if (!outcome.result || !outcome.result->feasible()) continue;
    EXPECT_LE(outcome.result->tokens_per_s, nearly * answer.runnable->tokens_per_s)
        << outcome.result->system;
  }
}

TEST(Fit, AnswersForTheTokensOfTheFinishedRunAndAShortModelsContext) {
  FitQuestion question = about("gpt2", {"4090", "64G", "2T"});
  question.tokens = 1e9;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.answer() && answer.answer()->run);
  EXPECT_EQ(answer.answer()->run->tokens, 1e9);
  EXPECT_EQ(answer.answer()->scenario.at("training").at("sequence"), 1024);
  EXPECT_THAT(answer.notes, testing::Contains(testing::HasSubstr("1024 tokens")));
}

TEST(Fit, TheChangeHasTheSpeedThatItsSettingsGive) {
  const FitAnswer answer = fit(sim(), about("llama-3.1-8b", {"4090", "64G", "2T"}));
  ASSERT_TRUE(answer.change && answer.answer());
  const auto changed = scenarios::read_scenario(answer.answer()->scenario, answer.change->set,
                                                explore::known_systems(), strategies::unsupported);
  EXPECT_DOUBLE_EQ(explore::simulate(sim(), changed.scenario).tokens_per_s,
                   answer.change->tokens_per_s.value());
  EXPECT_GT(answer.change->tokens_per_s.value(), answer.answer()->tokens_per_s);
}

}  // namespace
}  // namespace spillway::answers
