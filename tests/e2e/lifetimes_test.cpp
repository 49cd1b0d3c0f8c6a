#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// `spillway lifetimes`: of a scenario, and of the profile that it writes.
namespace spillway::e2e::lifetimes_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string gpt2 =
    "lifetimes scenarios/examples/tiny.json --set strategy.system=teraio --set model=gpt2 "
    "--set machine=gaming_4090 --set training.sequence=512 --set machine.gpu.memory=";

TEST(Lifetimes, OfAWrittenProfileHaveThePlanOfTheirScenario) {
  const Workplace place;
  const Ended scenario = shell(place, "spillway " + gpt2 + "2GiB --json -o profile.csv");
  ASSERT_EQ(scenario.exit, 0) << scenario.err;
  const json plan = scenario.json();
  EXPECT_EQ(plan.at("feasible"), true);
  EXPECT_GT(plan.at("bytes_to_host"), 100'000'000);
  EXPECT_GT(plan.at("step_s"), plan.at("ideal_s"));
  EXPECT_LE(plan.at("moved"), plan.at("intervals"));
  const Ended profile =
      shell(place,
            "spillway lifetimes profile.csv --machine gaming_4090 --set machine.gpu.memory=2GiB "
            "--json");
  ASSERT_EQ(profile.exit, 0) << profile.err;
  const json again = profile.json();
  for (const char* same : {"tensors", "kernels", "intervals", "partial"})
    EXPECT_EQ(again.at(same), plan.at(same)) << same;
  EXPECT_NEAR(again.at("ideal_s").get<double>(), plan.at("ideal_s").get<double>(), 1e-9);
}

TEST(Lifetimes, AreSaidInSentences) {
  const Workplace place;
  const Ended fits = shell(place, "spillway " + gpt2 + "2GiB --roofline");
  ASSERT_EQ(fits.exit, 0) << fits.err;
  EXPECT_THAT(fits.out, AllOf(HasSubstr("lie idle between them"),
                              HasSubstr(" of these times a tensor is elsewhere"),
                              HasSubstr("if no kernel waited"), HasSubstr("share of ideal")));
  const Ended none = shell(place, "spillway " + gpt2 + "0.5GiB");
  EXPECT_EQ(none.exit, 0) << none.err;
  EXPECT_THAT(none.out, HasSubstr("It does not fit: kernel "));
}

TEST(Lifetimes, OfWhatPlansNothingAreRefused) {
  const Workplace place;
  const Ended none = shell(place, "spillway lifetimes scenarios/examples/tiny.json");
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, HasSubstr("strategy.system=teraio"));
  EXPECT_EQ(shell(place, "spillway " + gpt2 + "2GiB --rank 7").exit, 2);
  EXPECT_EQ(shell(place, "spillway lifetimes tests/data/none.csv").exit, 2);
}

}  // namespace
}  // namespace spillway::e2e::lifetimes_test
