#include "sim/plugin.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <algorithm>
#include <numeric>
#include <set>

/// How long MLP-Offload's updates take, and who uses a storage when.
namespace spillway::strategies {
namespace {

const char* const two_to_one = R"(strategy.optimizer.paths={"nvme": 2, "pfs": 1})";
const char* const by_bandwidth = R"(strategy.optimizer.paths={"nvme": "auto", "pfs": "auto"})";
const char* const one_path = R"(strategy.optimizer.paths={"nvme": 1})";
const char* const unlocked = "strategy.optimizer.tier_lock=false";

/// 24 blocks in 98 sub-groups on each of four ranks, of which the slots keep 8; storages without
/// latency, as the closed formula has them. The turns of 98 do not divide the 90 that are written:
/// steps differ by which sub-group goes where, and a dozen of them stand for all.
description::Scenario four_ranks(const Overrides& more) {
  Overrides overrides{"machine=mlp_offload_t1",
                      "training.precision=bf16_mixed",
                      "parallel.data=4",
                      "model.num_hidden_layers=24",
                      "machine.storage.0.latency=0 s",
                      "machine.storage.1.latency=0 s",
                      "strategy.optimizer.buffers=12",
                      "run.steps=12",
                      "strategy.optimizer.subgroup=2.5e5 params"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return small_model("llama", "mlp_offload", overrides);
}

/// D: what four ranks read in a step, as much as they write; the mean of both directions.
double moved(const description::Scenario& scenario, std::size_t kept) {
  const std::vector<std::uint64_t> bytes = state_bytes(scenario);
  const auto end = static_cast<std::ptrdiff_t>(kept);
  const std::uint64_t all = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}),
                      ends = std::accumulate(
                          bytes.begin(), bytes.begin() + end,
                          std::accumulate(bytes.end() - end, bytes.end(), std::uint64_t{0}));
  return 4 * (static_cast<double>(all) - static_cast<double>(ends) / 2);
}

constexpr double nvme = 1 / 6.9e9 + 1 / 5.3e9,
                 pfs = 2 / 3.6e9;  // seconds there and back, of a byte

TEST(MlpOffloadTime, UpdateLastsAsLongAsTheSlowestPath) {
  // max over paths of x D (1/R + 1/W); 12 slots on each of two paths keep 8 sub-groups
  const description::Scenario shared = four_ranks({two_to_one});
  const double d = moved(shared, 8);
  EXPECT_NEAR(simulate(shared).update_s / std::max(2.0 / 3 * d * nvme, 1.0 / 3 * d * pfs), 1, 0.03);
  const description::Scenario alone = four_ranks({one_path});
  EXPECT_NEAR(simulate(alone).update_s / (moved(alone, 4) * nvme), 1, 0.03);
  const description::Scenario halves =
      four_ranks({R"(strategy.optimizer.paths={"nvme": 1, "pfs": 1})"});
  EXPECT_NEAR(simulate(halves).update_s / (d * pfs / 2), 1, 0.03);
}

TEST(MlpOffloadTime, SharesByMeasuredBandwidthAreThoseOfTheDatasheetOnAQuietMachine) {
  // each path at its slower direction, alone behind its lock; of 98 - 8 that are written by each of
  // four ranks, nobody is ahead of 5.3 : 3.6 by a whole one
  const auto paths = simulate(four_ranks({by_bandwidth})).optimizer_states.value().paths;
  EXPECT_NEAR(paths.at("nvme").estimate_bytes_per_s / 5.3e9, 1, 0.01);
  EXPECT_NEAR(paths.at("pfs").estimate_bytes_per_s / 3.6e9, 1, 0.01);
  EXPECT_NEAR(static_cast<double>(paths.at("nvme").subgroups), 4 * 90 * 5.3 / 8.9, 4);
  EXPECT_EQ(paths.at("nvme").subgroups + paths.at("pfs").subgroups, 4 * 90u);
  // without locks ranks slow each other down, and see it
  const auto crowded =
      simulate(four_ranks({by_bandwidth, unlocked})).optimizer_states.value().paths;
  EXPECT_LT(crowded.at("nvme").estimate_bytes_per_s, 0.9 * 5.3e9);
}

TEST(MlpOffloadTime, ALockNeverCostsMoreThanAPercent) {
  for (const char* paths : {one_path, two_to_one, by_bandwidth})
    for (const char* ranks : {"parallel.data=1", "parallel.data=2", "parallel.data=4"}) {
      SCOPED_TRACE(std::string(paths) + " " + ranks);
      const double with = simulate(four_ranks({paths, ranks})).update_s,
                   without = simulate(four_ranks({paths, ranks, unlocked})).update_s;
      EXPECT_LE(with, 1.01 * without);
    }
}

TEST(MlpOffloadTime, ByTurnsUpAndDownIsSteady) {
  // 25 blocks, 102 sub-groups, of which 9 / 3 on each path stay: of 96 that are written the second
  // path gets every third, at the same places each time. Both directions are measured, though one
  // step is asked for
  const description::Scenario scenario =
      four_ranks({two_to_one, "model.num_hidden_layers=25", "strategy.optimizer.buffers=9",
                  "run.warmup_steps=3", "run.steps=1"});
  const Counted counted = count(scenario);
  EXPECT_EQ(counted.steps.size(), 1u + 3 + 2);  // set-up, warm-up, both
  const result::Result run = simulate(scenario);
  EXPECT_TRUE(run.steady);
  EXPECT_GT(run.step_spread, 0);  // sub-groups differ, and so do both ways through them
  EXPECT_LT(run.step_spread, 0.05);
}

// ---- Turns

/// Operations of one storage in flight at once, at most, and directions among them.
struct InFlight {
  std::size_t most = 0;
  std::size_t directions = 0;
};

/// In the updates of a whole run.
std::map<std::string, InFlight> in_flight(const description::Scenario& scenario) {
  const std::unique_ptr<Machine> machine = sim::open_sim_machine(scenario, true);
  EXPECT_TRUE(run(*machine, decided_as_written(scenario), "sim").feasible());
  std::map<std::string, InFlight> found;
  for (const char* storage : {"nvme", "pfs"}) {
    // what ends makes way for what starts at the same time
    std::vector<std::tuple<double, int, std::string>> changes;
    for (const result::TraceSpan& span : machine->recorder().trace().spans) {
      if (span.track != storage || span.phase != "update") continue;
      changes.emplace_back(span.start_s, 1, span.name);
      changes.emplace_back(span.end_s, -1, span.name);
    }
    std::sort(changes.begin(), changes.end());
    std::multiset<std::string> running;
    for (const auto& [at, change, name] : changes) {
      if (change > 0)
        running.insert(name);
      else
        running.erase(running.find(name));
      InFlight& most = found[storage];
      most.most = std::max(most.most, running.size());
      most.directions =
          std::max(most.directions, std::set<std::string>(running.begin(), running.end()).size());
    }
  }
  return found;
}

TEST(MlpOffloadTime, OneRankAtATimeUsesAStorageForOneSubgroup) {
  // three tensors, all read or all written; with two lanes twice that
  const auto locked = in_flight(four_ranks({two_to_one}));
  EXPECT_EQ(locked.at("nvme").most, 3u);
  EXPECT_EQ(locked.at("pfs").most, 3u);
  EXPECT_EQ(locked.at("nvme").directions, 1u);
  EXPECT_EQ(locked.at("pfs").directions, 1u);
  const auto lanes = in_flight(four_ranks({two_to_one, R"(strategy.optimizer.lanes={"nvme": 2})"}));
  EXPECT_EQ(lanes.at("nvme").most, 6u);
  EXPECT_EQ(lanes.at("pfs").most, 3u);
  const auto free = in_flight(four_ranks({two_to_one, unlocked}));
  EXPECT_GT(free.at("nvme").most, 6u);
  EXPECT_EQ(free.at("nvme").directions, 2u);
}

// ---- What each idea is worth

TEST(MlpOffloadTime, EachIdeaAddsToThoseBefore) {
  // six blocks, 4096 wide, in 12 sub-groups a rank, on 24 slots: 24 / 4 are kept with gradients on
  // storage and 24 / 3 without
  Overrides overrides{"machine=mlp_offload_t1",
                      "training.precision=bf16_mixed",
                      "parallel.data=4",
                      "model.hidden_size=4096",
                      "model.num_attention_heads=32",
                      "model.intermediate_size=16384",
                      "model.num_hidden_layers=6",
                      "strategy.preset=deepspeed_zero3_nvme_optimizer",
                      "strategy.optimizer.subgroup=2e7 params",
                      "strategy.optimizer.buffers=24",
                      "machine.host.module_hooks=0 s",
                      one_path};
  const auto with = [&](const Overrides& idea) {
    overrides.insert(overrides.end(), idea.begin(), idea.end());
    return simulate(small_model("llama", "zero_infinity", overrides));
  };
  const result::Result baseline = with({}),
                       caching = with({"strategy.optimizer.order=alternating",
                                       "strategy.optimizer.host_cache=auto"}),
                       skipping = with({"strategy.gradients.policy=host_fp16"}),
                       atomic = with({"strategy.optimizer.tier_lock=true"}),
                       two_paths = with({two_to_one, "strategy.optimizer.buffers=12"});
  EXPECT_EQ(baseline.optimizer_states.value().cache_hits, 0u);
  EXPECT_EQ(caching.optimizer_states.value().cache_hits, 4 * 24u / 4);
  EXPECT_EQ(skipping.optimizer_states.value().cache_hits, 4 * 24u / 3);
  EXPECT_EQ(two_paths.optimizer_states.value().cache_hits, 4 * 24u / 3);
  EXPECT_LT(caching.step_time_s, baseline.step_time_s);
  EXPECT_LT(skipping.step_time_s, caching.step_time_s);
  EXPECT_LE(atomic.step_time_s, skipping.step_time_s);
  EXPECT_LT(two_paths.step_time_s, atomic.step_time_s);
  // nothing is flushed any more: backward is three forwards, and gradients on their way to the host
  EXPECT_LT(skipping.backward_s, caching.backward_s / 10);
}

}  // namespace
}  // namespace spillway::strategies
