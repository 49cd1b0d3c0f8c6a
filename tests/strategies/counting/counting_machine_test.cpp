#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

class Count : public ::testing::Test {
 protected:
  void run(Task<> one) {
    std::vector<Task<>> ranks;
    ranks.push_back(std::move(one));
    machine.run_ranks(std::move(ranks));
  }
  CountingMachine machine{small_box()};
};

Task<> a_step(Machine& m) {
  Stored stored = co_await extent(m, mib);
  Buffer host = host_buffer(m, mib);
  Buffer pageable = m.allocate_now(TierId::pageable, rank0, Bytes(mib), Purpose::host_pool);
  Buffer gpu = gpu_buffer(m, rank0, mib);
  Buffer peer = gpu_buffer(m, rank1, mib);
  m.enter(rank0, Phase::forward);
  co_await m.read(rank0, stored, {0, mib}, host.view());
  co_await m.read(rank1, stored, {0, 4096}, host.view(0, 4096));
  co_await m.copy(rank0, gpu.view(), host.view());
  co_await m.copy(rank0, gpu.view(0, 100), pageable.view(0, 100));
  std::vector<GpuKernel> kernels(4, kernel_of(1e9));
  kernels[1].recompute = true;
  kernels[2].matrix = kernels[3].matrix = false;
  kernels[2].flops = kernels[3].flops = 0;
  kernels[2].bytes = 500;
  kernels[2].in_pass = true;
  kernels[3].bytes = 70;
  co_await m.run(rank0, kernels);
  m.enter(rank0, Phase::update);
  co_await m.copy(rank0, host.view(0, 200), gpu.view(0, 200));
  co_await m.copy(rank0, pageable.view(0, 300), gpu.view(0, 300));
  co_await m.copy(rank0, pageable.view(0, 400), host.view(0, 400));
  co_await m.send(rank0, rank1, gpu.view(), peer.view());
  CpuKernel adam;
  adam.elements = 1000;
  adam.traffic = 28'000;
  co_await m.run(rank0, adam);
  adam.work = CpuWork::check_fused;
  co_await m.run(rank1, adam);
  StorageKernel near;
  near.elements = 10;
  near.read = 120;
  near.written = 80;
  co_await m.run(rank0, ssd, near);
  co_await m.write(rank0, stored, {0, 4096}, host.view(0, 4096));
}

TEST_F(Count, DemandIsByPhaseRankStorageAndKindOfWork) {
  run(a_step(machine));
  const Demand& step = machine.demands().at(0);
  EXPECT_EQ(step.operations, 13u);
  const PhaseDemand& forward = step.of(Phase::forward);
  EXPECT_EQ(forward.storages.at(0).reads, 1u);
  EXPECT_EQ(forward.storages.at(0).read, mib);
  const RankDemand& rank = forward.ranks.at(0);
  EXPECT_EQ(rank.h2d, mib);
  EXPECT_EQ(rank.pageable_h2d, 100u);
  EXPECT_EQ(rank.kernels, 4u);
  EXPECT_EQ(rank.flops, 2e9);
  EXPECT_EQ(rank.recompute_flops, 1e9);
  EXPECT_EQ(rank.pass_bytes, 500);
  EXPECT_EQ(rank.other_bytes, 70);
  // rank 1 never entered a phase
  EXPECT_EQ(step.of(Phase::init).storages.at(0).read, 4096u);
  const PhaseDemand& update = step.of(Phase::update);
  EXPECT_EQ(update.ranks.at(0).d2h, 200u);
  EXPECT_EQ(update.ranks.at(0).pageable_d2h, 300u);
  EXPECT_EQ(update.host_copies, 400u);
  EXPECT_EQ(update.ranks.at(0).sent, mib);
  EXPECT_EQ(update.cpu_elements[static_cast<std::size_t>(CpuWork::adam)], 1000u);
  EXPECT_EQ(update.cpu_traffic[static_cast<std::size_t>(CpuWork::adam)], 28'000u);
  EXPECT_EQ(step.of(Phase::init).cpu_elements[static_cast<std::size_t>(CpuWork::check_fused)],
            1000u);
  EXPECT_EQ(update.storages.at(0).inside_read, 120u);
  EXPECT_EQ(update.storages.at(0).inside_written, 80u);
  EXPECT_EQ(update.storages.at(0).elements, 10u);
  EXPECT_EQ(update.storages.at(0).written, 4096u);
}

TEST_F(Count, EachStepHasItsOwnDemand) {
  run(a_step(machine));
  machine.step_ended();
  EXPECT_EQ(machine.demands().size(), 1u);
  run(a_step(machine));
  ASSERT_EQ(machine.demands().size(), 2u);
  EXPECT_EQ(machine.demands()[1].operations, 13u);
  EXPECT_EQ(machine.demands()[0].of(Phase::forward).ranks[0].flops, 2e9);
}

Task<> reduces(Machine& m, Rank rank) {
  m.enter(rank, Phase::backward);
  Buffer gpu = gpu_buffer(m, rank, mib);
  co_await m.collective(rank, m.topology().world(), Collective::all_reduce, gpu.view(), gpu.view());
}

TEST_F(Count, CollectivesCountOnceForEachMember) {
  std::vector<Task<>> ranks;
  for (const Rank rank : {rank0, rank1}) ranks.push_back(reduces(machine, rank));
  machine.run_ranks(std::move(ranks));
  const Demand& step = machine.demands().at(0);
  EXPECT_EQ(step.operations, 2u);
  for (const RankDemand& rank : step.of(Phase::backward).ranks) EXPECT_EQ(rank.collectives, mib);
}

Task<> in_start_order(Machine& m, std::vector<int>* log) {
  Stored stored = co_await extent(m, 16 * mib);
  Buffer host = host_buffer(m, 16 * mib);
  std::vector<Task<>> watchers;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t bytes = (4 - i) * mib;
    const Range range{static_cast<std::uint64_t>(i) * 4 * mib, bytes};
    watchers.push_back(
        note_end(m.read(rank0, stored, range, host.view(range.offset, bytes)), log, i));
  }
  co_await when_all(m.scheduler(), std::move(watchers));
}

TEST_F(Count, OperationsFinishInTheOrderInWhichTheyBegan) {
  std::vector<int> log;
  run(in_start_order(machine, &log));
  EXPECT_THAT(log, ElementsAre(0, 1, 2, 3));
}

/// Fails every write, as a drive that is full would.
class NoWrites final : public Machine {
 public:
  NoWrites() : Machine(setup_for_tests()) {}

 private:
  static MachineSetup setup_for_tests() {
    MachineSetup setup;
    setup.clock = false;
    setup.topology.groups = {{rank0}};
    setup.topology.storages.push_back({"nvme", 1, Bytes(1 << 30), {}, {}, true});
    return setup;
  }
  void start(Operation& operation) override { running_.push_back(&operation); }
  void start(CollectiveRound& round) override { finish(round); }
  void loop() override {
    scheduler_.drain();
    while (!stopped() && !running_.empty()) {
      Operation& next = *running_.front();
      running_.pop_front();
      const bool fails = next.kind == OperationKind::write;
      finish(next, fails ? std::make_exception_ptr(description::DeviceError("ENOSPC"))
                         : std::exception_ptr());
      scheduler_.drain();
    }
  }
  void cancel_all() override { running_.clear(); }
  double now_s() const override { return 0; }
  std::deque<Operation*> running_;
};

Task<> writes(Machine& m, std::vector<int>* log, int how) {
  Stored stored = co_await extent(m, mib);
  Buffer host = host_buffer(m, mib);
  Op write = m.write(rank0, stored, {0, mib}, host.view());
  Op read = m.read(rank0, stored, {0, mib}, host.view(), write);
  try {
    if (how == 0) co_await write;
    if (how == 1) co_await read;
    if (how == 2) co_await m.run(rank0, std::vector<GpuKernel>(1, kernel_of(1)));
  } catch (const description::DeviceError&) {
    log->push_back(how);
  }
  if (how == 1) co_await m.run(rank0, std::vector<GpuKernel>(1, kernel_of(1)));
  log->push_back(100);
}

TEST(FailingOperation, RethrowsWhereItIsAwaitedAndPassesOnToWhatFollowsIt) {
  std::vector<int> log;
  const auto run_it = [&](int how) {
    NoWrites machine;
    std::vector<Task<>> ranks;
    ranks.push_back(writes(machine, &log, how));
    machine.run_ranks(std::move(ranks));
  };
  // the read after the write fails with it: awaiting that one is enough, and the run goes on
  EXPECT_NO_THROW(run_it(1));
  EXPECT_THAT(log, ElementsAre(1, 100));
  log.clear();
  // awaiting the write alone leaves the read's error to nobody: the run fails
  EXPECT_THROW(run_it(0), description::DeviceError);
  log.clear();
  EXPECT_THROW(run_it(2), description::DeviceError);
  EXPECT_TRUE(log.empty());
}

}  // namespace
}  // namespace spillway::strategies
