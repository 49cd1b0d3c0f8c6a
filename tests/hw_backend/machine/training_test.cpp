#include "tests/hw_backend/training.hpp"
#include "tests/long_test.hpp"

#include "strategies/decide/saved_planners.hpp"
#include "strategies/run/counting_probe.hpp"
#include "strategies/run/numerics.hpp"
#include "strategies/systems/catalogue.hpp"

#include <gtest/gtest.h>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

namespace spillway::hw_backend::training_test {
namespace {

/// A way to train, beside the system that does it.
struct Way {
  const char* name;
  Overrides overrides;
  std::uint64_t ranks = 1;
  bool parts_of_another = false;  ///< what another way does besides: with the long tests
};

const Way ways[] = {
    {"bf16", {}},
#ifndef SPILLWAY_SANITIZED
    {"fp32", {"training.precision=fp32"}},
    {"fp16", {"training.precision=fp16_mixed"}},
    {"bf16_states", {"training.optimizer_state=bf16"}},
    {"accumulated", {"training.gradient_accumulation=2"}, 1, true},
    {"two_ranks", {"parallel.data=2"}, 2, true},
#endif
    {"two_ranks_accumulated",
     {"parallel.data=2", "training.gradient_accumulation=2", "training.precision=fp16_mixed"},
     2},
};

/// A plan is for one GPU a pipeline stage: no data-parallel ranks.
bool plans_per_stage(const std::string& system) { return system == "teraio" || system == "g10"; }

/// Drives that compute keep fp32 states, and a step may not read a master that is being updated.
bool keeps_fp32_states(const std::string& system) {
  return system == "smart_infinity" || system == "angel_ptm";
}

/// Into the next step, for which weights need masters apart from them.
bool delays_updates(const std::string& system) { return system == "greedysnake"; }

class EverySystem : public ::testing::TestWithParam<Way> {};

TEST_P(EverySystem, EndsWhereTheReferenceDoesBitForBit) {
  if (GetParam().parts_of_another) LONG_TEST();
  std::vector<std::pair<strategies::Numerics, Trained>> ended;
  std::vector<std::string> systems = systems_under_test();
  // the first way has all of them, the others run the same code
  if (GetParam().name != std::string("bf16")) systems = sampled(systems);
  for (const std::string& name : systems) {
    SCOPED_TRACE(name);
    if (GetParam().ranks > 1 && plans_per_stage(name)) continue;
    const std::string way = GetParam().name;
    if (way == "bf16_states" && keeps_fp32_states(name)) continue;
    if (selects_columns(name) &&
        (way == "fp16" || way == "bf16_states" || way == "two_ranks_accumulated"))
      continue;
    Overrides overrides = GetParam().overrides;
    if (way == "bf16_states" && delays_updates(name))
      overrides.push_back("strategy.optimizer.delayed_share=0");
    const description::Scenario scenario =
        small_training(name, overrides, {.feed_forward = 2048 * GetParam().ranks});
    RealRun run = train_for_real(scenario);
    std::optional<RealRun> repeated;  // of a system that no two runs of are alike
    if (!run.delays.empty())
      repeated = train_for_real(strategies::reference_of(scenario), {}, false, {}, run.delays);
    const RealRun& reference = repeated ? *repeated : reference_run(scenario, way);
    ASSERT_TRUE(reference.result.feasible());
    ASSERT_TRUE(run.result.feasible());
    EXPECT_LT(run.trained.losses.back(), run.trained.losses.front());
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
    ended.emplace_back(strategies::numerics_of(scenario), std::move(run.trained));
  }
  // each pair, not by way of the reference
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < ended.size(); ++i)
    for (std::size_t k = i + 1; k < ended.size(); ++k) {
      if (!(ended[i].first == ended[k].first)) continue;
      ++pairs;
      EXPECT_EQ(different(ended[i].second, ended[k].second), 0u) << i << " and " << k;
    }
  EXPECT_GT(pairs, 0u);
}

INSTANTIATE_TEST_SUITE_P(Training, EverySystem, ::testing::ValuesIn(ways),
                         [](const auto& way) { return way.param.name; });

/// Moves of every kind: a GPU too small for the states, files and host memory to go to.
TEST(PlannedTraining, EndsWhereTheReferenceDoesWhateverMoves) {
  for (const char* way : {R"(plan.destinations=["ssd"])", R"(plan.destinations=["host"])",
                          R"(plan.destinations=["ssd","host"])", "optimizer.overlap=backward"}) {
    SCOPED_TRACE(way);
    const description::Scenario scenario =
        small_training("teraio", {"training.precision=fp32", "training.gradient_accumulation=2",
                                  "machine.gpu.memory=40 MiB", "machine.gpu.context=0 B",
                                  "strategy.plan.min_tensor=64 KiB", "strategy.plan.chunk=256 KiB",
                                  std::string("strategy.") + way});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible());
    EXPECT_GT(run.result.plan.at("moved"), 0);
    EXPECT_LE(run.result.gpu.total, 40u << 20);
    const RealRun reference = train_for_real(strategies::reference_of(scenario));
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

TEST(PlannedTraining, OfTwoStagesEndsWhereOneDoes) {
  const description::Scenario scenario =
      small_training("teraio", {"training.precision=fp32", "training.gradient_accumulation=4",
                                "parallel.pipeline=2", "machine.gpu.memory=24 MiB",
                                "machine.gpu.context=0 B", "strategy.plan.min_tensor=64 KiB"});
  const RealRun run = train_for_real(scenario);
  ASSERT_TRUE(run.result.feasible());
  EXPECT_GT(run.result.plan.at("moved"), 0);
  const RealRun reference = train_for_real(strategies::reference_of(scenario));
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

TEST(Training, OfAnotherSeedEndsElsewhere) {
  const RealRun one = train_for_real(small_training("zero_offload"));
  const RealRun other = train_for_real(small_training("zero_offload", {"run.seed=2"}));
  std::uint64_t all = 0;
  for (const auto& master : one.trained.masters) all += master.size();
  EXPECT_GT(different(one.trained, other.trained), all * 9 / 10);
  EXPECT_NE(one.trained.losses, other.trained.losses);
}

// Not by system: whatever streams can be updated while backward goes on.
TEST(TrainingWithActiveGradients, EndsWhereTheReferenceDoes) {
  LONG_TEST();
  const Way active_ways[] = {
      {"accumulated_fp16",
       {"training.gradient_accumulation=2", "training.precision=fp16_mixed",
        "strategy.overflow_check=none"}},
      {"bf16", {}},
      {"two_ranks", {"parallel.data=2"}, 2},
      {"on_gpus", {"parallel.data=2", "strategy.weights.home=gpu", "parallel.zero_stage=1"}, 2},
      {"bf16_states", {"training.optimizer_state=bf16"}},
  };
  for (const Way& way : sampled(active_ways))
    for (const char* policy : {"active", "active_naive"}) {
      SCOPED_TRACE(std::string(way.name) + " " + policy);
      Overrides overrides = way.overrides;
      overrides.insert(
          overrides.end(),
          {std::string("strategy.gradients.policy=") + policy, "strategy.optimizer.buffers=9",
           "strategy.optimizer.grouping=layers", "strategy.optimizer.subgroup=1 params"});
      const description::Scenario scenario =
          small_training("memascend", overrides, {.feed_forward = 2048 * way.ranks});
      const RealRun run = train_for_real(scenario);
      ASSERT_TRUE(run.result.feasible());
      const RealRun& reference = reference_run(scenario, std::string("active_") + way.name);
      EXPECT_LT(run.trained.losses.back(), run.trained.losses.front());
      EXPECT_EQ(run.trained.losses, reference.trained.losses);
      EXPECT_EQ(different(run.trained, reference.trained), 0u);
    }
}

// The reference runs the same delay on the GPU: it keeps new weights back for a step.
TEST(TrainingOneStepLate, EndsWhereTheReferenceDoes) {
  LONG_TEST();
  const Way late_ways[] = {
      {"fp16_skips", {"training.precision=fp16_mixed", "training.initial_scale_power=60"}},
      {"bf16", {}},
      {"two_ranks_accumulated", {"parallel.data=2", "training.gradient_accumulation=2"}, 2},
      {"fp32", {"training.precision=fp32"}},
      {"states_on_ssd",
       {"strategy.optimizer.home=ssd", "strategy.gradients.policy=host_fp16",
        "strategy.gradients.convert=cpu"}},
      {"on_gpu", {"strategy.weights.home=gpu", "parallel.zero_stage=2", "parallel.data=2"}, 2},
  };
  for (const Way& way : sampled(late_ways)) {
    SCOPED_TRACE(way.name);
    Overrides overrides = way.overrides;
    overrides.emplace_back("strategy.optimizer.staleness=1");
    const Size size{.feed_forward = 2048 * way.ranks};
    const RealRun late = train_for_real(small_training("zero_offload", overrides, size));
    ASSERT_TRUE(late.result.feasible());
    const RealRun& reference = reference_run(small_training("zero_offload", overrides, size),
                                             std::string("late_") + way.name);
    EXPECT_EQ(late.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(late.trained, reference.trained), 0u);
    // the second step sees the first one's weights
    overrides.back() = "strategy.optimizer.staleness=0";
    const RealRun now = train_for_real(small_training("zero_offload", overrides, size));
    if (way.name != std::string("fp16_skips")) {
      EXPECT_GT(different(late.trained, now.trained), 0u);
    }
  }
}

// Twin-Flow: CPU and GPU update at once, each its own sub-groups.
void expect_both_sides_end_alike(std::span<const Way> ways) {
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    Overrides overrides{"strategy.optimizer.cpu_share=0.5"};
    overrides.insert(overrides.end(), way.overrides.begin(), way.overrides.end());
    const description::Scenario scenario =
        small_training("zero_offload", overrides, {.feed_forward = 2048 * way.ranks});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible());
    const RealRun& reference = reference_run(scenario, std::string("both_") + way.name);
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

TEST(TrainingOnBothSides, EndsWhereTheReferenceDoes) {
  const Way ways_of_two[] = {
      {"bf16", {}},
      {"weights_on_gpu",
       {"parallel.data=2", "training.gradient_accumulation=2", "strategy.weights.home=gpu",
        "parallel.zero_stage=1"},
       2},
  };
  expect_both_sides_end_alike(ways_of_two);
}

TEST(TrainingOnBothSides, EndsWhereTheReferenceDoesInManyWays) {
  MANY_SYSTEMS_TEST();
  const Way many_ways[] = {
      {"all_on_the_gpu", {"strategy.optimizer.cpu_share=0"}},
      {"fp32", {"training.precision=fp32"}},
      {"bf16_states", {"training.optimizer_state=bf16"}},
      {"fp16_skips", {"training.precision=fp16_mixed", "training.initial_scale_power=60"}},
      {"accumulated", {"training.gradient_accumulation=2"}},
      {"accumulated_narrow",
       {"training.gradient_accumulation=2", "strategy.gradients.policy=host_fp16",
        "strategy.gradients.convert=cpu"}},
      {"two_ranks_accumulated", {"parallel.data=2", "training.gradient_accumulation=2"}, 2},
      {"in_pages", {"strategy.weights.pool=pages", "strategy.weights.page=64 KiB"}},
      {"in_chunks",
       {"strategy.weights.chunk=1e6 params", "strategy.weights.chunk_cache=4 MiB",
        "strategy.overflow_check=none", "strategy.weights.persistence_threshold=0 params"}},
  };
  expect_both_sides_end_alike(sampled(many_ways));
}

// Updates as they come end like none of the same steps without delay; one step at a time, they do.
TEST(TrainingWithoutWaiting, IsRepeatedBitForBitFromItsDelays) {
  LONG_TEST();
  const char* const reads[] = {"strategy.optimizer.pipeline_read=true",
                               "strategy.optimizer.pipeline_read=false"};
  for (const char* adam : sampled(reads)) {
    const Overrides overrides{adam, "run.steps=6", "training.gradient_accumulation=2"};
    const description::Scenario scenario = small_training("angel_ptm", overrides);
    const RealRun run = train_for_real(scenario);
    ASSERT_EQ(run.delays.size(), 1u);
    ASSERT_TRUE(run.result.staleness);
    const RealRun repeated =
        train_for_real(strategies::reference_of(scenario), {}, false, {}, run.delays);
    EXPECT_EQ(run.trained.losses, repeated.trained.losses);
    EXPECT_EQ(different(run.trained, repeated.trained), 0u);
    // the delays are what tells it from the plain reference
    const description::Scenario plain = strategies::reference_of(small_training(
        "angel_ptm",
        {overrides[1], overrides[2], "run.warmup_steps=2", "strategy.optimizer.staleness=0"}));
    EXPECT_GT(different(run.trained, train_for_real(plain).trained), 0u);
  }
}

TEST(TrainingWithoutWaiting, OneStepAtATimeEndsWhereThePlainReferenceDoes) {
  LONG_TEST();
  for (const char* ranks : {"parallel.data=1", "parallel.data=2"}) {
    const description::Scenario scenario = small_training(
        "angel_ptm", {ranks, "strategy.optimizer.staleness=0"}, {.feed_forward = 4096});
    const RealRun run = train_for_real(scenario);
    EXPECT_TRUE(run.delays.empty());
    const RealRun reference = train_for_real(strategies::reference_of(scenario));
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

// Blocks whose halves are computed again one after the other, from a checkpoint each.
TEST(TrainingInHalves, EndsWhereTheReferenceDoes) {
  for (const std::string swapped : {"0 B", "400 KB", "auto"}) {
    SCOPED_TRACE(swapped);
    const description::Scenario scenario =
        small_training("lohan", {"strategy.activations.checkpoints_per_block=2",
                                 "strategy.activations.swap_bytes=" + swapped});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible());
    if (swapped == "0 B") {
      EXPECT_GT(run.result.plan.at("recompute_flops").get<double>(), 0);
    }
    const RealRun& reference = reference_run(scenario, "halves");
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

// Saved tensors in turn stay, go to host memory, go to SSD and are made again.
TEST(TrainingWithEveryFate, EndsWhereTheReferenceDoes) {
  LONG_TEST();
  using strategies::Fate;
  const unsigned all_first[] = {0, 1, 2, 3};
  for (const char* system : {"zero_offload", "mlp_offload"})
    for (const unsigned first : sampled(all_first)) {
      const description::Scenario scenario =
          small_training(system, {"training.gradient_accumulation=2"});
      const strategies::Prepared prepared = strategies::prepare(scenario);
      strategies::ActivationPlan plan =
          strategies::checkpoint_blocks(prepared.model, prepared.program, Fate::keep);
      plan.whole_layers = false;
      plan.late = first % 2 == 1;  // made again when backward needs them
      unsigned number = first;
      for (Fate& fate : plan.fates)
        if (fate == Fate::recompute)
          fate = std::array{Fate::keep, Fate::host, Fate::ssd, Fate::recompute}[number++ % 4];
      const RealRun run = train_for_real(scenario, {}, false, plan);
      ASSERT_TRUE(run.result.feasible());
      EXPECT_GT(run.io.bytes_written, 0u);
      const RealRun& reference = reference_run(scenario, "every_fate");
      EXPECT_EQ(run.trained.losses, reference.trained.losses) << first;
      EXPECT_EQ(different(run.trained, reference.trained), 0u) << first;
    }
}

/// What moves or is made again is decided by a planner: a GPU that lacks a part of what blocks
/// save.
TEST(TrainingWithPlannedActivations, EndsWhereTheReferenceDoes) {
  LONG_TEST();
  struct Planner {
    const char* system;
    Overrides overrides;
    std::uint64_t part = 4;
  };
  const Planner planners[] = {
      {"flashneuron", {}},
      {"capuchin", {}},
      {"capuchin", {"machine.pcie.h2d=1 MB/s", "machine.pcie.d2h=1 MB/s"}},  // made again
      {"checkmate", {}},
      {"checkmate", {R"(strategy.activations.homes=["host"])"}},
      {"lohan",
       {"strategy.activations.policy=plan", "strategy.activations.planner=capuchin",
        R"(strategy.activations.homes=["host"])"},
       8}};
  for (const Planner& planner : sampled(planners)) {
    SCOPED_TRACE(planner.system);
    Overrides overrides = planner.overrides;
    overrides.insert(overrides.end(), {"training.gradient_accumulation=2"});
    const description::Scenario roomy = small_training(planner.system, overrides, {.blocks = 4});
    const strategies::Prepared prepared = strategies::prepare(roomy);
    const strategies::SavedProfile profile =
        strategies::profile_saved(roomy, prepared, strategies::counting_probe());
    std::uint64_t saved = 0;
    for (const strategies::SavedItem& item : profile.items) saved += item.bytes;
    overrides.push_back(
        "machine.gpu.memory=" + std::to_string(profile.peak_bytes - saved / planner.part) + " B");
    const description::Scenario scenario = small_training(planner.system, overrides, {.blocks = 4});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible()) << nlohmann::json(run.result).at("infeasible");
    EXPECT_GT(run.result.plan.at("swap_bytes").get<std::uint64_t>() +
                  run.result.plan.at("recomputed_bytes").get<std::uint64_t>(),
              0u);
    const RealRun& reference = reference_run(scenario, std::string("planned_") + planner.system);
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

/// Several chunks, of which none, some or all stay on the GPU while no layer uses them.
TEST(TrainingByChunks, EndsWhereTheReferenceDoes) {
  struct Chunks {
    const char* system;
    Overrides overrides;
    std::uint64_t ranks = 1;
  };
  const Chunks all[] = {
      {"colossal_gemini", {"strategy.weights.chunk_cache=4 MiB", "parallel.data=2"}, 2},
      {"colossal_gemini", {"strategy.weights.chunk_cache=0 B"}},
      {"colossal_gemini",
       {"strategy.weights.chunk_cache=1 GiB", "training.gradient_accumulation=2"}},
      {"colossal_gemini", {"strategy.weights.chunk_cache=4 MiB"}},
      {"zero_offload",
       {"strategy.weights.chunk_cache=4 MiB", "strategy.overflow_check=none",
        "strategy.weights.persistence_threshold=0 params"}}};
  std::size_t number = 0;
  for (const Chunks& chunks : sampled(all)) {
    SCOPED_TRACE(number);
    Overrides overrides = chunks.overrides;
    overrides.push_back("strategy.weights.chunk=1e6 params");
    const description::Scenario scenario =
        small_training(chunks.system, overrides, {.feed_forward = 2048 * chunks.ranks});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible());
    const RealRun& reference = reference_run(scenario, "chunks_" + std::to_string(number++));
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

/// Every pool that weights on drives can pass, and rings that are shorter than a layer has weights.
TEST(TrainingThroughPools, EndsWhereTheReferenceDoes) {
  std::vector<Overrides> ways;
  for (const std::string_view name : description::names_of<description::PoolKind>)
    if (takes_reads(*description::value_named<description::PoolKind>(name)))
      ways.push_back({"strategy.weights.pool=" + std::string(name)});
  for (const char* count : {"1", "2"})
    ways.push_back(
        {"strategy.weights.pool=ring", std::string("strategy.weights.buffer_count=") + count});
  for (const Overrides& way : ways) {
    SCOPED_TRACE(way.back());
    const description::Scenario scenario = small_training("zero_infinity", way);
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible());
    EXPECT_GT(run.io.bytes_read, 0u);
    const RealRun& reference = reference_run(scenario, "pools");
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
  }
}

class TensorCache : public ::testing::TestWithParam<Overrides> {};

// Tensors of any size leave; the scenario's three steps are past the profiled one.
TEST_P(TensorCache, EndsWhereTheReferenceDoes) {
  Overrides overrides{"strategy.activations.min_elements=0", "strategy.activations.profile_step=0",
                      "training.gradient_accumulation=2"};
  overrides.insert(overrides.end(), GetParam().begin(), GetParam().end());
  const description::Scenario scenario = small_training("ssdtrain", overrides);
  const RealRun run = train_for_real(scenario);
  ASSERT_TRUE(run.result.feasible());
  EXPECT_GT(run.result.plan.at("swap_bytes").get<std::uint64_t>(), 0u);
  const RealRun& reference = reference_run(scenario, "tensor_cache");
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Knobs, TensorCache,
    ::testing::Values(
        Overrides{"strategy.activations.swap_bytes=all"},
        Overrides{"strategy.activations.swap_bytes=all", "strategy.activations.keep_last=none",
                  "strategy.activations.forwarding=false", "strategy.activations.cancel=never"},
        Overrides{"strategy.activations.swap_bytes=all", "strategy.activations.cancel=always",
                  "strategy.activations.store_workers=3", "strategy.activations.load_workers=2",
                  "strategy.activations.prefetch=1"},
        Overrides{"strategy.activations.swap_bytes=all", "strategy.activations.homes=[\"host\"]",
                  "strategy.activations.prefetch=module"},
        Overrides{"strategy.activations.swap_bytes=100 KiB", "strategy.activations.skip=[]"}));

// Three buffers hold one sub-group, which an alternating order leaves in host memory: the last of
// one step, the first of the next.
TEST(TrainingWithAKeptSubgroup, EndsWhereTheReferenceDoesAfterAnyNumberOfSteps) {
  for (const char* steps : {"run.steps=2", "run.warmup_steps=2"}) {
    const description::Scenario scenario = small_training(
        "mlp_offload", {"strategy.optimizer.buffers=3", "strategy.optimizer.paths.nvme=auto",
                        "strategy.optimizer.paths.second=auto", steps});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible());
    description::Scenario same = strategies::reference_of(scenario);
    same.run.steps = run.trained.losses.size() - same.run.warmup_steps;  // pairs are measured
    const RealRun reference = train_for_real(same);
    EXPECT_EQ(run.trained.losses, reference.trained.losses) << steps;
    EXPECT_EQ(different(run.trained, reference.trained), 0u) << steps;
  }
}

}  // namespace
}  // namespace spillway::hw_backend::training_test
