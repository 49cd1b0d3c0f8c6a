#include "scenarios/read_scenario.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/test_systems.hpp"

#include <gmock/gmock.h>

namespace spillway::scenarios {
namespace {

using ::testing::HasSubstr;

/// What is said of a plain scenario with one value set; "" when it is taken.
std::string said_of(const std::string& override) {
  const nlohmann::json plain = {
      {"model", "gpt2"}, {"machine", "lohan_4090"}, {"strategy", {{"system", "zero_infinity"}}}};
  try {
    read_scenario(plain, {override}, test_systems());
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(Plausible, RefusesWhatNoMachineHasAndSaysTheRange) {
  EXPECT_THAT(said_of("machine.gpu.memory=1 PB"),
              HasSubstr("machine.gpu.memory: 1 PB is beyond what exists; write between 1 MB and 4 "
                        "TiB; a unit or a zero may have slipped"));
  for (const char* absurd :
       {"machine.pcie.h2d=1 B/s", "machine.host.memory=1 EB", "machine.gpu.compute.fp16=1 FLOPS",
        "machine.storage.nvme.read=1 B/s", "machine.storage.nvme.count=100000",
        "machine.storage.nvme.capacity=200 PB", "training.micro_batch=1000000",
        "training.gradient_accumulation=1000000", "machine.host.adam=1 param/s"})
    EXPECT_THAT(said_of(absurd), HasSubstr("beyond what exists")) << absurd;
  EXPECT_THAT(said_of("model.n_layer=100000"), HasSubstr("at most 2000"));
}

TEST(Plausible, TakesTheLargestAndTheSmallestThatExist) {
  for (const char* fine :
       {"machine.gpu.memory=288 GiB", "machine.gpu.memory=8 GiB", "machine.host.memory=24 TiB",
        "machine.pcie.h2d=450 GB/s", "machine.storage.nvme.count=32", "machine.gpu.memory=0 B",
        "machine.storage.nvme.capacity=122.88 TB", "training.micro_batch=4096", "run.steps=1000"})
    EXPECT_EQ(said_of(fine), "") << fine;
}

}  // namespace
}  // namespace spillway::scenarios
