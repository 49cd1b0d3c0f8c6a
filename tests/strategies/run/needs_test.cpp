#include "tests/strategies/systems/systems.hpp"

#include "strategies/run/reserves.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {
namespace {

using description::Bytes;
using description::Scenario;

constexpr std::uint64_t page = 4096;

Scenario with_host(Scenario scenario, std::uint64_t bytes) {
  scenario.machine.host.memory = Bytes(bytes);
  return scenario;
}
Scenario with_gpu(Scenario scenario, std::uint64_t bytes) {
  scenario.machine.gpu.memory = Bytes(bytes);
  return scenario;
}
Scenario with_drive(Scenario scenario, std::uint64_t bytes) {
  scenario.machine.storage[0].count = 1;
  scenario.machine.storage[0].capacity = Bytes(bytes);
  return scenario;
}

/// Allocators without rounding of their own on the GPU; more than one rank where it is asked for.
Scenario exact_step(const std::string& system, Overrides overrides = {}) {
  overrides.push_back("strategy.gpu_allocator=exact");
  overrides.push_back("run.steps=1");
  return small_model("llama", system, overrides);
}

/// Systems whose memory no plan and no automatic value decides.
struct Fixed {
  const char* system;
  Overrides overrides;
};
const std::vector<Fixed>& fixed() {
  static const std::vector<Fixed> all = {
      {"resident", {}},
      {"resident", {"parallel.data=2", "parallel.zero_stage=3"}},
      {"resident", {"parallel.tensor=2"}},
      {"resident", {"parallel.pipeline=2", "training.gradient_accumulation=2"}},
      {"zero_offload", {}},
      {"zero_offload", {"parallel.data=2"}},
      {"zero_offload", {"parallel.data=2", "parallel.zero_stage=2", "strategy.weights.home=gpu"}},
      {"zero_infinity", {}},
      {"zero_infinity", {"parallel.data=2"}},
      {"zero_infinity", {"strategy.activations.policy=checkpoint_host"}},
      {"zero_infinity", {"training.gradient_accumulation=2", "strategy.weights.home=host"}},
      {"memascend", {}},
      {"memascend", {"parallel.data=2"}},
      {"mlp_offload", {"strategy.optimizer.buffers=6"}},
      {"smart_infinity", {}},
      {"angel_ptm", {}},
  };
  return all;
}

std::string name_of(const Fixed& one) {
  std::string name = one.system;
  for (const std::string& override : one.overrides) name += " " + override;
  return name;
}

/// A drive that computes, for the system that wants one.
/// Without the host's own time: where kernels are launched later, less is there at once.
Overrides overrides_of(const Fixed& one) {
  Overrides overrides = one.overrides;
  overrides.emplace_back("machine.host.module_hooks=0 s");
  if (std::string(one.system) == "smart_infinity")
    overrides.push_back(
        "machine.storage.nvme.near_storage="
        R"({"read": "3 GB/s", "write": "2 GB/s", "adam": "1 Gparam/s"})");
  return overrides;
}

/// Whatever the host has, from nothing to nearly enough, the need is the peak of a run without
/// limits: with so much it fits, with a page less it does not.
TEST(Needs, OfTheHostAreItsPeakWhateverItHas) {
  for (const Fixed& one : fixed()) {
    SCOPED_TRACE(name_of(one));
    const Scenario scenario = exact_step(one.system, overrides_of(one));
    const std::uint64_t peak = simulate(with_host(scenario, 0)).host.total;
    for (const int sixteenths : {1, 5, 9, 15}) {
      const result::Result run = needs_of(with_host(scenario, peak * sixteenths / 16)).simulated;
      EXPECT_FALSE(run.feasible());
      ASSERT_TRUE(run.needed);
      EXPECT_EQ(run.needed->host, peak) << sixteenths;
      EXPECT_EQ(run.host.total, peak) << sixteenths;
      EXPECT_EQ(run.step_time_s, 0) << "a time of a machine that is none";
      EXPECT_EQ(run.tokens_per_s, 0);
      EXPECT_FALSE(run.wear);
    }
    EXPECT_TRUE(simulate(with_host(scenario, peak)).feasible());
    EXPECT_FALSE(simulate(with_host(scenario, peak - page)).feasible());
  }
}

/// On the GPU prefetches wait for room, so the least is below the peak of a run without limits, or
/// less than half of a hundredth above it: what waits for room is copied in another order. It is
/// enough, and a hundredth less is not.
TEST(Needs, OfTheGpuAreEnoughAndLessIsNot) {
  for (const Fixed& one : fixed()) {
    SCOPED_TRACE(name_of(one));
    const Scenario scenario = exact_step(one.system, overrides_of(one));
    const std::uint64_t peak = simulate(scenario).gpu.total;
    int too_small = 0;
    for (const int sixteenths : {1, 6, 11}) {
      const result::Result run = needs_of(with_gpu(scenario, peak * sixteenths / 16)).simulated;
      ASSERT_TRUE(run.needed);
      if (run.feasible()) continue;
      ++too_small;
      EXPECT_LE(run.needed->gpu, peak + peak / 200) << sixteenths;
      EXPECT_TRUE(simulate(with_gpu(scenario, run.needed->gpu)).feasible()) << sixteenths;
      const std::uint64_t less = run.needed->gpu - run.needed->gpu / 100;
      EXPECT_FALSE(simulate(with_gpu(scenario, less)).feasible()) << sixteenths;
    }
    EXPECT_GE(too_small, 2);
  }
}

TEST(Needs, OfTheDrivesAreWhatLiesOnThem) {
  for (const Fixed& one : fixed()) {
    const Scenario scenario = exact_step(one.system, overrides_of(one));
    const std::uint64_t peak = simulate(scenario).ssd.total;
    if (peak == 0) continue;
    SCOPED_TRACE(name_of(one));
    for (const int sixteenths : {1, 8, 15}) {
      const result::Result run = needs_of(with_drive(scenario, peak * sixteenths / 16)).simulated;
      ASSERT_TRUE(run.infeasible);
      EXPECT_EQ(run.infeasible->tier, "ssd");
      EXPECT_EQ(run.needed->ssd, peak) << sixteenths;
    }
    EXPECT_TRUE(simulate(with_drive(scenario, peak)).feasible());
    EXPECT_FALSE(simulate(with_drive(scenario, peak - page)).feasible());
  }
}

TEST(Needs, OfDrivesWithoutEndAreHeldAgainstNoCapacity) {
  Scenario scenario = exact_step("zero_infinity");
  EXPECT_GT(simulate(scenario).ssd.capacity, 0u);
  scenario.machine.storage.push_back(scenario.machine.storage[0]);
  scenario.machine.storage[1].name = "endless";
  scenario.machine.storage[1].capacity = Bytes(0);
  EXPECT_EQ(simulate(scenario).ssd.capacity, 0u);
}

TEST(Needs, AreFoundOfAllTiersAtOnce) {
  const Scenario scenario = exact_step("zero_infinity");
  const result::Result free = needs_of(scenario).simulated;
  ASSERT_TRUE(free.feasible());
  Scenario small = with_drive(with_host(scenario, free.host.total / 2), free.ssd.total / 2);
  small.machine.gpu.memory = Bytes(free.gpu.total / 8);
  for (const result::Result& run : {needs_of(small).simulated, needs_of(small).counted}) {
    ASSERT_TRUE(run.needed);
    EXPECT_EQ(run.needed->host, free.needed->host);
    EXPECT_EQ(run.needed->ssd, free.needed->ssd);
    EXPECT_GT(run.needed->gpu, small.machine.gpu.memory.value());
    EXPECT_LE(run.needed->gpu, free.needed->gpu);
  }
}

/// Every system, small boxes of all kinds: an answer, and one that holds.
TEST(Needs, OfEverySystemAreEnough) {
  for (const System& system : catalogue()) {
    SCOPED_TRACE(system.name);
    const Scenario scenario = exact_step(system.name, overrides_of({system.name, {}}));
    const result::Result free = needs_of(scenario).simulated;
    ASSERT_TRUE(free.feasible());
    const std::uint64_t host = free.host.total, gpu = free.gpu.total;
    int too_small = 0;
    for (const auto& [host_part, gpu_part] :
         {std::pair{16, 3}, {16, 8}, {3, 16}, {8, 16}, {13, 16}, {4, 4}, {10, 10}}) {
      const Scenario small =
          with_gpu(with_host(scenario, host * host_part / 16), gpu * gpu_part / 16);
      const result::Result run = needs_of(small).simulated;
      if (run.feasible()) continue;
      ++too_small;
      ASSERT_TRUE(run.needed);
      const std::uint64_t all = std::max(run.needed->host, small.machine.host.memory.value());
      const std::uint64_t each = std::max(run.needed->gpu, small.machine.gpu.memory.value());
      EXPECT_TRUE(needs_of(with_gpu(with_host(scenario, all), each)).simulated.feasible())
          << host_part << " and " << gpu_part << " sixteenths: needs " << all << " and " << each;
    }
    EXPECT_GE(too_small, 2);
  }
}

TEST(Needs, OfARunThatFitsAreItsPeaksAndReserves) {
  const Overrides reserves{"machine.host.reserve=3 GiB", "machine.gpu.reserve=1 GiB"};
  const result::Result run = needs_of(exact_step("zero_infinity", reserves)).simulated;
  ASSERT_TRUE(run.feasible());
  EXPECT_EQ(run.needed->host, run.host.total + (3ull << 30));
  EXPECT_EQ(run.needed->gpu, run.gpu.total + (1ull << 30));
  EXPECT_EQ(run.needed->ssd, run.ssd.total);
  EXPECT_EQ(run.host.reserve, 3ull << 30);
}

TEST(Needs, LeaveOutBuffersThatFillWhatIsFree) {
  // buffers for 0.78 of the host beside the least an update takes; the need is that least
  const Scenario roomy = exact_step("mlp_offload");
  const result::Result filled = needs_of(roomy).simulated;
  ASSERT_TRUE(filled.feasible());
  EXPECT_LT(filled.needed->host, filled.host.total);
  EXPECT_TRUE(needs_of(with_host(roomy, filled.needed->host)).simulated.feasible());
  EXPECT_FALSE(needs_of(with_host(roomy, filled.needed->host - page)).simulated.feasible());
}

TEST(Reserve, IsPartOfWhatFits) {
  const Scenario scenario = exact_step("zero_infinity");
  const std::uint64_t peak = simulate(with_host(scenario, 0)).host.total;
  constexpr std::uint64_t reserve = 1 << 30;
  Scenario kept = with_host(scenario, peak + reserve);
  kept.machine.host.reserve = Bytes(reserve);
  EXPECT_TRUE(simulate(kept).feasible());
  kept.machine.host.memory = Bytes(peak + reserve - 1);
  const result::Result run = needs_of(kept).simulated;
  EXPECT_FALSE(run.feasible());
  EXPECT_EQ(run.host.capacity, peak + reserve - 1);
  EXPECT_EQ(run.needed->host, peak + reserve);
}

TEST(Reserve, IsFourGibibytesOrATwentiethAndAtMostHalf) {
  constexpr std::uint64_t gibibyte = 1ull << 30;
  const auto reserve = [](std::uint64_t memory) {
    return description::default_host_reserve(Bytes(memory)).value();
  };
  EXPECT_EQ(reserve(64 * gibibyte), 4 * gibibyte);
  EXPECT_EQ(reserve(80 * gibibyte), 4 * gibibyte);
  EXPECT_EQ(reserve(1000 * gibibyte), 50 * gibibyte);
  EXPECT_EQ(reserve(6 * gibibyte), 3 * gibibyte);
}

TEST(Reserve, ThatFollowsFromTheMemoryIsPartOfTheNeed) {
  // used / 0.95 above 76 GiB, used + 4 below
  description::MachineFile box;
  box.sources["host.reserve"] = "default: a share";
  const auto with = [&](std::uint64_t memory) {
    description::MachineFile machine = box;
    machine.host.memory = Bytes(memory);
    machine.host.reserve = description::default_host_reserve(Bytes(memory));
    return machine;
  };
  for (const std::uint64_t gib_used : {5, 40, 76, 77, 109, 1900}) {
    const Bytes used(gib_used << 30);
    const std::uint64_t memory = host_memory_with(used, with(64ull << 30)).value();
    EXPECT_GE(with(memory).host.usable(), used) << gib_used;
    EXPECT_LT(with(memory - 1).host.usable(), used) << gib_used;
  }
  EXPECT_EQ(host_memory_with(Bytes(1ull << 30), with(64ull << 30)).value(), 5ull << 30);
  EXPECT_EQ(host_memory_with(Bytes(1ull << 30), with(6ull << 30)).value(), 4ull << 30);
}

TEST(IdleGpus, AreSaid) {
  // the box has eight
  const result::Result one = simulate(exact_step("zero_infinity"));
  ASSERT_EQ(one.notes.size(), 1u);
  EXPECT_EQ(one.notes[0],
            "1 of 8 GPUs work, and the price is that of the whole machine; with --set "
            "parallel.data=8 all of them do");
  EXPECT_TRUE(simulate(exact_step("zero_infinity", {"parallel.data=8"})).notes.empty());
}

}  // namespace
}  // namespace spillway::strategies
