#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>

#include "explore/outcome/outcomes.hpp"
#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/json/shipped.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/reports/text/words_of.hpp"

namespace spillway::explore::deepspeed_round_trip_test {
namespace {

using nlohmann::json;

/// What a scenario costs and needs.
json outcome(const description::Scenario& scenario) {
  json result = simulate(sim(), scenario);
  for (const char* tier : {"gpu", "host", "ssd"})  // says the same in other words
    for (json& entry : result["peak_bytes"][tier]["entries"]) entry.erase("setting");
  return {{"step_time_s", result["step_time_s"]},
          {"peak_bytes", result["peak_bytes"]},
          {"io", result["io_bytes_per_step"]}};
}

class EveryExample : public testing::TestWithParam<std::string> {};

TEST_P(EveryExample, IsRefusedByKeyOrComesBackFromItsDeepSpeedFileWithTheSameResult) {
  const std::string file = scenarios::shipped_file("scenarios/examples", GetParam());
  const auto scenario = scenarios::read_scenario(std::filesystem::path(file), {}, known_systems(),
                                                 scenarios::Refuse::what_cannot_run)
                            .scenario;
  scenarios::Exported exported;
  try {
    exported = scenarios::export_deepspeed(scenario, known_systems());
  } catch (const description::ScenarioError& error) {
    for (const description::Complaint& complaint : error.complaints())
      EXPECT_THAT(complaint.path, testing::MatchesRegex("(strategy|parallel|training|run)\\..+"));
    return;
  }
  const auto back = scenarios::read_scenario(exported.scenario, {}, known_systems(),
                                             scenarios::Refuse::what_cannot_run)
                        .scenario;
  EXPECT_EQ(outcome(scenario), outcome(back));
}

INSTANTIATE_TEST_SUITE_P(Shipped, EveryExample,
                         testing::ValuesIn(scenarios::shipped_names("scenarios/examples")),
                         [](const auto& name) { return name.param; });

// DeepSpeed's Adam is AdamW; it has none of 8 bits and none during backward: the trainer is told.
TEST(DeepSpeedRoundTrip, BringsOptimizersBack) {
  for (const char* one :
       {"training.optimizer=adamw", "training.optimizer=adam8bit", "training.optimizer=lion",
        "training.optimizer=adafactor", "training.optimizer=muon", "training.optimizer=sgd",
        "training.optimizer=sgd_momentum", "training.optimizer_in_backward=true"}) {
    SCOPED_TRACE(one);
    const auto scenario =
        scenarios::read_scenario(
            std::filesystem::path(scenarios::shipped_file("scenarios/examples", "gpt2_resident")),
            {one, "training.precision=bf16_mixed", "strategy.overflow_check=none"}, known_systems(),
            scenarios::Refuse::what_cannot_run)
            .scenario;
    scenarios::ExportOptions options;
    options.nearest = true;
    const auto exported = scenarios::export_deepspeed(scenario, known_systems(), options);
    const auto back = scenarios::read_scenario(exported.scenario, {}, known_systems(),
                                               scenarios::Refuse::what_cannot_run)
                          .scenario;
    EXPECT_EQ(outcome(scenario), outcome(back));
    EXPECT_EQ(exported.ds_config.contains("optimizer"),
              std::string(one) != "training.optimizer=adam8bit");
    // what ZeRO takes only when it is told to
    EXPECT_EQ(
        exported.ds_config.value("zero_allow_untested_optimizer", false),
        scenario.parallel.zero_stage > 0 && (std::string(one).find("8bit") != std::string::npos ||
                                             std::string(one).find("sgd") != std::string::npos));
  }
}

// With DeepSpeed's own norms and copies of gradients, as a first way there and back brings them.
TEST(DeepSpeedRoundTrip, BringsBackMuonOfRanksThatShareStates) {
  const auto read = [](const auto& scenario, const std::vector<std::string>& overrides) {
    return scenarios::read_scenario(scenario, overrides, known_systems(),
                                    scenarios::Refuse::what_cannot_run)
        .scenario;
  };
  for (const char* stage : {"1", "2", "3"}) {
    SCOPED_TRACE(stage);
    const auto written =
        read(std::filesystem::path(scenarios::shipped_file("scenarios/examples", "gpt2_resident")),
             {"training.optimizer=muon", "strategy.overflow_check=none", "machine=workstation_2gpu",
              "parallel.data=2", std::string("parallel.zero_stage=") + stage});
    scenarios::ExportOptions options;
    options.nearest = true;
    const auto scenario =
        read(scenarios::export_deepspeed(written, known_systems(), options).scenario, {});
    EXPECT_EQ(scenario.training.optimizer, description::OptimizerKind::muon);
    const auto exported = scenarios::export_deepspeed(scenario, known_systems());
    EXPECT_EQ(exported.ds_config["optimizer"]["type"], "Muon");
    // beside which ZeRO-3 stops, and so do ZeRO-1 and 2 of some versions
    const bool scatters = std::string(stage) == "2";
    EXPECT_EQ(exported.ds_config["zero_optimization"].value("reduce_scatter", true), scatters);
    const auto warns = testing::Contains(testing::HasSubstr("stop at Muon beside it"));
    EXPECT_EQ(testing::Matches(warns)(text::words_of(exported.notes)), scatters);
    EXPECT_EQ(outcome(scenario), outcome(read(exported.scenario, {})));
  }
}

}  // namespace
}  // namespace spillway::explore::deepspeed_round_trip_test
