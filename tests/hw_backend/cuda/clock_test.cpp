#include "hw_backend/cuda/cuda_device.hpp"
#include "tests/hw_backend/cuda/session.hpp"
#include "tests/hw_backend/rig.hpp"

#include <gmock/gmock.h>
#include <thread>

/// When work of a device ran is what the device says, however late a thread of ours hears of it.
namespace spillway::hw_backend {
namespace {

constexpr double copy_s = 0.02, late_s = 0.4;

/// Copies take 20 ms, and who waits for them hears of it 0.4 s later.
struct LateHost {
  LateHost() {
    emulated::slow_copies(copy_s);
    emulated::wake_late(late_s);
  }
  ~LateHost() {
    emulated::slow_copies(0);
    emulated::wake_late(0);
  }
  LateHost(const LateHost&) = delete;
};

JobEnd end_of(const std::function<void(Done)>& start) {
  JobEnd end;
  wait_for([&](const Done& done) {
    start([&, done](const JobEnd& ended) {
      end = ended;
      done(ended);
    });
  });
  return end;
}

TEST(DeviceClock, TellsHowLongACopyTookAndNotWhenSomebodyHeard) {
  CudaDevice device(0);
  Operand x(device, 1000, Element::fp32, 1);
  const LateHost late;
  const double before_s = host_now_s();
  const JobEnd end = end_of([&](Done done) {
    device.copy(Stream::to_device, 0, x.data(Side::device), x.data(Side::host), 4000,
                std::move(done));
  });
  EXPECT_GE(end.finished_s - end.started_s, copy_s);
  EXPECT_LT(end.finished_s - end.started_s, copy_s + late_s / 2);
  EXPECT_GE(end.started_s, before_s - device.clock_error_s());
  EXPECT_LT(end.finished_s, host_now_s() - late_s / 2);
}

TEST(DeviceClock, TellsWhenEachPartOfARunEnded) {
  CudaDevice device(0);
  Operand x(device, 1 << 12, Element::fp32, 1);
  const DeviceWork sum = [&](Primitives& p) {
    p.add(1 << 12, x.in(Side::device), x.in(Side::device), x.out(Side::device));
  };
  const JobEnd end = end_of([&](Done done) {
    device.run(Stream::compute, 0, std::vector<DeviceWork>{sum, sum, sum}, std::move(done));
  });
  ASSERT_EQ(end.parts_s.size(), 3u);
  double last_s = end.started_s;
  for (const double part_s : end.parts_s) EXPECT_GT(part_s, std::exchange(last_s, part_s));
  EXPECT_EQ(end.parts_s.back(), end.finished_s);
}

TEST(DeviceClock, FollowsAClockThatGainsAndSaysByHowMuchItWasWrong) {
  CudaDevice device(0);
  run_on(device, [](Primitives&) {});
  std::this_thread::sleep_for(std::chrono::duration<double>(6 * DeviceClock::anchor_s));
  const double before_s = host_now_s();
  const JobEnd end = end_of([&](Done done) {
    device.run(
        Stream::compute, 0, [](Primitives&) {}, std::move(done));
  });
  const double error_s = device.clock_error_s();
  // what it gained since the last anchor, well above what reading two clocks takes
  EXPECT_GT(error_s, DeviceClock::anchor_s * emulated::clock_gain);
  EXPECT_LT(error_s, 0.05);
  EXPECT_GE(end.started_s, before_s - error_s);
  EXPECT_LE(end.finished_s, host_now_s() + error_s);
}

TEST(DeviceClock, CallsNoHostFunction) {
  const std::uint64_t before = emulated::host_functions();
  CudaDevice device(0);
  for (int i = 0; i < 20; ++i) run_on(device, [](Primitives&) {});
  EXPECT_EQ(emulated::host_functions(), before);
}

/// Twice the sum of x, after x came, on which the loop waits.
Task<> summed_twice(Machine& m, std::vector<strategies::Timing>* timings) {
  Buffer host = host_buffer(m, mib / 16);
  Buffer x = gpu_buffer(m, rank0, mib / 16), y = gpu_buffer(m, rank0, mib / 16);
  GpuKernel kernel;
  kernel.name = "sum";
  kernel.work = strategies::GpuWork::sum;
  kernel.operands.emplace_back(x.view(), strategies::Access::read, strategies::Role::input,
                               strategies::ElementType::fp32, 0);
  kernel.operands.emplace_back(y.view(), strategies::Access::write, strategies::Role::output,
                               strategies::ElementType::fp32, 0);
  const std::vector<GpuKernel> twice{kernel, kernel};
  m.enter(rank0, result::Phase::forward);
  Op copied = m.copy(rank0, x.view(), host.view());
  Op summed = m.run(rank0, twice, copied);
  co_await summed;
  timings->assign({copied.timing(), summed.timing()});
}

TEST(DeviceClock, IsTheOneOfOperationsAndOfEachKernelOfATrace) {
  const LateHost late;
  RigOptions options;
  options.trace = true;
  options.make_device = [](std::uint32_t) { return std::make_unique<CudaDevice>(0); };
  Rig rig(strategies::small_box(), options);
  std::vector<strategies::Timing> timings;
  rig.run(summed_twice(rig.machine(), &timings));
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_LT(timings[0].seconds(), copy_s + late_s / 2);
  EXPECT_LT(timings[1].seconds(), late_s / 2);
  // on the device it follows the copy at once
  EXPECT_LT(timings[1].started_s - timings[0].finished_s, late_s / 2);
  std::vector<result::TraceSpan> kernels;
  for (const result::TraceSpan& span : rig.machine().recorder().trace().spans)
    if (span.name == "sum") kernels.push_back(span);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_DOUBLE_EQ(kernels[0].start_s, timings[1].started_s);
  EXPECT_NEAR(kernels[1].end_s, timings[1].finished_s, 1e-9);
  EXPECT_GT(kernels[0].end_s, kernels[0].start_s);
  EXPECT_GT(kernels[1].end_s, kernels[1].start_s);
}

}  // namespace
}  // namespace spillway::hw_backend
