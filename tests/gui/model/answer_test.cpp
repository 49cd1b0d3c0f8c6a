#include "gui/model/answer.hpp"
#include "reports/answer/bound.hpp"
#include "scenarios/description/complaint_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace spillway::gui {
namespace {

using nlohmann::json;

json result_of(double step_time_s) {
  result::Result result;
  result.scenario = json::object();
  result.system = "lohan";
  result.step_time_s = step_time_s;
  result.tokens_per_s = 100 / step_time_s;
  return result;
}

TEST(Answer, TakesAWorkersResult) {
  Answer answer;
  take_answer({{"id", 1}, {"result", result_of(2)}}, answer);
  EXPECT_EQ(answer.state, Answer::State::exact);
  ASSERT_TRUE(answer.fits());
  EXPECT_EQ(answer.result->step_time_s, 2);
}

TEST(Answer, TakesWhatOtherKeysSay) {
  Answer answer;
  take_answer({{"result", result_of(2)},
               {"settings", {{{"path", "a.b"}, {"value", "1"}, {"source", "default"}}}},
               {"what_if",
                {{{"name", "fast"}, {"step_time_s", 1.0}, {"tokens_per_s", 100}},
                 {{"name", "slow"}, {"step_time_s", 1.9}},
                 {{"name", "none"}, {"step_time_s", nullptr}}}},
               {"remedy",
                {{"memory", {{"words", "more"}, {"set", {"x=1"}}, {"result", result_of(3)}}},
                 {"change", nullptr}}}},
              answer);
  ASSERT_EQ(answer.steps.size(), 3u);
  EXPECT_EQ(answer.steps[0].name, "fast");
  EXPECT_FALSE(answer.steps[2].step_time_s);
  EXPECT_EQ(answer.settings[0].path, "a.b");
  ASSERT_EQ(answer.changes.size(), 1u);
  EXPECT_EQ(answer.changes[0].overrides[0], "x=1");
  EXPECT_EQ(answer.changes[0].step_time_s, 3);
  EXPECT_EQ(answer.changes[0].sentence, "It fits with more: 3.00 s a step, 33.3 tokens/s");
}

TEST(Answer, SaysWhatIsWrong) {
  Answer answer;
  json complaints;
  to_json(complaints["errors"][0], description::Complaint{"", 0, 0, "model", "no such", "gpt2"});
  take_answer(complaints, answer);
  EXPECT_EQ(answer.state, Answer::State::failed);
  EXPECT_EQ(answer.failure, "model: no such; gpt2");
  take_answer({{"failure", "took too long"}}, answer);
  EXPECT_EQ(answer.failure, "took too long");
  take_answer({{"result", {{"schema", "spillway/result/99"}}}}, answer);
  EXPECT_EQ(answer.state, Answer::State::failed);
}

TEST(Answer, ThatFailedIsOfThisQuestion) {
  Answer answer;
  take_answer({{"result", result_of(2)}}, answer);
  make_stale(answer);
  EXPECT_TRUE(answer.approximate());
  take_answer({{"failure", "took too long"}}, answer);
  EXPECT_FALSE(answer.approximate());
}

TEST(Answer, MarksABoundUntilEventsCome) {
  answer::Bound bound;
  bound.known = true;
  bound.step_time_s = 1;
  const json line = {{"bound", bound}};
  Answer answer;
  EXPECT_FALSE(take_bound(line, answer));  // of what?
  take_answer({{"result", result_of(2)}}, answer);
  EXPECT_TRUE(take_bound(line, answer));
  EXPECT_TRUE(answer.approximate());
  EXPECT_EQ(answer.result->step_time_s, 1);
  EXPECT_EQ(answer.result->tokens_per_s, 100);  // 100 tokens in 1 s
  take_answer({{"result", result_of(2)}}, answer);
  EXPECT_FALSE(answer.approximate());
}

TEST(Answer, TakesNoBoundThatItMayMisread) {
  answer::Bound bound;
  bound.known = true;
  bound.step_time_s = 1;
  Answer answer;
  take_answer({{"result", result_of(2)}}, answer);
  json line = {{"bound", bound}};
  line["bound"]["schema"] = "spillway/answer/bound/2";
  EXPECT_FALSE(take_bound(line, answer));
  bound.known = false;
  EXPECT_FALSE(take_bound({{"bound", bound}}, answer));
  EXPECT_EQ(answer.result->step_time_s, 2);
  EXPECT_EQ(answer.state, Answer::State::exact);
}

TEST(Answer, KeepsNothingButItsResultWhenTheNextQuestionIsAsked) {
  Answer answer = answer_of_fit({{"schema", "spillway/answer/fit/1"},
                                 {"fits", true},
                                 {"runnable", result_of(4)},
                                 {"best", result_of(2)},
                                 {"change", {{"words", "one more drive"}, {"set", {"a=2"}}}},
                                 {"notes", {"the board is a desktop: 1 card"}}});
  ASSERT_FALSE(answer.changes.empty());
  make_stale(answer);
  EXPECT_TRUE(answer.result);
  EXPECT_TRUE(answer.approximate());
  EXPECT_TRUE(answer.changes.empty());
  EXPECT_TRUE(answer.notes.empty());
  EXPECT_FALSE(answer.other);
}

TEST(Answer, ShowsWhatPeopleCanRunOfASearch) {
  const Answer answer =
      answer_of_fit({{"schema", "spillway/answer/fit/1"},
                     {"fits", true},
                     {"runnable", result_of(4)},
                     {"best", result_of(2)},
                     {"change", {{"words", "one more drive"}, {"set", {"a=2"}}}}});
  ASSERT_TRUE(answer.result);
  EXPECT_EQ(answer.result->step_time_s, 4);
  ASSERT_TRUE(answer.other);
  EXPECT_EQ(answer.other->step_time_s, 2);
  EXPECT_EQ(answer.changes[0].words, "one more drive");
}

TEST(Answer, WordsWhatWouldHelpAsFitDoes) {
  // 91 tokens/s by a way that no program runs; a slower one that people can run needs more memory
  json fit = {{"schema", "spillway/answer/fit/1"},
              {"fits", true},
              {"runnable", nullptr},
              {"best", result_of(100. / 91)},
              {"change",
               {{"words", "zero_infinity with 256 GiB of host memory"},
                {"set", {"machine.host.memory=256 GiB"}},
                {"tokens_per_s", 31.4}}}};
  const auto sentence = [&] { return answer_of_fit(fit).changes.at(0).sentence; };
  EXPECT_EQ(sentence(),
            "What makes it fit with what people can run: "
            "zero_infinity with 256 GiB of host memory, 31.4 tokens/s");
  fit["best"] = nullptr;
  fit["fits"] = false;
  EXPECT_EQ(sentence(),
            "What makes it fit: zero_infinity with 256 GiB of host memory, 31.4 tokens/s");
  fit["fits"] = true;
  fit["runnable"] = fit["best"] = result_of(4);  // 25 tokens/s
  EXPECT_EQ(sentence(),
            "What helps most: zero_infinity with 256 GiB of host memory, +26 %, 31.4 tokens/s");
}

TEST(Answer, OffersMoreSamplesAStepBeforeWhatOneWouldBuyWhereTheyBringMore) {
  json fit = {{"schema", "spillway/answer/fit/1"},
              {"fits", true},
              {"runnable", result_of(4)},  // 25 tokens/s
              {"best", result_of(4)},
              {"more_samples",
               {{"accumulation", 8},
                {"samples", 16},
                {"samples_now", 2},
                {"set", {"training.gradient_accumulation=8"}},
                {"tokens_per_s", 50}}},
              {"change", {{"words", "one more drive"}, {"set", {"a=2"}}, {"tokens_per_s", 30}}}};
  const Answer free_first = answer_of_fit(fit);
  ASSERT_EQ(free_first.changes.size(), 2u);
  EXPECT_EQ(free_first.changes[0].sentence,
            "What helps most costs nothing: 8 micro-batches before each update "
            "(gradient_accumulation), 16 samples a step in place of 2, +100 %, 50.0 tokens/s");
  EXPECT_EQ(free_first.changes[0].overrides,
            std::vector<std::string>{"training.gradient_accumulation=8"});
  EXPECT_EQ(free_first.changes[1].words, "one more drive");
  fit["change"]["tokens_per_s"] = 75;
  const Answer bought_first = answer_of_fit(fit);
  EXPECT_EQ(bought_first.changes.at(0).words, "one more drive");
  EXPECT_EQ(bought_first.changes.at(1).words, "more samples a step");
}

TEST(Answer, OffersWhatMakesItFitForNothingBeforeWhatOneWouldBuy) {
  const Answer answer = answer_of_fit(
      {{"schema", "spillway/answer/fit/1"},
       {"fits", false},
       {"runnable", nullptr},
       {"best", nullptr},
       {"fused_loss",
        {{"words", "training.method lora"},
         {"set", {"training.method=lora"}},
         {"tokens_per_s", 728}}},
       {"change", {{"words", "another card"}, {"set", {"a=2"}}, {"tokens_per_s", 900}}}});
  ASSERT_EQ(answer.changes.size(), 2u);
  EXPECT_EQ(answer.changes[0].sentence,
            "What makes it fit costs nothing: training.method lora, 728 tokens/s");
  EXPECT_EQ(answer.changes[1].sentence, "What makes it fit for money: another card, 900 tokens/s");
}

TEST(Answer, SaysWhyNothingFits) {
  const Answer answer = answer_of_fit({{"schema", "spillway/answer/fit/1"},
                                       {"fits", false},
                                       {"runnable", nullptr},
                                       {"best", nullptr},
                                       {"why_not", "host is too small"}});
  EXPECT_FALSE(answer.fits());
  EXPECT_EQ(answer.why_not, "host is too small");
}

TEST(Answer, NamesWhatAProgramOfAnotherVersionWrote) {
  const Answer fit = answer_of_fit({{"schema", "spillway/answer/fit/9"}});
  EXPECT_EQ(fit.state, Answer::State::failed);
  EXPECT_NE(fit.failure.find("answer fit version 9"), std::string::npos) << fit.failure;
  Answer answer;
  take_answer({{"result", result_of(2)}, {"what_if", 3}}, answer);
  EXPECT_EQ(answer.state, Answer::State::failed);
  EXPECT_NE(answer.failure.find("what_if"), std::string::npos) << answer.failure;
}

TEST(Answer, SurvivesJsonOfAnyKind) {
  for (const char* text : {"null", "[]", "1", "{}", R"({"best":[]})", R"({"result":1})",
                           R"({"what_if":{},"settings":3,"remedy":[]})"}) {
    Answer answer = answer_of_fit(json::parse(text));
    const json line = json::parse(text);
    if (line.is_object()) take_answer(line, answer);
    take_bound(line.is_object() ? line : json::object(), answer);
    answer_of_simulation(line);
  }
}

}  // namespace
}  // namespace spillway::gui
