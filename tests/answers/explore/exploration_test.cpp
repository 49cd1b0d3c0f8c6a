#include "answers/explore/exploration.hpp"

#include "tests/answers/simulator.hpp"
#include "tests/reports/samples.hpp"
#include "tests/scenarios/temporary_files.hpp"

#include <gmock/gmock.h>

namespace spillway::answers::exploration_test {
namespace {

using explore::Database;
using explore::Store;
using nlohmann::json;
using testing::HasSubstr;

/// A database with one space of two accepted points, of which the faster is on the front, and two
/// that do not fit.
class Stored : public ::testing::Test {
 protected:
  Stored() : store_(files_.path("results.db"), Database::Access::write) {
    explore::SpaceRow space;
    space.id = "a", space.name = "a space", space.axes = {"training.micro_batch"};
    space.objectives = {{"step_time_s", true}};
    space_ = store_.begin_space(space);
    put(1, "accepted", "", 2.5);
    put(2, "accepted", "", 1.5);
    put(3, "infeasible", "GPU memory: activations in forward asks for 3 GiB", 0);
    put(4, "infeasible", "GPU memory: activations in forward asks for 5 GiB", 0);
    store_.put_counts(space_, {4, 4, 0, 4, 0, 0, 0}, true);
    store_.set_front(space_, 2, "key2", true);
  }

  void put(std::uint64_t number, const std::string& verdict, const std::string& reason,
           double step_s) {
    explore::PointRow point;
    point.number = number, point.key = "key" + std::to_string(number);
    point.point = {{"training.micro_batch", number}};
    point.verdict = verdict, point.reason = reason;
    point.objectives = step_s > 0 ? json{{"step_time_s", step_s}} : json::object();
    store_.put(space_, point);
  }

  scenarios::TemporaryFiles files_;
  Store store_;
  std::int64_t space_ = 0;
};

TEST_F(Stored, GivesTheFrontItsGroupsAndWhyTheRestIsNotOnIt) {
  store_.put_result("key2", reports::sample_that_fits());
  const answer::Front found = front(store_, space_);
  EXPECT_EQ(found.space.name, "a space");
  EXPECT_EQ(found.space.simulated, 4u);
  ASSERT_EQ(found.points.size(), 1u);
  EXPECT_EQ(found.points[0].number, 2u);
  EXPECT_EQ(found.points[0].result.at("step_time_s"), 40.0);
  const answer::Groups best = groups(store_, space_, "training.micro_batch");
  ASSERT_EQ(best.points.size(), 2u);
  EXPECT_EQ(best.points[0].number, 2u) << "1.5 s a step are less than 2.5";
  EXPECT_THROW(groups(store_, space_, "gpu"), description::ScenarioError);
  const answer::Reasons why = reasons(store_, space_);
  EXPECT_EQ(why.points.size(), 2u);
  ASSERT_EQ(why.groups.size(), 1u) << "they differ in a number only";
  EXPECT_EQ(why.groups[0].count, 2u);
  EXPECT_EQ(why.groups[0].example.number, 3u);
}

TEST_F(Stored, IsReadWhenAnOlderReleaseWroteLessOrANewerOneMore) {
  const auto scenario =
      scenarios::read_scenario(json{{"model", "gpt2"},
                                    {"machine", "gaming_4090"},
                                    {"training", {{"precision", "bf16_mixed"}, {"sequence", 256}}},
                                    {"strategy", {{"system", "resident"}}},
                                    {"run", {{"steps", 1}}}},
                               {}, explore::known_systems())
          .scenario;
  const result::Result whole = explore::simulate(sim(), scenario);
  json stored = whole;
  stored["carbon_kg"] = 3;
  stored["peak_bytes"]["gpu"]["smell"] = "none";
  stored.erase("needed_bytes");
  stored.erase("runs_with");
  stored["peak_bytes"].erase("remote");
  stored["utilization"].erase("network");
  store_.put_result("key2", stored);
  explore::Backend ended = sim();
  ended.watch = [](std::size_t) { return false; };  // the steps are not what is asked here
  EXPECT_EQ(front(store_, space_).points.at(0).program, "");
  const answer::Explanation told = explain(ended, store_, space_, 2);
  EXPECT_EQ(told.result.step_time_s, whole.step_time_s);
  EXPECT_EQ(told.result.gpu.total, whole.gpu.total);
  EXPECT_FALSE(told.result.needed);
}

TEST_F(Stored, NamesTheVersionOfAResultThatItCannotRead) {
  json stored = reports::sample_that_fits();
  stored["schema"] = "spillway/result/2";
  store_.put_result("key2", stored);
  try {
    (void)explain(sim(), store_, space_, 2);
    FAIL() << "it was read";
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(to_string(error.complaints().front()),
                HasSubstr("point 2.schema: this is result version 2; this program reads 1"));
  }
}

}  // namespace
}  // namespace spillway::answers::exploration_test
