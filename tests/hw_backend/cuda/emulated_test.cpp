#include "hw_backend/cuda/cuda_device.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/cuda/devices.hpp"
#include "tests/hw_backend/cuda/session.hpp"

#include <gtest/gtest.h>
#include <future>

namespace spillway::hw_backend {

DevicesUnderTest devices_under_test() {
  return {[](std::uint32_t rank) { return std::make_unique<CudaDevice>(rank % emulated::devices); },
          {}};
}

namespace {

using description::DeviceError;

/// Every check but those of rates, on kernels whose threads are fibers.
class EmulatedCuda : public testing::TestWithParam<Check> {};

TEST_P(EmulatedCuda, Device) {
  CudaDevice device(0);
  Report report;
  GetParam().ask(device, report);
  for (const std::string& fault : report.faults) ADD_FAILURE() << fault;
}

std::vector<Check> untimed() {
  std::vector<Check> checks;
  for (const Check& check : all_checks())
    if (!check.timed) checks.push_back(check);
  return checks;
}

std::string name_of(const testing::TestParamInfo<Check>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, EmulatedCuda, testing::ValuesIn(untimed()), name_of);

TEST(CudaDevice, NamesItselfAndItsVersions) {
  EXPECT_EQ(CudaDevice(0).name(), "emulated device, CUDA 13.0, driver for CUDA 13.0");
  EXPECT_FALSE(CudaDevice(0).shares_host());
}

TEST(CudaDevice, ThatIsNotThereIsAnError) { EXPECT_THROW(CudaDevice(2), DeviceError); }

TEST(CudaDevice, TakesMemoryOfASizeItHasHadFromWhatItKept) {
  CudaDevice device(0), other(0);
  device.free(device.allocate(1000), 1000);
  const std::size_t before = emulated::mallocs();
  // 513 to 1024 bytes are one size, and all ranks of a device share what is kept
  std::byte* const memory = other.allocate(1024);
  EXPECT_EQ(emulated::mallocs(), before);
  std::byte* const more = device.allocate(1000);
  EXPECT_EQ(emulated::mallocs(), before + 1);
  other.free(memory, 1024);
  device.free(more, 1000);
}

TEST(CudaDevice, GivesKeptMemoryBackBeforeItIsFull) {
  CudaDevice device(0);
  constexpr std::uint64_t most = emulated::device_bytes / 4 * 3;
  device.free(device.allocate(most), most);
  std::byte* const memory = device.allocate(most + 512);  // both together have no room
  EXPECT_THROW(device.allocate(most), DeviceError);
  device.free(memory, most + 512);
}

/// For as long as it lives, kernels fault and host functions never run.
struct Broken {
  Broken() { emulated::break_devices(true); }
  ~Broken() { emulated::break_devices(false); }
};

TEST(CudaDevice, ThatFaultsTellsEverybodyWhoWaits) {
  CudaDevice device(0);
  Operand x(device, 100, Element::fp32, 1);
  const Broken broken;
  try {
    run_on(device, [&](Primitives& p) {
      p.add(100, x.in(Side::device), x.in(Side::device), x.out(Side::device));
    });
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("cudaErrorIllegalAddress"), std::string::npos);
  }
}

TEST(CudaDevice, ThatFaultsBehindWorkThatWasEnqueuedTellsToo) {
  CudaDevice device(0);
  // the call succeeds, its host function never comes
  EXPECT_THROW(run_on(device, [](Primitives&) { emulated::break_devices(true); }), DeviceError);
  emulated::break_devices(false);
}

/// For as long as it lives, streams begin nothing.
struct Held {
  Held() { emulated::hold_streams(true); }
  ~Held() { emulated::hold_streams(false); }
};

TEST(CudaDevice, ThatDoesNotComeToRestNamesTheStreamAndRestsOnceItCan) {
  CudaDevice device(0);
  std::promise<void> enqueued;
  {
    const Held held;
    device.run(
        Stream::side, 0, [&](Primitives&) { enqueued.set_value(); },
        [](const std::exception_ptr&) { ADD_FAILURE() << "nobody wants to know"; });
    enqueued.get_future().wait();
    EXPECT_EQ(device.quiesce(0.05),
              "emulated device, CUDA 13.0, driver for CUDA 13.0: its stream side");
  }
  EXPECT_EQ(device.quiesce(60), std::nullopt);
}

TEST(CudaDevice, GoesOnWhenWhatACallWaitsForIsDropped) {
  CudaDevice device(0);
  std::promise<void> begun, go;
  const auto nobody = [](const std::exception_ptr&) {};
  // the first call keeps its lane's thread busy, so that the second is still there to be dropped
  device.run(
      Stream::compute, 0,
      [&](Primitives&) {
        begun.set_value();
        go.get_future().wait();
      },
      nobody);
  begun.get_future().wait();
  device.run(
      Stream::compute, 0, [](Primitives&) { ADD_FAILURE() << "dropped work runs"; }, nobody);
  device.follow(Stream::side, Stream::compute, device.place(Stream::compute));
  device.run(
      Stream::side, 0, [](Primitives&) {}, nobody);
  EXPECT_NE(device.quiesce(0.05), std::nullopt);
  go.set_value();
  EXPECT_EQ(device.quiesce(60), std::nullopt);
}

/// Ranks on two devices: each sum and gather, whether they reach each other or not.
void check_two_devices(bool connected) {
  emulated::connect_peers(connected);
  CudaDevice one(0), two(1);
  constexpr std::uint64_t n = 700'001;  // more than a slot of staging
  Operand a(one, n, Element::fp32, 1), b(two, n, Element::fp32, 2);
  PeerCall call{strategies::Collective::all_reduce, Element::fp32, 4 * n, {}, {}};
  call.in = {a.data(Side::device), b.data(Side::device)};
  call.out = {a.data(Side::device), b.data(Side::device)};
  wait_for([&](Done done) { one.collective(0, call, std::move(done)); });
  const std::vector<std::byte> first = a.download(), second = b.download();
  EXPECT_EQ(first, second);
  for (std::uint64_t i = 0; i < n; i += 1000)
    EXPECT_EQ(load({first.data(), Element::fp32}, i),
              load(a.array(Side::host), i) + load(b.array(Side::host), i));
  emulated::connect_peers(true);
}

TEST(CudaDevice, SumsWithAPeer) { check_two_devices(true); }
TEST(CudaDevice, SumsWithADeviceThatItDoesNotReach) { check_two_devices(false); }

}  // namespace
}  // namespace spillway::hw_backend
