#include "strategies/bounds/bounds.hpp"
#include "strategies/layout/job.hpp"
#include "tests/strategies/systems/systems.hpp"

/// Ranks on several equal nodes, of which the first is simulated.
namespace spillway::strategies {
namespace {

Overrides with(Overrides some, const Overrides& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

/// Two nodes of two GPUs, all data parallel.
const Overrides two_by_two{"machine.gpu.count=2", "machine.nodes=2", "parallel.data=4"};
/// So that every all-reduce is a ring.
const char* const no_latency = "machine.network.latency=0 s";

struct Stage {
  const char* stage;
  std::uint64_t weights, gradients, states;  ///< ranks that share each
  double sent;                               ///< bytes per parameter that a rank of four sends
};

TEST(Nodes, StagesOfZeroSpreadOverTheRanksOfAllNodes) {
  const Stage stages[] = {
      {"1", 1, 1, 4, 4.5},  // all-reduce 2 x 3/4 x 2 B, all-gather of new weights 3/4 x 2 B
      {"2", 1, 4, 4, 3.0},  // reduce-scatter and all-gather: 3/2 + 3/2
      {"3", 4, 4, 4, 4.5},  // all-gather twice, reduce-scatter: 3 x 3/2
  };
  for (const Stage& stage : stages) {
    SCOPED_TRACE(stage.stage);
    const description::Scenario scenario =
        small_model("llama", "resident",
                    with(two_by_two, {std::string("parallel.zero_stage=") + stage.stage, no_latency,
                                      "strategy.activations.policy=keep"}));
    const models::Model model = model_of(scenario);
    const result::Result run = count(scenario).result;
    // whole tensors in sectors, shares in 64 B
    EXPECT_EQ(at_peak(run.gpu, "weights"),
              padded(model, 2, stage.weights == 1 ? 4096 : 64, stage.weights));
    EXPECT_EQ(at_peak(run.gpu, "optimizer_states"), padded(model, 12, 64, stage.states));
    EXPECT_GE(at_peak(run.gpu, "gradients"), padded(model, 2, 4096, stage.gradients));
    // two ranks a node, which send half of it to the other node
    const double parameters = static_cast<double>(model.parameters.value());
    EXPECT_NEAR(static_cast<double>(run.io.network) / 2 / parameters, stage.sent,
                0.01 * stage.sent);
    EXPECT_NEAR(static_cast<double>(run.io.between_nodes) / static_cast<double>(run.io.network),
                0.5, 1e-6);
  }
}

TEST(Nodes, EachStoresAndMovesItsPartOfTheStates) {
  const Overrides one_node{"machine.gpu.count=4", "parallel.data=4"};
  const result::Result one = count(small_model("llama", "zero_infinity", one_node)).result;
  const result::Result two = count(small_model("llama", "zero_infinity", two_by_two)).result;
  EXPECT_EQ(2 * two.ssd.total, one.ssd.total);
  EXPECT_EQ(2 * two.io.ssd_read, one.io.ssd_read);
  EXPECT_EQ(2 * two.io.ssd_write, one.io.ssd_write);
  EXPECT_EQ(2 * two.io.h2d, one.io.h2d);
  EXPECT_EQ(2 * at_peak(two.host, "gradient_flat_buffer"),
            at_peak(one.host, "gradient_flat_buffer"));
  EXPECT_EQ(one.io.between_nodes, 0u);
}

/// Seconds of a step on two GPUs that reach each other over PCIe.
double on_two_gpus(const std::string& system, Overrides all, const Overrides& more) {
  for (const char* one :
       {"parallel.data=2", "machine.network.per_gpu=100 TB/s", "machine.host.runtime_base=0 B",
        "machine.host.process_base_next=1.67 GiB", "machine.host.check_chained=10 GB/s",
        "training.precision=fp16_mixed"})
    all.emplace_back(one);
  description::Scenario scenario = small_model("llama", system, with(all, more));
  scenario.machine.gpu.peer_rate.reset();
  scenario.machine.network.intra_node_per_gpu.reset();
  return simulate(scenario).step_time_s;
}

/// The same GPUs in one node, and in two that have half of its drives, cores and DRAM rate each and
/// a network that is never the limit.
std::pair<double, double> folded(const std::string& system, const Overrides& more) {
  const double one = on_two_gpus(
      system,
      {"machine.gpu.count=2", "machine.storage.nvme.count=2", "machine.host.adam=4 Gparam/s",
       "machine.host.convert=80 GB/s", "machine.host.check_fused=160 GB/s",
       "machine.host.memory_rate=400 GB/s", "machine.host.cores=64"},
      more);
  const double two =
      on_two_gpus(system,
                  {"machine.gpu.count=1", "machine.nodes=2", "machine.storage.nvme.count=1",
                   "machine.host.adam=2 Gparam/s", "machine.host.convert=40 GB/s",
                   "machine.host.check_fused=80 GB/s", "machine.host.memory_rate=200 GB/s",
                   "machine.host.cores=32"},
                  more);
  return {one, two};
}

TEST(Nodes, OfHalfTheSizeOnAFastNetworkEqualOneNode) {
  for (const char* system : {"zero_infinity", "zero_offload", "resident"})
    for (const char* accumulation : {"1", "2"}) {
      SCOPED_TRACE(std::string(system) + accumulation);
      const auto [one, two] =
          folded(system, {std::string("training.gradient_accumulation=") + accumulation});
      EXPECT_GT(one, 0);
      EXPECT_NEAR(two / one, 1, 1e-6);
    }
}

TEST(Nodes, ShareAFileSystemAsRanksOfOneNodeShareIt) {
  const auto box = [&](const Overrides& shape) {
    description::Scenario scenario =
        small_model("llama", "zero_infinity", with(shape, {"parallel.data=2"}));
    description::StorageSpec pfs;
    pfs.name = "pfs";
    pfs.kind = description::StorageKind::remote;
    pfs.read = pfs.write = description::BytesPerSecond(1e9);
    pfs.shared_by_nodes = true;
    scenario.machine.storage.push_back(pfs);
    scenario.strategy.weights.home = description::Home::gpu;
    scenario.strategy.weights.pool = description::PoolKind::none;
    scenario.strategy.optimizer.paths = {{"pfs", 1.0}};
    return simulate(scenario);
  };
  const result::Result one = box({"machine.gpu.count=2"});
  const result::Result two = box({"machine.gpu.count=1", "machine.nodes=2"});
  EXPECT_EQ(2 * two.io.by_storage.at("pfs").read, one.io.by_storage.at("pfs").read);
  EXPECT_NEAR(two.update_s / one.update_s, 1, 0.02);
  EXPECT_GT(one.utilization.storage.at("pfs"), 0.5);
}

TEST(Nodes, KeepTensorParallelSumsInside) {
  const Overrides in_node{"machine.gpu.count=2", "parallel.tensor=2", "parallel.zero_stage=3",
                          no_latency};
  const result::Result alone = count(small_model("llama", "resident", in_node)).result;
  const description::Scenario scenario =
      small_model("llama", "resident", with(in_node, {"machine.nodes=4", "parallel.data=4"}));
  const result::Result run = count(scenario).result;
  EXPECT_EQ(alone.io.between_nodes, 0u);
  EXPECT_EQ(run.io.network - run.io.between_nodes, alone.io.network);
  // 3 x 3/4 of the weights on a rank, 2 B each; both ranks of a node
  const Decision decision = decided_as_written(scenario);
  const Job job(decision);
  std::uint64_t held = 0;
  for (std::uint32_t weight = 0; weight < job.model.weights.size(); ++weight)
    held += 2 * job.elements(weight);
  EXPECT_NEAR(
      static_cast<double>(run.io.between_nodes) / (2 * 3 * 0.75 * static_cast<double>(held)), 1,
      0.01);
}

TEST(Nodes, MicroBatchesRepeatWhatZero3Sends) {
  const auto bytes = [](const char* accumulation) {
    return count(small_model("llama", "resident",
                             with(two_by_two,
                                  {std::string("training.gradient_accumulation=") + accumulation})))
        .result.io.between_nodes;
  };
  EXPECT_EQ(bytes("3"), 3 * bytes("1"));
}

TEST(Nodes, AllOfThemAgreeOnAnOverflow) {
  const auto check_s = [](const char* latency) {
    return simulate(small_model("llama", "zero_offload",
                                {"machine.gpu.count=1", "machine.nodes=8", "parallel.data=8",
                                 std::string("machine.network.latency=") + latency}))
        .overflow_check_s;
  };
  // a flag up and down a tree of depth 3
  EXPECT_NEAR(check_s("10 ms") - check_s("0 s"), 0.06, 1e-4);
}

TEST(Nodes, TrainOnTheSamplesOfAllRanks) {
  const result::Result run = simulate(
      small_model("llama", "resident", with(two_by_two, {"training.gradient_accumulation=3"})));
  // micro-batch 2 x 3 x data 4, 64 tokens each
  EXPECT_NEAR(run.samples_per_s * run.step_time_s, 24, 1e-9);
  EXPECT_NEAR(run.tokens_per_s * run.step_time_s, 24 * 64, 1e-6);
  EXPECT_EQ(run.notes.size(), 1u);
}

TEST(Nodes, AreLimitedByASlowNetwork) {
  const result::Result run = simulate(
      small_model("llama", "resident", with(two_by_two, {"machine.network.per_gpu=10 MB/s"})));
  EXPECT_EQ(run.bottleneck, "network");
  const description::Scenario scenario =
      small_model("llama", "resident", with(two_by_two, {"machine.network.per_gpu=10 MB/s"}));
  const Bounds bounds = bounds_of(count(scenario).demands.back(), scenario);
  EXPECT_EQ(bounds.step(), bounds.network);
  EXPECT_LE(bounds.network, run.step_time_s);
  EXPECT_NEAR(bounds.network, run.utilization.network * run.step_time_s, 0.03 * run.step_time_s);
  // 3 x 3/4 x 2 B of each parameter, half of it over each NIC
  const double parameters = static_cast<double>(
      model_of(small_model("llama", "resident", two_by_two)).parameters.value());
  EXPECT_NEAR(run.utilization.network * run.step_time_s, 4.5 * parameters / 2 / 10e6,
              0.03 * 4.5 * parameters / 2 / 10e6);
}

}  // namespace
}  // namespace spillway::strategies
