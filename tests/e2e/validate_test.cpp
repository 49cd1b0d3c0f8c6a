#include "tests/e2e/server.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace spillway::e2e {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Validate, TrainsTheTinyExampleAndComparesItWithThePrediction) {
  LONG_TEST();
  const Server server;
  const Ended ended = server.validate("--on a --json");
  ASSERT_EQ(ended.exit, 0) << ended.err << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("Predicted: 3 steps of "));  // beside the JSON
  const json answer = ended.json();
  EXPECT_EQ(answer["schema"], "spillway/validation/1");
  EXPECT_THAT(answer["device"].get<std::string>(), HasSubstr("host device"));
  for (const char* list : {"real", "emulated"}) EXPECT_FALSE(answer[list].empty()) << list;
  EXPECT_EQ(answer["weights_equal"], true);
  EXPECT_EQ(answer["losses"].size(), 3u);
  EXPECT_LT(answer["losses"][2], answer["losses"][0]);
  EXPECT_EQ(answer["measured"]["schema"], "spillway/result/1");
  EXPECT_EQ(answer["measured"]["backend"], "real");
  EXPECT_EQ(answer["predicted"]["backend"], "sim");
  EXPECT_GT(answer["measured"]["step_time_s"], 0.0);
  EXPECT_EQ(answer["machine"]["storage"].size(), 1u);
  const json& errors = answer["errors"];
  const double step = answer["measured"]["step_time_s"];
  EXPECT_NEAR(errors["step_time_s"],
              (answer["predicted"]["step_time_s"].get<double>() - step) / step, 1e-9);
  for (const char* path :
       {"io_bytes_per_step.by_storage.nvme.read", "io_bytes_per_step.by_storage.nvme.write",
        "peak_bytes.host.total", "peak_bytes.gpu.total"})
    EXPECT_LT(std::abs(errors[path].get<double>()), 0.02) << path;
  EXPECT_TRUE(server.is_empty("a"));
}

TEST(Validate, SaysItInWordsAndStatesWhatItTakesBeforeItStarts) {
  const Ended ended = Server().validate("--on a");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::StartsWith("Predicted: 3 steps of "));
  EXPECT_THAT(line_of(ended.out, "Predicted:"),
              ContainsRegex("written in all \\(.* % of what nvme"));
  EXPECT_THAT(ended.out, HasSubstr("bit for bit"));
  EXPECT_NE(line_of(ended.out, "nvme written a step"), "");
  EXPECT_THAT(ended.out, HasSubstr("on host devices: the profile is of a server"));
}

TEST(Validate, WaitsForAYesWhenItIsToAsk) {
  const Server server;
  const Ended no = server.validate("--on a --synthetic --json --ask <<END\nno\nEND");
  EXPECT_NE(no.exit, 0);
  EXPECT_THAT(no.err, HasSubstr("written in all"));
  EXPECT_THAT(no.out, HasSubstr("nobody typed yes"));
  EXPECT_TRUE(server.is_empty("a"));
  const Ended yes = server.validate("--on a --synthetic --json --ask <<END\nyes\nEND");
  ASSERT_EQ(yes.exit, 0) << yes.err << yes.out;
  EXPECT_EQ(yes.json()["schema"], "spillway/validation/1");
}

// The reference has one stage where no weight is on several.
TEST(Validate, ComparesStagesWithAModelThatIsWhole) {
  const Server server;
  const Ended ended = server.validate(
      "--on a --json --set strategy.system=resident --set parallel.zero_stage=0 --set "
      "parallel.pipeline=2 --set training.gradient_accumulation=2 --set "
      "model.tie_word_embeddings=false");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(ended.json()["weights_equal"], true);
}

TEST(Validate, PutsBothRunsOnOneTimeLine) {
  const Server server;
  const Ended ended = server.validate("--on a --no-reference --json --trace t.json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(ended.json()["weights_equal"], nullptr);
  const json trace = json::parse(file_text(server.place().path() / "t.json"));
  std::set<std::string> sides;
  double first = 1e9;
  int first_steps = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") {
      const std::string name = event["args"]["name"];
      sides.insert(name.substr(0, name.find(' ')));
    }
    if (event.contains("ts")) first = std::min(first, event["ts"].get<double>());
    if (event["name"] != "step 1") continue;
    ++first_steps;
    EXPECT_NEAR(event["ts"].get<double>(), 0, 1);  // set-ups take as long as they take
  }
  EXPECT_EQ(first_steps, 2);
  EXPECT_TRUE(sides.contains("measured") && sides.contains("predicted"));
  EXPECT_GE(first, 0);
  EXPECT_LT(first, 1e6);
}

TEST(Validate, MovesTheSameBytesWithoutComputing) {
  const Ended ended = Server().validate("--on a --synthetic --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json answer = ended.json();
  EXPECT_EQ(answer["weights_equal"], nullptr);
  EXPECT_EQ(answer["synthetic"], true);
  EXPECT_TRUE(answer["losses"].empty());
  EXPECT_EQ(answer["errors"]["io_bytes_per_step.by_storage.nvme.read"], 0.0);
}

TEST(Validate, RunsWhatNoDeviceComputesAsTransfers) {
  const Ended refused = Server().validate("--on a --set training.packed=5");
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("training.packed: documents shorter than training.sequence"));
  EXPECT_THAT(refused.err, HasSubstr("--synthetic"));
  const Ended ended = Server().validate("--on a --set training.packed=5 --synthetic --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(ended.json()["measured"]["feasible"], true);
}

// The scenario's own machine has one GPU; this server plays as many as there are ranks.
TEST(Validate, EmulatesAsManyGpusAsTheScenarioHasRanks) {
  LONG_TEST();
  const Ended ended = Server().validate("--on a --set parallel.data=2 --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(ended.json()["weights_equal"], true);
  EXPECT_EQ(ended.json()["machine"]["gpu"]["count"], 2);
}

TEST(Validate, TakesTwoDirectoriesAsTwoPathsByName) {
  LONG_TEST();
  const Server server;
  const Ended ended = server.validate(
      "--on pfs=b --on nvme=a --set strategy.optimizer.adapt=false --set "
      "strategy.system=mlp_offload --set strategy.optimizer.buffers=3 "
      "--json --set "
      "'strategy.optimizer.paths={\"nvme\": \"auto\", \"pfs\": \"auto\"}'");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json answer = ended.json();
  EXPECT_EQ(answer["weights_equal"], true);
  for (const char* path : {"nvme", "pfs"}) {
    EXPECT_GT(answer["measured"]["io_bytes_per_step"]["by_storage"][path]["write"], 0) << path;
    EXPECT_LT(
        std::abs(answer["errors"]["io_bytes_per_step.by_storage." + std::string(path) + ".write"]
                     .get<double>()),
        0.02)
        << path;
  }
  EXPECT_TRUE(server.is_empty("a") && server.is_empty("b"));
}

// The optimizer goes forwards and backwards, so that steps are measured in pairs: 1 + 4.
TEST(Validate, TrainsTheReferenceForAsManyStepsAsThereWere) {
  LONG_TEST();
  const Ended ended = Server().validate(
      "--on a --set strategy.system=mlp_offload --set strategy.optimizer.buffers=6 --set "
      "run.steps=3 --json");
  ASSERT_EQ(ended.exit, 0) << ended.err << ended.out;
  EXPECT_EQ(ended.json()["losses"].size(), 5u);
  EXPECT_EQ(ended.json()["weights_equal"], true);
}

TEST(Validate, SaysWhatOfGpuDirectStorageIsEmulated) {
  const Ended ended = Server().validate("--on a --no-reference --set strategy.io_engine=gds");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("GPUDirect Storage"));
  EXPECT_THAT(ended.out, HasSubstr("libcufile"));
}

TEST(Validate, TakesAScenarioThatDoesNotFitForAnAnswer) {
  const Server server;
  const Ended ended = server.validate("--on a --set training.micro_batch=4000 --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json answer = ended.json();
  EXPECT_EQ(answer["predicted"]["feasible"], false);
  EXPECT_EQ(answer["measured"]["feasible"], false);
  EXPECT_EQ(answer["measured"]["infeasible"]["tier"], "gpu");
  EXPECT_EQ(answer["weights_equal"], nullptr);
  EXPECT_TRUE(answer["errors"].empty());
  EXPECT_THAT(server.validate("--on a --set training.micro_batch=4000").out,
              HasSubstr("Does not fit: GPU memory needs"));
  EXPECT_TRUE(server.is_empty("a"));
}

TEST(Validate, LeavesNothingBehindWhenItIsInterrupted) {
  for (const auto& [signal, code] :
       {std::pair{"INT", 130}, {"TERM", 143}, {"HUP", 129}, {"QUIT", 131}}) {
    const Ended ended = Server().interrupted(signal);
    EXPECT_EQ(ended.out, std::to_string(code) + "\n") << signal << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("interrupted; nothing is left behind"));
  }
}

// What lies on the drive is overwritten again and again while it trains.
TEST(Validate, FailsWhenTheWeightsDiffer) {
  LONG_TEST();
  const Server server;
  const Ended ended =
      shell(server.place(),
            "spillway validate --profile server.json --on a --json >out.json 2>/dev/null &\n"
            "child=$!\n"
            "while kill -0 $child 2>/dev/null; do for file in a/spillway.*/*.data; do\n"
            "  [ -f $file ] && dd if=/dev/urandom of=$file bs=1M count=64 conv=notrunc,nocreat\n"
            "done; done >/dev/null 2>&1\n"
            "wait $child; echo $?; cat out.json");
  ASSERT_THAT(ended.out, testing::StartsWith("1\n")) << ended.err;
  const json answer = json::parse(ended.out.substr(2));
  EXPECT_EQ(answer["weights_equal"], false);
  EXPECT_TRUE(server.is_empty("a"));
}

TEST(Validate, TakesAFolderThatOthersMayChangeOnlyWhenItIsTold) {
  LONG_TEST();
  const Server server;
  const Ended refused = shell(
      server.place(), "chmod 777 a; spillway validate --profile server.json --on a --synthetic");
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("may be changed by all users"));
  EXPECT_THAT(refused.err, HasSubstr("--shared-folders"));
  EXPECT_TRUE(server.is_empty("a"));
  EXPECT_EQ(server.validate("--on a --synthetic --shared-folders").exit, 0);
  EXPECT_TRUE(server.is_empty("a"));
}

// A descriptor that is closed is no other file's: neither LOCK nor a drive takes messages.
TEST(Validate, RunsWithoutStandardStreams) {
  const Server server;
  const Ended ended = shell(server.place(),
                            "spillway validate --profile server.json --on a --synthetic --trace "
                            "t.json <&- >&- 2>&-; echo $?; ls a");
  EXPECT_EQ(ended.out, "3\n");  // nobody got the answer
  EXPECT_TRUE(server.place().has("t.json"));
}

TEST(Validate, LeavesNothingBehindWhenItsReaderGoes) {
  LONG_TEST();
  const Server server;
  shell(server.place(), "spillway validate --profile server.json --on a --synthetic 2>&1 | true");
  EXPECT_TRUE(server.is_empty("a"));
}

TEST(Validate, SaysThatNothingIsFlushed) {
  const json answer = Server().validate("--on a --synthetic --json").json();
  EXPECT_THAT(answer["real"][0].get<std::string>(), HasSubstr("nothing is flushed"));
  EXPECT_TRUE(answer["storage"]["nvme"]["direct"].is_boolean());
}

TEST(Validate, RemovesAtItsStartWhatAKilledRunHasLeft) {
  LONG_TEST();
  const Server server;
  const Ended killed = server.interrupted("KILL");
  EXPECT_THAT(killed.out, testing::StartsWith("137\nspillway."));
  const Ended ended = server.validate("--on a --synthetic");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("removed what an earlier run had left"));
  EXPECT_TRUE(server.is_empty("a"));
}

}  // namespace
}  // namespace spillway::e2e
