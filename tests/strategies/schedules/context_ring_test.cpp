#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// Whole runs of ranks that pass keys and values on.
namespace spillway::strategies::context_ring_test {
namespace {

description::Scenario ring(std::uint64_t ranks, const Overrides& more = {}) {
  Overrides all{"parallel.context=" + std::to_string(ranks),
                "parallel.context_kind=ring",
                "training.micro_batch=1",
                "parallel.zero_stage=0",
                "model.max_position_embeddings=8192",
                "training.sequence=4096"};
  all.insert(all.end(), more.begin(), more.end());
  return small_model("llama", "resident", all);
}

const Overrides one_block{"model.num_hidden_layers=1"}, two_blocks{"model.num_hidden_layers=2"};

/// What a block of the model adds to a run.
template <class Of>
auto of_a_block(std::uint64_t ranks, const Overrides& more, Of of) {
  const auto with = [&](const Overrides& blocks) {
    Overrides all = more;
    all.insert(all.end(), blocks.begin(), blocks.end());
    return of(ring(ranks, all));
  };
  return with(two_blocks) - with(one_block);
}

TEST(ContextRing, SendsWhatTheProgramSays) {
  for (const std::uint64_t ranks : {2u, 4u}) {
    const auto sent = [](const description::Scenario& scenario) {
      const std::uint64_t counted = count(scenario).result.io.network;
      EXPECT_EQ(simulate(scenario).io.network, counted);
      return counted;
    };
    // 4096 / c tokens, 4 KV heads of 128, 2 B, keys and values: c - 1 times forward, as often and
    // as gradients c times backward; each of c ranks
    const std::uint64_t block = 4096 / ranks * 4 * 128 * 2 * 2;
    // an update's all-reduce of the block's gradients of 2 B: 2 (c - 1) / c of each weight
    const Prepared prepared = prepare(ring(ranks, one_block));
    std::uint64_t parameters = 0;
    for (const std::uint32_t weight : prepared.model.used_by(1))
      parameters += prepared.model.weights[weight].parameters.value();
    const std::uint64_t reduced = ranks * (2 * (ranks - 1) * (parameters * 2) / ranks);
    const std::uint64_t found = of_a_block(ranks, {}, sent);
    // the nine weights of a block are padded to 4096 B each
    EXPECT_NEAR(static_cast<double>(found - reduced),
                static_cast<double>(ranks * (3 * ranks - 2) * block), 9 * 4096 * 2 * 4);
  }
}

/// Seconds of a step with so many blocks more, where GPUs send each other `rate` B/s.
double block_s(std::uint64_t ranks, double rate) {
  const Overrides link{"machine.gpu.peer_rate=" + std::to_string(rate) + " B/s",
                       "machine.gpu.compute.fp16=20 TFLOPS"};
  return of_a_block(ranks, link, [](const description::Scenario& scenario) {
    return simulate(scenario).step_time_s;
  });
}

/// Bytes that a rank sends for a block's keys and values once, and for its update.
std::pair<double, double> sends(std::uint64_t ranks) {
  const Prepared prepared = prepare(ring(ranks, one_block));
  double parameters = 0;
  for (const std::uint32_t weight : prepared.model.used_by(1))
    parameters += static_cast<double>(prepared.model.weights[weight].parameters.value());
  const double c = static_cast<double>(ranks);
  return {4096 / c * 4 * 128 * 2 * 2, 2 * (c - 1) / c * 2 * parameters};
}

// Of a block the longer of its kernel and of what is sent beside it: a link that is slower than all
// kernels shows all transfers, c - 1 forward, c - 1 and c backward, and the sums of gradients for
// the update; one that is faster shows the gradients' last way home alone.
TEST(ContextRing, HidesTransfersThatAreShorterThanTheKernelsOfABlock) {
  for (const std::uint64_t ranks : {2u, 4u}) {
    const auto [block, update] = sends(ranks);
    const double slow = 1e8, fast = 200e9;
    const double shown =
        (block_s(ranks, slow) - block_s(ranks, 2 * slow)) / (1 / slow - 0.5 / slow);
    EXPECT_NEAR(shown, static_cast<double>(3 * ranks - 2) * block + update, 0.01 * shown) << ranks;
    const double hidden =
        (block_s(ranks, fast) - block_s(ranks, 2 * fast)) / (1 / fast - 0.5 / fast);
    EXPECT_NEAR(hidden, block, 0.02 * hidden) << ranks;
  }
}

TEST(ContextRing, NeedsNoRoomForAllKeys) {
  // what a block adds to a rank's peak with c ranks: of its own tokens alone
  const auto peak = [](const description::Scenario& scenario) {
    CountingMachine machine(scenario);
    EXPECT_TRUE(run(machine, decided_as_written(scenario), "counting").feasible());
    return machine.ledger().peak_bytes(0);
  };
  const auto of = [&](std::uint64_t ranks, const char* sequence) {
    return of_a_block(ranks, {"model.max_position_embeddings=65536", sequence}, peak);
  };
  const std::uint64_t two = of(2, "training.sequence=32768"),
                      four = of(4, "training.sequence=32768");
  const std::uint64_t of_two = of(2, "training.sequence=65536");
  EXPECT_LT(four, two);
  // twice the tokens, twice what is saved: no part of it has all tokens
  EXPECT_NEAR(static_cast<double>(of_two - two), 2.0 * static_cast<double>(two - four), 1e6);
}

TEST(ContextRing, RunsWithOtherRanksWithStagesAndRecomputed) {
  for (const Overrides& more :
       {Overrides{"parallel.tensor=2"}, Overrides{"parallel.data=2", "parallel.zero_stage=3"},
        Overrides{"parallel.tensor=2", "parallel.sequence_parallel=true"},
        Overrides{"strategy.activations.policy=checkpoint_gpu"},
        Overrides{"parallel.pipeline=2", "training.gradient_accumulation=4"},
        Overrides{"parallel.pipeline=2", "training.gradient_accumulation=4",
                  "parallel.schedule=zero_bubble"}}) {
    SCOPED_TRACE(more.front());
    const description::Scenario scenario = ring(2, more);
    const result::Result run = simulate(scenario);
    ASSERT_TRUE(run.feasible());
    EXPECT_EQ(run.io.network, count(scenario).result.io.network);
  }
}

// What the ring passes on, and what ranks gather, is there before it is sent.
TEST(ContextRing, WaitsForWhatComesBackFromHostMemory) {
  for (const std::uint64_t ranks : {2u, 4u})
    EXPECT_TRUE(simulate(ring(ranks, {"strategy.activations.policy=offload"})).feasible());
  EXPECT_TRUE(simulate(small_model("llama", "resident",
                                   {"parallel.tensor=2", "parallel.sequence_parallel=true",
                                    "machine.gpu.count=2", "training.micro_batch=1",
                                    "strategy.activations.policy=offload"}))
                  .feasible());
}

}  // namespace
}  // namespace spillway::strategies::context_ring_test
