#include "scenarios/description/parts.hpp"

#include <gtest/gtest.h>

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
  EXPECT_TRUE(strategy.unlimited_gpu);
  EXPECT_EQ(json(strategy)["activations"]["swap_bytes"], "all");
}

TEST(Parts, KeepKnobsThatNoFieldHolds) {
  Strategy strategy;
  from_json(json::parse(R"({"activations": {"keep_last": "module"}, "plan": {"headroom": 0.5}})"),
            strategy);
  EXPECT_EQ(strategy.further.at("activations.keep_last"), "\"module\"");
  EXPECT_EQ(strategy.further.at("plan.headroom"), "0.5");
  EXPECT_EQ(json(strategy)["plan"], json::parse(R"({"headroom": 0.5})"));
}

TEST(Parts, ReadBackWhatTheyWrite) {
  Strategy strategy;
  strategy.system = "memascend";
  strategy.preset = "p";
  strategy.weights = {Home::ssd, PoolKind::adaptive, 3,          23,
                      Params(7), Params(8),          false,      PinnedPolicy::exact,
                      Params(9), Params(10),         Params(11), Params(12)};
  strategy.activations = {ActivationPolicy::swap, 5_GiB, {"host", "ssd"}};
  strategy.gradients = {GradientPolicy::active,
                        Width::fp16,
                        ConvertOn::cpu,
                        CopyMemory::pageable,
                        false,
                        12_GiB,
                        PinnedPolicy::power_of_two,
                        true,
                        false,
                        true,
                        Landing::states,
                        Params(5)};
  strategy.optimizer.paths = {{"nvme", 2.0}, {"pfs", std::nullopt}};
  strategy.optimizer.staleness = any_staleness;
  strategy.io_engine = IoEngine::gds;
  strategy.further["optimizer.adapt"] = "true";
  const json once = strategy;
  Strategy again;
  from_json(once, again);
  EXPECT_EQ(json(again), once);
  EXPECT_EQ(again.gradients.flush_tail, 12_GiB);
  EXPECT_EQ(again.weights.prefetch_bucket, Params(11));
  EXPECT_EQ(again.weights.max_reuse, Params(12));
  EXPECT_EQ(again.gradients.lands, Landing::states);
  EXPECT_EQ(once["optimizer"]["staleness"], "async");
  EXPECT_EQ(again.optimizer.staleness, any_staleness);
}

}  // namespace
}  // namespace spillway::description
