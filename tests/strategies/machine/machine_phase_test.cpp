#include "tests/strategies/machine/machines.hpp"

namespace spillway::strategies::machine_phase_test {
namespace {

template <class Kind>
using MachinePhase = MachineContract<Kind>;
TYPED_TEST_SUITE(MachinePhase, Machines);

const result::PhaseBytes& bytes_in(const StepRecord& step, Phase phase) {
  return step.bytes[static_cast<std::size_t>(phase)];
}

Task<> a_step(Machine& m, Rank rank) {
  Stored stored = co_await extent(m, mib);
  Buffer host = host_buffer(m, mib);
  Buffer gpu = gpu_buffer(m, rank, mib);
  m.enter(rank, Phase::forward);
  Op read = m.read(rank, stored, {0, mib}, host.view());
  Op up = m.copy(rank, gpu.view(), host.view(), read);
  m.enter(rank, Phase::backward);  // `up` was issued in forward, and begins in backward
  Op down = m.copy(rank, host.view(0, mib / 2), gpu.view(0, mib / 2), up);
  co_await down;
  m.enter(rank, Phase::update);
  co_await m.write(rank, stored, {0, mib / 4}, host.view(0, mib / 4));
}

TYPED_TEST(MachinePhase, BytesCountInThePhaseThatIssuedThem) {
  Machine& m = this->machine();
  this->run(a_step(m, rank0), a_step(m, rank1));
  m.step_ended();
  const StepRecord& step = m.recorder().steps().at(0);
  EXPECT_EQ(bytes_in(step, Phase::forward).ssd_read, 2 * mib);
  EXPECT_EQ(bytes_in(step, Phase::forward).h2d, 2 * mib);
  EXPECT_EQ(bytes_in(step, Phase::backward).h2d, 0u);
  EXPECT_EQ(bytes_in(step, Phase::backward).d2h, mib);
  EXPECT_EQ(bytes_in(step, Phase::update).ssd_write, mib / 2);
  EXPECT_EQ(step.by_storage.at(0).read, 2 * mib);
  EXPECT_EQ(step.by_storage.at(0).write, mib / 2);
  EXPECT_EQ(step.operations, 8u);  // 4 of each rank
}

TYPED_TEST(MachinePhase, StepsAreCountedApart) {
  Machine& m = this->machine();
  this->run(a_step(m, rank0));
  m.step_ended();
  this->run(a_step(m, rank0));
  this->run(a_step(m, rank1));
  m.step_ended();
  ASSERT_EQ(m.recorder().steps().size(), 2u);
  EXPECT_EQ(m.recorder().steps()[0].operations, 4u);
  EXPECT_EQ(m.recorder().steps()[1].operations, 8u);
  EXPECT_EQ(m.recorder().steps()[1].start_s, m.recorder().steps()[0].end_s);
}

Task<> allocates_in(Machine& m, Rank rank, Phase phase) {
  m.enter(rank, phase);
  Buffer buffer = gpu_buffer(m, rank, mib);
  co_return;
}

TYPED_TEST(MachinePhase, AllocationsBelongToThePhaseOfTheirRank) {
  Machine& m = this->machine();
  this->run(allocates_in(m, rank0, Phase::backward), allocates_in(m, rank1, Phase::update));
  EXPECT_EQ(m.ledger().peak(m.gpu_tier(rank0)).phase, Phase::backward);
  EXPECT_EQ(m.ledger().peak(m.gpu_tier(rank1)).phase, Phase::update);
}

Task<> direct(Machine& m) {
  Stored stored = co_await extent(m, mib);
  Buffer gpu = gpu_buffer(m, rank0, mib);
  m.enter(rank0, Phase::forward);
  co_await m.write(rank0, stored, {0, mib}, gpu.view());
}

TYPED_TEST(MachinePhase, GpuDirectBytesAreCountedApartFromThoseThroughTheHost) {
  this->box.machine.gpu.gpudirect = true;
  Machine& m = this->machine();
  this->run(direct(m));
  m.step_ended();
  const StepRecord& step = m.recorder().steps().at(0);
  EXPECT_EQ(bytes_in(step, Phase::forward).gpu_direct_write, mib);
  EXPECT_EQ(bytes_in(step, Phase::forward).ssd_write, 0u);
  EXPECT_EQ(step.gpu_direct, mib);
  EXPECT_EQ(step.by_storage.at(0).write, mib);
}

Task<> near_storage(Machine& m) {
  StorageKernel kernel;
  kernel.elements = 1000;
  kernel.read = 12'000;
  kernel.written = 8'000;
  co_await m.run(rank0, ssd, kernel);
}

TYPED_TEST(MachinePhase, NearStorageWorkMovesBytesInsideTheStorageOnly) {
  Machine& m = this->machine();
  m.enter(rank0, Phase::update);
  this->run(near_storage(m));
  m.step_ended();
  const StepRecord& step = m.recorder().steps().at(0);
  EXPECT_EQ(step.by_storage.at(0).read, 12'000u);
  EXPECT_EQ(step.by_storage.at(0).write, 8'000u);
  EXPECT_EQ(step.inside.at(0).read, 12'000u);
  EXPECT_EQ(step.inside.at(0).write, 8'000u);
  EXPECT_EQ(bytes_in(step, Phase::update).ssd_read, 0u);
}

}  // namespace
}  // namespace spillway::strategies::machine_phase_test
