#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::weight_knobs_test {
namespace {

constexpr std::uint64_t parameters = 8'030'261'248, norms = 65 * 4096;
constexpr std::uint64_t swapped = parameters - norms;
constexpr std::uint64_t largest = 128256 * 4096ull;
/// A block's matrices: q and o, k and v, gate, up and down.
constexpr std::uint64_t block = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336;

description::Scenario llama(const Overrides& overrides = {}) {
  return example("llama8b_memascend_c1", overrides);
}

TEST(WeightKnobs, EachBlockAheadBringsSevenBuffers) {
  for (const std::uint64_t ahead : {1, 2, 3}) {
    const Counted run = count(llama({"strategy.weights.prefetch_blocks=" + std::to_string(ahead)}));
    EXPECT_EQ(at_peak(run.result.host, "parameter_pool"), (2 + 7 * ahead) * 2 * largest);
    EXPECT_EQ(run.result.io.ssd_read, 20 * swapped + 12 * norms);
  }
}

TEST(WeightKnobs, BufferCountAndSizeAreTaken) {
  const Counted run =
      count(llama({"strategy.weights.buffer_count=11", "strategy.weights.buffer_size=6e8 params"}));
  EXPECT_EQ(at_peak(run.result.host, "parameter_pool"), 11 * 2 * 600'000'000ull);
}

TEST(WeightKnobs, PoolWithNothingAheadStillHoldsOneBlock) {
  for (const char* pool : {"monolithic", "adaptive", "ring"}) {
    const result::Result run = simulate(llama(
        {"strategy.weights.prefetch_blocks=0", std::string("strategy.weights.pool=") + pool}));
    EXPECT_TRUE(run.feasible());
    EXPECT_EQ(run.io.ssd_read, 20 * swapped + 12 * norms);
  }
}

TEST(WeightKnobs, ARingOfAnyLengthReadsWhatItsPoolDoes) {
  // three buffers of the largest tensor; a monolithic pool needs nine of them
  const auto ring = [](const char* count) {
    return simulate(llama(
        {"strategy.weights.pool=ring", std::string("strategy.weights.buffer_count=") + count}));
  };
  const result::Result three = ring("3"), nine = ring("9");
  EXPECT_EQ(at_peak(three.host, "parameter_pool"), 3 * 2 * largest);
  EXPECT_EQ(at_peak(nine.host, "parameter_pool"), 9 * 2 * largest);
  EXPECT_EQ(three.io.ssd_read, 20 * swapped + 12 * norms);
  EXPECT_GE(three.step_time_s, nine.step_time_s);
}

TEST(WeightKnobs, TheLimitOfLiveElementsHoldsGatheredWeightsBack) {
  // 64 k tokens: the kernels take longer than the reads, so that prefetch gets as far as it may
  const auto gathered = [](Overrides overrides) {
    overrides.push_back("strategy.weights.prefetch_blocks=3");
    overrides.push_back("training.sequence=65536");
    overrides.push_back("strategy.gpu_capacity=unlimited");
    overrides.push_back("strategy.gpu_allocator=exact");
    // checkpoints in host: the peak is the first block of backward
    return at_peak(simulate(llama(overrides)).gpu, "gathered_weights");
  };
  const std::uint64_t free = gathered({});
  const std::uint64_t live = gathered({"strategy.weights.max_live=5.3e8 params"});
  EXPECT_GE(free, 2 * 3 * block);  // the one that runs and two ahead: the third is asked for then
  EXPECT_LT(live, free);
  EXPECT_LE(live, 2 * 530'000'000ull);  // two blocks, no more
}

TEST(WeightKnobs, WhatTheLimitHoldsBackComesOnceALayerIsGivenBack) {
  // kernels and copies take about as long: what is late is waited for
  const auto forward = [](const std::string& blocks, const std::string& live) {
    return simulate(llama({"strategy.system=zero_offload", "strategy.weights.home=host",
                           "machine=workstation_2gpu", "training.sequence=2048",
                           "training.micro_batch=8", "strategy.weights.prefetch_blocks=" + blocks,
                           "strategy.weights.max_live=" + live}))
        .forward_s;
  };
  const double one = forward("1", "all");
  EXPECT_GT(forward("0", "all"), 1.2 * one);
  // three blocks and a bit: a fourth is held back at each hook, never the next one
  EXPECT_NEAR(forward("4", "8e8 params"), one, 0.001 * one);
}

TEST(WeightKnobs, EitherLimitOfZeroSwitchesPrefetchingOff) {
  // weights in host memory: what comes in its turn waits until the layer before has left the GPU
  const auto forward = [](const std::string& knob) {
    return simulate(llama({"strategy.system=zero_offload", "machine=h100_8gpu",
                           "strategy.weights." + knob}))
        .forward_s;
  };
  const double ahead = forward("prefetch_blocks=1");
  const double none = forward("prefetch_blocks=0");
  EXPECT_GT(none, 1.02 * ahead);
  EXPECT_DOUBLE_EQ(forward("prefetch_bucket=0 params"), none);
  EXPECT_DOUBLE_EQ(forward("max_live=0 params"), none);
  EXPECT_DOUBLE_EQ(forward("prefetch_bucket=1e6 params"), ahead);
}

TEST(WeightKnobs, WhatIsUsedAgainSoonIsNotFetchedAgain) {
  // the head is the last of forward and the first of backward: 128256 x 4096 elements
  const auto fetched = [](std::uint64_t reuse) {
    return count(llama({"strategy.system=zero_offload", "machine=h100_8gpu",
                        "strategy.weights.max_reuse=" + std::to_string(reuse) + " params"}))
        .result.phase_bytes.at("backward")
        .h2d;
  };
  EXPECT_EQ(fetched(0) - fetched(1), 2 * largest);
  // the head and its norm, once in forward and once in backward, lie between the uses of the last
  // block
  EXPECT_EQ(fetched(1) - fetched(2 * (largest + 4096) + 1), 2 * block);
}

TEST(WeightKnobs, LimitsNeitherChangeBytesNorStop) {
  for (const char* limit : {"prefetch_bucket=1 params", "max_live=1 params"}) {
    const result::Result run = simulate(
        llama({std::string("strategy.weights.") + limit, "strategy.weights.prefetch_blocks=3"}));
    EXPECT_TRUE(run.feasible());
    EXPECT_EQ(run.io.ssd_read, 20 * swapped + 12 * norms) << limit;
  }
}

TEST(WeightKnobs, WhatStaysInHostIsNeitherReadNorWritten) {
  // in model order: the embedding and, of block 0, q, k and v; o (16.8 M) no longer fits
  const std::uint64_t kept = largest + 4096 * 4096 + 2 * 4096 * 1024;
  const Counted run =
      count(llama({"strategy.weights.max_in_host=" + std::to_string(kept) + " params"}));
  EXPECT_EQ(run.result.io.ssd_read, 20 * swapped + 12 * norms - 4 * kept);
  EXPECT_EQ(run.result.io.ssd_write, 18 * swapped + 12 * norms - 2 * kept);
  EXPECT_EQ(at_peak(run.result.host, "parameter_flat_buffer"), 2 * kept);
  EXPECT_EQ(run.result.io.h2d, count(llama()).result.io.h2d);
}

TEST(WeightKnobs, PersistentTensorsStayWholeOnEveryGpu) {
  // k and v of 4096 x 1024 elements stay, q of 4096 x 4096 does not
  const std::uint64_t kept = 32 * 2 * 4096 * 1024;
  const Counted run = count(
      llama({"strategy.weights.persistence_threshold=" + std::to_string(4096 * 1024) + " params"}));
  EXPECT_EQ(at_peak(run.result.gpu, "weights"), 2 * (kept + norms));
  EXPECT_EQ(run.result.phase_bytes.at("forward").ssd_read, 2 * (swapped - kept));
  EXPECT_EQ(run.result.phase_bytes.at("update").h2d, 2 * (kept + norms));
  const Counted below = count(llama(
      {"strategy.weights.persistence_threshold=" + std::to_string(4096 * 1024 - 1) + " params"}));
  EXPECT_EQ(below.result.phase_bytes.at("forward").ssd_read, 2 * swapped);
}

TEST(WeightKnobs, WeightsOnTheGpuAreNeitherReadNorWritten) {
  const Counted run = count(llama({"strategy.weights.home=gpu"}));
  EXPECT_EQ(at_peak(run.result.host, "parameter_pool"), 0u);
  EXPECT_EQ(at_peak(run.result.gpu, "weights"), 2 * parameters);
  EXPECT_EQ(run.result.io.ssd_read, 16 * swapped + 12 * norms);
  EXPECT_EQ(run.result.io.ssd_write, 16 * swapped + 12 * norms);
  EXPECT_EQ(run.result.phase_bytes.at("update").h2d, 2 * parameters);
}

TEST(WeightKnobs, SubgroupSizeSetsTheSwapBuffers) {
  // 1e9: the embedding and blocks until the sum is above, embedding + 3 blocks = 1.18e9
  const std::uint64_t group = largest + 3 * block;
  const Counted run = count(llama({"strategy.optimizer.subgroup=1e9 params"}));
  EXPECT_GE(at_peak(run.result.host, "optimizer_swap_buffers"), 4 * 4 * 1'000'000'000ull);
  EXPECT_LE(at_peak(run.result.host, "optimizer_swap_buffers"), 4 * 4 * group);
  EXPECT_EQ(run.result.io.ssd_write, 18 * swapped + 12 * norms);
}

std::uint64_t operations_of(int experts, const char* layout) {
  const Overrides overrides{"model.num_local_experts=" + std::to_string(experts),
                            "training.experts=" + std::string(layout)};
  return count(small_model("mixtral", "zero_infinity", overrides)).result.operations;
}

TEST(ExpertLayout, StackedExpertsTakeNoMoreOperationsTheMoreThereAre) {
  EXPECT_EQ(operations_of(4, "stacked"), operations_of(32, "stacked"));
  // apart each of 3 matrices, of 28 experts more in 2 blocks, is read at least once a pass
  EXPECT_GE(operations_of(32, "separate"), operations_of(4, "separate") + 2 * 28 * 3 * 2);
}

TEST(ExpertLayout, DecidesHowLargeTheBuffersOfAPoolAre) {
  // 4 experts of 4096 columns: gate and up of all, 16-bit; apart the words, 5000 x 1024
  const auto pool = [](const char* layout) {
    const auto counted = count(small_model(
        "mixtral", "zero_infinity",
        {"strategy.weights.buffer_count=16", "training.experts=" + std::string(layout)}));
    return at_peak(counted.result.host, "parameter_pool");
  };
  EXPECT_EQ(pool("stacked"), 16u * 2 * 4 * 2 * 4096 * 1024);
  EXPECT_EQ(pool("separate"), 16u * 2 * 5000 * 1024);
}

TEST(OptimizerKnobs, StatesGoToTheOneStorageThatPathsNames) {
  const Overrides box{"machine=mlp_offload_t1", "parallel.data=1"};
  Overrides remote = box;
  remote.push_back("strategy.optimizer.paths.pfs=1");
  const auto traffic = [](const Overrides& overrides) {
    return count(small_model("llama", "zero_infinity", overrides)).result.io;
  };
  const result::IoBytes near = traffic(box), far = traffic(remote);
  EXPECT_EQ(near.by_storage.at("pfs").write, 0u);
  EXPECT_GT(far.by_storage.at("pfs").write, 0u);
  EXPECT_EQ(far.by_storage.at("pfs").write + far.ssd_write, near.ssd_write);
  EXPECT_EQ(far.by_storage.at("pfs").read + far.ssd_read, near.ssd_read);
}

TEST(OptimizerKnobs, OneSetOfBuffersIsEnough) {
  const result::Result run =
      simulate(llama({"strategy.optimizer.buffers=3", "strategy.gradients.policy=host_fp32"}));
  EXPECT_EQ(at_peak(run.host, "optimizer_swap_buffers"), 3 * 4 * largest);
  EXPECT_EQ(run.io.ssd_read, 16 * swapped + 12 * norms);  // no gradients
}

}  // namespace
}  // namespace spillway::strategies::weight_knobs_test
