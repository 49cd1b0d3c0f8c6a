#include "tests/e2e/command.hpp"

#include <gtest/gtest.h>
#include <sstream>

namespace spillway::e2e::worker_test {
namespace {

using nlohmann::json;

const json gpt2 = json::parse(
    R"({"model": "gpt2", "machine": "gaming_4090", "strategy": {"system": "resident"}})");

/// The answers of a worker to `lines`.
std::vector<json> answers(const std::string& lines, const std::string& options = "") {
  const Ended ended = shell(Workplace(), "spillway worker " + options, lines);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  std::vector<json> replies;
  std::istringstream out(ended.out);
  for (std::string line; std::getline(out, line);) replies.push_back(json::parse(line));
  return replies;
}

TEST(Worker, AnswersEachLineInOrderWithItsId) {
  json infeasible = gpt2, unknown = gpt2;
  infeasible["model"] = "llama-3.1-8b";
  unknown["model"] = "gpt3";
  std::string lines;
  lines += json{{"id", 1}, {"scenario", gpt2}}.dump() + "\n";
  lines += json{{"id", "two"}, {"scenario", unknown}}.dump() + "\n\n";  // no answer to no line
  lines += json{{"id", {3}}, {"scenario", infeasible}}.dump() + "\r\n";
  lines += json{{"scenario", gpt2}}.dump();  // without an id, and without a line end
  const std::vector<json> replies = answers(lines);
  ASSERT_EQ(replies.size(), 4u);
  EXPECT_EQ(replies[0].at("id"), 1);
  EXPECT_EQ(replies[0].at("result").at("feasible"), true);
  EXPECT_EQ(replies[1].at("id"), "two");
  EXPECT_EQ(replies[1].at("errors").at(0).at("path"), "model");
  EXPECT_EQ(replies[2].at("id"), json({3}));
  EXPECT_EQ(replies[2].at("result").at("feasible"), false);
  EXPECT_FALSE(replies[3].contains("id"));
  EXPECT_EQ(replies[3].at("result").at("step_time_s"), replies[0].at("result").at("step_time_s"));
}

TEST(Worker, GoesOnAfterLinesThatAreNoRequests) {
  const std::string good = json{{"id", 9}, {"scenario", gpt2}}.dump();
  const std::vector<json> replies =
      answers("nonsense\n[1]\n{\"id\": 4}\n{\"id\": 5, \"scenario\": 7}\n" + good + "\n");
  ASSERT_EQ(replies.size(), 5u);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(replies[i].at("errors").empty()) << i;
  EXPECT_FALSE(replies[0].contains("id"));
  EXPECT_EQ(replies[2].at("id"), 4);
  EXPECT_EQ(replies[3].at("id"), 5);
  EXPECT_TRUE(replies[4].contains("result"));
}

TEST(Worker, GivesUpAScenarioThatExceedsTheLimitAndGoesOn) {
  json long_run = gpt2;
  long_run["run"] = {{"steps", 100000}};
  const std::string lines = json{{"id", 1}, {"scenario", long_run}}.dump() + "\n" +
                            json{{"id", 2}, {"scenario", gpt2}}.dump() + "\n";
  const std::vector<json> replies = answers(lines, "--limit 2");
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].at("errors").at(0).at("message"), "the simulation exceeded its time limit");
  EXPECT_TRUE(replies[1].contains("result"));
}

TEST(Worker, GivesTheResultOfSimulate) {
  const Workplace place;
  place.write("gpt2.json", gpt2.dump());
  json simulated = shell(place, "spillway simulate gpt2.json --json").json();
  for (const char* of_the_answer :
       {"settings", "what_if", "remedy", "old_prices", "old_price_days", "warnings"})
    simulated.erase(of_the_answer);
  json answered = answers(json{{"scenario", gpt2}}.dump() + "\n").at(0).at("result");
  for (json* result : {&simulated, &answered}) {
    for (const char* what_if : {"next", "limited_by"})  // they are for people
      result->at("bottleneck").erase(what_if);
    result->erase("wall");
    result->at("scenario").erase("name");  // a file gives its name
  }
  EXPECT_EQ(simulated, answered);
}

}  // namespace
}  // namespace spillway::e2e::worker_test
