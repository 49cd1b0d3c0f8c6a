#include "hw_backend/cuda/cuda_device.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/cuda/devices.hpp"
#include "tests/hw_backend/cuda/session.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <csignal>
#include <future>

namespace spillway::hw_backend {

DevicesUnderTest devices_under_test() {
  return {[](std::uint32_t rank) { return std::make_unique<CudaDevice>(rank % emulated::devices); },
          {},
          true};
}

namespace {

using description::DeviceError;

/// Every check but those of rates, on kernels whose threads are fibers.
class EmulatedCuda : public testing::TestWithParam<Check> {};

TEST_P(EmulatedCuda, Device) {
  if (GetParam().whole_training) LONG_TEST();
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

/// For as long as it lives, the driver is another; of version 0, there is none.
struct Driver {
  explicit Driver(int version) { emulated::install_driver(version); }
  ~Driver() { emulated::install_driver(13000); }
  Driver(const Driver&) = delete;
};

std::string why_none_are_counted() {
  try {
    return std::to_string(count_cuda_devices()) + " are";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

TEST(CudaDevice, IsNotThereWithoutADriverOrWithAnOldOne) {
  EXPECT_EQ(why_none_are_counted(), "2 are");
  {
    const Driver none(0);
    EXPECT_EQ(why_none_are_counted(), "no NVIDIA driver is installed");
  }
  const Driver old(12040);
  EXPECT_EQ(why_none_are_counted(),
            "the driver is for CUDA 12.4, the plugin for 13.0: update the driver, or build with a "
            "toolkit of its version");
}

/// What runs in a process of its own, which is to end badly.
void touch_device_memory() {
  CudaDevice device(0);
  std::byte* const memory = device.allocate(4096);
  *memory = std::byte{1};
}
void ask_cuda_in_a_host_function() {
  const CudaStream stream;
  cudaLaunchHostFunc(
      stream.get(), [](void*) { CudaDevice(0).allocate(4096); }, nullptr);
  cudaStreamSynchronize(stream.get());
}

using EmulatedCudaDeathTest = testing::Test;

TEST_F(EmulatedCudaDeathTest, ShowsWhoUsesDeviceMemoryOnTheHost) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(touch_device_memory(), testing::KilledBySignal(SIGSEGV), "");
}
TEST_F(EmulatedCudaDeathTest, ShowsWhoCallsCudaFromAHostFunction) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(ask_cuda_in_a_host_function(), "CUDA was called from a host function");
}

/// A layer's kernels, of shapes that a training has.
void run_a_layer(CudaDevice& device) {
  constexpr std::uint64_t rows = 64, width = 64;
  Operand x(device, rows * width, Element::bf16, 1), y(device, rows * width, Element::bf16, 2);
  Operand weight(device, width * width, Element::bf16, 3), sums(device, rows, Element::fp32, 4);
  run_on(device, [&](Primitives& p) {
    Product product{rows, width, width};
    product.a = {x.in(Side::device), width};
    product.b = {weight.in(Side::device), width, true};
    product.c = {y.out(Side::device), width};
    p.product(product);
    AttentionShape shape;
    shape.samples = 1;
    shape.sequence = rows;
    shape.heads = shape.kv_heads = 1;
    shape.head_dim = width;
    AttentionForward forward;
    forward.query = forward.key = forward.value = x.in(Side::device);
    forward.output = y.out(Side::device);
    forward.log_sum_exp = sums.as<float>(Side::device);
    p.attention(shape, forward);
    const Norm norm{NormKind::root_mean_square, 1e-5f, rows, width};
    p.norm(norm, x.in(Side::device), weight.in(Side::device), {}, sums.as<float>(Side::device),
           y.out(Side::device));
  });
}

TEST(CudaDevice, HasItsScratchAndKernelsWhenItIsOpen) {
  CudaDevice device(0);
  const std::uint64_t before = device.available();
  run_a_layer(device);
  EXPECT_EQ(device.available(), before);
}

/// For as long as it lives, a device has no more memory than that.
struct Small {
  explicit Small(std::size_t bytes) { emulated::limit_memory(bytes); }
  ~Small() { emulated::limit_memory(0); }
  Small(const Small&) = delete;
};

TEST(CudaDevice, WithoutRoomForWhatItNeedsItselfCannotBeOpened) {
  const Small small(std::size_t{64} << 20);
  try {
    CudaDevice device(0);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("bytes of scratch: cudaErrorMemoryAllocation"),
              std::string::npos)
        << error.what();
  }
}

TEST(CudaDevice, FetchesANumberIntoMemoryThatItKnows) {
  CudaDevice device(0);
  Operand x(device, 1, Element::fp32, 1);
  const std::size_t before = emulated::pageable_copies();
  EXPECT_EQ(device.fetch(x.data(Side::device)), load(x.array(Side::host), 0));
  EXPECT_EQ(emulated::pageable_copies(), before);
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
        [](const JobEnd&) { ADD_FAILURE() << "nobody wants to know"; });
    enqueued.get_future().wait();
    EXPECT_EQ(device.quiesce(0.05),
              "emulated device, CUDA 13.0, driver for CUDA 13.0: its stream side");
  }
  EXPECT_EQ(device.quiesce(60), std::nullopt);
}

TEST(CudaDevice, GoesOnWhenWhatACallWaitsForIsDropped) {
  CudaDevice device(0);
  std::promise<void> begun, go;
  const auto nobody = [](const JobEnd&) {};
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
  device.wait_for(Stream::side, Stream::compute, device.last_call(Stream::compute));
  device.run(
      Stream::side, 0, [](Primitives&) {}, nobody);
  EXPECT_NE(device.quiesce(0.05), std::nullopt);
  go.set_value();
  EXPECT_EQ(device.quiesce(60), std::nullopt);
}

TEST(CudaDevice, TakesTheScratchOfUnusualShapesBeforeTheyRun) {
  LONG_TEST();
  CudaDevice device(0);
  // 132,000 rows need 8 bytes each, more than the 16 of 64 Ki that a device has from its beginning
  constexpr std::uint64_t rows = 132'000, words = 8;
  Operand logits(device, rows * words, Element::bf16, 1), loss(device, 2, Element::fp32, 2);
  CrossEntropy call;
  call.text.vocabulary = words;
  call.text.sequence = 1000;
  call.rows = call.tokens = rows;
  call.width = words;
  const DeviceWork work = [&](Primitives& device_side) {
    device_side.cross_entropy(call, logits.in(Side::device), loss.as<double>(Side::device));
  };
  const std::vector<std::byte> untouched = loss.download();
  const std::size_t before = emulated::mallocs();
  device.reserve(work);
  EXPECT_EQ(emulated::mallocs() - before, 1u);
  EXPECT_EQ(loss.download(), untouched) << "it was gone through, not run";
  run_on(device, work);
  EXPECT_EQ(emulated::mallocs() - before, 1u) << "a step takes no memory of a device";
  EXPECT_NE(loss.download(), untouched);
}

/// Ranks on two devices: each sum and gather, whether they reach each other or not.
void check_two_devices(bool connected) {
  emulated::connect_peers(connected);
  std::vector<std::unique_ptr<Device>> both;
  both.push_back(std::make_unique<CudaDevice>(0));
  both.push_back(std::make_unique<CudaDevice>(1));
  Device &one = *both[0], &two = *both[1];
  const std::size_t opened = emulated::mallocs();
  one.meet(both);
  EXPECT_EQ(emulated::mallocs() - opened, connected ? 0u : 1u);
  constexpr std::uint64_t n = 700'001;  // more than a slot of staging
  Operand a(one, n, Element::fp32, 1), b(two, n, Element::fp32, 2);
  PeerCall call{strategies::Collective::all_reduce, Element::fp32, 4 * n, {}, {}, {}, {}};
  call.in = {a.data(Side::device), b.data(Side::device)};
  call.out = {a.data(Side::device), b.data(Side::device)};
  const std::size_t met = emulated::mallocs();
  wait_for([&](Done done) { one.collective(0, call, std::move(done)); });
  EXPECT_EQ(emulated::mallocs(), met) << "a step takes no memory of a device";
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
