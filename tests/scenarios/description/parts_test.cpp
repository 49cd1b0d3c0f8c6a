#include "scenarios/description/parts.hpp"

#include "scenarios/description/data_files.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace spillway::description {
namespace {

using nlohmann::json;

TEST(Parts, KeepWhatTheObjectLeavesOut) {
  Strategy strategy;
  strategy.optimizer.buffers = 9;
  strategy.weights.home = Home::ssd;
  from_json(json::parse(R"({"optimizer": {"order": "alternating"}})"), strategy);
  EXPECT_EQ(strategy.optimizer.order, SubgroupOrder::alternating);
  EXPECT_EQ(strategy.optimizer.buffers, 9u);
  EXPECT_EQ(strategy.weights.home, Home::ssd);
}

TEST(Parts, ReadAutoAsNothingDecided) {
  Strategy strategy;
  strategy.optimizer.buffers = 9;
  strategy.optimizer.host_cache = 1_GiB;
  strategy.activations.swap_bytes = 1_GiB;
  from_json(json::parse(R"({"optimizer": {"buffers": "auto", "host_cache": "auto",
    "paths": {"a": "auto", "b": 2}}, "activations": {"swap_bytes": "auto"}})"),
            strategy);
  EXPECT_FALSE(strategy.optimizer.buffers);
  EXPECT_FALSE(strategy.optimizer.host_cache);
  EXPECT_FALSE(strategy.activations.swap_bytes);
  EXPECT_FALSE(strategy.optimizer.paths.at("a"));
  EXPECT_EQ(strategy.optimizer.paths.at("b"), 2.0);
}

TEST(Parts, ReadRecomputeAsCheckpointGpuAndAllAsNoLimit) {
  Strategy strategy;
  from_json(json::parse(R"({"activations": {"policy": "recompute", "swap_bytes": "all"},
    "gpu_capacity": "unlimited"})"),
            strategy);
  EXPECT_EQ(strategy.activations.policy, ActivationPolicy::checkpoint_gpu);
  EXPECT_EQ(strategy.activations.swap_bytes, all_bytes);
  EXPECT_TRUE(strategy.unlimited_gpu());
  EXPECT_EQ(json(strategy)["activations"]["swap_bytes"], "all");
}

TEST(Parts, WriteKnobsOfSomeSystemsOnlyWhereSomebodySaysThem) {
  Strategy strategy;
  EXPECT_FALSE(json(strategy).contains("plan"));
  from_json(json::parse(R"({"activations": {"keep_last": "module"}, "plan": {"headroom": 0.5}})"),
            strategy);
  EXPECT_EQ(strategy.activations.keep_last, KeepLast::module);
  EXPECT_EQ(json(strategy)["plan"], json::parse(R"({"headroom": 0.5})"));
  EXPECT_EQ(particular_knobs(strategy),
            (std::set<std::string>{"activations.keep_last", "plan.headroom"}));
}

TEST(Parts, ReadAWordOrAValue) {
  const json written = json::parse(R"({"weights": {"chunk": "auto", "chunk_cache": "3 GB"},
    "activations": {"prefetch": 7, "write_rate": "measured", "time_limit": "none",
                    "skip": ["loss", "model"]},
    "plan": {"host_limit": "auto", "migration_rate": "2 GB/s", "destinations": ["host"]}})");
  Strategy strategy;
  from_json(written, strategy);
  EXPECT_FALSE(strategy.weights.chunk.value().value);
  EXPECT_EQ(strategy.weights.chunk_cache.value().value, 3_GB);
  EXPECT_EQ(strategy.activations.prefetch.value().operators, 7u);
  EXPECT_FALSE(strategy.activations.write_rate.value().value);
  const json again = strategy;
  for (const char* part : {"weights", "activations", "plan"})
    for (const auto& [key, value] : written.at(part).items())
      EXPECT_EQ(again.at(part).at(key), value) << part << "." << key;
}

TEST(Parts, ReadWhatKnobsThatWereSaidAndKeepNothingOfIt) {
  const json old = json::parse(R"({"activations": {"deduplicate": true},
    "plan": {"profile": "model", "profile_steps": 3}})");
  Strategy strategy;
  from_json(old, strategy);
  EXPECT_EQ(json(strategy), json(Strategy()));
}

/// SPILLWAY_STORE_SCHEMA=1 writes the file anew.
TEST(Parts, AreWhatTheShippedSchemaSays) {
  const std::filesystem::path file = data_root() / "scenarios/schemas/strategy.json";
  const std::string made = strategy_schema().dump(2) + "\n";
  if (std::getenv("SPILLWAY_STORE_SCHEMA")) std::ofstream(file) << made;
  std::ifstream stored(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stored), {}), made);
}

TEST(Parts, ReadBackWhatTheyWrite) {
  Strategy strategy;
  strategy.system = "memascend";
  strategy.preset = "p";
  strategy.weights = {Home::ssd,
                      PoolKind::adaptive,
                      3,
                      23,
                      Params(7),
                      Params(8),
                      false,
                      true,
                      WeightCopy::typed,
                      PinnedPolicy::exact,
                      Params(9),
                      {},
                      {},
                      Params(10),
                      Params(11),
                      Params(12),
                      Bytes(4096),
                      {},
                      {}};
  strategy.weights.experts = ExpertPlace::alone;
  strategy.weights.expert_cache = 1_GiB;
  strategy.activations.policy = ActivationPolicy::swap;
  strategy.activations.checkpoint_every = 4;
  strategy.activations.swap_bytes = 5_GiB;
  strategy.activations.homes = {"host", "ssd"};
  strategy.gradients = {GradientPolicy::active,
                        Width::fp16,
                        ConvertOn::cpu,
                        CopyMemory::pageable,
                        false,
                        12_GiB,
                        PinnedPolicy::power_of_two,
                        true,
                        3,
                        false,
                        true,
                        GradientMemory::in_backward,
                        true,
                        Landing::states,
                        GradientCollective::reduce_scatter,
                        Params(5),
                        GradientNorm::fp64,
                        GradientSums::at_end};
  strategy.optimizer.paths = {{"nvme", 2.0}, {"pfs", std::nullopt}};
  strategy.optimizer.staleness = any_staleness;
  strategy.optimizer.ssd_share = strategy.optimizer.delayed_share = 0.25;
  strategy.optimizer.master = MasterKept::weight;
  strategy.optimizer.roll_back = true;
  strategy.micro_batches = MicroBatchOrder::by_layer;
  strategy.io_engine = IoEngine::gds;
  strategy.optimizer.widen_first = false;
  const json once = strategy;
  Strategy again;
  from_json(once, again);
  EXPECT_EQ(json(again), once);
  EXPECT_EQ(again.gradients.flush_tail, 12_GiB);
  EXPECT_EQ(again.weights.prefetch_bucket, Params(11));
  EXPECT_EQ(again.weights.max_reuse, Params(12));
  EXPECT_EQ(again.gradients.slabs, 3u);
  EXPECT_EQ(again.gradients.lands, Landing::states);
  EXPECT_EQ(once["optimizer"]["staleness"], "async");
  EXPECT_EQ(again.optimizer.staleness, any_staleness);
}

}  // namespace
}  // namespace spillway::description
