#include "explore/points/measure.hpp"
#include "explore/points/reasons.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/explore/spaces.hpp"
#include "tests/scenarios/complaints.hpp"

namespace spillway::explore {
namespace {

result::Result fitting() {
  result::Result result;
  result.step_time_s = 2;
  result.price_usd = 1000;
  result.host.by_purpose["weights"] = 5;
  result.wear.emplace();
  result.wear->write_bytes_per_day = 1;
  result.wear->lifetime_years = 4;
  return result;
}

Outcome outcome(result::Result result) { return {std::move(result), {}, ""}; }

/// A space with these constraints, over one axis.
struct Asked {
  SpaceFiles files;
  scenarios::Space space;
  Points points;
  Measures measures;

  explicit Asked(const std::string& constraints)
      : space(files.space(space_over(R"("training.micro_batch": [1, 8])",
                                     ", \"constraints\": [" + constraints + "]"))),
        points(space),
        measures(points) {}

  Judgement judge(const Outcome& of, std::uint32_t at = 0) const {
    return measures.judge(measures.row_of(of, 0), {at});
  }
};

TEST(Measures, AcceptWhatFulfilsAllConstraints) {
  const Asked asked(R"("feasible", "wear.lifetime_years >= 3", "price_usd <= 1000",
                       "peak_bytes.host.by_purpose.weights == 5",
                       "peak_bytes.host.by_purpose.logits == 0")");
  const Judgement judgement = asked.judge(outcome(fitting()));
  EXPECT_EQ(judgement.verdict, "accepted") << judgement.reason;
  EXPECT_EQ(judgement.costs, std::vector<double>{2});
  EXPECT_EQ(judgement.objectives.dump(), R"({"step_time_s":2.0})");
}

TEST(Measures, SayWhichConstraintFailsAndByWhat) {
  const Asked asked(R"("price_usd <= 999")");
  const Judgement judgement = asked.judge(outcome(fitting()));
  EXPECT_EQ(judgement.verdict, "rejected");
  EXPECT_EQ(judgement.reason, "not price_usd <= 999: price_usd is 1000");
  EXPECT_TRUE(judgement.costs.empty());
}

TEST(Measures, LetDrivesThatNothingIsWrittenToLastForEver) {
  const Asked asked(R"("wear.lifetime_years >= 3")");
  result::Result result = fitting();
  result.wear->lifetime_years.reset();
  EXPECT_EQ(asked.judge(outcome(result)).reason, "wear.lifetime_years has no value");
  result.wear->write_bytes_per_day = 0;
  EXPECT_EQ(asked.judge(outcome(result)).verdict, "accepted");
  result.wear.reset();
  EXPECT_EQ(asked.judge(outcome(result)).verdict, "accepted");
}

TEST(Measures, TakeNothingOffDrivesThatNothingIsWrittenTo) {
  const Asked asked(R"("wear.usd_per_million_tokens <= 0.01")");
  result::Result result = fitting();
  result.wear->usd_per_million_tokens = 0.02;
  EXPECT_EQ(asked.judge(outcome(result)).verdict, "rejected");
  result.wear->usd_per_million_tokens.reset();
  result.wear->write_bytes_per_day = 1;
  EXPECT_EQ(asked.judge(outcome(result)).reason, "wear.usd_per_million_tokens has no value");
  result.wear->write_bytes_per_day = 0;
  EXPECT_EQ(asked.judge(outcome(result)).verdict, "accepted");
  result.wear.reset();
  EXPECT_EQ(asked.judge(outcome(result)).verdict, "accepted");
}

TEST(Measures, CountAMissingPriceAsUnfulfilled) {
  const Asked asked(R"("price_usd <= 999")");
  result::Result result = fitting();
  result.price_usd.reset();
  EXPECT_EQ(asked.judge(outcome(result)).reason, "price_usd has no value");
}

TEST(Measures, TakeNumbersOfThePointItself) {
  const Asked asked(R"("step_time_s / training.micro_batch < 1")");
  EXPECT_EQ(asked.judge(outcome(fitting()), 0).verdict, "rejected");
  EXPECT_EQ(asked.judge(outcome(fitting()), 1).verdict, "accepted");
}

TEST(Measures, SayWhichBufferDoesNotFit) {
  const Asked asked(R"("feasible")");
  result::Result result = fitting();
  result.infeasible =
      result::Infeasible{"host", 0, "parameter_pool", "init", 3ull << 30, 1ull << 29, 4ull << 30};
  const Judgement judgement = asked.judge(outcome(result));
  EXPECT_EQ(judgement.verdict, "infeasible");
  EXPECT_EQ(
      judgement.reason,
      "host memory: parameter_pool in init asks for 3.00 GiB, 512.0 MiB of 4.00 GiB are free");
  EXPECT_EQ(no_room({"host", 0, "host_pool", "init", 5 << 20, 4 << 20, 1 << 30}),
            "host memory: host_pool in init asks for 5.00 MiB, 4.00 MiB of 1.00 GiB are free");
  EXPECT_EQ(no_room({"host", 0, "host_pool", "init", 3 << 20, 4 << 20, 1 << 30}),
            "host memory: host_pool in init asks for 3.00 MiB, 4.00 MiB of 1.00 GiB are free, too "
            "few once rounded up or in one piece");
}

/// A shortage that rounds to what there is says how much is short, and no number is lost.
TEST(NoRoom, SaysHowMuchIsShortWhereBothReadTheSame) {
  const std::uint64_t has = 32ull << 30, asked = has + (1 << 20);
  EXPECT_EQ(no_room({"gpu", 0, "weights", "init", asked, has, has}),
            "GPU memory: weights in init asks for 32.0 GiB, 32.0 GiB of 32.0 GiB are free, 1.00 "
            "MiB short");
  const text::Text needs = too_much("gpu", asked, has);
  EXPECT_EQ(needs, "32.0 GiB of 32.0 GiB of GPU memory, 1.00 MiB short");
  ASSERT_TRUE(needs.number());
  EXPECT_EQ(needs.number()->value, static_cast<double>(asked));
}

/// Databases keep reasons as words; what stands beside them gives the numbers back.
TEST(ReasonOf, HasTheNumbersThatTheRowKeeps) {
  const Asked asked(R"("price_usd <= 999", "step_time_s / training.micro_batch < 1e9")");
  const std::vector<std::string> constraints = {"price_usd <= 999"};
  PointRow point;
  ScenarioRow row = asked.measures.row_of(outcome(fitting()), 0);
  point.verdict = "rejected", point.reason = "not price_usd <= 999: price_usd is 1000";
  const text::Text rejected = reason_of(point, &row, constraints);
  EXPECT_EQ(rejected, point.reason);
  ASSERT_TRUE(rejected.number());
  EXPECT_EQ(rejected.number()->value, 1000);

  result::Result large = fitting();
  large.infeasible = result::Infeasible{"host", 0, "host_pool", "init", 5'000'000'001, 7, 9};
  row = asked.measures.row_of(outcome(large), 0);
  point.verdict = "infeasible", point.reason = row.reason;
  const text::Text infeasible = reason_of(point, &row, constraints);
  EXPECT_EQ(infeasible, row.reason);
  ASSERT_TRUE(infeasible.number());
  EXPECT_EQ(infeasible.number()->value, 5'000'000'001);
  row.numbers.erase("reason_numbers");  // as older programs wrote it
  EXPECT_EQ(reason_of(point, &row, constraints), row.reason);
  EXPECT_FALSE(reason_of(point, &row, constraints).number());
  EXPECT_FALSE(reason_of(point, nullptr, constraints).number());
}

TEST(Measures, KeepTheReasonOfACrash) {
  const Asked asked(R"("feasible")");
  const Judgement judgement =
      asked.judge({std::nullopt, {}, "the simulation ended without a result"});
  EXPECT_EQ(judgement.verdict, "failed");
  EXPECT_EQ(judgement.reason, "the simulation ended without a result");
}

TEST(Measures, AreIncompleteForARowOfASpaceThatAskedForLess) {
  const Asked less(R"("feasible")"), more(R"("utilization.gpu > 0.5")");
  const ScenarioRow row = less.measures.row_of(outcome(fitting()), 0);
  EXPECT_TRUE(less.measures.complete(row));
  EXPECT_FALSE(more.measures.complete(row));
}

TEST(Measures, RefuseNamesThatNoResultHas) {
  const SpaceFiles files;
  const auto space = files.space(R"({ "base": { "model": "gpt2", "machine": "gaming_4090",
"strategy": { "system": "resident" } }, "axes": { "training.micro_batch": [1] },
"constraints": ["wear.lifetime >= 3", "1 +"],
"objectives": { "step_time": "min" } })");
  const Points points(space);
  EXPECT_EQ(
      files.relative(scenarios::complaints_of([&] { Measures{points}; })),
      "space.json:3:17: constraints: no number \"wear.lifetime\" in a result or the scenario; "
      "name one such as feasible, price_usd, wear.lifetime_years\n"
      "space.json:3:39: constraints: a number, a name or a bracket is missing at character 4\n"
      "space.json:4:17: objectives.step_time: no result has such a number; did you mean "
      "\"step_time_s\"?");
}

TEST(NumberIn, TakesWhatAListDoesNotNameAsZero) {
  const nlohmann::json result = fitting();
  EXPECT_EQ(number_in(result, "utilization.storage.nvme"), 0);
  EXPECT_EQ(number_in(result, "peak_bytes.host.by_purpose.weights"), 5);
  EXPECT_EQ(number_in(result, "feasible"), 1);
  EXPECT_TRUE(std::isnan(number_in(result, "plan.swap_bytes")));
}

}  // namespace
}  // namespace spillway::explore
