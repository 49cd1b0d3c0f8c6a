#include "scenarios/reading/read_space.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios::read_space_test {
namespace {

/// A space over a small base with `axes` and, after it, `more` keys.
std::string space_text(const std::string& axes, const std::string& more = "") {
  return R"({ "base": { "model": "gpt2", "machine": "gaming_4090",
            "strategy": { "system": "resident" } },
  "axes": {
)" + axes +
         R"(
  },
  "objectives": { "step_time_s": "min" })" +
         more + "}";
}

Space read_text(const std::string& text) {
  const TemporaryFiles files;
  return read_space(files.write("space.json", text), test_systems());
}

std::string refusal(const std::string& text) {
  const TemporaryFiles files;
  const std::string file = files.write("space.json", text);
  return files.relative(complaints_of([&] { read_space(file, test_systems()); }));
}

/// The values of the only axis, as JSON.
std::string values_of(const std::string& path, const std::string& written) {
  nlohmann::json shown = nlohmann::json::array();
  const Space space = read_text(space_text("\"" + path + "\": " + written));
  for (const AxisValue& value : space.axes[0].values) shown.push_back(value.shown);
  return shown.dump();
}

TEST(ReadSpace, KeepsTheOrderOfTheFile) {
  const Space space = read_text(space_text(
      R"("training.sequence": [512, 1024], "machine.host.memory": ["64 GiB"],
         "strategy.system": ["resident", "memascend"])",
      R"(, "name": "small", "where": ["training.sequence > 1"],
         "constraints": ["feasible", "price_usd <= 12000"])"));
  EXPECT_EQ(space.name, "small");
  ASSERT_EQ(space.axes.size(), 3u);
  EXPECT_EQ(space.axes[0].name, "training.sequence");
  EXPECT_EQ(space.axes[1].name, "machine.host.memory");
  EXPECT_EQ(space.axes[2].values[1].overrides,
            std::vector<std::string>{R"(strategy.system="memascend")"});
  EXPECT_EQ(space.constraints[1].text, "price_usd <= 12000");
  EXPECT_EQ(space.where[0].place.line, 7);
  EXPECT_TRUE(space.objectives.at(0).smaller);
}

TEST(ReadSpace, CountsRangesInStepsAndFactors) {
  EXPECT_EQ(values_of("training.micro_batch", R"({"from": 1, "to": 4})"), "[1,2,3,4]");
  EXPECT_EQ(values_of("training.micro_batch", R"({"from": 1, "to": 8, "step": 3})"), "[1,4,7]");
  EXPECT_EQ(values_of("training.micro_batch", R"({"from": 1, "to": 20, "times": 2})"),
            "[1,2,4,8,16]");
  EXPECT_EQ(values_of("training.micro_batch", R"({"from": 3, "to": 3})"), "[3]");
  EXPECT_EQ(values_of("machine.host.memory", R"({"from": "64 GiB", "to": "1 TiB", "times": 2})"),
            R"(["64 GiB","128 GiB","256 GiB","512 GiB","1 TiB"])");
  // 0.1 has no exact binary form: the third step of 0.1 still meets 0.4
  EXPECT_EQ(values_of("training.dropout", R"({"from": 0.1, "to": 0.4, "step": 0.1})").substr(0, 5),
            "[0.1,");
  EXPECT_EQ(read_text(space_text(R"("training.dropout": {"from": 0.1, "to": 0.4, "step": 0.1})"))
                .axes[0]
                .values.size(),
            4u);
  EXPECT_EQ(
      values_of("machine.pcie.h2d", R"({"from": "1 GB/s", "to": "2 GB/s", "step": "500 MB/s"})"),
      R"(["1 GB/s","1.5 GB/s","2 GB/s"])");
}

TEST(ReadSpace, TakesNamedAlternativesThatSetSeveralPaths) {
  const Space space = read_text(space_text(R"("card": {
    "small": { "machine.gpu.memory": "24 GiB", "machine.prices_usd.gpu": 1600 },
    "large": { "machine.gpu.memory": "48 GiB", "machine.prices_usd.gpu": 4000 } })"));
  ASSERT_EQ(space.axes.size(), 1u);
  EXPECT_TRUE(space.axes[0].alternatives);
  EXPECT_EQ(space.axes[0].values[0].shown, "small");
  EXPECT_EQ(
      space.axes[0].values[1].overrides,
      (std::vector<std::string>{R"(machine.gpu.memory="48 GiB")", "machine.prices_usd.gpu=4000"}));
}

TEST(ReadSpace, TakesItsBaseFromAFileBesideIt) {
  const TemporaryFiles files;
  files.write("base.json", R"({"model": "gpt2-xl", "machine": "gaming_4090",
                               "strategy": {"system": "resident"}})");
  const Space space = read_space(files.write("s.json", R"({"base": "base.json",
    "axes": {"training.micro_batch": [1, 2]}, "objectives": {"step_time_s": "min"}})"),
                                 test_systems());
  EXPECT_EQ(space.base.value["model"], "gpt2-xl");
  EXPECT_EQ(space.name, "s");
}

TEST(ReadSpace, SaysWhatIsWrongWithAnAxis) {
  EXPECT_EQ(refusal(space_text(R"("training.micro_batch": {"from": 8, "to": 1},
"training.sequence": [],
"machine.host.memory": {"from": "64 GiB", "to": "1 TiB"},
"machine.pcie.h2d": {"from": "1 GB/s", "to": "2 GiB", "times": 2},
"training.dropout": {"from": 0, "to": 1, "times": 2},
"run.seed": {"from": 1, "to": 3, "by": 1},
"parallel.data": [1, 1])")),
            "space.json:4:25: axes.training.micro_batch: ends before it starts; swap from and to\n"
            "space.json:5:22: axes.training.sequence: has no values; write a list, a range "
            "{\"from\", \"to\"} or alternatives\n"
            "space.json:6:24: axes.machine.host.memory: a range of quantities has no step; write a "
            "\"step\", such as \"64 GiB\", or a factor \"times\"\n"
            "space.json:7:21: axes.machine.pcie.h2d: from and to have different units\n"
            "space.json:8:30: axes.training.dropout.from: a geometric range starts above 0\n"
            "space.json:9:40: axes.run.seed.by: no such key; known: from, to, step, times\n"
            "space.json:10:22: axes.parallel.data[1]: 1 stands twice");
}

TEST(ReadSpace, RefusesValuesThatTheScenarioRefuses) {
  EXPECT_EQ(
      refusal(space_text(R"("training.micro_batch": [1, "two"],
"machine.storage.nvmee.count": [1],
"strategy.system": ["residant"],
"batch": [1],
"training.microbatch": [1])")),
      "space.json:4:29: axes.training.micro_batch: training.micro_batch: \"two\" is not a "
      "whole number\n"
      "space.json:5:33: axes.machine.storage.nvmee.count: storage: no \"nvmee\"; did you mean "
      "\"nvme\"? known: nvme\n"
      "space.json:6:21: axes.strategy.system: strategy.system: no \"residant\"; did you mean "
      "\"resident\"? known: resident, zero_offload, zero_infinity, memascend, ssdtrain\n"
      "space.json:7:11: axes.batch: batch: no such key; an axis is a path of a scenario, or "
      "a free name with alternatives\n"
      "space.json:8:25: axes.training.microbatch: training.microbatch: no such key; did you mean "
      "\"micro_batch\"?");
}

TEST(ReadSpace, RefusesTwoAxesOverOnePath) {
  EXPECT_EQ(
      refusal(space_text(R"("machine.gpu.memory": ["24 GiB"],
"card": { "a": { "machine.gpu.memory": "48 GiB" } })")),
      "space.json:5:1: axes.card: sets machine.gpu.memory, which axis machine.gpu.memory sets "
      "too; let one axis set it");
}

TEST(ReadSpace, RefusesABaseThatIsNoScenario) {
  EXPECT_EQ(refusal(R"({ "base": "none.json", "axes": {"training.micro_batch": [1]},
  "objectives": {"step_time_s": "min"} })"),
            "space.json:1:11: base: no file \"none.json\"; write the path of a scenario, relative "
            "to this file, or the name of an example");
  EXPECT_EQ(refusal(R"({ "base": {"model": "gpt2", "machine": "gaming_4090",
  "strategy": {"system": "resident"}, "trainin": {}}, "axes": {"training.micro_batch": [1]},
  "objectives": {"step_time_s": "min"} })"),
            "space.json:2:39: trainin: no such key; did you mean \"training\"?");
}

TEST(ReadSpace, WantsOneToFourObjectives) {
  const std::string axes = R"("axes": {"training.micro_batch": [1]})";
  const std::string base = R"({"base": {"model": "gpt2", "machine": "gaming_4090",
    "strategy": {"system": "resident"}}, )" +
                           axes;
  EXPECT_EQ(refusal(base + R"(, "objectives": {}})").substr(0, 57),
            "space.json:2:95: objectives: there are 0; write one to fo");
  EXPECT_EQ(refusal(base + R"(, "objectives": {"a": "min", "b": "smallest"}})"),
            "space.json:2:113: objectives.b: no \"smallest\"; known: min, max");
  EXPECT_NE(refusal(base + R"(, "objectives": {"a": "min", "b": "min", "c": "min", "d": "min",
      "e": "max"}})")
                .find("there are 5"),
            std::string::npos);
}

TEST(ReadSpace, RefusesAnAxisOfMoreThanAHundredThousandValues) {
  EXPECT_NE(refusal(space_text(R"("run.seed": {"from": 1, "to": 100001})"))
                .find("has 100001 values; 100000 are the most"),
            std::string::npos);
  EXPECT_EQ(read_text(space_text(R"("run.seed": {"from": 1, "to": 100000})")).axes[0].values.size(),
            100'000u);
}

}  // namespace
}  // namespace spillway::scenarios::read_space_test
