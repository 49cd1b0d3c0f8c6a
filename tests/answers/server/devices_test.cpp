#include "answers/server/devices.hpp"

#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>

namespace spillway::answers {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A server with so many GPUs; `missing` of GPUDirect Storage.
CudaHere server(int gpus, const std::string& missing = "") {
  return {[=] {
            return hw_backend::CudaDevices{gpus, gpus ? "" : "no CUDA device: dlopen: no plugin"};
          },
          [=] { return missing; }};
}

/// Whose devices must not be asked for.
CudaHere unasked() {
  return {[] {
            ADD_FAILURE() << "the driver is asked";
            return hw_backend::CudaDevices{};
          },
          [] { return std::string(); }};
}

DeviceNeeds wishing(const std::string& wish) {
  DeviceNeeds needs;
  needs.wish = wish;
  return needs;
}

std::string refusal(const DeviceNeeds& needs, const CudaHere& here) {
  try {
    choose_device(needs, here);
  } catch (const description::ScenarioError& error) {
    return to_string(error.complaints().front());
  }
  return "";
}

TEST(ChooseDevice, TakesCudaWhereItIsAndSaysWhyNotElsewhere) {
  const DeviceChoice there = choose_device({}, server(2));
  EXPECT_TRUE(there.cuda());
  EXPECT_EQ(there.why, "the driver shows 2");
  const DeviceChoice none = choose_device({}, server(0));
  EXPECT_FALSE(none.cuda());
  EXPECT_EQ(none.why, "no CUDA device: dlopen: no plugin");
  EXPECT_TRUE(choose_device(wishing("cuda"), server(1)).cuda());
  EXPECT_FALSE(choose_device(wishing("host"), unasked()).cuda());
  EXPECT_FALSE(make_device(none));
  EXPECT_TRUE(make_device(there));
}

TEST(ChooseDevice, RefusesCudaThatIsNotThereWithARemedy) {
  EXPECT_THAT(refusal(wishing("cuda"), server(0)),
              AllOf(HasSubstr("--device"), HasSubstr("no CUDA device: dlopen: no plugin"),
                    HasSubstr("--device host")));
}

TEST(ChooseDevice, LeavesPacedRunsToTheHostWithoutAskingTheDriver) {
  DeviceNeeds needs;
  needs.paced = true;
  EXPECT_FALSE(choose_device(needs, unasked()).cuda());
  needs.wish = "cuda";
  EXPECT_THAT(refusal(needs, unasked()), HasSubstr("a paced run"));
}

TEST(ChooseDevice, LeavesProfilesOfHostDevicesToTheHost) {
  DeviceNeeds needs;
  needs.host_profile = true;
  EXPECT_FALSE(choose_device(needs, unasked()).cuda());
  needs.wish = "cuda";
  EXPECT_THAT(refusal(needs, unasked()), HasSubstr("spillway probe DIR --device cuda"));
}

TEST(ChooseDevice, WantsLibcufileForGpuDirectStorageAndNoHashesThen) {
  DeviceNeeds needs;
  needs.gds = true;
  EXPECT_TRUE(choose_device(needs, server(1)).cuda());
  const DeviceChoice emulated = choose_device(needs, server(1, "dlopen: none; install it"));
  EXPECT_FALSE(emulated.cuda());
  EXPECT_THAT(emulated.why, HasSubstr("install it"));
  needs.synthetic = true;
  EXPECT_FALSE(choose_device(needs, server(1)).cuda());
  needs.wish = "cuda";
  EXPECT_THAT(refusal(needs, server(1)), HasSubstr("leave out --synthetic"));
  needs.gds = false;
  EXPECT_TRUE(choose_device(needs, server(1)).cuda());
}

TEST(DeviceChoice, SharesDevicesAmongMoreRanks) {
  const DeviceChoice choice = choose_device({}, server(2));
  EXPECT_EQ(choice.ordinal(0), 0);
  EXPECT_EQ(choice.ordinal(1), 1);
  EXPECT_EQ(choice.ordinal(2), 0);
}

TEST(AroundEngine, IsThereForGpuDirectStorageOnCudaDevicesAlone) {
  const DeviceChoice cuda = choose_device({}, server(1)), host = choose_device({}, server(0));
  EXPECT_TRUE(around_engine(cuda, true));
  EXPECT_FALSE(around_engine(cuda, false));
  EXPECT_FALSE(around_engine(host, true));
}

}  // namespace
}  // namespace spillway::answers
