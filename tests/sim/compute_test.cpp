#include "tests/sim/fixture.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::sim::test {
namespace {

using description::BytesPerSecond;
using description::Seconds;

// ---- CPU: adam 1 G parameters/s, convert 50 GB/s, fused 80 GB/s, chained 10 GB/s a thread, 10
// cores

TEST(SimCpu, EachClassRunsAtItsOwnRate) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    Op adam = machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB));
    co_await adam;
    EXPECT_SECONDS(adam, 1.0);
    Op convert = machine.run(rank, cpu(CpuWork::convert, 0, 50 * GB));
    co_await convert;
    EXPECT_SECONDS(convert, 1.0);
    Op fused = machine.run(rank, cpu(CpuWork::check_fused, 0, 80 * GB));
    co_await fused;
    EXPECT_SECONDS(fused, 1.0);
    Op chained = machine.run(rank, cpu(CpuWork::check_chained, 0, 10 * GB));
    co_await chained;
    EXPECT_SECONDS(chained, 1.0);
    Op added = machine.run(rank, cpu(CpuWork::add, 0, 1000 * GB));  // DRAM alone
    co_await added;
    EXPECT_SECONDS(added, 1.0);
    Op first = machine.run(rank, cpu(CpuWork::initialize, 0, 50 * GB));
    co_await first;
    EXPECT_SECONDS(first, 1.0);
  });
}

TEST(SimCpu, OneThreadTouchesNewPagesOfARank) {
  description::Scenario scenario = with_ranks(2);
  scenario.machine.host.first_touch = BytesPerSecond(2.5e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Op first = machine.run(rank, cpu(CpuWork::touch, 0, 5 * GB));
    Op second = machine.run(rank, cpu(CpuWork::touch, 0, 5 * GB));
    co_await first;
    co_await second;
    EXPECT_SECONDS(second, 10 / 2.5);  // 10 GB of each rank, each with a thread of its own
  });
}

TEST(SimGpu, WaitsForTheThreadThatLaunchesItsKernels) {
  description::Scenario scenario = one_gpu();
  scenario.machine.host.launch = Seconds(50e-6);
  scenario.machine.host.module_hooks = Seconds(200e-6);
  scenario.parallel.zero_stage = 2;
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    GpuKernel small = matmul(1e9, 0), large = matmul(1e11, 0);  // 10 us and 1 ms at 100 TFLOPS
    small.in_pass = large.in_pass = true;
    const std::vector<GpuKernel> ten(10, small);
    Op alone = machine.run(rank, ten);
    co_await alone;
    EXPECT_SECONDS(alone, 10 * 50e-6);  // not 100 us
    // the thread is done with the first after 50 us, and with the ten behind it after 550 us, while
    // the GPU is still at the first
    Op first = machine.run(rank, std::span<const GpuKernel>(&large, 1));
    Op behind = machine.run(rank, ten);
    co_await behind;
    EXPECT_SECONDS(first, 1e-3);
    EXPECT_SECONDS(behind, 10 * 10e-6);
  });
}

TEST(SimGpu, HooksAreThoseOfModulesWhoseWeightsZero3Gathers) {
  using description::Home;
  const std::tuple<std::uint64_t, Home, bool, bool> cases[] = {{2, Home::host, true, false},
                                                               {3, Home::host, true, true},
                                                               {3, Home::host, false, false},
                                                               {3, Home::gpu, true, false}};
  for (const auto& [stage, home, hooks, hooked] : cases) {
    description::Scenario scenario = one_gpu();
    scenario.machine.host.launch = Seconds(50e-6);
    scenario.machine.host.module_hooks = Seconds(200e-6);
    scenario.parallel.zero_stage = stage;
    scenario.strategy.weights.home = home;
    scenario.strategy.weights.hooks = hooks;
    run(scenario, [hooked = hooked](Machine& machine, Rank rank) -> Task<> {
      models::Operator norm, sum;
      norm.function = models::OperatorFunction::norm;
      sum.function = models::OperatorFunction::residual;
      std::vector<GpuKernel> kernels(2, matmul(1e9, 0));
      kernels[0].operation = &norm;
      kernels[1].operation = &sum;
      for (GpuKernel& each : kernels) each.in_pass = true;
      Op op = machine.run(rank, kernels);
      co_await op;
      EXPECT_SECONDS(op, 2 * 50e-6 + (hooked ? 200e-6 : 0));
    });
  }
}

TEST(SimCpu, AdamCountsParametersWhateverTheirTraffic) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    for (const std::uint64_t traffic : {0 * GB, 14 * GB, 28 * GB + 1, 100 * GB}) {
      Op adam = machine.run(rank, cpu(CpuWork::adam, GB, traffic));
      co_await adam;
      EXPECT_SECONDS(adam, 1.0);
    }
  });
}

TEST(SimCpu, ClassesAndRanksShareTheCores) {
  run(with_ranks(2), [](Machine& machine, Rank rank) -> Task<> {
    // r/28 + r/50 = 1: 17.949 GB/s each; the 28 GB of both end after 28/28 + 28/50 = 1.56 s
    Op work = rank.index == 0 ? machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB))
                              : machine.run(rank, cpu(CpuWork::convert, 0, 28 * GB));
    co_await work;
    EXPECT_SECONDS(work, 1.56);
  });
}

TEST(SimCpu, TeamsOfSeveralRanksReachWhatTheMachineSaysTogether) {
  description::Scenario scenario = with_ranks(3);
  scenario.machine.host.team_rates = {{"2", 0.8}, {"4", 0.5}};
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    // 0.65 G parameters/s of three teams, 0.2 G each: .6/.65 s
    Op all = machine.run(rank, cpu(CpuWork::adam, GB / 5, 28 * GB / 5));
    co_await all;
    EXPECT_SECONDS(all, 0.6 / 0.65);
    if (rank.index == 2) co_return;
    // both until one has done .2 G at .4 G/s, then the other's last .2 G at 1 G/s, alone
    Op two = machine.run(rank, cpu(CpuWork::adam, GB / 5 * (1 + rank.index), 0));
    co_await two;
    EXPECT_SECONDS(two, rank.index == 0 ? 0.5 : 0.7);
  });
}

TEST(SimCpu, KernelsOfOneRankAreOneTeam) {
  description::Scenario scenario = one_gpu();
  scenario.machine.host.team_rates = {{"2", 0.5}};
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Op one = machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB));
    Op other = machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB));
    co_await one;
    co_await other;
    EXPECT_SECONDS(other, 2.0);
  });
}

TEST(SimCpu, AChainedCheckIsNoTeam) {
  description::Scenario scenario = with_ranks(2);
  scenario.machine.host.team_rates = {{"2", 0.5}};
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    // the check holds 1 of 10 cores for as long as Adam takes: 1 / .9 s
    Op work = rank.index == 0 ? machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB))
                              : machine.run(rank, cpu(CpuWork::check_chained, 0, 20 * GB));
    co_await work;
    EXPECT_SECONDS(work, rank.index == 0 ? 1 / 0.9 : 2.0);
  });
}

TEST(SimCpu, AChainedCheckHoldsOneCoreOfTheNode) {
  run(with_ranks(2), [](Machine& machine, Rank rank) -> Task<> {
    if (rank.index == 0) {
      Op chained = machine.run(rank, cpu(CpuWork::check_chained, 0, 20 * GB));
      co_await chained;
      EXPECT_SECONDS(chained, 2.0);
    } else {
      // 9 of 10 cores: .9 G parameters/s
      Op adam = machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB));
      co_await adam;
      EXPECT_SECONDS(adam, 1 / 0.9);
    }
  });
}

TEST(SimCpu, ChainedChecksOfMoreRanksThanCoresTakeTurns) {
  run(with_ranks(12), [](Machine& machine, Rank rank) -> Task<> {
    Op chained = machine.run(rank, cpu(CpuWork::check_chained, 0, 10 * GB));
    co_await chained;
    EXPECT_SECONDS(chained, 1.2);  // 12 ranks on 10 cores
  });
}

TEST(SimCpu, NoClassOutrunsDram) {
  description::Scenario scenario = one_gpu();
  scenario.machine.host.memory_rate = BytesPerSecond(40e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Op fused = machine.run(rank, cpu(CpuWork::check_fused, 0, 40 * GB));
    co_await fused;
    EXPECT_SECONDS(fused, 1.0);
  });
}

// ---- GPU: 100 TFLOPS fp16, 1000 GB/s

double seconds_of(const description::Scenario& scenario, const std::vector<GpuKernel>& kernels) {
  double seconds = 0;
  SimMachine machine(scenario, false);
  const auto body = [](Machine& on, Rank rank, std::vector<GpuKernel> batch,
                       double* result) -> Task<> {
    Op op = on.run(rank, batch);
    co_await op;
    *result = op.timing().seconds();
  };
  std::vector<Task<>> ranks;
  ranks.push_back(body(machine, Rank{0}, kernels, &seconds));
  machine.run_ranks(std::move(ranks));
  return seconds;
}

TEST(SimGpu, AProductIsBoundByComputeOrByMemory) {
  EXPECT_DOUBLE_EQ(seconds_of(one_gpu(), {matmul(100e12, 1e9)}), 1.0);
  EXPECT_DOUBLE_EQ(seconds_of(one_gpu(), {matmul(1e12, 500e9)}), 0.5);
}

TEST(SimGpu, ABatchIsTheSumOfItsKernelsAndTheirLaunches) {
  description::Scenario scenario = one_gpu();
  scenario.machine.gpu.launch = Seconds(0.01);
  EXPECT_DOUBLE_EQ(seconds_of(scenario, {matmul(100e12, 0), matmul(50e12, 0)}), 1.52);
  EXPECT_EQ(seconds_of(scenario, {}), 0);
}

TEST(SimGpu, ElementwiseTimeOfAPassIsChargedOnlyWhenSeparate) {
  GpuKernel kernel = matmul(0, 1000e9);
  kernel.matrix = false;
  kernel.in_pass = true;
  description::Scenario scenario = one_gpu();
  scenario.machine.gpu.launch = Seconds(0.01);
  EXPECT_DOUBLE_EQ(seconds_of(scenario, {kernel}), 0.01);  // inside gpu.compute
  scenario.machine.gpu.elementwise = description::ElementwiseCost::separate;
  EXPECT_DOUBLE_EQ(seconds_of(scenario, {kernel}), 1.01);
  scenario.machine.gpu.elementwise = description::ElementwiseCost::included;
  kernel.in_pass = false;
  EXPECT_DOUBLE_EQ(seconds_of(scenario, {kernel}), 1.01);  // an optimizer's, say
}

TEST(SimGpu, SinglePrecisionMultipliesInTf32WhereThatIsAllTheMachineSays) {
  description::Scenario scenario = one_gpu();
  scenario.training.precision = description::Precision::fp32;
  EXPECT_THROW(seconds_of(scenario, {matmul(1e12, 0)}), description::ScenarioError);
  scenario.machine.gpu.compute["tf32"] = description::FlopsPerSecond(50e12);
  EXPECT_DOUBLE_EQ(seconds_of(scenario, {matmul(100e12, 0)}), 2.0);
}

TEST(SimGpu, AHostDeviceTakesItsRatesLikeAnother) {
  description::Scenario scenario = one_gpu();
  scenario.machine.gpu.shares_host = true;
  EXPECT_DOUBLE_EQ(seconds_of(scenario, {matmul(100e12, 0)}), 1.0);
}

/// 0.4 s of memory at 1000 GB/s.
GpuKernel widening() {
  GpuKernel kernel = matmul(0, 400e9);
  kernel.matrix = false;
  return kernel;
}

TEST(SimGpu, APassTakesLongerByTheSideKernelsThatComeBetweenItsOwn) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    using strategies::GpuStream;
    const GpuKernel product = matmul(100e12, 0), side = widening();  // 1 s
    Op pass = machine.run(rank, std::span(&product, 1));
    Op first = machine.run(rank, std::span(&side, 1), {}, GpuStream::side);
    Op second = machine.run(rank, std::span(&side, 1), {}, GpuStream::side);
    Op third = machine.run(rank, std::span(&side, 1), pass, GpuStream::side);
    Op next = machine.run(rank, std::span(&product, 1), pass);
    co_await next;
    EXPECT_NEAR(first.timing().finished_s, 0.4, 1e-9);
    EXPECT_NEAR(second.timing().finished_s, 0.8, 1e-9);
    EXPECT_SECONDS(pass, 1.8);
    EXPECT_NEAR(third.timing().started_s, 1.8, 1e-9);  // the side stream waited for the pass
    EXPECT_NEAR(third.timing().finished_s, 2.2, 1e-9);
    EXPECT_NEAR(next.timing().finished_s, 3.2, 1e-9);
  });
}

TEST(SimGpu, APassWaitsForSideKernelsThatRunWhenItStarts) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    const GpuKernel product = matmul(100e12, 0), side = widening(), quarter = matmul(25e12, 0);
    Op before = machine.run(rank, std::span(&quarter, 1));
    Op early = machine.run(rank, std::span(&side, 1), {}, strategies::GpuStream::side);
    co_await early;  // 0.4 s, of the 0.65 s that both take
    Op late = machine.run(rank, std::span(&side, 1), before, strategies::GpuStream::side);
    Op pass = machine.run(rank, std::span(&product, 1), before);
    co_await pass;
    EXPECT_NEAR(before.timing().finished_s, 0.65, 1e-9);
    EXPECT_NEAR(late.timing().finished_s, 1.05, 1e-9);
    EXPECT_NEAR(pass.timing().finished_s, 0.65 + 0.4 + 1.0, 1e-9);
  });
}

TEST(SimGpu, SideKernelsFillWhatAPassWaitsForItsLaunches) {
  description::Scenario scenario = one_gpu();
  scenario.machine.host.launch = Seconds(1);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    GpuKernel product = matmul(50e12, 0);  // 0.5 s, and 1 s until it is launched
    product.in_pass = true;
    const GpuKernel side = widening();
    Op pass = machine.run(rank, std::span(&product, 1));
    Op first = machine.run(rank, std::span(&side, 1), {}, strategies::GpuStream::side);
    Op second = machine.run(rank, std::span(&side, 1), {}, strategies::GpuStream::side);
    co_await pass;
    EXPECT_NEAR(second.timing().finished_s, 0.8, 1e-9);
    EXPECT_SECONDS(pass, 0.5 + 0.8);  // the GPU waits 0.5 s for the launch
  });
}

TEST(SimGpu, AKernelStartsWhenTheCopyBeforeItIsDone) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 20 * GB), b = pinned(machine, rank, 20 * GB);
    Op copy = machine.copy(rank, a.view(), b.view());
    const GpuKernel kernel = matmul(100e12, 0);
    Op first = machine.run(rank, std::span(&kernel, 1), copy);
    Op second = machine.run(rank, std::span(&kernel, 1));  // in order behind the first
    co_await second;
    EXPECT_NEAR(first.timing().started_s, 1.0, 1e-6);
    EXPECT_NEAR(second.timing().finished_s, 3.0, 1e-6);
  });
}

}  // namespace
}  // namespace spillway::sim::test
