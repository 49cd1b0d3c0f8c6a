#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

namespace spillway::e2e {
namespace {

using ::testing::ContainsRegex;
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

/// mpirun wants to be told that this may be root, and that there may be fewer cores than workers.
const std::string environment =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1; ";
constexpr const char* explore =
    "timeout 100 spillway explore space.json --simulate-all --db r.db --mpirun localhost,localhost "
    "--jobs 1 --silence 5s --limit $((1000 + $$)) --json";  // by which others know its workers

/// Numbers and keys of the points of a front.
std::vector<std::string> front(const nlohmann::json& answer) {
  std::vector<std::string> points;
  for (const nlohmann::json& point : answer.at("front")) {
    points.push_back(point.at("number").dump() + " " + point.at("key").dump());
    EXPECT_EQ(point.at("result").at("schema"), "spillway/result/1");
  }
  return points;
}

/// An exploration by two workers; `what` happens when its database has a few of 96 points, with the
/// process of the exploration in $E, those of its workers in $W and one of these in $ONE.
Ended run_and(const Workplace& place, const std::string& what) {
  return shell(place, environment + explore +
                          " & until [ $(stat -c %s r.db-wal 2> none || echo 0) -gt 150000 ]; do "
                          "sleep 0.01; done; E=$(pgrep -P $! -x spillway); "
                          "WHO=\"[^ ]*/spillway worker --jobs 1 --limit $((1000 + $$))\"; "
                          "W=$(pgrep -f -x \"$WHO\"); ONE=$(pgrep -o -f -x \"$WHO\"); " +
                          what + "; wait");
}

class ManyWorkers : public ::testing::Test {
 protected:
  ManyWorkers() { place_.write("space.json", space); }

  nlohmann::json alone() const {
    return shell(place_, "spillway explore space.json --simulate-all --db alone.db --json").json();
  }

  const Workplace place_;
};

TEST_F(ManyWorkers, FindTheFrontOfASingleProcess) {
  LONG_TEST();
  const Ended done = shell(place_, environment + explore);
  ASSERT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(front(done.json()), front(alone()));
  EXPECT_EQ(done.json()["simulated"], 96);
  EXPECT_EQ(place_.files(), (std::vector<std::string>{"alone.db", "r.db", "space.json"}));
}

TEST_F(ManyWorkers, LoseNothingWhenOneIsKilled) {
  LONG_TEST();
  const Ended done = run_and(place_, "kill -9 $ONE");
  EXPECT_THAT(done.err, HasSubstr("(localhost) is lost: its process ended"));
  EXPECT_EQ(front(done.json()), front(alone()));
  EXPECT_EQ(done.json()["finished"], true);
}

TEST_F(ManyWorkers, LoseNothingWhenOneFallsSilent) {
  LONG_TEST();
  const Ended done = run_and(place_, "kill -STOP $ONE");
  EXPECT_THAT(done.err, HasSubstr("(localhost) is lost: it has been silent for 5 s"));
  EXPECT_EQ(front(done.json()), front(alone()));
}

/// Whoever writes the database is killed: its workers end, and the same command goes on.
TEST_F(ManyWorkers, EndWithTheirExplorationWhichGoesOnLater) {
  LONG_TEST();
  const Ended killed = run_and(
      place_, "kill -9 $E; sleep 3; ps -o stat=,args= -p $(echo $W | tr ' ' ',') | grep -v ^Z");
  EXPECT_EQ(killed.out, "") << "workers that are left";
  const Ended rest = shell(place_, environment + explore);
  ASSERT_EQ(rest.exit, 0) << rest.err;
  EXPECT_GT(rest.json()["reused"], 0);
  EXPECT_EQ(rest.json()["reused"].get<int>() + rest.json()["simulated"].get<int>(), 96);
  EXPECT_EQ(front(rest.json()), front(alone()));
}

TEST_F(ManyWorkers, NeedACommandThatStartsThem) {
  const Ended refused =
      shell(place_, "PATH=$(dirname $(command -v spillway)) " + std::string(explore).substr(12));
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.err, HasSubstr("mpirun: No such file or directory"));
  EXPECT_THAT(refused.out, HasSubstr("no worker is left that simulates"));
  const Ended no_job = shell(place_, "spillway explore space.json --db r.db --srun");
  EXPECT_EQ(no_job.exit, 2);
  EXPECT_THAT(no_job.err, HasSubstr("--srun: this is no Slurm job; --slurm N prints the script"));
}

/// In the place of srun, which is not here: what it is told, and a worker.
TEST_F(ManyWorkers, AreOnAllNodesOfASlurmJob) {
  LONG_TEST();
  place_.write(
      "srun",
      "#!/bin/sh\necho \"$@\" >> said\n"
      "while [ \"$1\" != \"--kill-on-bad-exit=1\" ]; do shift; done; shift; exec \"$@\"\n");
  const Ended done = shell(place_,
                           "chmod +x srun; export PATH=.:$PATH SLURM_JOB_NUM_NODES=2; "
                           "spillway explore space.json --simulate-all --db r.db --srun --jobs 1 "
                           "--json");
  ASSERT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(front(done.json()), front(alone()));
  const std::string said = file_text(place_.path() / "said");
  for (const char* node : {"--relative=0 ", "--relative=1 "}) EXPECT_THAT(said, HasSubstr(node));
}

TEST_F(ManyWorkers, GetAScriptForSlurm) {
  const std::string command =
      "spillway explore space.json --db \"it's.db\" --search sobol --samples 64 --slurm 8 ";
  const Ended array = shell(place_, command);
  EXPECT_THAT(array.out, HasSubstr("#SBATCH --array=0-7\n"));
  EXPECT_THAT(array.out, HasSubstr("'it'\\''s.db'.$SLURM_ARRAY_TASK_ID --search sobol --seed 1 "
                                   "--samples 64 --shard $SLURM_ARRAY_TASK_ID/8 "));
  const Ended job = shell(place_, command + "--srun");
  EXPECT_THAT(job.out, HasSubstr("#SBATCH --nodes=8\n"));
  EXPECT_THAT(job.out, HasSubstr("--samples 64 --srun --jobs $SLURM_CPUS_PER_TASK"));
  for (const Ended& script : {array, job}) {
    // the program that wrote it, as a batch job has another PATH
    EXPECT_THAT(script.out, ContainsRegex("exec /[^ ]*/spillway explore "));
    EXPECT_EQ(shell(place_, "bash -n", script.out).exit, 0) << script.out;
  }
}

}  // namespace
}  // namespace spillway::e2e
