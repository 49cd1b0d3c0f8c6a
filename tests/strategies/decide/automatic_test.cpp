#include "strategies/decide/automatic.hpp"
#include "tests/strategies/systems/systems.hpp"

/// `optimizer.buffers` of auto: as many as host memory holds.
namespace spillway::strategies {
namespace {

/// A published model of MLP-Offload on the four GPUs of its first testbed.
description::Scenario published(const std::string& model, const Overrides& more = {}) {
  Overrides overrides{"model=" + model,
                      "machine=mlp_offload_t1",
                      "parallel.data=4",
                      "training.precision=bf16_mixed",
                      "training.micro_batch=1",
                      "training.sequence=2048",
                      "training.attention=materialized",
                      "strategy.optimizer.subgroup=1e8 params",
                      R"(strategy.optimizer.paths={"nvme": 2, "pfs": 1})"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return small_model("llama", "mlp_offload", overrides);
}

description::Scenario resolved(const description::Scenario& scenario) {
  return resolve_automatic(scenario, prepare(scenario), counting_probe());
}

std::uint64_t buffers(const description::Scenario& scenario) {
  return resolved(scenario).strategy.optimizer.buffers.value();
}

TEST(Automatic, BuffersOfThePublishedRunsAreNearThoseThatWereUsed) {
  // the paper's logs: 32 (assumed), 28, 25 and 18 on each of two paths
  EXPECT_EQ(buffers(published("mlp-offload-40b")), 30u);
  EXPECT_EQ(buffers(published("mlp-offload-52b")), 31u);
  EXPECT_EQ(buffers(published("mlp-offload-70b")), 25u);
  EXPECT_EQ(buffers(published("mlp-offload-100b")), 17u);
}

/// Of the whole node at its fullest, with what `auto` stands for.
std::uint64_t host_peak(const description::Scenario& scenario) {
  return count(resolved(scenario)).result.host.total;
}

TEST(Automatic, HostMemoryIsFilledToItsShareAndNoFurther) {
  for (const char* fill : {"0.6", "0.78", "0.9"}) {
    SCOPED_TRACE(fill);
    const description::Scenario scenario =
        published("mlp-offload-40b", {std::string("strategy.optimizer.host_fill=") + fill});
    const auto room = static_cast<std::uint64_t>(std::stod(fill) * 503 * gib);
    EXPECT_LE(host_peak(scenario), room);
    description::Scenario one_more = resolved(scenario);
    ++*one_more.strategy.optimizer.buffers;
    EXPECT_GT(count(one_more).result.host.total, room);
  }
}

TEST(Automatic, MoreHostMemoryGivesNoFewerBuffers) {
  std::uint64_t before = 0;
  for (int gib_of_memory = 200; gib_of_memory <= 700; gib_of_memory += 50) {
    const std::uint64_t now = buffers(published(
        "mlp-offload-40b", {"machine.host.memory=" + std::to_string(gib_of_memory) + " GiB"}));
    EXPECT_GE(now, before);
    before = now;
  }
  // slots of 1 GiB (152e6 x 4 B, rounded up) in 4 x 2 columns: 30 at 503 GiB, and 0.78 of 197 GiB
  // more are 19.2 times 8 GiB
  EXPECT_EQ(before, 49u);
}

TEST(Automatic, TooLittleMemoryGivesWhatAnUpdateNeeds) {
  // one sub-group is read, one updated, one written: three tensors each
  EXPECT_EQ(buffers(published("mlp-offload-40b", {"strategy.optimizer.host_fill=0.1"})), 9u);
  EXPECT_EQ(buffers(published("mlp-offload-40b", {"machine.host.memory=64 GiB"})), 9u);
  // with fp32 gradients on storage four
  EXPECT_EQ(buffers(published("mlp-offload-40b", {"strategy.optimizer.host_fill=0.1",
                                                  "strategy.gradients.policy=ssd_fp32",
                                                  "strategy.gradients.accumulation=fp32"})),
            12u);
}

TEST(Automatic, NoMoreBuffersThanHoldAllSubGroups) {
  const description::Scenario scenario =
      published("mlp-offload-40b",
                {"strategy.optimizer.subgroup=1e9 params", "machine.host.memory=20000 GiB"});
  const std::uint64_t most = buffers(scenario);
  const auto states = count(resolved(scenario)).result.optimizer_states;
  // 48.2e9 parameters on 4 ranks: 12.0e9 of each, in sub-groups of 1e9 or somewhat more, the last
  // of them smaller: 9 to 12, half of them on either path in three buffers each
  const std::uint64_t of_a_rank = states->subgroups / 4;
  EXPECT_GE(of_a_rank, 9u);
  EXPECT_LE(of_a_rank, 12u);
  EXPECT_EQ(most, 3 * ((of_a_rank + 1) / 2));
  // with as many there is nothing left to read: each sub-group is in its buffers from step to step
  EXPECT_EQ(states->cache_hits, states->subgroups);
  // a small model takes megabytes, however much memory there is
  EXPECT_LT(buffers(small_model("llama", "mlp_offload", {"machine.host.memory=2000 GiB"})), 100u);
}

TEST(Automatic, WhatTheScenarioSaysStays) {
  for (const char* system : {"zero_infinity", "memascend", "zero_offload", "resident"}) {
    SCOPED_TRACE(system);
    const description::Scenario scenario = small_model("llama", system);
    EXPECT_EQ(nlohmann::json(resolved(scenario)), nlohmann::json(scenario));
  }
  EXPECT_EQ(buffers(published("mlp-offload-40b", {"strategy.optimizer.buffers=12"})), 12u);
  EXPECT_EQ(buffers(small_model("llama", "zero_infinity", {"strategy.optimizer.buffers=4"})), 4u);
}

}  // namespace
}  // namespace spillway::strategies
