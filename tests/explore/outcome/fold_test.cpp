#include "explore/outcome/best_plan.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "strategies/machine/setup.hpp"
#include "tests/explore/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <nlohmann/json.hpp>

/// What is equal is simulated once: the answer is the one of all ranks and micro-batches.
namespace spillway::explore {
namespace {

using nlohmann::json;

/// Numbers differ by rounding of sums of times only: SimGrid shares to 1e-10. What is below the
/// second number is rounding itself, as how far steps that repeat lie apart is.
constexpr double rounding = 1e-9, nothing = 1e-11;

void compare(const json& whole, const json& folded, const std::string& path) {
  if (whole.is_number_float()) {
    const double a = whole.get<double>(), b = folded.get<double>();
    EXPECT_LE(std::abs(a - b), std::max(nothing, rounding * std::abs(a))) << path;
    return;
  }
  ASSERT_EQ(whole.type(), folded.type()) << path;
  if (!whole.is_structured()) {
    EXPECT_EQ(whole, folded) << path;
    return;
  }
  ASSERT_EQ(whole.size(), folded.size()) << path << "\n" << whole << "\n" << folded;
  if (whole.is_array()) {
    for (std::size_t i = 0; i < whole.size(); ++i)
      compare(whole[i], folded[i], path + "[" + std::to_string(i) + "]");
    return;
  }
  for (const auto& [key, value] : whole.items()) {
    ASSERT_TRUE(folded.contains(key)) << path << "." << key;
    if (key != "wall") compare(value, folded[key], path + "." + key);
  }
}

/// A backend that counts the machines it opens.
struct Counted {
  std::size_t whole = 0, folded = 0;
  Backend backend = sim();
  Counted() {
    backend.open = [this](const description::Scenario& scenario, bool trace) {
      ++whole;
      return sim().open(scenario, trace);
    };
    backend.open_folded = [this](const description::Scenario& scenario) {
      ++folded;
      return sim().open_folded(scenario);
    };
  }
};

description::Scenario scenario_of(const std::string& strategy, const std::string& more) {
  const json written = json::parse(
      R"({"model": "gpt2", "machine": "h100_8gpu", "parallel": {"data": 4, "zero_stage": 3},
          "training": {"precision": "bf16_mixed", "micro_batch": 2, "sequence": 512},
          "run": {"warmup_steps": 1, "steps": 2}, "strategy": )" +
      strategy + more + "}");
  return scenarios::read_scenario(written, {}, known_systems()).scenario;
}

result::Result run_once(const Backend& backend, const description::Scenario& scenario) {
  return run_decided(backend, strategies::decided(scenario));
}

class Folded : public testing::TestWithParam<std::string> {};

/// Ranks alone, micro-batches alone, both.
TEST_P(Folded, AnswersAsTheWholeDoes) {
  // what passes the page cache is not folded
  const std::string system = R"({"system": ")" + GetParam() + R"(", "io_engine": "file"})";
  for (const char* more :
       {"", R"(, "parallel": {"data": 1, "zero_stage": 3}, "training": {"precision": "bf16_mixed",
                "micro_batch": 2, "sequence": 512, "gradient_accumulation": 12})",
        R"(, "training": {"precision": "bf16_mixed", "micro_batch": 2, "sequence": 512,
                "gradient_accumulation": 9})"}) {
    SCOPED_TRACE(more);
    const description::Scenario scenario = scenario_of(system, more);
    Counted counted;
    Backend whole = sim();
    whole.open_folded = nullptr;
    const json expected = run_once(whole, scenario);
    const json found = run_once(counted.backend, scenario);
    compare(expected, found, "");
    EXPECT_EQ(counted.folded, 1u);
    EXPECT_EQ(counted.whole, 0u) << "nothing was folded";
    EXPECT_TRUE(expected.at("feasible").get<bool>());
  }
}

INSTANTIATE_TEST_SUITE_P(Systems, Folded,
                         testing::Values("resident", "zero_offload", "zero_infinity", "memascend",
                                         "lohan", "stronghold", "colossal_gemini"),
                         [](const auto& param) { return param.param; });

/// What each step waits for differs from the next one's, and so do delays: as many are told of as
/// the ranks have sub-groups.
TEST(Fold, AnswersForUpdatesThatNoStepWaitsForAsTheWholeDoes) {
  for (const char* machine : {"", R"(, "parallel": {"data": 8, "zero_stage": 3})"}) {
    const description::Scenario scenario = scenario_of(R"({"system": "angel_ptm"})", machine);
    Counted counted;
    Backend whole = sim();
    whole.open_folded = nullptr;
    const result::Result expected = run_once(whole, scenario);
    const result::Result found = run_once(counted.backend, scenario);
    compare(json(expected), json(found), "");
    EXPECT_EQ(counted.folded, 1u);
    EXPECT_EQ(counted.whole, 0u) << "nothing was folded";
    ASSERT_TRUE(found.staleness);
    EXPECT_EQ(found.staleness->blocks.size() % scenario.parallel.data, 0u);
  }
}

TEST(Fold, LeavesWhatDiffersWhole) {
  const auto alike = [](const std::string& strategy, const std::string& more = "") {
    return strategies::ranks_are_alike(scenario_of(strategy, more));
  };
  EXPECT_TRUE(alike(R"({"system": "zero_infinity"})"));
  EXPECT_FALSE(alike(R"({"system": "zero_infinity"})", R"(, "run": {"jitter": 0.01})"));
  EXPECT_FALSE(alike(R"({"system": "colossal_gemini"})"));  // its states pass the page cache
  EXPECT_FALSE(alike(R"({"system": "mlp_offload"})"));      // a storage is one rank's at a time
  EXPECT_TRUE(alike(R"({"system": "angel_ptm"})"));
  // who writes first finds the room in a cache
  const char* cached = R"(, "machine": {"extends": "h100_8gpu", "name": "cached",
                "storage": [{"name": "nvme", "part": "990 PRO 4TB", "count": 4}]})";
  EXPECT_FALSE(alike(R"({"system": "angel_ptm"})", cached));
  EXPECT_TRUE(alike(R"({"system": "zero_infinity"})", cached));
  EXPECT_FALSE(alike(R"({"system": "resident"})",
                     R"(, "parallel": {"data": 2, "pipeline": 2, "zero_stage": 1})"));
}

TEST(Fold, IsRepeatedWholeWhereItDoesNotFit) {
  const description::Scenario scenario = scenario_of(
      R"({"system": "zero_offload"})", R"(, "machine": {"extends": "h100_8gpu", "name": "small",
        "host": {"memory": "14 GiB"}})");
  Counted counted;
  Backend whole = sim();
  whole.open_folded = nullptr;
  const json expected = run_once(whole, scenario), found = run_once(counted.backend, scenario);
  EXPECT_FALSE(expected.at("feasible").get<bool>());
  compare(expected, found, "");
  EXPECT_EQ(counted.folded, 1u);
  EXPECT_EQ(counted.whole, 1u);
}

TEST(Fold, LeavesMicroBatchesWholeBesideDrivesThatEmptyTheirCacheMeanwhile) {
  const std::string more =
      R"(, "training": {"precision": "bf16_mixed", "micro_batch": 2, "sequence": 512,
                "gradient_accumulation": 12})";
  description::Scenario scenario = scenario_of(R"({"system": "zero_infinity"})", more);
  EXPECT_TRUE(strategies::micro_batches_may_repeat(scenario));
  scenario.machine.storage[0].slc_cache = {description::Bytes(40'000'000),
                                           description::BytesPerSecond(1e8)};
  EXPECT_FALSE(strategies::micro_batches_may_repeat(scenario));
}

/// A step as it stands after so many micro-batches of 2 s and 100 B.
strategies::StepRecord after(std::uint64_t micro_batches) {
  strategies::StepRecord record;
  record.end_s = 2.0 * static_cast<double>(micro_batches);
  record.operations = 10 * micro_batches;
  record.by_storage.push_back({100 * micro_batches, 0});
  record.inside.resize(1);
  record.write_sizes.resize(1);
  record.storage_busy_s.push_back(record.end_s / 4);
  return record;
}

TEST(StepRecord, RepeatsWhereBytesAndTimesDo) {
  using strategies::StepRecord;
  EXPECT_TRUE(StepRecord::repeats(after(1), after(2), after(3)));
  StepRecord later = after(3);
  later.end_s += 1e-6;
  EXPECT_FALSE(StepRecord::repeats(after(1), after(2), later));
  StepRecord more = after(3);
  more.by_storage[0].write += 512;
  EXPECT_FALSE(StepRecord::repeats(after(1), after(2), more));
  StepRecord slower = after(3);
  slower.storage_busy_s[0] += 0.1;
  EXPECT_FALSE(StepRecord::repeats(after(1), after(2), slower));
}

TEST(StepRecord, AddsWhatWasLeftOut) {
  // five ran, seven are left out: twelve of 2 s, 100 B and 10 operations
  strategies::StepRecord step = after(5);
  step.add(after(2), after(3), 7);
  EXPECT_DOUBLE_EQ(step.seconds(), 24);
  EXPECT_EQ(step.operations, 120u);
  EXPECT_EQ(step.by_storage[0].read, 1200u);
  EXPECT_DOUBLE_EQ(step.storage_busy_s[0], 6);
}

}  // namespace
}  // namespace spillway::explore
