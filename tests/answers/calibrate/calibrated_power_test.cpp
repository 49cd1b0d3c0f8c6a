#include "answers/calibrate/power_limit.hpp"
#include "scenarios/document/read_machine.hpp"
#include "tests/answers/calibrate/calibrated.hpp"

#include <gmock/gmock.h>

namespace spillway::answers::calibrated_power_test {
namespace {

using description::MachineFile;
using evidence::Evidence;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Evidence limited_to(double watts) {
  Evidence cards;
  cards.file = "smi.txt";
  cards.kind = "nvidia-smi -q";
  cards.power = evidence::PowerLimit{watts, 450, "RTX 4090", "power limit; by default 450 W"};
  return cards;
}

std::string note(const MachineFile& after, double watts) {
  const auto words = power_note(after, limited_to(watts));
  return words ? text::words(*words) : "";
}

TEST(CalibratedPower, IsWhatTheDriverLimitsItTo) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  ASSERT_EQ(machine.power->gpu, 450);
  const answer::Calibration answer = with(machine, {limited_to(300)});
  const MachineFile after = again(answer);
  EXPECT_EQ(after.power->gpu, 300);
  EXPECT_EQ(after.sources.at("power.gpu"), "measured: smi.txt, power limit; by default 450 W");
  EXPECT_EQ(after.gpu.compute, machine.gpu.compute);
  EXPECT_THAT(note(after, 300),
              AllOf(HasSubstr("may draw 300 W and not the usual 450 W: energy is counted with "
                              "power.gpu 300 W"),
                    HasSubstr("gpu.compute.* depend, and nobody measured"),
                    HasSubstr("in a machine file with gpu.elementwise \"separate\"")));
}

// A quarter of what the card takes without a limit, which waiting does not reach.
TEST(CalibratedPower, OfACardThatWaitsStays) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  const MachineFile after = again(with(machine, {limited_to(300)}));
  EXPECT_EQ(after.power->gpu_waiting, 450 / 4.0);
  EXPECT_THAT(after.sources.at("power.gpu_waiting"), HasSubstr("a quarter of 450 W"));
  EXPECT_EQ(again(with(machine, {limited_to(100)})).power->gpu_waiting, 100);
}

TEST(CalibratedPower, FollowsALimitThatIsLifted) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  const MachineFile limited = again(with(machine, {limited_to(300)}));
  EXPECT_EQ(again(with(limited, {limited_to(450)})).power->gpu, 450);
  EXPECT_EQ(note(limited, 450), "");
}

// What somebody measured at the plug is less than any limit lets through.
TEST(CalibratedPower, IsNoMoreThanTheFileSaysWhereNoLimitReachesIt) {
  MachineFile machine = scenarios::read_machine("gaming_4090");
  machine.power->gpu = 280;
  machine.sources["power.gpu"] = "measured: at the plug";
  EXPECT_THAT(with(machine, {limited_to(300)}).moved, IsEmpty());
  EXPECT_THAT(with(machine, {limited_to(450)}).moved, IsEmpty());
  EXPECT_THAT(note(machine, 300), HasSubstr("power.gpu 280 W"));
}

TEST(CalibratedPower, IsNotAddedToAFileThatHasNone) {
  MachineFile machine = scenarios::read_machine("gaming_4090");
  machine.power.reset();
  const answer::Calibration answer = with(machine, {limited_to(300)});
  EXPECT_THAT(answer.moved, IsEmpty());
  EXPECT_FALSE(again(answer).power);
  EXPECT_THAT(note(machine, 300), HasSubstr("no energy is counted"));
}

TEST(CalibratedPower, SaysOfMeasuredRatesThatTheyMayBeOfAnotherLimit) {
  MachineFile machine = scenarios::read_machine("gaming_4090");
  for (auto& [path, source] : machine.sources)
    if (path.starts_with("gpu.compute.")) source = "measured: trace.json";
  EXPECT_THAT(note(machine, 300), AllOf(HasSubstr("does not say whether they were measured under"),
                                        Not(HasSubstr("nobody measured"))));
}

}  // namespace
}  // namespace spillway::answers::calibrated_power_test
