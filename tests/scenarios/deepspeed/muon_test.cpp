#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/reports/text/words_of.hpp"

/// DeepSpeed's Muon under ZeRO.
namespace spillway::scenarios::muon_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// gpt2 on the two GPUs of memascend_c1, `zero` the section of ZeRO.
Imported import(const std::string& zero) {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = "memascend_c1";
  options.deepspeed = "0.19";
  const std::string text = fmt::format(
      R"({{"bf16": {{"enabled": true}}, "optimizer": {{"type": "Muon", "params": {{"lr": 1e-3}}}},
           "zero_optimization": {{{}}}}})",
      zero);
  return import_deepspeed(parse_hjson(text, "ds.json"), options);
}

std::vector<SystemInfo> systems() {
  std::vector<SystemInfo> all;
  for (const char* name : {"resident", "zero_offload", "zero_infinity"})
    all.push_back({name, strategies::defaults_of(name)});
  return all;
}

TEST(ImportDeepSpeedsMuon, IsMuonWhereRanksShareStatesOnTheGpu) {
  for (const char* zero : {R"("stage": 0)", R"("stage": 1)", R"("stage": 2)",
                           R"("stage": 3, "reduce_scatter": false)"}) {
    SCOPED_TRACE(zero);
    const Imported imported = import(zero);
    EXPECT_EQ(imported.scenario["training"]["optimizer"], "muon");
    EXPECT_NO_THROW(read_scenario(imported.scenario, {}, systems()));
  }
}

TEST(ImportDeepSpeedsMuon, SaysHowDeepSpeedsOwnDiffers) {
  EXPECT_THAT(text::words_of(import(R"("stage": 0)").notes),
              Not(Contains(HasSubstr("optimizer.type"))));
  for (const char* stage : {"1", "2"})
    EXPECT_THAT(text::words_of(import(std::string(R"("stage": )") + stage).notes),
                Contains(HasSubstr("the ranks in whose partition a matrix lies")));
  EXPECT_THAT(text::words_of(import(R"("stage": 3)").notes),
              Contains(HasSubstr("ZeRO-3 all-reduces gradients and gathers momenta")));
}

// Its constructor asks for the optimizer alone, wherever the states lie.
TEST(ImportDeepSpeedsMuon, SaysThatDeepSpeedStopsAtTheDefaultOfReduceScatter) {
  const auto stops = HasSubstr("zero_optimization.reduce_scatter: DeepSpeed's ZeRO-3 stops at");
  const auto idle = AllOf(HasSubstr("no effect on"), HasSubstr("reduce_scatter"));
  for (const std::string offload :
       {"", R"(, "offload_optimizer": {"device": "cpu"})",
        R"(, "offload_param": {"device": "cpu"}, "offload_optimizer": {"device": "cpu"})"}) {
    SCOPED_TRACE(offload);
    for (const char* key : {"", R"(, "reduce_scatter": true)", R"(, "reduce_scatter": false)"}) {
      const auto notes = text::words_of(import(R"("stage": 3)" + offload + key).notes);
      const bool is_off = std::string(key).find("false") != std::string::npos;
      EXPECT_EQ(testing::Matches(Contains(stops))(notes), !is_off) << key;
      EXPECT_THAT(notes, Not(Contains(idle))) << key;
    }
  }
}

// Its constructors refuse it, or versions of them did.
TEST(ImportDeepSpeedsMuon, SaysThatRanksOfOtherStagesNeedReduceScatterOff) {
  const std::string offload = R"(, "offload_optimizer": {"device": "cpu"})";
  const std::string off = R"(, "reduce_scatter": false)";
  const auto stops = Contains(HasSubstr("ZeRO stops at an offloaded \"Muon\" beside true"));
  const auto may = Contains(HasSubstr("ZeRO-1 and 2 stop at \"Muon\" beside true"));
  for (const std::string stage : {R"("stage": 1)", R"("stage": 2)"}) {
    EXPECT_THAT(text::words_of(import(stage).notes), may);
    EXPECT_THAT(text::words_of(import(stage + off).notes), Not(may));
    EXPECT_THAT(text::words_of(import(stage + offload).notes), stops);
    EXPECT_THAT(text::words_of(import(stage + offload + off).notes), Not(stops));
  }
}

// Who exports the scenario gets what it trains with, and has been told so.
TEST(ImportDeepSpeedsMuon, SaysThatAdamIsInItsPlace) {
  const Imported imported =
      import(R"("stage": 3, "reduce_scatter": false, "offload_optimizer": {"device": "cpu"})");
  const auto replaced = AllOf(HasSubstr("Adam in place of DeepSpeed's \"Muon\""),
                              HasSubstr("an export of it has optimizer.type \"AdamW\""));
  EXPECT_THAT(text::words_of(imported.notes), Contains(replaced));
  EXPECT_THAT(imported.scenario["note"].get<std::string>(), replaced);
  EXPECT_NO_THROW(read_scenario(imported.scenario, {}, systems()));
  EXPECT_FALSE(import(R"("stage": 1)").scenario.contains("note"));
}

TEST(ImportDeepSpeedsMuon, IsAdamOffTheGpu) {
  for (const char* zero : {R"("stage": 2, "offload_optimizer": {"device": "cpu"})",
                           R"("stage": 3, "offload_param": {"device": "cpu"})"}) {
    SCOPED_TRACE(zero);
    const Imported imported = import(zero);
    EXPECT_EQ(imported.scenario["training"]["optimizer"], "adam");
    EXPECT_THAT(text::words_of(imported.notes), Contains(HasSubstr("is taken as Adam")));
    EXPECT_NO_THROW(read_scenario(imported.scenario, {}, systems()));
  }
}

}  // namespace
}  // namespace spillway::scenarios::muon_test
