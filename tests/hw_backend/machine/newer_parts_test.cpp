#include "tests/hw_backend/training.hpp"
#include "tests/long_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

/// Trainings by parts that came with systems of 2025 and 2026: with the bits of the reference.
namespace spillway::hw_backend::newer_parts_test {
namespace {

struct Way {
  const char* name;
  const char* system;
  Overrides overrides;
  std::uint64_t ranks = 1;
  std::uint64_t blocks = 2;
};

RealRun expect_the_reference(const Way& way, const char* kind) {
  const description::Scenario scenario = small_training(
      way.system, way.overrides, {.blocks = way.blocks, .feed_forward = 2048 * way.ranks});
  RealRun run = train_for_real(scenario);
  EXPECT_TRUE(run.result.feasible());
  const RealRun& reference = reference_run(scenario, fmt::format("{}_{}", kind, way.name));
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
  return run;
}

// Norms of copies and gradients times one change no bit, on the GPU and on the CPU.
TEST(TrainingAsDeepSpeedScales, EndsWhereTheReferenceDoes) {
  const Overrides as_it_does{"strategy.gradients.norm=fp64", "strategy.optimizer.unscale=true"};
  Overrides flat = as_it_does;
  for (const char* more :
       {"strategy.optimizer.flatten=true", "parallel.data=2", "parallel.zero_stage=2"})
    flat.emplace_back(more);
  const Way ways[] = {
      {"on_gpu", "resident", flat, 2},
      {"on_cpu", "zero_offload", as_it_does},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "scaled");
  }
}

// Five blocks, of which each two or three share a checkpoint: the last group is not full.
TEST(TrainingWithSharedCheckpoints, EndsWhereTheReferenceDoes) {
  const Way ways[] = {
      {"on_gpu", "zero_offload", {"strategy.activations.checkpoint_every=2"}, 1, 5},
  };
  for (const Way& way : sampled(ways)) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "shared");
  }
}

TEST(TrainingWithSharedCheckpoints, EndsWhereTheReferenceDoesInManyWays) {
  MANY_SYSTEMS_TEST();
  const Way ways[] = {
      {"in_host",
       "zero_infinity",
       {"strategy.activations.checkpoint_every=3", "strategy.activations.policy=checkpoint_host",
        "training.gradient_accumulation=2"},
       1,
       5},
      {"on_ssd",
       "memascend",
       {"strategy.activations.checkpoint_every=2", "strategy.activations.policy=checkpoint_ssd"},
       1,
       5},
      {"all_of_one", "megatrain", {"strategy.activations.checkpoint_every=5"}, 1, 5},
      {"two_ranks",
       "resident",
       {"strategy.activations.checkpoint_every=2", "parallel.data=2",
        "strategy.activations.policy=checkpoint_gpu"},
       2,
       5},
  };
  for (const Way& way : sampled(ways)) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "shared");
  }
}

// Columns by gradients of a micro-batch in 16 bits, beside the update of all weights in time or one
// step late.
TEST(TrainingWithSelectedColumns, EndsWhereTheReferenceDoes) {
  LONG_TEST();
  const Way ways[] = {
      {"late", "zenflow", {"training.precision=bf16_mixed", "training.gradient_accumulation=3"}},
      {"one_batch", "zenflow", {"training.precision=bf16_mixed"}},
      {"in_time",
       "zenflow",
       {"training.precision=bf16_mixed", "strategy.optimizer.staleness=0",
        "strategy.weights.h2d=pinned", "training.gradient_accumulation=2"}},
      {"flat",
       "zero_offload",
       {"training.precision=bf16_mixed", "strategy.weights.home=gpu", "parallel.zero_stage=2",
        "strategy.optimizer.selected_share=0.5", "strategy.optimizer.staleness=1",
        "strategy.gradients.lands=flat"}},
      {"spread",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=2", "parallel.data=2",
        "parallel.zero_stage=3"},
       2},
      {"states_in_host",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=3",
        "strategy.optimizer.selected_states=host"}},
      {"of_two_ranks",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=3", "parallel.data=2"},
       2},
  };
  for (const Way& way : sampled(ways)) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "selected");
  }
}

// Ranks whose shares meet within a row, or which share samples. In fp32 the reference's masters are
// its weights: they end as the CPU's Adam leaves them if each column gets its own gradients.
TEST(TrainingWithSelectedColumns, EndsWhereTheReferenceDoesInManyWays) {
  MANY_SYSTEMS_TEST();
  const Way ways[] = {
      {"cut_rows",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=2", "parallel.data=2",
        "model.vocab_size=255", "strategy.optimizer.selected_share=0.3"},
       2},
      {"two_in_time",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=2", "parallel.data=2",
        "strategy.optimizer.staleness=0", "strategy.weights.h2d=pinned", "model.vocab_size=255"},
       2},
      {"fp32_of_two", "zenflow", {"training.precision=fp32", "parallel.data=2"}, 2},
      {"shared_samples",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=2", "parallel.context=2"},
       2},
      {"states_in_host_in_time",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=2", "parallel.data=2",
        "strategy.optimizer.staleness=0", "strategy.weights.h2d=pinned",
        "strategy.optimizer.selected_states=host"},
       2},
      {"spread_cut_rows",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=3", "parallel.data=2",
        "parallel.zero_stage=3", "model.vocab_size=255", "strategy.optimizer.staleness=0",
        "strategy.weights.h2d=pinned", "strategy.optimizer.selected_states=host"},
       2},
      {"fp32_spread",
       "zenflow",
       {"training.precision=fp32", "parallel.data=2", "parallel.zero_stage=3"},
       2},
      {"scattered",
       "zenflow",
       {"training.precision=bf16_mixed", "training.gradient_accumulation=2", "parallel.data=2",
        "strategy.gradients.collective=reduce_scatter"},
       2},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "selected");
  }
}

// In ZeRO-2 each rank puts the columns of all shares where it knows them to be, in ZeRO-3 those of
// its own: ranks that had not selected the same ones would end apart.
TEST(TrainingWithSelectedColumns, EndsAlikeWhetherWeightsAreSpreadOrNot) {
  const auto trained = [](const char* stage) {
    return train_for_real(
        small_training("zenflow",
                       {"training.precision=bf16_mixed", "training.gradient_accumulation=2",
                        "parallel.data=2", "model.vocab_size=255", stage},
                       {.blocks = 1, .feed_forward = 2048}));
  };
  const RealRun whole = trained("parallel.zero_stage=2"), spread = trained("parallel.zero_stage=3");
  EXPECT_EQ(whole.trained.losses, spread.trained.losses);
  EXPECT_EQ(different(whole.trained, spread.trained), 0u);
}

// Without its columns it trains something else.
TEST(TrainingWithSelectedColumns, IsAnother) {
  const auto masters = [](const char* share) {
    return train_for_real(small_training(
        "zenflow", {"training.precision=bf16_mixed", "training.gradient_accumulation=2", share},
        {.blocks = 2, .feed_forward = 2048}));
  };
  const RealRun some = masters("strategy.optimizer.selected_share=0.5");
  const RealRun more = masters("strategy.optimizer.selected_share=0.6");
  EXPECT_GT(different(some.trained, more.trained), 0u);
}

TEST(TrainingWithoutMasters, EndsWhereTheReferenceDoes) {
  const Way ways[] = {
      {"bf16", "megatrain", {"training.precision=bf16"}},
      {"bf16_accumulated",
       "megatrain",
       {"training.precision=bf16", "training.gradient_accumulation=3",
        "strategy.gradients.slabs=2"}},
      {"fp32", "megatrain", {"training.precision=fp32"}},
  };
  for (const Way& way : sampled(ways)) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "masterless");
  }
}

TEST(TrainingThroughSlabs, EndsWhereTheReferenceDoes) {
  const Way ways[] = {
      {"one", "zero_offload", {"strategy.gradients.slabs=1", "strategy.gradients.convert=cpu"}},
      {"wide_sums",
       "zero_offload",
       {"strategy.gradients.slabs=2", "strategy.gradients.convert=cpu",
        "training.gradient_accumulation=2", "parallel.data=2"},
       2},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "slabs");
  }
}

TEST(TrainingWithAShareOfStatesOnDrives, EndsWhereTheReferenceDoes) {
  const Way way{"half",
                "slideformer",
                {"strategy.optimizer.home=ssd", "strategy.optimizer.ssd_share=0.5",
                 "strategy.optimizer.subgroup=1 params"}};
  EXPECT_GT(expect_the_reference(way, "ssd_share").io.bytes_written, 0u);
}

/// Steps 0 and 1 overflow at 2^20, step 2 at 2^19, and 2^18 fits: so many updates are taken back.
const Overrides overflows = {"training.precision=fp16_mixed", "training.initial_scale_power=20",
                             "strategy.overflow_check=fused", "run.steps=6"};

// What overflows is updated all the same, as it comes, and then taken back; the GPU's share waits.
TEST(SpeculativeTraining, TakesBackWhatTheReferenceSkips) {
  const Way ways[] = {
      {"weights_on_gpu", "superoffload", {"strategy.optimizer.cpu_share=0.5"}},
      {"pinned_weights",
       "superoffload",
       {"strategy.optimizer.cpu_share=0.5", "strategy.weights.h2d=pinned"}},
  };
  for (const Way& way : sampled(ways)) {
    SCOPED_TRACE(way.name);
    Way overflowing = way;
    overflowing.overrides.insert(overflowing.overrides.end(), overflows.begin(), overflows.end());
    const RealRun run = expect_the_reference(overflowing, "taken_back");
    // some steps were taken back: with a scale that fits, training ends elsewhere
    Way fits = way;
    fits.overrides.insert(fits.overrides.end(),
                          {"training.precision=fp16_mixed", "strategy.overflow_check=fused",
                           "training.initial_scale_power=8", "run.steps=6"});
    const RealRun whole = train_for_real(small_training(
        fits.system, fits.overrides, {.blocks = fits.blocks, .feed_forward = 2048 * fits.ranks}));
    EXPECT_GT(different(run.trained, whole.trained), 0u);
  }
}

TEST(SpeculativeTraining, TakesBackWhatTheReferenceSkipsInManyWays) {
  MANY_SYSTEMS_TEST();
  const Way ways[] = {
      {"all_on_cpu", "superoffload", {"strategy.optimizer.cpu_share=1"}},
      {"weights_in_host",
       "superoffload",
       {"strategy.weights.home=host", "strategy.optimizer.cpu_share=1"}},
      {"narrow_gradients",
       "superoffload",
       {"strategy.gradients.convert=cpu", "strategy.gradients.accumulation=fp16"}},
      {"two_ranks_accumulated",
       "superoffload",
       {"parallel.data=2", "training.gradient_accumulation=2"},
       2},
  };
  for (const Way& way : sampled(ways)) {
    SCOPED_TRACE(way.name);
    Way overflowing = way;
    overflowing.overrides.insert(overflowing.overrides.end(), overflows.begin(), overflows.end());
    const RealRun run = expect_the_reference(overflowing, "taken_back");
    // some steps were taken back: with a scale that fits, training ends elsewhere
    Way fits = way;
    fits.overrides.insert(fits.overrides.end(),
                          {"training.precision=fp16_mixed", "strategy.overflow_check=fused",
                           "training.initial_scale_power=8", "run.steps=6"});
    const RealRun whole = train_for_real(small_training(
        fits.system, fits.overrides, {.blocks = fits.blocks, .feed_forward = 2048 * fits.ranks}));
    EXPECT_GT(different(run.trained, whole.trained), 0u);
  }
}

TEST(TrainingByLayer, EndsWhereTheReferenceDoes) {
  const Way ways[] = {
      {"greedysnake", "greedysnake", {"training.gradient_accumulation=3"}, 1, 3},
      {"tied",
       "greedysnake",
       {"training.gradient_accumulation=2", "model.tie_word_embeddings=true"}},
  };
  for (const Way& way : sampled(ways)) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "by_layer");
  }
}

TEST(TrainingByLayer, EndsWhereTheReferenceDoesInManyWays) {
  MANY_SYSTEMS_TEST();
  const Way ways[] = {
      {"all_delayed",
       "greedysnake",
       {"training.gradient_accumulation=2", "strategy.optimizer.delayed_share=1"}},
      {"in_host",
       "zero_offload",
       {"training.gradient_accumulation=3", "strategy.micro_batches=by_layer",
        "strategy.optimizer.delayed_share=0.5", "strategy.weights.persistence_threshold=0 params"}},
      {"shared_checkpoints",
       "greedysnake",
       {"training.gradient_accumulation=2", "strategy.activations.checkpoint_every=2"},
       1,
       4},
      {"on_ssd",
       "greedysnake",
       {"training.gradient_accumulation=2", "strategy.activations.policy=checkpoint_ssd"}},
      {"two_ranks", "greedysnake", {"training.gradient_accumulation=2", "parallel.data=2"}, 2},
      {"resident",
       "resident",
       {"training.gradient_accumulation=2", "strategy.micro_batches=by_layer"}},
      {"active",
       "stronghold",
       {"training.gradient_accumulation=2", "strategy.micro_batches=by_layer"}},
  };
  for (const Way& way : sampled(ways)) {
    SCOPED_TRACE(way.name);
    expect_the_reference(way, "by_layer");
  }
}

}  // namespace
}  // namespace spillway::hw_backend::newer_parts_test
