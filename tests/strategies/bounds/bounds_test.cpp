#include "strategies/bounds/bounds.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/machine/kernel_time.hpp"
#include "tests/strategies/machine/machines.hpp"

namespace spillway::strategies {
namespace {

/// One rank and one storage, nothing asked of them.
Demand nothing(std::size_t ranks = 1) {
  Demand demand;
  for (PhaseDemand& phase : demand.phases) {
    phase.ranks.resize(ranks);
    phase.storages.resize(1);
  }
  return demand;
}

TEST(Bounds, OfNothingAreZero) { EXPECT_EQ(bounds_of(nothing(), small_box()).step(), 0); }

TEST(Bounds, AGpuWorksAsLongAsTheLongerOfItsStreams) {
  // 1 TFLOPS, 1000 GB/s: 2e12 FLOPs = 2 s, 500 GB = 0.5 s; beside it 3000 GB = 3 s
  Demand demand = nothing();
  RankDemand& rank = demand.of(Phase::forward).ranks[0];
  rank.flops = 2e12;
  rank.other_bytes = 400e9;
  demand.of(Phase::update).ranks[0].other_bytes = 100e9;
  rank.pass_bytes = 700e9;  // inside the compute rate
  EXPECT_DOUBLE_EQ(bounds_of(demand, small_box()).gpu, 2.5);
  description::Scenario box = small_box();
  box.machine.gpu.elementwise = description::ElementwiseCost::separate;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 3.2);
  rank.kernels = 10;
  box.machine.gpu.launch = description::Seconds(0.01);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 3.3);
  rank.side_bytes = 3000e9;
  rank.side_kernels = 50;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 3.5);
}

TEST(Bounds, AStageWaitsForTheFirstMicroBatchOfThoseBeforeIt) {
  // 1 TFLOPS, two stages, four micro-batches of 1 and of 2 s: the second stage does 8 s of its own
  // behind and before a micro-batch of the first, of whose eight layers six are sure
  Demand demand = nothing(2);
  demand.of(Phase::forward).ranks[0].flops = 1e12;
  demand.of(Phase::backward).ranks[0].flops = 4e12;
  demand.of(Phase::backward).ranks[0].recompute_flops = 1e12;
  demand.of(Phase::forward).ranks[1].flops = 8e12;
  description::Scenario box = small_box();
  box.parallel.data = 1;
  box.parallel.pipeline = 2;
  box.training.gradient_accumulation = 4;
  EXPECT_DOUBLE_EQ(pipeline_seconds(demand, box, {8, 8}), 8.75);
  EXPECT_DOUBLE_EQ(pipeline_seconds(demand, box, {1, 8}), 8 + 2.0 / 3) << "of one layer a third";
  box.training.gradient_accumulation = 1;
  EXPECT_DOUBLE_EQ(pipeline_seconds(demand, box, {8, 8}), 11);
  EXPECT_EQ(pipeline_seconds(demand, box, {}), 0);
  description::Scenario other = box;
  other.parallel.schedule = description::PipelineSchedule::zero_bubble;
  EXPECT_EQ(pipeline_seconds(demand, other, {8, 8}), 0);
  other.parallel.schedule = description::PipelineSchedule::interleaved;
  EXPECT_EQ(pipeline_seconds(demand, other, {8, 8}), 0);
  box.parallel.pipeline = 1;
  EXPECT_EQ(pipeline_seconds(demand, box, {16}), 0);
}

TEST(Bounds, UpdatesByAdamGoAtItsOwnRateWhereTheMachineHasOne) {
  Demand demand = nothing();
  RankDemand& rank = demand.of(Phase::update).ranks[0];
  rank.updated = 1e9;
  rank.update_bytes = 2000e9;  // 2 s at 1000 GB/s
  description::Scenario box = small_box();
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 2);
  box.machine.gpu.adam = description::ParamsPerSecond(2e9);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 0.5);
  box.training.optimizer = description::OptimizerKind::sgd;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 2);
}

TEST(KernelTime, AnUpdateByAdamGoesAtItsOwnRateWhereTheMachineHasOne) {
  description::Scenario box = small_box();
  box.machine.gpu.launch = description::Seconds(0.25);
  const LoggedKernel update{"update", 0, 2000e9, 1e9, false, false, false, 0};
  const LoggedKernel other{"other", 0, 2000e9, 0, false, false, false, 0};
  EXPECT_DOUBLE_EQ(kernel_seconds(update, box), 2.25);
  box.machine.gpu.adam = description::ParamsPerSecond(2e9);
  EXPECT_DOUBLE_EQ(kernel_seconds(update, box), 0.75);
  EXPECT_DOUBLE_EQ(kernel_seconds(other, box), 2.25);
}

/// 1e12 FLOP each; the box multiplies at 100 TFLOPS in bf16, 10 ms.
TEST(KernelTime, AttentionGoesAtItsOwnRateWhereTheMachineHasOne) {
  description::Scenario box = small_box();
  box.machine.gpu.compute["bf16"] = description::FlopsPerSecond(100e12);
  box.training.precision = description::Precision::bf16_mixed;
  LoggedKernel product{"product", 1e12, 0, 0, true, true, false, 0};
  LoggedKernel attention = product;
  attention.rate = KernelRate::attention;
  EXPECT_DOUBLE_EQ(kernel_seconds(attention, box), kernel_seconds(product, box));
  box.machine.gpu.attention["fp16"] = description::FlopsPerSecond(1e12);  // another type's
  EXPECT_DOUBLE_EQ(kernel_seconds(attention, box), 0.01);
  box.machine.gpu.attention["bf16"] = description::FlopsPerSecond(20e12);
  EXPECT_DOUBLE_EQ(kernel_seconds(attention, box), 0.05);
  EXPECT_DOUBLE_EQ(kernel_seconds(product, box), 0.01);
  box.training.attention = description::AttentionKind::materialized;  // other kernels
  EXPECT_DOUBLE_EQ(kernel_seconds(attention, box), 0.01);
}

TEST(KernelTime, AReductionGoesAtItsOwnRateWhereTheMachineHasOne) {
  description::Scenario box = small_box();
  box.machine.gpu.elementwise = description::ElementwiseCost::separate;
  const LoggedKernel other{"add", 0, 2000e9, 0, false, true, false, 0};  // 2 s at 1000 GB/s
  LoggedKernel reduction = other;
  reduction.rate = KernelRate::reduction;
  EXPECT_DOUBLE_EQ(kernel_seconds(reduction, box), 2);
  box.machine.gpu.reduction = description::BytesPerSecond(500e9);
  EXPECT_DOUBLE_EQ(kernel_seconds(reduction, box), 4);
  EXPECT_DOUBLE_EQ(kernel_seconds(other, box), 2);
  LoggedKernel order = other;
  order.rate = KernelRate::permute;
  EXPECT_DOUBLE_EQ(kernel_seconds(order, box), 2);
  box.machine.gpu.permute = description::BytesPerSecond(250e9);
  EXPECT_DOUBLE_EQ(kernel_seconds(order, box), 8);
  EXPECT_DOUBLE_EQ(kernel_seconds(reduction, box), 4);
}

/// What no kernel can beat: were attention the faster one, all might be attention.
TEST(Bounds, HoldWhicheverRateIsTheHigher) {
  Demand demand = nothing();
  demand.of(Phase::forward).ranks[0].flops = 1e12;
  demand.of(Phase::update).ranks[0].other_bytes = 1000e9;
  description::Scenario box = small_box();
  box.machine.gpu.compute["bf16"] = description::FlopsPerSecond(1e12);
  box.training.precision = description::Precision::bf16_mixed;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 2);
  box.machine.gpu.attention["bf16"] = description::FlopsPerSecond(0.5e12);
  box.machine.gpu.reduction = description::BytesPerSecond(500e9);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 2);
  box.machine.gpu.attention["bf16"] = description::FlopsPerSecond(2e12);
  box.machine.gpu.reduction = description::BytesPerSecond(2000e9);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 1);
  box.machine.gpu.permute = description::BytesPerSecond(4000e9);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 0.75);
}

TEST(KernelTime, NamesTheRateOfAnOperator) {
  models::Operator op;
  EXPECT_EQ(rate_of(op), KernelRate::usual);
  op.function = models::OperatorFunction::attention_backward;
  EXPECT_EQ(rate_of(op), KernelRate::attention);
  op.function = models::OperatorFunction::attention_block;  // of a ring
  EXPECT_EQ(rate_of(op), KernelRate::attention);
  op.function = models::OperatorFunction::norm_backward;
  EXPECT_EQ(rate_of(op), KernelRate::reduction);
  op.function = models::OperatorFunction::scatter_experts;
  EXPECT_EQ(rate_of(op), KernelRate::permute);
  op.function = models::OperatorFunction::gather_experts_backward;
  EXPECT_EQ(rate_of(op), KernelRate::permute);
  op.function = models::OperatorFunction::update;
  EXPECT_EQ(rate_of(op), KernelRate::usual);
  op.flops = models::Flops(1);  // of Muon, whose products are in bf16 whatever is trained
  EXPECT_EQ(rate_of(op), KernelRate::bf16);
}

TEST(Bounds, TheBusiestRankCounts) {
  Demand demand = nothing(2);
  demand.of(Phase::forward).ranks[0].h2d = 20'000'000'000;   // 2 s at 10 GB/s
  demand.of(Phase::backward).ranks[0].h2d = 10'000'000'000;  // 1 s
  demand.of(Phase::backward).ranks[1].h2d = 25'000'000'000;
  demand.of(Phase::backward).ranks[1].pageable_d2h = 20'000'000'000;  // 4 s at 5 GB/s
  demand.of(Phase::backward).ranks[1].d2h = 10'000'000'000;           // 3 s together at 10 GB/s
  const Bounds bounds = bounds_of(demand, small_box());
  EXPECT_DOUBLE_EQ(bounds.h2d, 3);
  EXPECT_DOUBLE_EQ(bounds.d2h, 4);
  EXPECT_DOUBLE_EQ(bounds.step(), 4);
}

TEST(Bounds, WhatLeavesTheNodeCrossesNicAndPcie) {
  Demand demand = nothing(2);
  RankDemand& rank = demand.of(Phase::backward).ranks[1];
  rank.to_nodes = 30'000'000'000;  // 6 s at 5 GB/s, 3 s at 10 GB/s beside 1 s of copies
  rank.to_peers = 20'000'000'000;  // over PCIe too, where there is no other way: 2 s
  rank.h2d = 10'000'000'000;
  description::Scenario box = small_box();
  box.machine.network.per_gpu = 5_GBps;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).network, 6);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).h2d, 6);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).d2h, 5);
  box.machine.gpu.peer_rate = 100_GBps;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).h2d, 4);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).step(), 6);
}

TEST(Bounds, SeveralTeamsMayBeFasterThanOne) {
  Demand demand = nothing(2);
  demand.of(Phase::update).cpu_elements[static_cast<std::size_t>(CpuWork::adam)] = 3'000'000'000;
  description::Scenario box = small_box();
  const double one = bounds_of(demand, box).cpu;
  box.machine.host.team_rates = {{"2", 0.5}};  // one after the other is no slower
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).cpu, one);
  box.machine.host.team_rates = {{"2", 1.5}, {"4", 1.2}};
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).cpu, one / 1.5);
}

TEST(Bounds, WhatIsStagedCrossesPcieAndDramTwice) {
  Demand demand = nothing(2);
  for (RankDemand& rank : demand.of(Phase::backward).ranks) rank.to_peers = 20'000'000'000;
  description::Scenario box = small_box();
  box.machine.gpu.peer_rate = 100_GBps;
  box.machine.host.memory_rate = 10_GBps;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).step(), 0);
  box.machine.gpu.peer_access = false;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).h2d, 2);  // 20 GB at 10 GB/s
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).d2h, 2);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).host_memory, 8);  // 2 x 2 x 20 GB at 10 GB/s
}

TEST(Bounds, AStorageReadsAndWritesByTurns) {
  // 4 GB / 2 GB/s + 3 GB / 1 GB/s = 5 s; one process of two reaches a quarter of the array: twice
  Demand demand = nothing(2);
  demand.of(Phase::forward).storages[0].read = 4'000'000'000;
  demand.of(Phase::update).storages[0].written = 3'000'000'000;
  description::Scenario box = small_box();
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).storages.at(0), 5);
  box.machine.storage[0].process_efficiency["file"] = 0.25;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).storages.at(0), 10);
  box.strategy.io_engine = description::IoEngine::direct;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).storages.at(0), 5);
  box.machine.storage[0].shared_by_nodes = true;
  box.machine.nodes = 8;
  box.parallel.data = 6;  // on three of them
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).storages.at(0), 15);
  box.machine.storage[0].mixed_efficiency = 1.25;  // the best mix
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).storages.at(0), 12);
  box.machine.storage[0].mixed_efficiency = 2;  // writes alone take 3 x 3 s, reads 3 x 2 s
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).storages.at(0), 9);
}

TEST(Bounds, AStorageThatComputesDoesOneThingAfterTheOther) {
  // 4 GB/s both ways and 1e8 parameters/s: 1 s, 2 s, 5 s
  Demand demand = nothing();
  StorageDemand& inside = demand.of(Phase::update).storages[0];
  inside.inside_read = 4'000'000'000, inside.inside_written = 8'000'000'000;
  inside.elements = 500'000'000;
  inside.read = 2'000'000'000;  // and 1 s of its own
  EXPECT_DOUBLE_EQ(bounds_of(demand, small_box()).storages.at(0), 9);
}

TEST(Bounds, ClassesOfCpuWorkShareTheCores) {
  Demand demand = nothing();
  const auto at = [](CpuWork work) { return static_cast<std::size_t>(work); };
  PhaseDemand& phase = demand.of(Phase::update);
  phase.cpu_elements[at(CpuWork::adam)] = 2'000'000'000;         // 2 s at 1e9
  phase.cpu_traffic[at(CpuWork::adam)] = 56'000'000'000;         // DRAM only
  phase.cpu_traffic[at(CpuWork::convert)] = 20'000'000'000;      // 1 s at 20 GB/s
  phase.cpu_traffic[at(CpuWork::check_fused)] = 10'000'000'000;  // 0.5 s
  EXPECT_DOUBLE_EQ(bounds_of(demand, small_box()).cpu, 3.5);
  phase.host_copies = 50'000'000'000;  // twice 50 GB at 100 GB/s
  EXPECT_DOUBLE_EQ(bounds_of(demand, small_box()).cpu, 4.5);
  // one thread of 2 GB/s in one rank, whatever cores there are
  phase.cpu_traffic[at(CpuWork::check_chained)] = 40'000'000'000;
  EXPECT_DOUBLE_EQ(bounds_of(demand, small_box()).cpu, 20);
}

TEST(Bounds, HostMemoryIsCrossedByEverythingButGpuDirect) {
  // 56 + 30 + 14 = 100 GB at 100 GB/s
  Demand demand = nothing();
  PhaseDemand& phase = demand.of(Phase::update);
  phase.cpu_traffic[static_cast<std::size_t>(CpuWork::adam)] = 56'000'000'000;
  phase.ranks[0].d2h = 30'000'000'000;
  phase.storages[0].read = 14'000'000'000;
  description::Scenario box = small_box();
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).host_memory, 1);
  box.strategy.io_engine = description::IoEngine::gds;
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).host_memory, 0.86);
}

TEST(Bounds, AMachineWithoutTheRateIsTheUsersMistake) {
  Demand demand = nothing();
  demand.of(Phase::forward).ranks[0].flops = 1;
  description::Scenario box = small_box();
  box.training.precision = description::Precision::fp32;
  EXPECT_THROW((void)bounds_of(demand, box), description::ScenarioError);
  box.machine.gpu.compute["tf32"] = description::FlopsPerSecond(2);
  EXPECT_DOUBLE_EQ(bounds_of(demand, box).gpu, 0.5);
}

}  // namespace
}  // namespace spillway::strategies
