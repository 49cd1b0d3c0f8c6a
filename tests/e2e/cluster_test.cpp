#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/command.hpp"

namespace spillway::e2e {
namespace {

using ::testing::HasSubstr;

/// 96 points, none of which is pruned.
constexpr const char* space = R"({ "name": "wide",
  "base": { "model": "gpt2", "machine": "gaming_4090", "run": { "steps": 1 },
            "strategy": { "system": "zero_offload" } },
  "axes": { "training.micro_batch": { "from": 1, "to": 16 },
            "machine.host.adam": ["0.5 Gparam/s", "1 Gparam/s"],
            "machine.storage.nvme.count": { "from": 1, "to": 3 } },
  "constraints": ["feasible", "training.micro_batch != 2"],
  "objectives": { "step_time_s": "min", "throughput.tokens_per_s": "max", "price_usd": "min" } })";

/// mpirun wants to be told that this may be root; what Open MPI does not free is not ours.
const std::string environment =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0; ";
/// There may be fewer cores than ranks.
const std::string mpirun =
    environment + "timeout 100 mpirun --enable-recovery --oversubscribe --bind-to none ";
constexpr const char* explore =
    "spillway explore space.json --simulate-all --db r.db --mpi --jobs 1 --silence 2s --json";

/// Numbers and keys of the points of a front.
std::vector<std::string> front(const nlohmann::json& answer) {
  std::vector<std::string> points;
  for (const nlohmann::json& point : answer.at("front")) {
    points.push_back(point.at("number").dump() + " " + point.at("key").dump());
    EXPECT_EQ(point.at("result").at("schema"), "spillway/result/1");
  }
  return points;
}

/// Two ranks, of which `victim` is killed when its shard has a few of 96 points.
Ended run_and_kill(const Workplace& place, const std::string& victim) {
  const auto rank = [](const std::string& number) {
    return " -n 1 sh -c 'echo $$ > pid." + number + "; exec " + explore + "'";
  };
  const std::string log = "r.db." + victim + "-wal";  // 8 to 40 kB a point
  return shell(place, mpirun + rank("0") + " :" + rank("1") + " & until [ $(stat -c %s " + log +
                          " 2> none || echo 0) -gt 150000 ]; do sleep 0.01; done; kill -9 $(cat "
                          "pid." +
                          victim + "); wait");
}

class ManyRanks : public ::testing::Test {
 protected:
  ManyRanks() { place_.write("space.json", space); }

  nlohmann::json alone() const {
    return shell(place_, "spillway explore space.json --simulate-all --db alone.db --json").json();
  }

  const Workplace place_;
};

TEST_F(ManyRanks, FindTheFrontOfASingleProcess) {
  const Ended done = shell(place_, mpirun + "-n 2 " + explore);
  ASSERT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(front(done.json()), front(alone()));
  EXPECT_EQ(done.json()["simulated"], 96);
  EXPECT_TRUE(place_.has("r.db.0"));
  EXPECT_TRUE(place_.has("r.db.1"));
}

TEST_F(ManyRanks, LoseNothingWhenOneIsKilled) {
  const Ended done = run_and_kill(place_, "1");
  EXPECT_THAT(done.err, HasSubstr("rank 1 is lost: it has been silent for 2 s"));
  EXPECT_EQ(front(done.json()), front(alone()));
  EXPECT_EQ(done.json()["finished"], true);
}

TEST_F(ManyRanks, EndWithRankZeroAndLeaveShardsThatCanBeMerged) {
  const Ended done = run_and_kill(place_, "0");
  EXPECT_THAT(done.out, HasSubstr("rank 0 has been silent for 2 s")) << done.err;
  const Ended merged = shell(place_, "spillway explore merge all.db r.db.0 r.db.1");
  ASSERT_EQ(merged.exit, 0) << merged.err;
  const Ended rest = shell(place_, "spillway explore space.json --simulate-all --db all.db --json");
  EXPECT_GT(rest.json()["reused"], 0);
  EXPECT_EQ(rest.json()["reused"].get<int>() + rest.json()["simulated"].get<int>(), 96);
  EXPECT_EQ(front(rest.json()), front(alone()));
}

TEST_F(ManyRanks, AreOneWithoutMpirun) {
  const Ended done = shell(place_, environment + explore);
  ASSERT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(front(done.json()), front(alone()));
}

TEST_F(ManyRanks, NeedAPluginThatOpens) {
  const Ended refused = shell(place_, "SPILLWAY_PLUGINS=/none " + std::string(explore));
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.out, HasSubstr("Debian's package openmpi-bin brings Open MPI"));
  const Ended both = shell(place_, std::string(explore) + " --shard 0/2");
  EXPECT_EQ(both.exit, 2);
}

TEST_F(ManyRanks, GetAScriptForSlurm) {
  const std::string command =
      "spillway explore space.json --db \"it's.db\" --search sobol --samples 64 --slurm 8 ";
  const Ended array = shell(place_, command);
  EXPECT_THAT(array.out, HasSubstr("#SBATCH --array=0-7\n"));
  EXPECT_THAT(array.out, HasSubstr("'it'\\''s.db'.$SLURM_ARRAY_TASK_ID --search sobol --seed 1 "
                                   "--samples 64 --shard $SLURM_ARRAY_TASK_ID/8 "));
  const Ended job = shell(place_, command + "--mpi");
  EXPECT_THAT(job.out, HasSubstr("#SBATCH --nodes=8\n"));
  EXPECT_THAT(job.out, HasSubstr("exec mpirun --enable-recovery --map-by ppr:1:node"));
  for (const Ended& script : {array, job})
    EXPECT_EQ(shell(place_, "bash -n", script.out).exit, 0) << script.out;
}

}  // namespace
}  // namespace spillway::e2e
