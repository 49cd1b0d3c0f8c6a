#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <sstream>

namespace spillway::e2e::worker_test {
namespace {

using nlohmann::json;

const json gpt2 = json::parse(
    R"({"model": "gpt2", "machine": "gaming_4090", "strategy": {"system": "resident"}})");

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream out(text);
  for (std::string line; std::getline(out, line);) lines.push_back(json::parse(line));
  return lines;
}

/// The answers of a worker to `lines`, without what it tells before them.
std::vector<json> answers(const std::string& lines, const std::string& options = "") {
  const Ended ended = shell(Workplace(), "spillway worker " + options, lines);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  std::vector<json> all = lines_of(ended.out);
  std::erase_if(all, [](const json& line) { return line.contains("progress"); });
  return all;
}

json request(const json& id, const json& scenario, const json& want) {
  return {{"id", id}, {"scenario", scenario}, {"want", want}};
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
  EXPECT_EQ(replies[0].at("failure"), "the simulation exceeded its time limit");
  EXPECT_GE(replies[0].at("seconds"), 2.0);
  EXPECT_TRUE(replies[1].contains("result"));
}

TEST(Worker, EndsARequestThatIsCancelledAndItsTurnIsFree) {
  json long_run = gpt2;
  long_run["run"] = {{"steps", 100000}};
  const std::string line = "{ echo '" + request(1, long_run, {"result"}).dump() +
                           "'; sleep 0.5; echo '{\"cancel\": 1}'; echo '" +
                           request(2, gpt2, {"result"}).dump() + "'; } | spillway worker";
  const Ended ended = shell(Workplace(), line);
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const std::vector<json> replies = lines_of(ended.out);
  ASSERT_EQ(replies.size(), 2u) << ended.out;
  EXPECT_EQ(replies[0].at("failure"), "cancelled");
  EXPECT_LT(replies[0].at("seconds"), 5.0);
  EXPECT_EQ(replies[1].at("id"), 2);
  EXPECT_TRUE(replies[1].contains("result"));
}

/// All at the end too, but for the trace, which may be large.
TEST(Worker, TellsEachPartAsSoonAsItIsKnown) {
  const Ended ended =
      shell(Workplace(), "spillway worker",
            request(7, gpt2, {"trace", "what_if", "result", "settings", "bound"}).dump() + "\n");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const std::vector<json> lines = lines_of(ended.out);
  std::vector<std::string> told;
  for (const json& line : lines) {
    EXPECT_EQ(line.at("id"), 7);
    if (!line.contains("progress")) continue;
    EXPECT_GE(line["progress"].at("seconds"), 0.0);
    for (const auto& [name, value] : line["progress"].items())
      if (name != "seconds") told.push_back(name);
    if (line["progress"].contains("trace")) {
      EXPECT_FALSE(line["progress"]["trace"].at("traceEvents").empty());
    }
  }
  EXPECT_EQ(told, (std::vector<std::string>{"settings", "bound", "result", "trace"}));
  const json& answer = lines.back();
  EXPECT_EQ(answer.at("settings").at(0).size(), 3u) << "path, value, source";
  EXPECT_FALSE(answer.contains("trace"));
  ASSERT_FALSE(answer.at("what_if").empty());
  EXPECT_EQ(answer["what_if"][0]["name"], "twice the gpu rate");  // the shortest step comes first
  EXPECT_EQ(answer.at("result").at("bottleneck").at("limited_by"), "gpu");
  const double bound = answer.at("bound").at("step_time_s");
  EXPECT_GT(bound, 0.0);
  EXPECT_LE(bound, answer["result"]["step_time_s"].get<double>());
}

/// 8 billion parameters with their states are more than one card of 24 GiB holds.
TEST(Worker, SaysWhatMakesAScenarioFit) {
  LONG_TEST();
  json large = gpt2;
  large["model"] = "llama-3.1-8b";
  const json answer = answers(request(1, large, {"bound", "remedy"}).dump() + "\n").at(0);
  EXPECT_EQ(answer.at("bound").at("too_small"), "gpu");
  EXPECT_GT(answer["bound"]["memory"]["gpu"]["floor_bytes"].get<double>(),
            answer["bound"]["memory"]["gpu"]["capacity_bytes"].get<double>());
  ASSERT_TRUE(answer.at("remedy").at("change").is_object());
  EXPECT_FALSE(answer["remedy"]["change"]["set"].empty());
  EXPECT_EQ(answers(request(1, gpt2, {"remedy"}).dump() + "\n").at(0).at("remedy"), nullptr);
}

TEST(Worker, AnswersABoundWhileAllItsJobsSimulate) {
  json long_run = gpt2;
  long_run["run"] = {{"steps", 100000}};
  std::string lines;
  for (int i = 0; i < 3; ++i) {
    json one = request(i, long_run, {"result"});
    one["limit_s"] = 1;
    lines += one.dump() + "\n";
  }
  const std::vector<json> replies =
      answers(lines + request("bound", gpt2, {"bound"}).dump() + "\n", "--jobs 2");
  ASSERT_EQ(replies.size(), 4u);
  EXPECT_EQ(replies[0].at("id"), "bound");
}

TEST(Worker, GivesTheTraceAtTheEndWhereNothingFollows) {
  const json answer = answers(request(1, gpt2, {"result", "trace"}).dump() + "\n").at(0);
  EXPECT_EQ(answer.at("result").at("feasible"), true);
  EXPECT_FALSE(answer.at("trace").at("traceEvents").empty());
}

/// What `simulate --json` says of a scenario, but for its file and the time it took.
json comparable(json answer) {
  answer.erase("wall");
  for (json& setting : answer.at("settings")) setting.erase("source");
  if (answer.at("remedy").is_null()) return answer;
  for (const char* remedy : {"memory", "change"})
    if (!answer["remedy"].at(remedy).is_null()) answer["remedy"][remedy].at("result").erase("wall");
  return answer;
}

TEST(Worker, AnswersWhatSimulateDoes) {
  constexpr const char* later = "2030-01-01";
  json large = gpt2;  // what makes it fit is found long before the time for that is over
  large["training"] = {{"micro_batch", 512}, {"sequence", 1024}};
  for (json asked : {gpt2, large}) {
    const Workplace place;
    asked["name"] = "asked";
    place.write("asked.json", asked.dump());
    json simulated = shell(place, std::string("SPILLWAY_TODAY=") + later +
                                      " spillway simulate asked.json --json")
                         .json();
    EXPECT_EQ(simulated.erase("decision"), 1u);  // which repeats a run: simulate's alone
    json line = request(1, asked, {"result", "settings", "what_if", "faster", "remedy"});
    line["today"] = later;
    json answer = answers(line.dump() + "\n").at(0), answered = answer.at("result");
    for (const char* beside : {"settings", "what_if", "faster", "remedy", "warnings", "old_prices"})
      answered[beside] = answer.at(beside);
    EXPECT_NE(answered["old_prices"], "");
    EXPECT_EQ(answered["remedy"].is_null(), !asked.contains("training"));
    EXPECT_EQ(json::diff(comparable(simulated), comparable(answered)), json::array());
  }
}

TEST(Worker, NamesNoPriceAsOldWhereNobodySaysTheDay) {
  const json answer = answers(request(1, gpt2, {"result", "settings"}).dump() + "\n").at(0);
  EXPECT_EQ(answer.at("old_prices"), "");
  EXPECT_FALSE(answer.at("result").contains("old_price_days"));
}

}  // namespace
}  // namespace spillway::e2e::worker_test
