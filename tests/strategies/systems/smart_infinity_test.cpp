#include "tests/strategies/systems/systems.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies::smart_infinity_test {
namespace {

const std::string near =
    R"(machine.storage.nvme.near_storage={"read": "3 GB/s", "write": "2 GB/s",)"
    R"( "adam": "0.5 Gparam/s"})";

/// 13e9 parameters on a box whose drives compute.
description::Scenario training(const std::string& system, Overrides overrides = {}) {
  overrides.insert(overrides.begin(), {"strategy.system=" + system, near});
  return example("lohan_13b_zero_infinity", overrides);
}

double parameters() {
  return static_cast<double>(model_of(training("zero_infinity")).parameters.value());
}

/// The tied embedding is read for the look-up and for the head, in both passes, 2 B a parameter.
constexpr double once_more = 2 * 2 * 50257.0 * 5120;

double on_the_link(const result::Result& run) {
  return static_cast<double>(run.io.ssd_read + run.io.ssd_write);
}

TEST(SmartInfinity, TenBytesAParameterCrossTheLinkInsteadOfThirtyEight) {
  // forward and backward read 2 B each, 2 B of gradients are written, 2 B of new weights come back
  // from the drive of their sub-group, and are written where they live
  const result::Result smart = count(training("smart_infinity")).result;
  const double ten = 10 * parameters() + once_more;
  EXPECT_NEAR(on_the_link(smart), ten, 0.002 * ten);
  // the CPU reads 16 B and writes 14 B besides 8 B of the passes
  const result::Result host = count(training("zero_infinity")).result;
  const double thirty_eight = 38 * parameters() + once_more;
  EXPECT_NEAR(on_the_link(host), thirty_eight, 0.002 * thirty_eight);
  EXPECT_FALSE(host.near_storage);
}

TEST(SmartInfinity, StatesMoveInsideTheDrives) {
  const result::Result smart = count(training("smart_infinity")).result;
  ASSERT_TRUE(smart.near_storage);
  EXPECT_NEAR(static_cast<double>(smart.near_storage->read), 12 * parameters(),
              0.005 * 12 * parameters());
  EXPECT_EQ(smart.near_storage->read, smart.near_storage->write);
  // phases and storages count the link only
  EXPECT_EQ(smart.io.by_storage.at("nvme").read, smart.io.ssd_read);
  EXPECT_NEAR(static_cast<double>(smart.phase_bytes.at("update").ssd_write), 2 * parameters(),
              0.005 * 2 * parameters());
}

TEST(SmartInfinity, GradientsGoDownInTheTypeInWhichTheyAreComputed) {
  const auto written = [](const Overrides& overrides) {
    const result::Result run = count(training("smart_infinity", overrides)).result;
    return static_cast<double>(run.phase_bytes.at("backward").ssd_write) / parameters();
  };
  EXPECT_NEAR(written({}), 2, 0.01);
  EXPECT_NEAR(written({"strategy.gradients.policy=ssd_fp32"}), 4, 0.02);
  EXPECT_NEAR(written({"strategy.gradients.convert=cpu"}), 2, 0.01);
}

/// Seconds in which so many drives have read, computed and written all states, a twelfth each.
double inside_s(double drives) { return parameters() * (12 / 3e9 + 1 / 0.5e9 + 12 / 2e9) / drives; }

TEST(SmartInfinity, AnUpdateReadsComputesAndWritesInTurn) {
  const result::Result smart = simulate(training("smart_infinity"));
  EXPECT_GE(smart.update_s, inside_s(12));
  // rounds wait for the largest sub-group, and for new weights to come and go at 0.44 of 28.1 GB/s
  EXPECT_LT(smart.update_s, 1.2 * inside_s(12) + 4 * parameters() / (0.44 * 28.1e9));
}

TEST(SmartInfinity, EachRoundOfDrivesTakesItsStart) {
  // twelve drives update a sub-group each and begin together
  const description::Scenario scenario = training("smart_infinity");
  const auto states = state_bytes(scenario);
  const double rounds = std::ceil(
      static_cast<double>(std::count_if(states.begin(), states.end(),
                                        [](std::uint64_t bytes) { return bytes > 3 << 20; })) /
      12);
  const double later =
      simulate(training("smart_infinity", {"machine.storage.nvme.near_storage.start=500 ms"}))
          .update_s;
  EXPECT_NEAR(later - simulate(scenario).update_s, rounds * 0.499, 0.05 * rounds);
}

TEST(SmartInfinity, GainsMoreTheMoreDrivesThereAre) {
  // what the host reaches stays 6 GB/s, what is inside adds up
  double before = 1;
  for (const char* drives : {"2", "4", "8"}) {
    const Overrides box{
        std::string("machine.storage.nvme.count=") + drives, "machine.storage.nvme.capacity=8 TB",
        "machine.storage.nvme.array_read=6 GB/s", "machine.storage.nvme.array_write=6 GB/s"};
    const double gain = simulate(training("zero_infinity", box)).step_time_s /
                        simulate(training("smart_infinity", box)).step_time_s;
    EXPECT_GT(gain, 1.05 * before) << drives;
    before = gain;
  }
}

TEST(SmartInfinity, GainsNothingWhereTheGpuDominates) {
  const Overrides slow{"machine.gpu.compute.fp16=0.5 TFLOPS", "strategy.weights.overlap=true"};
  const double gain = simulate(training("zero_infinity", slow)).step_time_s /
                      simulate(training("smart_infinity", slow)).step_time_s;
  EXPECT_GT(gain, 1.0);
  EXPECT_LT(gain, 1.02);
}

TEST(SmartInfinity, DrivesWorkBesideEachOther) {
  // two storages of six drives each instead of one of twelve: the same update
  const std::string two = R"(machine.storage=[
    {"name": "a", "count": 6, "capacity": "3.84 TB", "read": "6.5 GB/s", "write": "3.4 GB/s",
     "near_storage": {"read": "3 GB/s", "write": "2 GB/s", "adam": "0.5 Gparam/s"}},
    {"name": "b", "count": 6, "capacity": "3.84 TB", "read": "6.5 GB/s", "write": "3.4 GB/s",
     "near_storage": {"read": "3 GB/s", "write": "2 GB/s", "adam": "0.5 Gparam/s"}}])";
  description::Scenario split =
      example("lohan_13b_zero_infinity", {two, "strategy.system=smart_infinity"});
  EXPECT_EQ(split.strategy.optimizer.paths.size(), 2u);
  const result::Result apart = simulate(split);
  ASSERT_TRUE(apart.feasible());
  EXPECT_GE(apart.update_s, 0.95 * inside_s(12));  // the halves are of whole sub-groups
  EXPECT_LT(apart.update_s, 1.6 * inside_s(12));
}

std::string refused(Overrides overrides) {
  overrides.insert(overrides.begin(), "strategy.system=smart_infinity");
  try {
    example("lohan_13b_zero_infinity", overrides);
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(SmartInfinity, IsRefusedWhatItsDrivesCannotDo) {
  EXPECT_NE(refused({near, "strategy.gradients.policy=host_fp16"}).find("finds its gradients"),
            std::string::npos);
  EXPECT_NE(refused({near, "strategy.optimizer.device=cpu"}).find("the CPU reads fp32"),
            std::string::npos);
  EXPECT_NE(refused({near, "strategy.optimizer.compression=0.02"}).find("go whole"),
            std::string::npos);
  EXPECT_NE(refused({near, "training.optimizer_state=bf16", "training.precision=fp16_mixed"})
                .find("keep fp32 states"),
            std::string::npos);
  EXPECT_NE(refused({}).find("needs a storage with near_storage"), std::string::npos);
}

}  // namespace
}  // namespace spillway::strategies::smart_infinity_test
