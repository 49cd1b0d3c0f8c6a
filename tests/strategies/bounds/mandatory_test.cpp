#include "strategies/bounds/mandatory.hpp"

#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <functional>
#include <limits>

namespace spillway::strategies {
namespace {

double bound(const description::Scenario& scenario) {
  const auto mandatory = Mandatory::of(scenario);
  return mandatory ? mandatory->step_s(scenario) : -1;
}

const char* too_small(const description::Scenario& scenario, const description::Scenario& on) {
  const auto mandatory = Mandatory::of(scenario);
  return mandatory ? mandatory->too_small(on.machine) : "nothing";
}

TEST(Mandatory, IsTheSameForMachinesThatDifferInRatesAndSizes) {
  const description::Scenario one = small_model("gpt2", "zero_infinity", {"run.steps=1"});
  description::Scenario other = one;
  other.machine.storage[0].read = other.machine.storage[0].read * 3;
  other.machine.storage[0].count = 2;
  other.machine.host.memory = description::Bytes(1);
  other.machine.gpu.memory = description::Bytes(1);
  other.machine.pcie.h2d = other.machine.pcie.h2d * 2;
  EXPECT_EQ(Mandatory::of(one)->step_s(one), Mandatory::of(other)->step_s(one));
  EXPECT_EQ(Mandatory::of(one)->step_s(other), Mandatory::of(other)->step_s(other));
}

/// Every system that trains with these ranks.
std::vector<description::Scenario> on_ranks(const std::vector<std::string>& ranks) {
  std::vector<description::Scenario> all;
  for (const System& system : catalogue()) {
    std::vector<std::string> overrides = {"run.steps=1", "machine.gpu.count=4"};
    overrides.insert(overrides.end(), ranks.begin(), ranks.end());
    try {
      all.push_back(small_model("gpt2", system.name, overrides));
    } catch (const description::ScenarioError&) {
      continue;  // a plan is for one GPU
    }
  }
  return all;
}

TEST(Mandatory, CountsOnceWhatIsEqual) {
  using Ranks = std::vector<std::string>;
  for (const Ranks& ranks : {Ranks{"parallel.data=4"},
                             {"parallel.tensor=4"},
                             {"parallel.data=2", "parallel.tensor=2"},
                             {"training.gradient_accumulation=9"},
                             {"parallel.data=4", "training.gradient_accumulation=8"}}) {
    const std::vector<description::Scenario> all = on_ranks(ranks);
    EXPECT_GT(all.size(), 5u) << ranks.front();
    for (const description::Scenario& scenario : all) {
      const auto folded = Mandatory::of(scenario), whole = Mandatory::of(scenario, Fold::nothing);
      const std::string what = scenario.strategy.system + " " + ranks.front();
      ASSERT_EQ(folded.has_value(), whole.has_value()) << what;
      if (!folded) continue;
      EXPECT_DOUBLE_EQ(folded->step_s(scenario), whole->step_s(scenario)) << what;
      const MandatoryBytes one = folded->bytes(scenario.machine),
                           other = whole->bytes(scenario.machine);
      for (const auto member :
           {&MandatoryBytes::h2d, &MandatoryBytes::d2h, &MandatoryBytes::drive_read,
            &MandatoryBytes::drive_written, &MandatoryBytes::host, &MandatoryBytes::gpu,
            &MandatoryBytes::drives})
        EXPECT_DOUBLE_EQ(one.*member, other.*member) << what;
    }
  }
}

TEST(Mandatory, TakesNoMoreThanASimulatedStep) {
  for (const char* system : {"resident", "zero_offload", "zero_infinity", "memascend", "lohan"}) {
    const description::Scenario scenario = small_model("gpt2", system, {"run.steps=1"});
    const double least = bound(scenario);
    EXPECT_GT(least, 0) << system;
    EXPECT_LE(least, simulate(scenario).step_time_s) << system;
  }
}

TEST(Mandatory, KnowsMemoriesThatCannotHoldWhatStays) {
  const description::Scenario scenario = small_model("gpt2", "zero_infinity", {"run.steps=1"});
  description::Scenario box = scenario;
  EXPECT_EQ(too_small(scenario, box), nullptr);
  box.machine.host.memory = description::Bytes(1);
  EXPECT_STREQ(too_small(scenario, box), "host");
  box.machine.host.memory = description::Bytes(0);  // unlimited
  box.machine.gpu.memory = description::Bytes(1);
  EXPECT_STREQ(too_small(scenario, box), scenario.machine.gpu.context.value() ? "gpu" : nullptr);
  box.machine.gpu.memory = description::Bytes(0);
  box.machine.storage[0].capacity = description::Bytes(1);
  EXPECT_STREQ(too_small(scenario, box), "ssd");
}

/// The whole gpt2: 124 M parameters.
description::Scenario whole_gpt2(const char* system) {
  return small_model("gpt2", system, {"run.steps=1", "model=gpt2"});
}

TEST(Mandatory, OfAPlanHasTheStatesThatNoMemoryHolds) {
  description::Scenario scenario = whole_gpt2("teraio");
  const double roomy = bound(scenario);
  // weights and states of 124 M parameters take 1.7 GB or more: with 0.5 GB and 0.2 GB of room, a
  // GB comes from the drive and goes back in each step
  scenario.machine.gpu.memory = description::Bytes(500'000'000);
  scenario.machine.host.memory = description::Bytes(200'000'000);
  const description::StorageSpec& drive = scenario.machine.storage[0];
  const double least = bound(scenario);
  EXPECT_GE(least, 0.99 * (1e9 / drive.total_read().value() + 1e9 / drive.total_write().value()));
  EXPECT_GT(least, roomy);
  scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  EXPECT_EQ(bound(scenario), roomy);
}

TEST(Mandatory, OfAPlanIsBelowWhatIsSimulated) {
  for (const char* system : {"teraio", "g10"})
    for (const std::uint64_t gib : {2, 3, 24}) {
      description::Scenario scenario = whole_gpt2(system);
      scenario.machine.gpu.memory = description::Bytes(gib << 29);
      scenario.machine.host.memory = description::Bytes(2ull << 30);
      const result::Result result = simulate(scenario);
      if (result.feasible()) {
        EXPECT_LE(bound(scenario), result.step_time_s) << system << " " << gib;
      }
    }
}

TEST(Mandatory, KnowsThatOnlyActivationsLeaveAGpuWherePlannersPlanThem) {
  for (const char* system : {"flashneuron", "capuchin", "resident"}) {
    const description::Scenario scenario = whole_gpt2(system);
    description::Scenario box = scenario;
    EXPECT_EQ(too_small(scenario, box), nullptr) << system;
    box.machine.gpu.memory = description::Bytes(1'500'000'000);  // 12 bytes a parameter and more
    EXPECT_STREQ(too_small(scenario, box), "gpu") << system;
  }
}

TEST(Mandatory, BytesWearADriveOutAtTheRateOfTheSteps) {
  const description::Scenario scenario = small_model("gpt2", "zero_infinity", {"run.steps=1"});
  description::MachineFile machine = scenario.machine;
  machine.storage[0].count = 2;
  machine.storage[0].endurance.emplace();
  machine.storage[0].endurance->rated = description::Bytes(1'000'000'000'000);
  machine.storage[0].endurance->waf = 2;
  machine.prices_usd.emplace().ssd = 100;
  MandatoryBytes bytes;
  bytes.drive_written = 1e9;
  // two drives take 2 x 1 TB / 2 = 1 TB, a thousand steps; of 365 x 86.4 s: 1/1000 year each
  EXPECT_NEAR(longest_life_years(bytes, machine, 365 * 86.4), 1, 1e-9);
  // a thousand steps lose 2 x 100 dollars
  EXPECT_NEAR(least_wear_usd(bytes, machine), 0.2, 1e-9);
  bytes.drive_written = 0;
  EXPECT_EQ(longest_life_years(bytes, machine, 1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(least_wear_usd(bytes, machine), 0);
  bytes.drive_written = 1;
  machine.storage[0].endurance.reset();
  EXPECT_EQ(longest_life_years(bytes, machine, 1), std::numeric_limits<double>::infinity());
}

TEST(Mandatory, BytesAreNoMoreThanThoseOfARun) {
  // a sub-group for all parameters: with three sets of swap buffers, two would never be used
  for (const auto& [system, subgroup] : {std::pair{"zero_offload", ""},
                                         {"zero_infinity", ""},
                                         {"memascend", ""},
                                         {"lohan", ""},
                                         {"ssdtrain", ""},
                                         {"mlp_offload", ""},
                                         {"mlp_offload", "1e9 params"},
                                         {"zero_infinity", "1e9 params"},
                                         {"megatrain", ""},
                                         {"slideformer", ""}}) {
    SCOPED_TRACE(std::string(system) + " " + subgroup);
    Overrides overrides = {"run.steps=1"};
    if (*subgroup) overrides.push_back(std::string("strategy.optimizer.subgroup=") + subgroup);
    const description::Scenario scenario = small_model("gpt2", system, overrides);
    const MandatoryBytes bytes = Mandatory::of(scenario)->bytes(scenario.machine);
    const result::Result result = simulate(scenario);
    EXPECT_LE(bytes.h2d, static_cast<double>(result.io.h2d));
    EXPECT_LE(bytes.d2h, static_cast<double>(result.io.d2h));
    EXPECT_LE(bytes.drive_read, static_cast<double>(result.io.ssd_read));
    EXPECT_LE(bytes.drive_written, static_cast<double>(result.io.ssd_write));
    EXPECT_LE(bytes.gpu, static_cast<double>(result.gpu.total));
    EXPECT_LE(bytes.host, static_cast<double>(result.host.total));
    EXPECT_LE(bytes.drives, static_cast<double>(result.ssd.total));
  }
}

/// Of stages that are cut by time, whose head takes the more of it the slower the GPU's memory is.
description::Scenario cut_by_time(const std::string& system, const Overrides& more) {
  Overrides overrides = {"model.num_hidden_layers=8",
                         "model.vocab_size=32768",
                         "training.loss=plain",
                         "parallel.pipeline=2",
                         "training.micro_batch=16",
                         "training.gradient_accumulation=3",
                         "run.steps=1",
                         "machine.gpu.elementwise=separate"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return small_model("llama", system, overrides);
}

TEST(Mandatory, HoldsForTheRatesByWhichAPipelineIsCut) {
  const auto at = [](const char* rate, const char* cut) {
    return cut_by_time("resident", {std::string("machine.gpu.memory_rate=") + rate,
                                    std::string("parallel.pipeline_cut=") + cut});
  };
  const description::Scenario slow = at("100 GB/s", "time"), fast = at("200 TB/s", "time");
  const auto mandatory = Mandatory::of(slow);
  ASSERT_TRUE(mandatory);
  EXPECT_TRUE(mandatory->holds_for(slow));
  EXPECT_FALSE(mandatory->holds_for(fast));
  EXPECT_NE(mandatory->step_s(fast), bound(fast));  // other stages
  // rates that cut it at the same layer share a count
  const description::Scenario near = at("99 GB/s", "time");
  EXPECT_TRUE(mandatory->holds_for(near));
  EXPECT_EQ(mandatory->step_s(near), bound(near));
  EXPECT_TRUE(Mandatory::of(at("100 GB/s", "flops"))->holds_for(at("200 TB/s", "flops")));
}

TEST(Mandatory, IsNoMoreThanAStepOfStagesThatAreCutByTime) {
  for (const char* system : {"resident", "ssdtrain", "teraio", "zero_offload"})
    for (const char* policy : {"", "checkpoint_gpu"})
      for (const char* rate : {"100 GB/s", "400 GB/s", "200 TB/s"}) {
        Overrides more = {std::string("machine.gpu.memory_rate=") + rate};
        if (*policy) more.push_back(std::string("strategy.activations.policy=") + policy);
        description::Scenario scenario;
        try {
          scenario = cut_by_time(system, more);
        } catch (const description::ScenarioError&) {
          continue;  // the system has no such part
        }
        const result::Result run = simulate(scenario);
        if (!run.feasible()) continue;
        EXPECT_LE(bound(scenario), run.step_time_s) << system << policy << rate;
      }
}

/// The least GPU memory of which `too_small` does not hold.
std::uint64_t least_gpu(description::Scenario scenario,
                        const std::function<bool(const description::Scenario&)>& too_small) {
  std::uint64_t small = 0, enough = std::uint64_t{1} << 40;
  while (small + 1 < enough) {
    const std::uint64_t middle = small + (enough - small) / 2;
    scenario.machine.gpu.memory = description::Bytes(middle);
    (too_small(scenario) ? small : enough) = middle;
  }
  return enough;
}

/// The least GPU memory that is not known to be too small.
std::uint64_t least_gpu(const description::Scenario& scenario) {
  const auto mandatory = Mandatory::of(scenario);
  if (!mandatory) return 0;
  return least_gpu(scenario, [&](const description::Scenario& box) {
    return mandatory->too_small(box.machine) != nullptr;
  });
}

TEST(Mandatory, NoRunFitsAGpuThatIsSmaller) {
  const std::vector<std::string> shapes = {"training.micro_batch=1", "training.micro_batch=4"};
  for (const System& system : catalogue())
    for (const std::string& shape : shapes)
      for (const char* policy : {"", "keep", "checkpoint_gpu", "checkpoint_host"}) {
        Overrides overrides = {"run.steps=1", shape};
        if (*policy) overrides.push_back(std::string("strategy.activations.policy=") + policy);
        description::Scenario scenario;
        try {
          scenario = small_model("gpt2", system.name, overrides);
          prepare(scenario);
        } catch (const description::ScenarioError&) {
          continue;  // the system has no such part
        }
        for (const std::uint64_t least :
             {least_gpu(scenario), least_gpu(scenario, operator_too_large)}) {
          if (least < 2) continue;
          scenario.machine.gpu.memory = description::Bytes(least - 1);
          EXPECT_FALSE(simulate(scenario).feasible()) << system.name << " " << policy << shape;
        }
      }
}

TEST(Mandatory, KnowsWhatPassesHaveOnAGpuAtOnce) {
  const description::Scenario scenario = small_model(
      "gpt2", "zero_infinity",
      {"run.steps=1", "strategy.activations.policy=checkpoint_gpu", "training.micro_batch=4"});
  // 4 sequences of 64 tokens, 1024 wide, 2 blocks: checkpoints of 2 x 4 x 64 x 1024 x 2 B = 1 MiB;
  // the block that runs again has its input of 3 matrix products, 4 wide the last one, twice
  // (GELU): (3 + 4 + 4) x 512 KiB = 5.5 MiB and more
  const std::uint64_t throughout =
      scenario.machine.gpu.context.value() + at_peak(count(scenario).result.gpu, "reduce_buckets");
  EXPECT_GT(least_gpu(scenario), throughout + (13u << 19));
}

TEST(Mandatory, KnowsWhatAnOperatorHasOnAGpuAtOnce) {
  description::Scenario scenario = small_model(
      "gpt2", "zero_infinity", {"run.steps=1", "training.loss=plain", "training.micro_batch=4"});
  // the loss's backward: softmax in fp32, logits in bf16 and two fp32 gradients between them
  const models::Model model = model_of(scenario);
  const std::uint64_t logits = 4 * scenario.training.sequence * model.architecture.vocabulary;
  EXPECT_EQ(least_gpu(scenario, operator_too_large), logits * (4 + 2 + 8));
  scenario.machine.gpu.memory = description::Bytes(1);
  scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  EXPECT_FALSE(operator_too_large(scenario));
}

TEST(Mandatory, IsNothingForAStreamOfRequests) {
  description::Scenario scenario = small_model("gpt2", "zero_infinity", {});
  scenario.run.io_bench.emplace();
  EXPECT_FALSE(Mandatory::of(scenario));
}

}  // namespace
}  // namespace spillway::strategies
