#include "strategies/machine/recorder.hpp"

#include <gtest/gtest.h>

namespace spillway::strategies {
namespace {

using result::Phase;

constexpr Rank rank0{0}, rank1{1};

std::size_t index(Phase phase) { return static_cast<std::size_t>(phase); }

/// An operation of `kind` in the phase in which `recorder` sees its rank.
struct Made : Operation {
  Made(const Recorder& recorder, OperationKind its_kind, Rank its_rank,
       std::uint64_t its_bytes = 0) {
    kind = its_kind;
    rank = its_rank;
    bytes = its_bytes;
    phase = recorder.phase(its_rank);
    pieces.push_back({StorageId{0}, its_bytes});
  }
};

Recorder two_ranks(bool clock = true, bool trace = false) {
  return Recorder(2, {"nvme", "pfs"}, clock, trace);
}

TEST(Recorder, APhaseOfTheNodeEndsWhenItsLastRankLeavesIt) {
  Recorder recorder = two_ranks();
  recorder.enter(rank0, Phase::forward, 0);
  recorder.enter(rank1, Phase::forward, 1);
  recorder.enter(rank0, Phase::backward, 4);
  recorder.enter(rank1, Phase::backward, 6);
  recorder.enter(rank1, Phase::update, 7);
  recorder.enter(rank0, Phase::update, 9);
  recorder.step_ended(10);
  const StepRecord& step = recorder.steps().at(0);
  EXPECT_EQ(step.phase_s[index(Phase::init)], 1);  // until the last rank began
  EXPECT_EQ(step.phase_s[index(Phase::forward)], 5);
  EXPECT_EQ(step.phase_s[index(Phase::backward)], 3);
  EXPECT_EQ(step.phase_s[index(Phase::update)], 1);
  EXPECT_EQ(step.seconds(), 10);
}

TEST(Recorder, ARankMayRunAheadThroughSeveralPhases) {
  Recorder recorder = two_ranks();
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
    recorder.enter(rank0, phase, 2);
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
    recorder.enter(rank1, phase, 5);
  recorder.step_ended(6);
  const StepRecord& step = recorder.steps().at(0);
  EXPECT_EQ(step.phase_s[index(Phase::init)], 5);
  EXPECT_EQ(step.phase_s[index(Phase::forward)], 0);
  EXPECT_EQ(step.phase_s[index(Phase::update)], 1);
  EXPECT_EQ(recorder.phase(rank0), Phase::update);
}

TEST(Recorder, AResourceIsBusyWhileAtLeastOneOperationRuns) {
  Recorder recorder = two_ranks();
  for (const Rank rank : {rank0, rank1}) recorder.enter(rank, Phase::forward, 0);
  Made a(recorder, OperationKind::read, rank0, 10);
  Made b(recorder, OperationKind::read, rank1, 20);
  b.pieces[0].storage = StorageId{1};
  recorder.started(a, 0);
  recorder.started(b, 1);
  recorder.finished(a, 3);
  recorder.finished(b, 4);
  Made up(recorder, OperationKind::copy_to_gpu, rank0, 5);
  recorder.started(up, 4);
  recorder.finished(up, 6);
  recorder.step_ended(10);
  const StepRecord& step = recorder.steps().at(0);
  const result::PhaseBusy& busy = step.busy[index(Phase::forward)];
  EXPECT_EQ(busy.ssd, 4);  // 0-3 and 1-4 together
  EXPECT_EQ(busy.h2d, 1);  // 2 s of one rank in two
  EXPECT_EQ(busy.d2h, 0);
  EXPECT_EQ(step.storage_busy_s.at(0), 3);
  EXPECT_EQ(step.storage_busy_s.at(1), 3);
  EXPECT_EQ(step.bytes[index(Phase::forward)].ssd_read, 30u);
  EXPECT_EQ(step.by_storage.at(1).read, 20u);
}

/// A stage of a pipeline hands over for two seconds and then waits for the next one.
TEST(Recorder, CountsExchangesAndWhatWaitsForOtherRanksApartFromCopies) {
  Recorder recorder = two_ranks();
  for (const Rank rank : {rank0, rank1}) recorder.enter(rank, Phase::forward, 0);
  Made sent(recorder, OperationKind::send, rank0, 5);
  recorder.started(sent, 0);
  recorder.finished(sent, 2);
  Made kernel(recorder, OperationKind::gpu_kernels, rank1);
  recorder.started(kernel, 2);
  Made copy(recorder, OperationKind::copy_to_gpu, rank0, 5);
  recorder.started(copy, 5);
  recorder.finished(copy, 6);
  recorder.finished(kernel, 8);
  recorder.step_ended(10);
  // rank 0: 0-2 sends, 2-5 and 6-8 waits; rank 1: 0-2 waits for the sender; means of two
  EXPECT_EQ(recorder.steps().at(0).busy[index(Phase::forward)].other_gpus, (2 + 5 + 2) / 2.0);
}

TEST(Recorder, WorkThatCrossesPhasesIsBusyInEachAndCountedWhereItWasIssued) {
  Recorder recorder = two_ranks();
  for (const Rank rank : {rank0, rank1}) recorder.enter(rank, Phase::forward, 0);
  Made write(recorder, OperationKind::write, rank0, 7);
  recorder.started(write, 1);
  for (const Rank rank : {rank0, rank1}) recorder.enter(rank, Phase::backward, 3);
  recorder.finished(write, 8);
  recorder.step_ended(9);
  const StepRecord& step = recorder.steps().at(0);
  EXPECT_EQ(step.busy[index(Phase::forward)].ssd, 2);
  EXPECT_EQ(step.busy[index(Phase::backward)].ssd, 5);
  EXPECT_EQ(step.bytes[index(Phase::forward)].ssd_write, 7u);
  EXPECT_EQ(step.bytes[index(Phase::backward)].ssd_write, 0u);
}

TEST(Recorder, AnIdleGpuWaitsForStorageHostOrUpdate) {
  Recorder recorder(1, {"nvme"}, true, false);
  recorder.enter(rank0, Phase::forward, 0);
  Made read(recorder, OperationKind::read, rank0, 1);
  Made kernel(recorder, OperationKind::gpu_kernels, rank0);
  kernel.kernels.push_back({"recomputed", 1, 1, 0, true, true, true, 1.5});
  recorder.started(read, 0);
  recorder.started(kernel, 1);  // 0-1 waits for the SSD
  recorder.finished(read, 2);
  recorder.finished(kernel, 4);
  recorder.enter(rank0, Phase::update, 7);  // 4-7 waits for the host
  recorder.step_ended(12);                  // 7-12 waits for the update
  const StepRecord& step = recorder.steps().at(0);
  EXPECT_EQ(step.stalls.gpu_waits_for_ssd, 1);
  EXPECT_EQ(step.stalls.gpu_waits_for_host, 3);
  EXPECT_EQ(step.stalls.gpu_waits_for_update, 5);
  EXPECT_EQ(step.busy[index(Phase::forward)].gpu, 3);
  EXPECT_EQ(step.busy[index(Phase::forward)].gpu_recompute, 1.5);
}

// The means of two ranks: of 10 s in which rank 1 has nothing to do 5 count.
TEST(Recorder, AnIdleGpuWaitsForOthersThatComputeOrExchange) {
  Recorder recorder = two_ranks();
  for (const Rank rank : {rank0, rank1}) recorder.enter(rank, Phase::forward, 0);
  Made kernel(recorder, OperationKind::gpu_kernels, rank0);
  Made read(recorder, OperationKind::read, rank1, 1);
  Made write(recorder, OperationKind::write, rank1, 1);
  Made send(recorder, OperationKind::send, rank0, 1);
  recorder.started(kernel, 0);
  recorder.started(read, 2);  // until now rank 1 waited for rank 0
  recorder.finished(read, 5);
  recorder.finished(kernel, 10);
  recorder.started(send, 10);
  recorder.started(write, 12);   // of two GPUs that wait for the send rank 1 now writes
  recorder.finished(send, 14);   // 10-14 rank 0, 10-12 rank 1
  recorder.finished(write, 15);  // 12-15 rank 1, for which rank 0 waits
  recorder.step_ended(16);       // and then both wait for the host
  const StepRecord& step = recorder.steps().at(0);
  EXPECT_EQ(step.stalls.gpu_waits_for_gpus, (2 + 5 + 4 + 2 + 1) / 2.);
  EXPECT_EQ(step.stalls.gpu_waits_for_ssd, (3 + 3) / 2.);
  EXPECT_EQ(step.stalls.gpu_waits_for_host, (1 + 1) / 2.);
}

TEST(Recorder, AGpuThatWorksOnTwoStreamsIsBusyOnce) {
  Recorder recorder(1, {"nvme"}, true, true);
  recorder.enter(rank0, Phase::backward, 0);
  Made pass(recorder, OperationKind::gpu_kernels, rank0);
  Made widening(recorder, OperationKind::gpu_kernels, rank0);
  widening.gpu_stream = GpuStream::side;
  for (Made* made : {&pass, &widening})
    made->kernels.push_back({"k", 0, 1, 0, false, true, false, 3});
  recorder.started(pass, 1);
  recorder.started(widening, 2);
  recorder.finished(pass, 4);
  recorder.finished(widening, 5);
  recorder.step_ended(6);
  const StepRecord& step = recorder.steps().at(0);
  EXPECT_EQ(step.busy[index(Phase::backward)].gpu, 4);  // 1-4 and 2-5 together
  EXPECT_EQ(step.stalls.gpu_waits_for_host, 2);         // 0-1 and 5-6
  const auto& spans = recorder.trace().spans;
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0].track, "rank 0 compute");
  EXPECT_EQ(spans[1].track, "rank 0 side");
  EXPECT_EQ(spans[2].track, "phases");
  EXPECT_EQ(spans[2].name, "backward");
  EXPECT_EQ(spans[2].end_s, 6);
  EXPECT_EQ(spans[3].track, "steps");
  EXPECT_EQ(spans[3].start_s, 0);
  EXPECT_EQ(spans[3].end_s, 6);
}

TEST(Recorder, AWatchSeesWhatStartsAndWhatEnds) {
  struct Watch final : OperationWatch {
    std::string seen;
    void started(const Operation& operation) override { seen += std::to_string(operation.bytes); }
    void finished(const Operation& operation) override {
      seen += "/" + std::to_string(operation.bytes);
    }
  } watch;
  Recorder recorder = two_ranks(false);
  recorder.set_watch(&watch);
  Made first(recorder, OperationKind::read, rank0, 1);
  Made second(recorder, OperationKind::write, rank1, 2);
  recorder.started(first, 0);
  recorder.started(second, 0);
  recorder.finished(first, 0);
  EXPECT_EQ(watch.seen, "12/1");
}

TEST(Recorder, EachStepBeginsWithNothing) {
  Recorder recorder(1, {"nvme"}, true, false);
  recorder.enter(rank0, Phase::forward, 0);
  Made read(recorder, OperationKind::read, rank0, 9);
  recorder.started(read, 0);
  recorder.step_ended(4);
  recorder.finished(read, 5);  // began in the first step: its bytes are there, its time in both
  recorder.enter(rank0, Phase::forward, 6);
  recorder.step_ended(8);
  const StepRecord& second = recorder.steps().at(1);
  EXPECT_EQ(second.start_s, 4);
  EXPECT_EQ(second.operations, 0u);
  EXPECT_EQ(second.by_storage.at(0).read, 0u);
  EXPECT_EQ(recorder.steps().at(0).busy[index(Phase::forward)].ssd, 4);
  EXPECT_EQ(second.busy[index(Phase::forward)].ssd, 1);
}

TEST(Recorder, CollectivesSendTheirShareOfTheWhole) {
  Recorder recorder = two_ranks(false);
  CollectiveRound round;
  Made first(recorder, OperationKind::collective, rank0, 100);
  Made last(recorder, OperationKind::collective, rank1, 100);
  first.round = last.round = &round;
  round.members = {&first, &last};
  round.cost.to_peer = 40;
  round.cost.to_node = 25;
  recorder.started(first, 0);
  recorder.started(last, 0);
  recorder.step_ended(0);
  EXPECT_EQ(recorder.steps().at(0).network, 2 * (40 + 25u));
  EXPECT_EQ(recorder.steps().at(0).between_nodes, 50u);
}

TEST(Recorder, TheNetworkIsBusyWhileACollectiveLeavesTheNode) {
  Recorder recorder = two_ranks(true);
  recorder.enter(rank0, Phase::forward, 0);
  recorder.enter(rank1, Phase::forward, 0);
  CollectiveRound inside, across;
  Made one(recorder, OperationKind::collective, rank0, 100);
  Made other(recorder, OperationKind::collective, rank0, 100);
  one.round = &inside, other.round = &across;
  inside.members = {&one}, across.members = {&other};
  inside.cost.to_peer = across.cost.to_node = 50;
  recorder.started(one, 0);
  recorder.started(other, 3);
  recorder.finished(other, 5);
  recorder.finished(one, 9);
  recorder.step_ended(10);
  // 2 s of one of two ranks
  EXPECT_EQ(recorder.steps().at(0).busy[index(Phase::forward)].network, 1);
}

TEST(Recorder, OfAMachineThatHearsLateCountsWhatRanWhenItRan) {
  Recorder recorder = two_ranks();
  recorder.hear_late();
  for (const Rank rank : {rank0, rank1}) recorder.enter(rank, Phase::forward, 0);
  Made kernels(recorder, OperationKind::gpu_kernels, rank0);
  Made up(recorder, OperationKind::copy_to_gpu, rank0, 5);
  recorder.started(kernels, 1);
  recorder.started(up, 1);
  for (const Rank rank : {rank0, rank1}) recorder.enter(rank, Phase::backward, 5);
  kernels.timing = {2, 4, 0};
  recorder.finished(kernels, 7);
  up.timing = {3, 6, 5};
  recorder.finished(up, 9);
  Made long_one(recorder, OperationKind::gpu_kernels, rank1);
  recorder.started(long_one, 8);
  recorder.step_ended(10);
  const StepRecord first = recorder.steps().at(0);
  // means over two ranks: 2-4; 3-5 and 5-6; 8-10, which is all that is known of it then
  EXPECT_EQ(first.busy[index(Phase::forward)].gpu, 1);
  EXPECT_EQ(first.busy[index(Phase::forward)].h2d, 1);
  EXPECT_EQ(first.busy[index(Phase::backward)].h2d, 0.5);
  EXPECT_EQ(first.busy[index(Phase::backward)].gpu, 1);
  long_one.timing = {8.5, 12, 0};
  recorder.finished(long_one, 13);
  recorder.step_ended(20);
  EXPECT_EQ(recorder.steps().at(1).busy[index(Phase::backward)].gpu, 1);
}

TEST(Recorder, ATraceHasASpanForEachKernelAndTransfer) {
  Recorder recorder = two_ranks(true, true);
  recorder.enter(rank1, Phase::forward, 0);
  Made kernels(recorder, OperationKind::gpu_kernels, rank1);
  kernels.kernels.push_back({"norm", 0, 1, 0, false, true, false, 1});
  kernels.kernels.push_back({"matmul", 1, 1, 0, true, true, false, 2});
  kernels.timing.started_s = 1;
  kernels.timing.finished_s = 4;
  recorder.started(kernels, 1);
  recorder.finished(kernels, 4);
  const auto& spans = recorder.trace().spans;
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].name, "norm");
  EXPECT_EQ(spans[0].track, "rank 1 compute");
  EXPECT_EQ(spans[0].end_s, 2);
  EXPECT_EQ(spans[1].start_s, 2);
  EXPECT_EQ(spans[1].end_s, 4);
  EXPECT_EQ(spans[1].phase, "forward");
}

}  // namespace
}  // namespace spillway::strategies
