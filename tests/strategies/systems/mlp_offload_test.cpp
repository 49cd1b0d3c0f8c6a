#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>
#include <numeric>

/// What MLP-Offload keeps, reads, writes and where.
namespace spillway::strategies::mlp_offload_test {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// Four blocks make 1 + 4 x 4 + 1 = 18 sub-groups: embedding; QKV, output, gate-up, down; norms
/// and head. A block's norms go with what follows. The largest is gate-up, 8 x 1024^2.
constexpr std::uint64_t groups = 18, largest = 4 * 8 * 1024 * 1024;

description::Scenario small(const Overrides& more = {}) {
  Overrides overrides{"machine=mlp_offload_t1", "training.precision=bf16_mixed",
                      "model.num_hidden_layers=4", "strategy.optimizer.subgroup=1e6 params",
                      "strategy.optimizer.adapt=false"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return small_model("llama", "mlp_offload", overrides);
}

std::string slots(std::uint64_t each) {
  return "strategy.optimizer.buffers=" + std::to_string(each);
}
const char* const ascending = "strategy.optimizer.order=ascending";
const char* const no_cache = "strategy.optimizer.host_cache=0 B";
const char* const one_path = R"(strategy.optimizer.paths={"nvme": "auto"})";
const char* const two_to_one = R"(strategy.optimizer.paths={"nvme": 2, "pfs": 1})";

struct Moved {
  std::uint64_t read = 0, written = 0;
};

/// In the last two steps, one of each direction, on all storages.
Moved moved(const Counted& run) {
  Moved sum;
  for (std::size_t i = run.steps.size() - 2; i < run.steps.size(); ++i)
    for (const result::StorageBytes& bytes : run.steps[i].by_storage)
      sum.read += bytes.read, sum.written += bytes.write;
  return sum;
}

/// Of an ascending and a descending pass that keep `kept` sub-groups: what the first keeps is at
/// one end, what the second keeps at the other.
std::uint64_t two_passes(const description::Scenario& scenario, std::size_t kept) {
  const std::vector<std::uint64_t> bytes = state_bytes(scenario);
  const auto sum = [&](std::size_t first, std::size_t last) {
    return std::accumulate(bytes.begin() + static_cast<std::ptrdiff_t>(first),
                           bytes.begin() + static_cast<std::ptrdiff_t>(last), std::uint64_t{0});
  };
  return sum(kept, groups) + sum(0, groups - kept);
}

void expect_kept(const description::Scenario& scenario, std::size_t kept) {
  const Counted run = count(scenario);
  const result::OptimizerStates& states = run.result.optimizer_states.value();
  EXPECT_EQ(states.subgroups, groups);
  EXPECT_EQ(states.cache_hits, kept);
  EXPECT_EQ(moved(run).read, two_passes(scenario, kept));
  EXPECT_EQ(moved(run).written, two_passes(scenario, kept));
  std::uint64_t on_storage = 0;
  for (const auto& [name, path] : states.paths) on_storage += path.subgroups;
  EXPECT_EQ(on_storage, groups - kept);
}

TEST(MlpOffload, KeepsWhatTheSlotsHold) {
  // three slots a sub-group, as many on each of two paths
  for (const auto& [each, kept] : {std::pair{3, 2}, {4, 2}, {5, 2}, {6, 4}, {12, 8}}) {
    SCOPED_TRACE(each);
    expect_kept(small({slots(static_cast<std::uint64_t>(each))}), static_cast<std::size_t>(kept));
  }
  expect_kept(small({slots(12), one_path}), 4);
}

TEST(MlpOffload, SlotsForAllSubgroupsLeaveNoStorageTraffic) {
  expect_kept(small({slots(3 * groups - 1), one_path}), groups - 1);
  for (const std::uint64_t each : {3 * groups, 3 * groups + 9}) {
    const Counted run = count(small({slots(each), one_path}));
    EXPECT_EQ(run.result.optimizer_states.value().cache_hits, groups);
    EXPECT_EQ(moved(run).read + moved(run).written, 0u);
  }
}

TEST(MlpOffload, AnAscendingPassKeepsNothingUnlessAllFits) {
  // what is kept last would be thrown out before its turn
  const auto run = [](std::uint64_t each) {
    return count(small({slots(each), one_path, ascending}));
  };
  const Counted fewer = run(3 * groups - 1), all = run(3 * groups);
  EXPECT_EQ(fewer.result.optimizer_states.value().cache_hits, 0u);
  EXPECT_EQ(moved(fewer).read, two_passes(small(), 0));
  EXPECT_EQ(moved(fewer).written, two_passes(small(), 0));
  EXPECT_EQ(all.result.optimizer_states.value().cache_hits, groups);
  EXPECT_EQ(moved(all).read + moved(all).written, 0u);
}

TEST(MlpOffload, HostCacheLimitsWhatIsKept) {
  const auto cache = [](std::uint64_t bytes) {
    return "strategy.optimizer.host_cache=" + std::to_string(bytes) + " B";
  };
  expect_kept(small({slots(12), one_path, no_cache}), 0);
  expect_kept(small({slots(12), cache(2 * 3 * largest)}), 2);
  expect_kept(small({slots(12), cache(2 * 3 * largest - 1)}), 1);
  expect_kept(small({slots(12), cache(100 * 3 * largest)}), 8);  // the slots are the limit
}

TEST(MlpOffload, GradientsThatStayInHostMemoryCostStorageNothing) {
  const description::Scenario skips = small({slots(12), one_path, no_cache}),
                              writes = small({slots(12), one_path, no_cache,
                                              "strategy.gradients.policy=ssd_fp32",
                                              "strategy.gradients.accumulation=fp32"});
  const Counted without = count(skips), with = count(writes);
  const std::uint64_t states = two_passes(skips, 0);  // 12 B/parameter, twice
  EXPECT_EQ(at_peak(without.result.ssd, "gradients"), 0u);
  EXPECT_EQ(without.result.phase_bytes.at("backward").ssd_write, 0u);
  EXPECT_EQ(moved(without).written, states);
  EXPECT_EQ(at_peak(with.result.ssd, "gradients"), states / 2 / 3);
  // 4 B more, but for the nine norms, whose gradients stay in host memory
  const std::uint64_t gradients = 4 * (model_of(writes).parameters.value() - 9 * 1024);
  EXPECT_EQ(moved(with).read, states + 2 * gradients);
  EXPECT_EQ(moved(with).written, states + 2 * gradients);
}

// ---- Paths

std::map<std::string, std::uint64_t> at_rest(const description::Scenario& scenario) {
  std::map<std::string, std::uint64_t> by_path;
  const result::Result run = count(scenario).result;
  for (const auto& [name, path] : run.optimizer_states.value().paths)
    by_path[name] = path.subgroups;
  return by_path;
}

TEST(MlpOffload, SubgroupsAreSpreadByWeightOrByBandwidth) {
  EXPECT_THAT(at_rest(small({no_cache, two_to_one})),
              UnorderedElementsAre(Pair("nvme", 12), Pair("pfs", 6)));
  // min(6.9, 5.3) : 3.6 GB/s of 18: 10.7 and 7.3
  EXPECT_THAT(at_rest(small({no_cache})), UnorderedElementsAre(Pair("nvme", 11), Pair("pfs", 7)));
  EXPECT_THAT(at_rest(small({no_cache, one_path})), UnorderedElementsAre(Pair("nvme", 18)));
  const auto paths = count(small({no_cache})).result.optimizer_states.value().paths;
  EXPECT_DOUBLE_EQ(paths.at("nvme").estimate_bytes_per_s, 5.3e9);
  EXPECT_DOUBLE_EQ(paths.at("pfs").estimate_bytes_per_s, 3.6e9);
}

TEST(MlpOffload, BytesFollowTheSubgroups) {
  // the second path has every third sub-group, from the second on; in the same order every time
  // each pass hands them out alike
  const description::Scenario scenario = small({no_cache, two_to_one, ascending});
  const std::vector<std::uint64_t> bytes = state_bytes(scenario);
  std::uint64_t second = 0;
  for (std::size_t i = 1; i < groups; i += 3) second += bytes[i];
  const auto by_storage = count(scenario).result.io.by_storage;
  EXPECT_EQ(by_storage.at("pfs").read, second);
  EXPECT_EQ(by_storage.at("pfs").write, second);
  EXPECT_EQ(by_storage.at("nvme").read, two_passes(scenario, 0) / 2 - second);
}

/// Two drives that hold `bytes` together.
description::Scenario with_nvme_of(std::uint64_t bytes) {
  description::Scenario scenario = small({no_cache, two_to_one});
  scenario.machine.storage[0].capacity = description::Bytes(bytes / 2);
  return scenario;
}

TEST(MlpOffload, AFullStorageLeavesTheRestToTheOther) {
  // a sub-group in three extents; one must find room besides what lies there
  const std::uint64_t one = 3 * largest;
  EXPECT_THAT(at_rest(with_nvme_of(13 * one)),
              UnorderedElementsAre(Pair("nvme", 12), Pair("pfs", 6)));
  EXPECT_THAT(at_rest(with_nvme_of(6 * one)),
              UnorderedElementsAre(Pair("nvme", 5), Pair("pfs", 13)));
  EXPECT_THAT(at_rest(with_nvme_of(6 * one - 8192)),
              UnorderedElementsAre(Pair("nvme", 4), Pair("pfs", 14)));
  EXPECT_EQ(at_rest(with_nvme_of(one))["nvme"], 0u);
}

TEST(MlpOffload, NoRoomOnAnyStorageIsInfeasible) {
  description::Scenario scenario = with_nvme_of(3 * largest);
  scenario.machine.storage[1].capacity = description::Bytes(6 * largest);
  const result::Result run = count(scenario).result;
  ASSERT_TRUE(run.infeasible);
  EXPECT_EQ(run.infeasible->purpose, "optimizer_states");
  EXPECT_EQ(run.infeasible->tier, "ssd");
}

// ---- Checkpoints

TEST(MlpOffload, StatesOnARemotePathNeedNoCheckpoint) {
  const std::uint64_t parameters = model_of(small()).parameters.value();
  const auto checkpoint = [](const Overrides& more) {
    return count(small(more)).result.checkpoint.value();
  };
  const result::Checkpoint local = checkpoint({no_cache, one_path});
  EXPECT_EQ(local.bytes, 14 * parameters);  // three fp32 states and the 16-bit weights
  EXPECT_EQ(local.prestaged_bytes, 0u);
  const char* const remote = R"(strategy.optimizer.paths={"pfs": 1})";
  EXPECT_EQ(checkpoint({no_cache, remote}).prestaged_bytes, 12 * parameters);
  // what is kept in host memory is not on the path: of all 18 none
  EXPECT_EQ(checkpoint({slots(3 * groups), remote}).prestaged_bytes, 0u);
}

}  // namespace
}  // namespace spillway::strategies::mlp_offload_test
