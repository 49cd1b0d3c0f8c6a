#include "sim/plugin.hpp"
#include "strategies/bounds/mandatory.hpp"
#include "strategies/decide/decision_json.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

#include <optional>

/// Pipelines over several nodes whose stages put tensors in host memory or on the drives of their
/// own node.
namespace spillway::strategies::offloading_on_nodes_test {
namespace {

using ::testing::Contains;
using ::testing::Not;

Overrides with(Overrides some, const Overrides& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

/// Four blocks on slow GPUs. Stages have one GPU each.
description::Scenario on_nodes(const std::string& system, std::uint64_t stages, std::uint64_t nodes,
                               const Overrides& more = {}) {
  return small_model(
      "llama", system,
      with({"model.num_hidden_layers=4", "training.gradient_accumulation=4", "parallel.data=1",
            "parallel.zero_stage=0", "machine.gpu.compute.fp16=0.2 TFLOPS", "run.steps=1",
            "parallel.pipeline=" + std::to_string(stages), "machine.nodes=" + std::to_string(nodes),
            "machine.gpu.count=" + std::to_string(stages / nodes)},
           more));
}

/// What the ranks of a node share is never the limit, and what stages send each other crosses PCIe
/// as fast inside a node as between two.
description::Scenario ample(description::Scenario scenario) {
  description::MachineFile& machine = scenario.machine;
  const description::BytesPerSecond any(1e15), link(10e9);
  machine.storage[0].read = machine.storage[0].write = any;
  description::HostSpec& host = machine.host;
  for (auto* rate : {&host.memory_rate, &host.convert, &host.check_fused, &host.check_chained,
                     &host.first_touch, &host.page_cache})
    *rate = any;
  host.adam = description::ParamsPerSecond(1e15);
  machine.pcie.h2d = machine.pcie.d2h = machine.network.per_gpu = link;
  machine.gpu.peer_rate.reset();
  machine.network.intra_node_per_gpu.reset();
  return scenario;
}

/// So little room on the GPU that plans of whole steps move tensors.
const Overrides little_room{"training.precision=fp32",
                            "machine.gpu.memory=220 MiB",
                            "machine.gpu.context=0 B",
                            "strategy.plan.min_tensor=64 KiB",
                            "strategy.plan.chunk=256 KiB",
                            "strategy.plan.drop_clean=false",
                            "machine.gpu.compute.fp32=0.2 TFLOPS"};
const Overrides cached{"strategy.activations.min_elements=0", "strategy.activations.swap_bytes=all",
                       "strategy.activations.policy=tensor_cache"};

/// Equal stages do the same on one node as on two that have what each of them needs.
void expect_alike(const description::Scenario& together, const description::Scenario& apart) {
  const result::Result one = simulate(together), two = simulate(apart);
  ASSERT_TRUE(one.feasible());
  ASSERT_TRUE(two.feasible());
  EXPECT_EQ(two.gpu.total, one.gpu.total);
  EXPECT_EQ(2 * two.io.ssd_read, one.io.ssd_read);
  EXPECT_EQ(2 * two.io.ssd_write, one.io.ssd_write);
  EXPECT_EQ(2 * two.io.h2d, one.io.h2d);
  EXPECT_EQ(2 * two.io.d2h, one.io.d2h);
  EXPECT_EQ(2 * two.io.network, one.io.network);
  EXPECT_EQ(one.io.between_nodes, 0u);
  EXPECT_GT(two.io.between_nodes, 0u);
  EXPECT_NEAR(two.step_time_s / one.step_time_s, 1, 1e-6);
  const auto bound = Mandatory::of(apart);
  ASSERT_TRUE(bound);
  EXPECT_LE(bound->step_s(apart), two.step_time_s);
  const MandatoryBytes bytes = bound->bytes(apart.machine);
  EXPECT_LE(bytes.h2d, static_cast<double>(two.io.h2d));
  EXPECT_LE(bytes.drive_written, static_cast<double>(two.io.ssd_write));
  EXPECT_LE(bytes.drives, static_cast<double>(two.ssd.total));
  EXPECT_LE(bytes.host, static_cast<double>(two.host.total));
}

// Whatever is not refused on one node.
TEST(OffloadingOnNodes, EverySystemDoesAsOnOneNode) {
  std::vector<std::string> running;
  for (const System& system : catalogue())
    for (const char* policy :
         {"keep", "checkpoint_host", "checkpoint_ssd", "offload", "swap", "tensor_cache", "plan"})
      for (const char* schedule : {"1f1b", "zero_bubble", "sequential"}) {
        Overrides knobs{std::string("parallel.schedule=") + schedule};
        if (policy == std::string("tensor_cache")) knobs = with(knobs, cached);
        knobs.push_back(std::string("strategy.activations.policy=") + policy);
        if (plans_steps(system.name) && policy == std::string("plan"))
          knobs = with(knobs, little_room);
        std::optional<description::Scenario> together;
        try {
          together = on_nodes(system.name, 4, 1, knobs);
        } catch (const description::ScenarioError&) {
          continue;
        }
        const std::string what = std::string(system.name) + " " + policy + " " + schedule;
        SCOPED_TRACE(what);
        expect_alike(ample(*together), ample(on_nodes(system.name, 4, 2, knobs)));
        running.push_back(what);
      }
  for (const char* one :
       {"ssdtrain tensor_cache 1f1b", "teraio plan 1f1b", "g10 plan 1f1b", "zero_offload keep 1f1b",
        "zero_infinity keep zero_bubble", "mlp_offload keep 1f1b", "flashneuron swap sequential",
        "zero_infinity checkpoint_ssd sequential"})
    EXPECT_THAT(running, Contains(one));
}

TEST(OffloadingOnNodes, PlansMoveAsMuchToEachTier) {
  for (const char* system : {"teraio", "g10"})
    for (const char* destinations : {R"(["ssd"])", R"(["host"])", R"(["ssd","host"])"}) {
      SCOPED_TRACE(std::string(system) + destinations);
      const Overrides knobs =
          with(little_room, {std::string("strategy.plan.destinations=") + destinations});
      const result::Result one = simulate(ample(on_nodes(system, 2, 1, knobs)));
      const result::Result two = simulate(ample(on_nodes(system, 2, 2, knobs)));
      ASSERT_TRUE(two.feasible());
      EXPECT_GT(two.io.d2h + two.io.ssd_write, 0u);
      EXPECT_EQ(two.plan.at("bytes_to_ssd"), one.plan.at("bytes_to_ssd"));
      EXPECT_EQ(two.plan.at("bytes_to_host"), one.plan.at("bytes_to_host"));
      EXPECT_EQ(2 * two.io.ssd_write, one.io.ssd_write);
    }
}

TEST(OffloadingOnNodes, EachNodeHasDrivesOfItsOwn) {
  const auto step = [&](std::uint64_t nodes) {
    description::Scenario scenario =
        ample(on_nodes("zero_infinity", 2, nodes,
                       {"strategy.activations.policy=keep", "model.vocab_size=64",
                        "parallel.pipeline_cut=layers"}));
    scenario.machine.storage[0].read = scenario.machine.storage[0].write =
        description::BytesPerSecond(5e6);
    return simulate(scenario);
  };
  const result::Result one = step(1), two = step(2);
  // together they wait for one drive, each alone for half of the bytes
  EXPECT_NEAR(two.step_time_s / one.step_time_s, 0.5, 0.1);
  EXPECT_GT(two.utilization.storage.at("nvme"), 0.8);
  EXPECT_LE(two.utilization.storage.at("nvme"), 1);
}

TEST(OffloadingOnNodes, WearIsOfTheDrivesThatTakeMost) {
  const auto scenario = [&](std::uint64_t nodes) {
    description::Scenario box = ample(on_nodes("ssdtrain", 2, nodes, cached));
    description::EnduranceSpec& endurance = box.machine.storage[0].endurance.emplace();
    endurance.rated = description::Bytes(1'000'000'000'000'000);
    endurance.waf = 2;
    box.machine.prices_usd.emplace().ssd = 100;
    box.run.tokens = 1e9;
    box.run.checkpoint_every = description::Seconds(0);
    return box;
  };
  const result::Result one = simulate(scenario(1)), two = simulate(scenario(2));
  ASSERT_EQ(two.nodes.size(), 2u);
  std::uint64_t most = 0, sum = 0;
  for (const result::NodeUse& node : two.nodes) {
    most = std::max(most, node.storage.at("nvme").write);
    sum += node.storage.at("nvme").write;
  }
  EXPECT_EQ(sum, one.io.ssd_write);
  EXPECT_LT(most, sum);  // the last stage keeps what its backward needs at once
  ASSERT_TRUE(two.wear && two.wear->node);
  EXPECT_EQ(two.nodes[*two.wear->node].storage.at("nvme").write, most);
  EXPECT_EQ(two.wear->write_bytes_per_step, static_cast<double>(most));
  EXPECT_NEAR(*two.wear->lifetime_years / *one.wear->lifetime_years,
              static_cast<double>(sum) / static_cast<double>(most), 0.02);
  // what all drives lose is the same, however many there are
  EXPECT_NEAR(*two.wear->usd_per_million_tokens / *one.wear->usd_per_million_tokens, 1, 0.02);
  ASSERT_TRUE(two.run && two.run->drives && one.run->drives);
  EXPECT_NEAR(two.run->drives->written_bytes / one.run->drives->written_bytes, 1, 1e-9);
}

TEST(OffloadingOnNodes, MemoryIsOfTheNodeThatNeedsMost) {
  // three stages of equal blocks: two on the first node, one on the second
  const Overrides cpu{"model.num_hidden_layers=3", "parallel.pipeline_cut=layers",
                      "model.vocab_size=64"};
  const result::Result all = count(on_nodes("zero_offload", 3, 1, cpu)).result;
  description::Scenario scenario = on_nodes("zero_offload", 3, 1, cpu);
  scenario.machine.gpu.count = 2;
  scenario.machine.nodes = 2;
  const result::Result spread = count(scenario).result;
  ASSERT_EQ(spread.nodes.size(), 2u);
  EXPECT_EQ(spread.nodes[0].last_stage, 1u);
  EXPECT_EQ(spread.nodes[1].first_stage, 2u);
  EXPECT_EQ(spread.host.total, spread.nodes[0].host_peak_bytes);
  EXPECT_LT(spread.nodes[1].host_peak_bytes, spread.nodes[0].host_peak_bytes);
  const auto states = [](const result::Result& run) {
    return static_cast<double>(at_peak(run.host, "optimizer_states"));
  };
  EXPECT_GT(states(all), 0);
  EXPECT_NEAR(states(spread) / states(all), 2.0 / 3, 0.01);
  // a node that is too small for the two is not for one
  const std::uint64_t room =
      (spread.nodes[0].host_peak_bytes + spread.nodes[1].host_peak_bytes) / 2;
  scenario.machine.host.memory = description::Bytes(room);
  EXPECT_FALSE(count(scenario).result.feasible());
  scenario.machine.gpu.count = 1;
  scenario.machine.nodes = 3;
  EXPECT_TRUE(count(scenario).result.feasible());
}

TEST(OffloadingOnNodes, AStageThatFillsNodesIsShownByTheFirst) {
  // two stages of four ranks, on four nodes of two GPUs
  const Overrides data{"parallel.data=4", "parallel.zero_stage=1", "parallel.pipeline=2"};
  for (const char* system : {"zero_offload", "ssdtrain"}) {
    SCOPED_TRACE(system);
    const Overrides all =
        with(data, {std::string(system) == "ssdtrain" ? "strategy.activations.policy=tensor_cache"
                                                      : "strategy.weights.home=gpu",
                    "strategy.activations.swap_bytes=all", "strategy.activations.min_elements=0"});
    const result::Result one = simulate(ample(on_nodes(system, 8, 1, all)));
    const description::Scenario spread = ample(on_nodes(system, 8, 4, all));
    const result::Result four = simulate(spread);
    ASSERT_TRUE(four.feasible());
    ASSERT_EQ(four.nodes.size(), 2u);
    EXPECT_EQ(four.nodes[1].nodes, 2u);
    EXPECT_EQ(four.nodes[1].first_stage, 1u);
    EXPECT_EQ(4 * four.io.ssd_write, one.io.ssd_write);
    EXPECT_EQ(4 * four.io.d2h, one.io.d2h);
    EXPECT_EQ(four.gpu.total, one.gpu.total);
    EXPECT_LE(Mandatory::of(spread)->step_s(spread), four.step_time_s);
  }
}

TEST(OffloadingOnNodes, RepeatWhatWasDecided) {
  for (const char* system : {"ssdtrain", "teraio", "zero_infinity"}) {
    SCOPED_TRACE(system);
    const Overrides knobs = system == std::string("ssdtrain") ? cached
                            : system == std::string("teraio") ? little_room
                                                              : Overrides{};
    const description::Scenario scenario = on_nodes(system, 2, 2, knobs);
    const Decision decision = decided_as_written(scenario);
    const auto run_of = [](const Decision& what) {
      const auto machine = sim::open_sim_machine(what->scenario, false);
      return run(*machine, what, "sim");
    };
    const result::Result first = run_of(decision);
    const nlohmann::json stored = decision_json(decision, &first);
    const Decision again = read_decision(stored, reread(scenario_in(stored)));
    const result::Result second = run_of(again);
    EXPECT_EQ(second.step_time_s, first.step_time_s);
    EXPECT_EQ(second.io.ssd_write, first.io.ssd_write);
    EXPECT_EQ(second.gpu.total, first.gpu.total);
  }
}

TEST(OffloadingOnNodes, EnginesOfATraceAreOfANode) {
  const Decision decision =
      decided_as_written(on_nodes("zero_infinity", 2, 2, {"strategy.activations.policy=keep"}));
  const auto machine = sim::open_sim_machine(decision->scenario, true);
  ASSERT_TRUE(run(*machine, decision, "sim").feasible());
  std::vector<std::string> tracks, counters;
  for (const result::TraceSpan& span : machine->recorder().trace().spans)
    tracks.push_back(span.track);
  for (const result::TraceSample& sample : machine->recorder().trace().samples)
    counters.push_back(sample.counter);
  for (const char* track : {"node 0 nvme", "node 1 nvme", "node 0 cpu", "node 1 cpu"})
    EXPECT_THAT(tracks, Contains(track));
  EXPECT_THAT(tracks, Not(Contains("nvme")));
  EXPECT_THAT(counters, Contains("node 1 nvme memory"));
  EXPECT_THAT(counters, Contains("host 1 memory"));
}

}  // namespace
}  // namespace spillway::strategies::offloading_on_nodes_test
