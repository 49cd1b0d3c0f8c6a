#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

namespace spillway::e2e {
namespace {

constexpr const char* small_space = R"({ "name": "small",
  "base": { "model": "gpt2", "machine": "gaming_4090", "run": { "steps": 1 },
            "strategy": { "system": "resident" } },
  "axes": { "training.micro_batch": [1, 2, 512], "machine.gpu.memory": ["24 GiB", "48 GiB"] },
  "constraints": ["feasible"],
  "objectives": { "throughput.tokens_per_s": "max", "training.none": "min" } })";

std::string good_space() {
  std::string text = small_space;
  const std::size_t at = text.find(", \"training.none\": \"min\"");
  return text.erase(at, std::string(", \"training.none\": \"min\"").size());
}

TEST(ExploreVerb, CountsBeforeItRuns) {
  const Workplace place;
  place.write("space.json", good_space());
  const Ended counted = shell(place, "spillway explore space.json --count --json");
  EXPECT_EQ(counted.exit, 0) << counted.err;
  EXPECT_EQ(counted.json()["points"], 6);
  EXPECT_GT(counted.json()["seconds_per_point"], 0.0);
  EXPECT_EQ(place.files(), std::vector<std::string>{"space.json"});
}

TEST(ExploreVerb, PrintsTheFrontWithWholeResultsAndShowsItAgain) {
  const Workplace place;
  place.write("space.json", good_space());
  const Ended done = shell(place, "spillway explore space.json --db r.db --jobs 2 --json");
  ASSERT_EQ(done.exit, 0) << done.err;
  const nlohmann::json answer = done.json();
  EXPECT_EQ(answer["points"], 6);
  EXPECT_EQ(answer["failed"], 0);
  EXPECT_EQ(answer["finished"], true);
  ASSERT_EQ(answer["front"].size(), 1u);
  EXPECT_EQ(answer["front"][0]["point"]["training.micro_batch"], 2);
  EXPECT_EQ(answer["front"][0]["result"]["schema"], "spillway/result/1");
  const Ended again = shell(place, "spillway explore show r.db --json");
  EXPECT_EQ(again.out, done.out);
  const Ended csv = shell(place, "spillway explore show r.db --csv");
  EXPECT_NE(csv.out.find("point.training.micro_batch"), std::string::npos);
}

TEST(ExploreVerb, SaysWhyPointsAreNotAccepted) {
  const Workplace place;
  place.write("space.json", good_space());
  ASSERT_EQ(shell(place, "spillway explore space.json --db r.db --simulate-all").exit, 0);
  const Ended why = shell(place, "spillway explore show r.db --why");
  EXPECT_NE(why.out.find("infeasible"), std::string::npos) << why.out;
  EXPECT_NE(why.out.find("GPU memory:"), std::string::npos) << why.out;
  const Ended best =
      shell(place, "spillway explore show r.db --best-per machine.gpu.memory --json");
  EXPECT_EQ(best.json().size(), 2u);
  EXPECT_EQ(shell(place, "spillway explore show r.db --best-per gpu").exit, 2);
}

TEST(ExploreVerb, ExplainsAPointOfTheFront) {
  const Workplace place;
  place.write("space.json", good_space());
  const Ended done = shell(place, "spillway explore space.json --db r.db --json");
  ASSERT_EQ(done.exit, 0) << done.err;
  const std::string number = done.json()["front"][0]["number"].dump();
  const Ended told = shell(place, "spillway explore explain r.db " + number);
  EXPECT_EQ(told.exit, 0) << told.err;
  EXPECT_NE(told.out.find("It is limited by "), std::string::npos) << told.out;
  // nothing is on drives, and one more costs 440 dollars: 3,818 + 440 = 4,258
  const std::string drive = line_of(told.out, "one more drive of nvme ");
  EXPECT_NE(drive.find("no change  $4,258"), std::string::npos) << told.out;
  // sentences are broken at spaces, wherever
  std::string text = told.out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_NE(text.find("a GPU twice as fast brings most; no schedule could bring it above"),
            std::string::npos)
      << text;
  EXPECT_EQ(shell(place, "spillway explore explain r.db 99").exit, 2);
}

/// Another system may need another split of the samples of a step: 128 at once are too many for
/// what keeps all activations on the GPU.
TEST(ExploreVerb, ExplainsOtherSystemsWithTheSplitThatSuitsThem) {
  LONG_TEST();
  const Workplace place;
  place.write("space.json", R"({ "name": "split",
    "base": { "model": "gpt2", "machine": "gaming_4090", "run": { "steps": 1 },
              "training": { "precision": "bf16_mixed", "micro_batch": 128, "sequence": 1024 },
              "strategy": { "system": "lohan" } },
    "axes": { "strategy.system": ["lohan"] }, "constraints": ["feasible"],
    "objectives": { "throughput.tokens_per_s": "max" } })");
  ASSERT_EQ(shell(place, "spillway explore space.json --db r.db").exit, 0);
  const Ended told = shell(place, "spillway explore explain r.db 0 --json");
  ASSERT_EQ(told.exit, 0) << told.err;
  int resident = 0;
  const nlohmann::json answer = told.json();
  for (const nlohmann::json& step : answer.at("steps")) {
    if (step["result"].is_null()) continue;
    const nlohmann::json& training = step["result"]["scenario"]["training"];
    const int batch = training["micro_batch"], times = training["gradient_accumulation"];
    EXPECT_EQ(batch * times, 128) << step["change"];
    if (step["result"]["system"] == "resident") resident = batch;
  }
  EXPECT_GT(resident, 0) << "it fits with a smaller micro-batch";
  EXPECT_LT(resident, 128);
}

/// What is priced anew is what an exploration at those prices finds, without simulating.
TEST(ExploreVerb, PricesAnExplorationAnew) {
  const Workplace place;
  place.write("space.json", R"({ "base": { "model": "gpt2", "machine": "gaming_4090",
      "run": { "steps": 1 }, "strategy": { "system": "zero_infinity" } },
    "axes": { "training.micro_batch": [1, 4], "machine.host.memory": ["64 GiB", "128 GiB"],
              "machine.storage.nvme.count": [1, 2] },
    "constraints": ["feasible", "price_usd <= 3900"],
    "objectives": { "throughput.tokens_per_s": "max", "price_usd": "min" } })");
  const std::string explore = "spillway explore space.json --simulate-all --json --db ";
  const std::string prices = " --price dram=3,ssd=170";
  ASSERT_EQ(shell(place, explore + "old.db").exit, 0);
  const Ended direct = shell(place, explore + "new.db" + prices);
  const Ended anew = shell(place, "spillway explore show old.db --json" + prices);
  ASSERT_EQ(anew.exit, 0) << anew.err;
  const auto front_of = [](const nlohmann::json& answer) {
    std::map<std::string, double> front;
    for (const nlohmann::json& point : answer["front"])
      front[point["point"].dump()] = point.contains("price_usd")
                                         ? point["price_usd"].get<double>()
                                         : point["result"]["price_usd"].get<double>();
    return front;
  };
  EXPECT_EQ(front_of(anew.json()), front_of(direct.json()));
  EXPECT_EQ(front_of(anew.json()).size(), 2u);
  EXPECT_GT(anew.json()["joined"].get<int>(), 0) << "boxes that were too dear";
  EXPECT_EQ(shell(place, "spillway explore show old.db --price 'RTX 5090=1'").exit, 2);
}

/// A machine with prices of its own, too: 3.84 TB at 200 dollars a TB in place of 308 a drive.
TEST(ExploreVerb, TakesAPriceByTheTerabyte) {
  const Workplace place;
  place.write("space.json", R"({ "base": { "model": "gpt2", "machine": "lohan_4090",
      "run": { "steps": 1 }, "strategy": { "system": "zero_infinity" } },
    "axes": { "machine.storage.nvme.count": [2] }, "objectives": { "price_usd": "min" } })");
  const auto price = [&](const std::string& db, const std::string& options) {
    const nlohmann::json answer =
        shell(place, "spillway explore space.json --json --db " + db + options).json();
    return answer["front"][0]["result"]["price_usd"].get<double>();
  };
  const double before = price("old.db", ""), anew = price("new.db", " --price ssd_per_tb=200");
  EXPECT_NEAR(anew - before, 2 * (3.84 * 200 - 308), 1e-6);
  EXPECT_EQ(shell(place, "spillway explore show old.db --price gpu_hour=2").exit, 2);
}

/// "Why not the smaller card, why not one drive fewer?", with what the space asks for besides.
TEST(ExploreVerb, ExplainsWhatIsBesideAPoint) {
  const Workplace place;
  place.write("space.json", R"({ "name": "beside",
    "base": { "model": "gpt2", "machine": "gaming_4090", "run": { "steps": 1 },
              "training": { "precision": "bf16_mixed", "micro_batch": 8 },
              "strategy": { "system": "zero_infinity" } },
    "axes": { "card": {
    "slow": { "machine.gpu.compute.bf16": "5 TFLOPS", "machine.prices_usd.gpu": 300 },
    "fast": { "machine.gpu.compute.bf16": "90 TFLOPS", "machine.prices_usd.gpu": 900 } },
              "machine.storage.nvme.count": [2, 3] },
    "constraints": ["feasible", "machine.storage.nvme.count >= 3"],
    "objectives": { "throughput.tokens_per_s": "max", "wear.lifetime_years": "max" } })");
  const Ended done = shell(place, "spillway explore space.json --db r.db --simulate-all --json");
  ASSERT_EQ(done.exit, 0) << done.err;
  std::string number;
  const nlohmann::json answer = done.json();
  for (const nlohmann::json& point : answer["front"])
    if (point["point"]["card"] == "fast") number = point["number"].dump();
  ASSERT_FALSE(number.empty());
  const Ended told = shell(place, "spillway explore explain r.db " + number + " --json");
  ASSERT_EQ(told.exit, 0) << told.err;
  std::map<std::string, nlohmann::json> steps;
  const nlohmann::json explained = told.json();
  for (const nlohmann::json& step : explained["steps"]) steps[step["change"]] = step;
  ASSERT_TRUE(steps.contains("card slow"));
  // 1,100 + 300 + 64 GiB x 10.6 + three drives x 440
  EXPECT_DOUBLE_EQ(steps["card slow"]["result"]["price_usd"].get<double>(), 3398.4);
  EXPECT_EQ(steps["card slow"]["unmet"], "");
  EXPECT_EQ(steps["half the host memory"]["unmet"], "");
  EXPECT_FALSE(steps.contains("machine.storage.nvme.count 2")) << "that is one drive fewer";
  EXPECT_EQ(steps["one drive of nvme fewer"]["unmet"],
            "machine.storage.nvme.count >= 3: machine.storage.nvme.count is 2");
  EXPECT_EQ(steps["one drive of nvme fewer"]["unmet_numbers"][0]["value"], 2);
  EXPECT_EQ(steps["one drive of nvme fewer"]["set"],
            nlohmann::json({"machine.storage.nvme.count=2"}));
  for (const auto& [words, step] : steps)
    if (!step["result"].is_null() && !step["most_tokens_per_s"].is_null()) {
      EXPECT_LE(step["result"]["throughput"]["tokens_per_s"].get<double>(),
                step["most_tokens_per_s"].get<double>() * (1 + 1e-9))
          << words;
    }
}

TEST(ExploreVerb, MergesShards) {
  const Workplace place;
  place.write("space.json", good_space());
  for (const char* shard : {"0", "1"})
    ASSERT_EQ(shell(place, "spillway explore space.json --db p." + std::string(shard) +
                               " --shard " + shard + "/2")
                  .exit,
              0);
  const Ended merged = shell(place, "spillway explore merge all.db p.0 p.1");
  EXPECT_EQ(merged.exit, 0) << merged.err;
  // what SQLite keeps beside the shard of a writer that was killed, as p.* finds it
  place.write("p.0-wal", "");
  place.write("p.1-shm", "");
  EXPECT_EQ(shell(place, "spillway explore merge all.db p.0 p.0-wal p.1 p.1-shm").exit, 0);
  const Ended whole = shell(place, "spillway explore space.json --db all.db --json");
  EXPECT_EQ(whole.json()["simulated"], 0);
  EXPECT_EQ(whole.json()["points"], 6);
  EXPECT_EQ(shell(place, "spillway explore space.json --db p --shard 2/2").exit, 2);
  EXPECT_EQ(shell(place, "spillway explore merge all.db space.json").exit, 2);
  const Ended script = shell(place, "spillway explore space.json --db p --slurm 8 | bash -n");
  EXPECT_EQ(script.exit, 0) << script.err;
}

TEST(ExploreVerb, RefusesASpaceWithEverythingThatIsWrong) {
  const Workplace place;
  place.write("space.json", small_space);
  const Ended refused = shell(place, "spillway explore space.json --db r.db");
  EXPECT_EQ(refused.exit, 2);
  EXPECT_EQ(refused.err,
            "space.json:6:53: objectives.training.none: no result has such a number; name one such "
            "as step_time_s, price_usd, throughput.tokens_per_s\n");
  EXPECT_EQ(shell(place, "spillway explore").exit, 2);
  EXPECT_EQ(shell(place, "spillway explore space.json --budget 10").exit, 2);
  EXPECT_EQ(shell(place, "spillway explore show none.db").exit, 2);
}

TEST(ExploreVerb, ShippedSpacesCanBeCounted) {
  LONG_TEST();
  const Workplace place;
  for (const char* name :
       {"box_for_70b", "ssds_until_gpu_limit", "system_for_my_box", "dram_or_ssd",
        "consumer_or_data_centre_drives", "million_boxes", "untried_mix"}) {
    const Ended counted = shell(
        place, "spillway explore scenarios/spaces/" + std::string(name) + ".json --count --json");
    ASSERT_EQ(counted.exit, 0) << name << counted.err;
    EXPECT_GE(counted.json()["points"], 90) << name;
  }
}

/// Ctrl-C: what was found is printed, and the same command goes on.
TEST(ExploreVerb, StopsCleanlyAtASignal) {
  LONG_TEST();
  const Workplace place;
  // in the foreground the signal comes once; a second one would end the program at once
  const Ended stopped = shell(place,
                              "timeout --foreground -s INT 6 spillway explore "
                              "scenarios/spaces/untried_mix.json --db r.db; echo $?");
  EXPECT_NE(stopped.out.find("Not finished"), std::string::npos) << stopped.out;
  EXPECT_NE(stopped.err.find("interrupted; the same command goes on"), std::string::npos);
  const Ended shown = shell(place, "spillway explore show r.db --json");
  EXPECT_EQ(shown.json()["finished"], false);
  EXPECT_GT(shown.json()["simulated"], 0);
}

/// It beat a moment ago, and is there no more.
TEST(ExploreVerb, SaysAtOnceThatAnExplorationWasKilled) {
  const Workplace place;
  const Ended shown = shell(place,
                            "spillway explore scenarios/spaces/untried_mix.json --db r.db "
                            "> /dev/null 2>&1 & process=$!; for i in $(seq 300); do "
                            "spillway explore show r.db 2> /dev/null | grep 'is at work on it' && "
                            "break; sleep 0.1; done; kill -9 $process; wait $process; "
                            "spillway explore show r.db");
  EXPECT_EQ(shown.exit, 0) << shown.err;
  EXPECT_NE(shown.out.find(" is at work on it: "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(" has ended before it was through, after "), std::string::npos)
      << shown.out;
}

}  // namespace
}  // namespace spillway::e2e
