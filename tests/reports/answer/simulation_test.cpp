#include "reports/answer/simulation.hpp"

#include "reports/result/reading.hpp"
#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::answer {
namespace {

using nlohmann::json;
using reports::sample_that_does_not_fit;
using reports::sample_that_fits;
using testing::HasSubstr;

/// An answer with something in every member.
Simulation sample() {
  Simulation simulation;
  simulation.result = sample_that_fits();
  simulation.settings = {{"training.micro_batch", "4", "a.json:12"}};
  simulation.what_ifs = what_ifs_of(simulation.result);
  simulation.faster = {{"training.micro_batch 8", {"training.micro_batch=8"}, 30, 2184.5}};
  simulation.remedy =
      Remedies{Remedy{"64 GiB more", {"machine.host.memory=128 GiB"}, sample_that_fits()},
               std::nullopt, std::nullopt, false};
  simulation.old_prices = "More than a year old: the prices of gpu.";
  simulation.warnings = {"a warning"};
  return simulation;
}

/// What reading it says is wrong, in words.
std::string refusal(const json& in) {
  try {
    (void)in.get<Simulation>();
  } catch (const description::ScenarioError& error) {
    return to_string(error.complaints().front());
  }
  return "";
}

TEST(Simulation, ComesBackAsItWas) {
  const json written = sample();
  EXPECT_EQ(written.at("schema"), "spillway/answer/simulate/1");
  EXPECT_EQ(json(json::parse(written.dump()).get<Simulation>()), written);
}

TEST(Simulation, KeepsEveryNameOfTheResultWhereItIsAndAddsTheRest) {
  const json whole = flat(sample());
  json result = sample_that_fits();
  for (const auto& [name, value] : result.items()) EXPECT_EQ(whole.at(name), value) << name;
  EXPECT_EQ(whole.at("/settings/0/source"_json_pointer), "a.json:12");
  EXPECT_EQ(whole.at("/faster/0/set/0"_json_pointer), "training.micro_batch=8");
  EXPECT_EQ(whole.at("/remedy/memory/set/0"_json_pointer), "machine.host.memory=128 GiB");
  // read back, it is the same answer
  EXPECT_EQ(json(whole.get<Simulation>()), json(sample()));
}

TEST(Simulation, SortsWhatWouldHelpByWhatItBrings) {
  const std::vector<WhatIf> all = what_ifs_of(sample_that_fits());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "one more ssd");
  EXPECT_EQ(all[0].resource, "nvme");
  // 40 s a step become 30 s: 1638.4 x 40 / 30
  EXPECT_NEAR(*all[0].tokens_per_s, 2184.5, 0.1);
  EXPECT_EQ(all[1].name, "twice the host memory");
  EXPECT_EQ(all[2].name, "half the host memory");
  EXPECT_FALSE(all[2].tokens_per_s) << "it does not fit";
}

TEST(Simulation, ReadsTheResultOfAnOlderReleaseAlone) {
  const Simulation read = json(sample_that_fits()).get<Simulation>();
  EXPECT_EQ(read.result.step_time_s, 40);
  EXPECT_TRUE(read.settings.empty());
  EXPECT_FALSE(read.remedy);
  EXPECT_EQ(read.what_ifs.at(0).name, "one more ssd") << "the result itself names them";
}

TEST(Simulation, SkipsNamesThatItDoesNotKnowAndTakesDefaultsForThoseThatAreMissing) {
  json changed = sample();
  changed["carbon_kg"] = 3;
  changed["result"]["wear"]["smell"] = "none";
  EXPECT_EQ(json(changed.get<Simulation>()), json(sample()));
  changed.erase("remedy");
  changed["result"].erase("wear");
  changed["result"]["peak_bytes"].erase("remote");
  changed["settings"][0].erase("source");
  const Simulation read = changed.get<Simulation>();
  EXPECT_FALSE(read.remedy);
  EXPECT_FALSE(read.result.wear);
  EXPECT_EQ(read.result.remote.total, 0u);
  EXPECT_EQ(read.settings.at(0).source, "");
  EXPECT_EQ(read.settings.at(0).path, "training.micro_batch");
}

TEST(Simulation, NamesAnotherVersionAndAnotherKind) {
  json other = sample();
  other["schema"] = "spillway/answer/simulate/2";
  EXPECT_THAT(refusal(other), HasSubstr("this is answer simulate version 2; this program reads 1"));
  other["schema"] = "spillway/answer/drives/1";
  EXPECT_THAT(refusal(other), HasSubstr("this is answer drives version 1"));
  other["schema"] = "spillway/result/2";
  EXPECT_THAT(refusal(other), HasSubstr("this is result version 2"));
  other.erase("schema");
  EXPECT_THAT(refusal(other), HasSubstr("schema: is missing"));
  EXPECT_THAT(refusal(json::array()), HasSubstr("schema: is missing"));
}

TEST(Simulation, SaysWhereAValueHasTheWrongType) {
  json wrong = sample();
  wrong["result"]["throughput"]["tokens_per_s"] = "fast";
  EXPECT_THAT(refusal(wrong), HasSubstr("result.throughput.tokens_per_s: a value of type string"));
  wrong = sample();
  wrong["settings"] = 7;
  EXPECT_THAT(refusal(wrong), HasSubstr("settings: a value of type number"));
}

}  // namespace
}  // namespace spillway::answer
