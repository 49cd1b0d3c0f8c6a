#include "tests/strategies/systems/systems.hpp"

/// Pipelines of `resident` whose stages lie on several nodes.
namespace spillway::strategies::stages_on_nodes_test {
namespace {

constexpr std::uint64_t hidden_bytes = 2 * 64 * 1024 * 2;  // samples x tokens x width x 2 B

/// Four blocks on GPUs so slow that most of a step is computation, three micro-batches a step.
description::Scenario pipeline(const Overrides& more) {
  Overrides all{"model.num_hidden_layers=4", "model.vocab_size=64",
                "machine.gpu.compute.fp16=0.2 TFLOPS", "training.gradient_accumulation=3"};
  all.insert(all.end(), more.begin(), more.end());
  return small_model("llama", "resident", all);
}

/// `stages` of one GPU each.
description::Scenario on_nodes(std::uint64_t stages, std::uint64_t nodes, std::uint64_t gpus,
                               const Overrides& more = {}) {
  Overrides all{"parallel.pipeline=" + std::to_string(stages),
                "machine.nodes=" + std::to_string(nodes),
                "machine.gpu.count=" + std::to_string(gpus)};
  all.insert(all.end(), more.begin(), more.end());
  return pipeline(all);
}

TEST(StagesOnNodes, SendOverTheNetworkWhatCrossesNodes) {
  // four stages, two a node: one of three boundaries lies between nodes; of a node, half of the sum
  const result::Result run = simulate(on_nodes(4, 2, 2));
  EXPECT_EQ(run.io.network, 3 * 3 * 2 * hidden_bytes / 2);
  EXPECT_EQ(run.io.between_nodes, 3 * 2 * hidden_bytes / 2);
  EXPECT_EQ(count(on_nodes(4, 2, 2)).result.io.between_nodes, run.io.between_nodes);
}

TEST(StagesOnNodes, TakeAsLongAsOnOneWhereTheNetworkIsAsFastAsPeers) {
  const Overrides alike{"machine.network.per_gpu=10 GB/s", "machine.pcie.h2d=10 GB/s",
                        "machine.pcie.d2h=10 GB/s", "machine.gpu.peer_rate=10 GB/s"};
  const double one = simulate(on_nodes(4, 1, 4, alike)).step_time_s;
  EXPECT_NEAR(simulate(on_nodes(4, 2, 2, alike)).step_time_s, one, 1e-9 * one);
  EXPECT_NEAR(simulate(on_nodes(4, 4, 1, alike)).step_time_s, one, 1e-9 * one);
}

TEST(StagesOnNodes, WaitForASlowNetwork) {
  const auto step_s = [](const char* rate) {
    return simulate(on_nodes(2, 2, 1, {rate})).step_time_s;
  };
  // Of m micro-batches m + 1 turns hand over: the first forward and the last backward alone, and
  // between them each way at once. Each turn waits for the slower way.
  const double transfer_s = static_cast<double>(hidden_bytes) / 1e6;
  const double longer =
      step_s("machine.network.per_gpu=1 MB/s") - step_s("machine.network.per_gpu=10 GB/s");
  EXPECT_GT(longer, 3 * transfer_s);
  EXPECT_LT(longer, 6.1 * transfer_s);
}

TEST(StagesOnNodes, OfWholeNodesAreEachShownByTheFirst) {
  // two stages of four ranks, on four nodes of two GPUs
  const Overrides data{"parallel.data=4", "parallel.zero_stage=1"};
  const description::Scenario scenario = on_nodes(2, 4, 2, data);
  const Counted spread = count(scenario);
  ASSERT_TRUE(spread.result.feasible());
  const Counted one = count(on_nodes(2, 1, 8, data));
  EXPECT_EQ(spread.result.gpu.total, one.result.gpu.total);
  EXPECT_GT(spread.result.io.between_nodes, 3 * 2 * hidden_bytes);  // gradients too
  EXPECT_GT(simulate(scenario).step_time_s, 0);
}

TEST(StagesOnNodes, FillHostMemoryOfTheirOwnNodeOnly) {
  const Overrides host{"machine.host.process_base=10 GiB", "machine.host.process_base_next=1 GiB",
                       "machine.host.runtime_base=0 B"};
  // three stages: two on the first node, one on the second
  const std::uint64_t gib = std::uint64_t{1} << 30;
  EXPECT_EQ(at_peak(count(on_nodes(3, 2, 2, host)).result.host, "process_base"), 11 * gib);
  EXPECT_EQ(at_peak(count(on_nodes(3, 1, 3, host)).result.host, "process_base"), 12 * gib);
  EXPECT_EQ(at_peak(count(on_nodes(4, 4, 1, host)).result.host, "process_base"), 10 * gib);
}

}  // namespace
}  // namespace spillway::strategies::stages_on_nodes_test
