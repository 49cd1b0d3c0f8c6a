#include "hw_backend/cuda/gds_engine.hpp"

#include "hw_backend/storage/open_engine.hpp"
#include "strategies/run/numerics.hpp"
#include "tests/hw_backend/cuda/devices.hpp"
#include "tests/hw_backend/rig.hpp"
#include "tests/hw_backend/storage/fixture.hpp"
#include "tests/hw_backend/training.hpp"
#include "tests/long_test.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <set>

namespace spillway::hw_backend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The emulated cuFile, loaded before anybody looks for libcufile.so.0, which is its name.
struct Cufile {
  unsigned (*transfers)() = nullptr;
  unsigned (*registrations)() = nullptr;
  unsigned (*detours)() = nullptr;
  void (*fails)(bool) = nullptr;
};
const Cufile& cufile() {
  static const Cufile loaded = [] {
    void* const library = dlopen(SPILLWAY_EMULATED_CUFILE, RTLD_NOW | RTLD_LOCAL);
    Cufile found;
    if (!library) return found;
    found.transfers = reinterpret_cast<unsigned (*)()>(dlsym(library, "emulated_cufile_transfers"));
    for (const auto& [name, function] :
         {std::pair{"emulated_cufile_registrations", &found.registrations},
          std::pair{"emulated_cufile_detours", &found.detours}})
      *function = reinterpret_cast<unsigned (*)()>(dlsym(library, name));
    found.fails = reinterpret_cast<void (*)(bool)>(dlsym(library, "emulated_cufile_fails"));
    return found;
  }();
  return loaded;
}

class GdsTransfers : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cufile().transfers && cufile().fails) << dlerror();
    if (!gds_missing().empty()) GTEST_SKIP() << "SKIP another test of this process looked first";
  }

  GdsEngine::Options options() {
    GdsEngine::Options made;
    made.use_device = [this](int rank) {
      const std::lock_guard lock(mutex_);
      used_.insert(rank);
    };
    return made;
  }
  std::unique_ptr<GdsEngine> engine() {
    return std::make_unique<GdsEngine>(open_engine({}), options());
  }

  ScratchDirectory scratch_;
  StoreDirectory directory_{scratch_.path()};
  std::mutex mutex_;
  std::set<int> used_;
};

constexpr std::uint64_t bytes = 5 << 20;  // cuFile does one MiB at a time here

TEST_F(GdsTransfers, MovesDeviceMemoryByCufileAndHostMemoryByTheEngineInside) {
  const auto engine = this->engine();
  const auto file = directory_.create("a", bytes);
  engine->attach(file->target());
  const Pages host(bytes), device(bytes);
  host.fill(1);
  const unsigned before = cufile().transfers();
  EXPECT_EQ(move(*engine, {&file->target(), true, 0, host.data(), bytes, nullptr}), "");
  EXPECT_EQ(cufile().transfers(), before);
  EXPECT_EQ(move(*engine, {&file->target(), false, 0, device.data(), bytes, nullptr, 1}), "");
  EXPECT_EQ(cufile().transfers(), before + 5);
  EXPECT_TRUE(std::equal(host.begin(), host.end(), device.begin()));
  device.fill(2);
  EXPECT_EQ(move(*engine, {&file->target(), true, 4096, device.data(), 8192, nullptr, 0}), "");
  EXPECT_EQ(move(*engine, {&file->target(), false, 4096, host.data(), 8192, nullptr}), "");
  EXPECT_TRUE(std::equal(host.begin(), host.begin() + 8192, device.begin()));
  EXPECT_THAT(used_, ElementsAre(0, 1));
  EXPECT_EQ(engine->counters().bytes_read, bytes + 8192);
  EXPECT_EQ(engine->counters().bytes_written, bytes + 8192);
  EXPECT_EQ(engine->in_flight(), 0u);
  engine->detach(file->target());
}

TEST_F(GdsTransfers, ReportsAnErrorOfTheDriveWithTheTransfer) {
  const auto engine = this->engine();
  const auto file = directory_.create("a", bytes);
  engine->attach(file->target());
  const Pages device(bytes);
  cufile().fails(true);
  EXPECT_THAT(move(*engine, {&file->target(), false, 4096, device.data(), 4096, nullptr, 0}),
              HasSubstr("cuFileRead: Input/output error"));
  cufile().fails(false);
  EXPECT_EQ(move(*engine, {&file->target(), false, 4096, device.data(), 4096, nullptr, 0}), "");
  engine->detach(file->target());
}

TEST_F(GdsTransfers, DropsWhatWaitsAndWaitsForTheRest) {
  const auto engine = this->engine();
  const auto file = directory_.create("a", bytes);
  engine->attach(file->target());
  const Pages device(bytes);
  for (int i = 0; i < 200; ++i)
    engine->submit({&file->target(), i % 2 == 0, 0, device.data(), bytes / 2, nullptr, 0});
  EXPECT_TRUE(engine->cancel_all());
  EXPECT_EQ(engine->in_flight(), 0u);
  const unsigned at_rest = cufile().transfers();
  EXPECT_TRUE(engine->wait(0.01).empty());
  EXPECT_EQ(cufile().transfers(), at_rest);
  engine->detach(file->target());
}

/// 3 MiB of numbers: host, GPU, drive, the rank's other GPU memory, host.
strategies::Task<> by_way_of_a_drive(strategies::Machine& m, strategies::Rank rank,
                                     std::vector<std::byte>* back) {
  const std::uint64_t size = 3 * strategies::mib;
  strategies::Stored stored = co_await strategies::extent(m, size);
  strategies::Buffer host = strategies::host_buffer(m, size);
  strategies::Buffer from = strategies::gpu_buffer(m, rank, size);
  strategies::Buffer into = strategies::gpu_buffer(m, rank, size);
  for (std::uint64_t i = 0; i < size; ++i) host.view().data()[i] = static_cast<std::byte>(i >> 7);
  strategies::Op up = m.copy(rank, from.view(), host.view());
  strategies::Op out = m.write(rank, stored, {0, size}, from.view(), up);
  strategies::Op in = m.read(rank, stored, {0, size}, into.view(), out);
  std::fill_n(back->data(), size, std::byte{0});
  strategies::Buffer end = strategies::host_buffer(m, size);
  co_await m.copy(rank, end.view(), into.view(), in);
  std::copy_n(end.view().data(), size, back->data());
}

TEST_F(GdsTransfers, AreThoseOfGpuMemoryInARealMachine) {
  description::Scenario box = strategies::small_box();
  box.machine.gpu.gpudirect = true;
  box.strategy.io_engine = description::IoEngine::gds;
  RigOptions options;
  options.make_device = devices_under_test().make;
  options.around_engine = [this](std::unique_ptr<IoEngine> inner) {
    return std::make_unique<GdsEngine>(std::move(inner), this->options());
  };
  const unsigned registered = cufile().registrations();
  Rig rig(box, options);
  std::vector<std::byte> first(3 * strategies::mib), second(first.size());
  const unsigned before = cufile().transfers(), detours = cufile().detours();
  EXPECT_EQ(cufile().registrations(), registered + 2);  // all that a rank has of its device
  rig.run(by_way_of_a_drive(rig.machine(), strategies::rank0, &first),
          by_way_of_a_drive(rig.machine(), strategies::rank1, &second));
  EXPECT_EQ(cufile().detours(), detours);
  EXPECT_EQ(cufile().registrations(), registered + 2);
  EXPECT_EQ(cufile().transfers(), before + 12);  // two ranks, each way, a MiB at a time
  EXPECT_THAT(used_, ElementsAre(0, 1));
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < first.size(); ++i)
    wrong += first[i] != static_cast<std::byte>(i >> 7) || second[i] != first[i];
  EXPECT_EQ(wrong, 0u);
}

TEST_F(GdsTransfers, TakeCheckpointsToADriveAndBackBitForBit) {
  LONG_TEST();
  const description::Scenario scenario = small_training(
      "zero_infinity", {"strategy.io_engine=gds", "strategy.activations.policy=checkpoint_ssd",
                        "machine.gpu.gpudirect=true"});
  RealRunOptions on_cuda;
  on_cuda.make_device = devices_under_test().make;
  const RealRun reference = train_for_real(strategies::reference_of(scenario), on_cuda);
  on_cuda.around_engine = [this](std::unique_ptr<IoEngine> inner) {
    return std::make_unique<GdsEngine>(std::move(inner), options());
  };
  const unsigned before = cufile().transfers();
  const RealRun run = train_for_real(scenario, on_cuda);
  EXPECT_GT(cufile().transfers(), before);
  ASSERT_TRUE(run.result.feasible());
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

}  // namespace
}  // namespace spillway::hw_backend
