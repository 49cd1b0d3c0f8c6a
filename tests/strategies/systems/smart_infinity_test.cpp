#include "tests/strategies/systems/systems.hpp"

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
  // forward and backward read 2 B each, 4 B of gradients are written, 2 B of new weights come back
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
  EXPECT_EQ(smart.phase_bytes.at("update").ssd_write, 0u);
}

TEST(SmartInfinity, AnUpdateTakesWhatTheSlowestInsideTakes) {
  // 12 drives: 12 B a parameter written at 24 GB/s; new weights come back meanwhile, but the last
  const result::Result smart = simulate(training("smart_infinity"));
  const double inside = 12 * parameters() / 24e9;
  EXPECT_GE(smart.update_s, inside);
  EXPECT_LT(smart.update_s, 1.35 * inside);
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
  const double inside = 12 * parameters() / 24e9;
  EXPECT_GE(apart.update_s, 0.95 * inside);  // the halves are of whole sub-groups
  EXPECT_LT(apart.update_s, 1.6 * inside);   // and weights lie on both: the host writes them there
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
  EXPECT_NE(refused({near, "strategy.optimizer.compression=0.02"}).find("go whole"),
            std::string::npos);
  EXPECT_NE(refused({near, "training.optimizer_state=bf16", "training.precision=fp16_mixed"})
                .find("keep fp32 states"),
            std::string::npos);
  EXPECT_NE(refused({}).find("needs a storage with near_storage"), std::string::npos);
}

}  // namespace
}  // namespace spillway::strategies::smart_infinity_test
