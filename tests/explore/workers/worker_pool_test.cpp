#include "explore/workers/worker_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <csignal>
#include <fstream>
#include <iterator>

#include "explore/search/explorer.hpp"
#include "explore/workers/fork_server.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/explore/spaces.hpp"
#include "tests/long_test.hpp"

namespace spillway::explore::worker_pool_test {
namespace {

using ::testing::HasSubstr;

/// 72 points, three objectives, a front of several.
constexpr const char* wide = R"({ "base": { "model": "gpt2", "machine": "gaming_4090",
    "run": { "steps": 1 }, "strategy": { "system": "zero_offload" } },
  "axes": { "training.micro_batch": { "from": 1, "to": 12 },
            "machine.host.adam": ["0.5 Gparam/s", "1 Gparam/s"],
            "machine.storage.nvme.count": { "from": 1, "to": 3 } },
  "constraints": ["feasible", "training.micro_batch != 2"],
  "objectives": { "step_time_s": "min", "throughput.tokens_per_s": "max", "price_usd": "min" } })";

/// An exploration by several workers, which are processes of this machine that a command could
/// have started on another.
class Cluster {
 public:
  explicit Cluster(std::size_t count) : space(files.space(wide)), points(space) {
    options.jobs = 1;
    options.silence_s = 5;
    options.progress = [this](const Progress& progress) {
      if (mishap && progress.counts.simulated >= 20) std::exchange(mishap, {})();
    };
    options.notice = [this](const std::string& notice) { notices.push_back(notice); };
    for (std::size_t i = 0; i < count; ++i)
      options.workers.push_back({"worker " + std::to_string(i), [this] { return start(); }});
  }

  Exploration run() { return explore(sim(), points, files.database(), options); }

  std::vector<std::string> front(std::int64_t of) const {
    Store store(files.database(), Database::Access::read);
    EXPECT_EQ(store.integrity(), "ok");
    std::vector<std::string> rows;
    for (const PointRow& row : store.points(of, "front")) {
      rows.push_back(std::to_string(row.number) + " " + row.key + " " + row.objectives.dump());
      EXPECT_TRUE(store.has_result(row.key)) << row.number;
    }
    return rows;
  }

  SpaceFiles files;
  scenarios::Space space;
  Points points;
  ExploreOptions options;
  std::function<void()> mishap;  ///< happens after 20 simulations
  std::vector<std::string> notices;
  std::vector<pid_t> processes;

 private:
  std::unique_ptr<LineProcess> start() {
    auto process = std::make_unique<LineProcess>([](int requests, int replies) {
      sim().prepare();
      ForkServer(answer_with(sim()), 1, 60, requests, replies).run();
    });
    processes.push_back(process->pid());
    return process;
  }
};

/// The front as workers of one process find it.
const std::vector<std::string>& expected() {
  static const std::vector<std::string> front = [] {
    Cluster alone(0);
    alone.options.jobs = 2;
    return alone.front(alone.run().space);
  }();
  return front;
}

TEST(WorkerPool, FindsTheFrontOfASingleProcess) {
  LONG_TEST();
  ASSERT_GE(expected().size(), 5u);
  for (const std::size_t count : {1, 2, 3}) {
    Cluster cluster(count);
    const Exploration done = cluster.run();
    EXPECT_TRUE(done.finished);
    EXPECT_EQ(cluster.front(done.space), expected()) << count;
    EXPECT_EQ(done.counts.points, 72u);
    EXPECT_EQ(done.counts.pruned + done.counts.simulated, 72u);
    EXPECT_THAT(cluster.notices, ::testing::IsEmpty());
  }
}

TEST(WorkerPool, FindsTheSameByEverySearch) {
  LONG_TEST();
  for (const Search how : {Search::sobol, Search::nsga2}) {
    std::vector<std::vector<std::string>> fronts;
    for (const std::size_t count : {0, 2}) {
      Cluster cluster(count);
      cluster.options.search = how;
      cluster.options.samples = 128;
      fronts.push_back(cluster.front(cluster.run().space));
    }
    EXPECT_EQ(fronts[0], fronts[1]);
    EXPECT_GE(fronts[0].size(), 1u);
  }
}

/// The processes that this one started and that live.
std::vector<pid_t> children() {
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  return {std::istream_iterator<pid_t>(file), {}};
}

TEST(WorkerPool, StartsAWorkerOfThisMachineAnewThatIsStopped) {
  LONG_TEST();
  Cluster alone(0);
  alone.options.jobs = 1;
  alone.options.prune = false;
  alone.options.silence_s = 2;
  alone.mishap = [] {
    for (const pid_t child : children()) ::kill(child, SIGSTOP);
  };
  const Exploration done = alone.run();
  EXPECT_TRUE(done.finished);
  EXPECT_EQ(done.counts.simulated, 72u);
  EXPECT_EQ(done.counts.failed, 0u);
  EXPECT_EQ(alone.front(done.space), expected());
  ASSERT_EQ(alone.notices.size(), 1u);
  EXPECT_THAT(alone.notices[0], HasSubstr("the worker of this machine is started anew: it has been "
                                          "silent for "));
}

TEST(WorkerPool, GivesThePointsOfAWorkerThatEndedToTheOthers) {
  LONG_TEST();
  Cluster cluster(2);
  cluster.options.prune = false;
  cluster.mishap = [&cluster] { ::kill(cluster.processes[1], SIGKILL); };
  const Exploration done = cluster.run();
  EXPECT_TRUE(done.finished);
  EXPECT_EQ(done.counts.simulated, 72u);
  EXPECT_EQ(done.counts.failed, 0u);
  EXPECT_EQ(cluster.front(done.space), expected());
  ASSERT_EQ(cluster.notices.size(), 1u);
  EXPECT_THAT(cluster.notices[0], HasSubstr("worker 1 is lost: its process ended"));
}

/// A node that hangs, or a network that is gone: nothing comes, and nothing says so.
TEST(WorkerPool, GivesThePointsOfAWorkerThatFallsSilentToTheOthers) {
  LONG_TEST();
  Cluster cluster(2);
  cluster.options.prune = false;
  cluster.mishap = [&cluster] { ::kill(cluster.processes[0], SIGSTOP); };
  const Exploration done = cluster.run();
  EXPECT_TRUE(done.finished);
  EXPECT_EQ(done.counts.simulated, 72u);
  EXPECT_EQ(cluster.front(done.space), expected());
  ASSERT_EQ(cluster.notices.size(), 1u);
  EXPECT_THAT(cluster.notices[0], HasSubstr("worker 0 is lost: it has been silent for 5 s"));
}

TEST(WorkerPool, EndsWhenNobodyIsLeftAndGoesOnLater) {
  Cluster cluster(2);
  cluster.options.prune = false;
  cluster.mishap = [&cluster] {
    for (const pid_t process : cluster.processes) ::kill(process, SIGKILL);
  };
  try {
    cluster.run();
    ADD_FAILURE() << "nobody was left";
  } catch (const description::DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no worker is left that simulates"));
  }
  const Exploration done = cluster.run();
  EXPECT_TRUE(done.finished);
  EXPECT_GE(done.counts.reused, 20u);
  EXPECT_EQ(done.counts.reused + done.counts.simulated, 72u);
  EXPECT_EQ(cluster.front(done.space), expected());
}

TEST(WorkerPool, StopsWhenItIsStopped) {
  Cluster cluster(2);
  bool stop = false;
  cluster.mishap = [&stop] { stop = true; };
  cluster.options.prune = false;
  cluster.options.stop = [&stop] { return stop; };
  const Exploration done = cluster.run();
  EXPECT_TRUE(done.stopped);
  EXPECT_FALSE(done.finished);
}

/// Commands that are not there, or that talk of something else first.
TEST(WorkerPool, StartsWorkersByCommands) {
  std::vector<std::string> notices;
  const auto note = [&notices](const std::string& notice) { notices.push_back(notice); };
  const std::string greets =
      "echo welcome to node17; read line; "
      "echo '{\"id\": 0, \"failure\": \"tired\", \"seconds\": 1}'; read line";
  WorkerPool pool({worker_of_command("nobody", {"/no/such/program"}),
                   worker_of_command("somebody", {"sh", "-c", greets})},
                  {1, false, 0, note});
  pool.send(7, nlohmann::json::object());
  std::vector<Delivery> delivered;
  while (delivered.empty()) delivered = pool.collect(0.1);
  EXPECT_EQ(delivered[0].number, 7u);
  EXPECT_EQ(delivered[0].outcome.failure, "tired");
  EXPECT_THAT(notices, ::testing::ElementsAre(HasSubstr("nobody is lost: its process ended")));
  EXPECT_EQ(pool.jobs(), 1u);
}

/// A worker of another release, or something that is none.
TEST(WorkerPool, SaysOfAnAnswerThatCannotBeReadWhoseItIs) {
  for (const std::string answer : {R"("errors": 3)", R"("failure": [])", R"("result": {"gpu": 7})",
                                   R"("failure": {}, "signal": "nine", "seconds": "long")"}) {
    const std::string speaks = "read line; echo '{\"id\": 0, " + answer + "}'; read line";
    WorkerPool pool({worker_of_command("node17", {"sh", "-c", speaks})}, {1, false, 0, {}});
    pool.send(7, nlohmann::json::object());
    std::vector<Delivery> delivered;
    while (delivered.empty()) delivered = pool.collect(0.1);
    EXPECT_THAT(delivered[0].outcome.failure, HasSubstr("the answer of node17 cannot be read"))
        << answer;
  }
}

}  // namespace
}  // namespace spillway::explore::worker_pool_test
