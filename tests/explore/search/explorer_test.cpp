#include "explore/search/explorer.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "explore/processes/child.hpp"
#include "strategies/counting/counting_machine.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/explore/spaces.hpp"
#include "tests/long_test.hpp"

namespace spillway::explore::explorer_test {
namespace {

/// A machine that does to a scenario what its seed asks for. Kills happen once: a file remembers.
Backend moody(const std::string& memory) {
  Backend backend{"counting", {}, [] {}};
  backend.open = [memory](const description::Scenario& scenario, bool) {
    const bool again = std::filesystem::exists(memory);
    if (scenario.run.seed == 1001) ::_exit(7);
    if (scenario.run.seed == 1002) ::sleep(1000);
    if (scenario.run.seed == 1003 && !again) {
      std::ofstream(memory) << "killed";
      std::raise(SIGKILL);
    }
    if (scenario.run.seed == 1004 && !again) {
      std::ofstream(memory) << "killed";
      ::kill(::getppid(), SIGKILL);
      ::sleep(1000);
    }
    if (scenario.run.seed == 1005) std::raise(SIGSEGV);
    return std::make_unique<strategies::CountingMachine>(scenario);
  };
  return backend;
}

/// A space, its database, and what exploring it gives.
struct Explored {
  explicit Explored(const std::string& text) : space(files.space(text)), points(space) {}

  Exploration run(const Backend& backend, ExploreOptions options = {}) {
    if (options.jobs == 0) options.jobs = 2;
    done = explore(backend, points, files.database(), options);
    Store store(files.database(), Database::Access::read);
    EXPECT_EQ(store.integrity(), "ok");
    rows = store.points(done.space);
    front = store.points(done.space, "front");
    for (const PointRow& point : front) EXPECT_TRUE(store.has_result(point.key)) << point.number;
    return done;
  }
  std::string reason(std::uint64_t number) const {
    for (const PointRow& row : rows)
      if (row.number == number) return row.verdict + ": " + row.reason;
    return "";
  }

  SpaceFiles files;
  scenarios::Space space;
  Points points;
  Exploration done;
  std::vector<PointRow> rows, front;
};

/// Nothing is pruned.
const ExploreOptions everything{.jobs = 2, .prune = false};

constexpr const char* batches = R"("training.micro_batch": [1, 2, 4, 8])";

TEST(Explore, FindsTheFrontOfBruteForce) {
  // step time against tokens per second: a larger batch takes longer and gives more
  Explored explored(R"({ "base": { "model": "gpt2", "machine": "gaming_4090",
      "run": { "steps": 1 }, "strategy": { "system": "zero_offload" } },
    "axes": {"training.micro_batch": [1, 2, 4], "machine.host.adam": ["1 Gparam/s", "2 Gparam/s"]},
    "objectives": { "step_time_s": "min", "throughput.tokens_per_s": "max" } })");
  explored.run(sim(), everything);
  EXPECT_TRUE(explored.done.finished);
  ASSERT_EQ(explored.rows.size(), 6u);
  std::vector<std::uint64_t> expected;
  for (const PointRow& one : explored.rows) {
    const auto beats = [&](const PointRow& other) {
      return other.number != one.number &&
             other.objectives["step_time_s"] <= one.objectives["step_time_s"] &&
             other.objectives["throughput.tokens_per_s"] >=
                 one.objectives["throughput.tokens_per_s"];
    };
    if (std::none_of(explored.rows.begin(), explored.rows.end(), beats))
      expected.push_back(one.number);
  }
  std::vector<std::uint64_t> found;
  for (const PointRow& one : explored.front) found.push_back(one.number);
  EXPECT_EQ(found, expected);
  EXPECT_GE(found.size(), 2u);
}

TEST(Explore, SimulatesNothingAgain) {
  Explored explored(space_over(batches));
  EXPECT_EQ(explored.run(sim(), everything).counts.simulated, 4u);
  const auto first = explored.front;
  const Exploration again = explored.run(sim(), everything);
  EXPECT_EQ(again.counts.simulated, 0u);
  EXPECT_EQ(again.counts.reused, 4u);
  EXPECT_TRUE(again.finished);
  ASSERT_EQ(explored.front.size(), first.size());
  EXPECT_EQ(explored.front[0].key, first[0].key);
}

TEST(Explore, ReusesPointsOfASmallerSpaceWithFewerAxes) {
  Explored explored(space_over(batches));
  explored.run(sim(), everything);
  const auto larger = explored.files.space(
      space_over(R"("training.micro_batch": [1, 2, 4, 8, 16], "training.sequence": [512, 1024])"));
  const Points points(larger);
  const description::Training defaults;
  const bool known = defaults.sequence == 512 || defaults.sequence == 1024;
  const Exploration done = explore(sim(), points, explored.files.database(), everything);
  EXPECT_EQ(done.counts.reused, known ? 4u : 0u);
  EXPECT_EQ(done.counts.simulated, known ? 6u : 10u);
}

TEST(Explore, FindsTheSameWithAnyNumberOfWorkers) {
  std::vector<std::vector<PointRow>> fronts;
  for (const std::size_t jobs : {1, 3, 7}) {
    Explored explored(space_over(R"("training.micro_batch": [1, 2, 4, 8], "run.seed": [1, 2, 3])"));
    explored.run(sim(), {.jobs = jobs, .prune = false});
    fronts.push_back(explored.front);
  }
  // twelve points of which three are equal and fastest: the same one stands for them
  ASSERT_EQ(fronts[0].size(), 1u);
  for (const auto& front : fronts) {
    ASSERT_EQ(front.size(), 1u);
    EXPECT_EQ(front[0].number, fronts[0][0].number);
  }
}

TEST(Explore, MakesARowOfWhatCrashesHangsOrContradictsItself) {
  Explored explored(space_over(R"("run.seed": [1, 1001, 1002, 1005], "parallel.data": [1, 2])"));
  const Exploration done =
      explored.run(moody(explored.files.path("memory")), {.jobs = 2, .limit_s = 3, .prune = false});
  EXPECT_TRUE(done.finished);
  EXPECT_EQ(done.counts.points, 8u);
  EXPECT_EQ(done.counts.failed, 3u);
  EXPECT_EQ(done.counts.refused, 4u);
  EXPECT_EQ(explored.reason(0), "accepted: ");
  EXPECT_EQ(explored.reason(2), "failed: a bug of spillway: the simulation ended without a result");
  EXPECT_EQ(explored.reason(4), "failed: the simulation exceeded its time limit");
  EXPECT_EQ(explored.reason(6),
            "failed: a bug of spillway: the simulation was ended by signal Segmentation fault");
  EXPECT_EQ(explored.reason(1).substr(0, 43), "refused: parallel: data 2 x tensor 1 x pipe");
  // a failure comes with what failed
  Store store(explored.files.database(), Database::Access::read);
  EXPECT_EQ(store.result(explored.rows[2].key)["scenario"]["run"]["seed"], 1001);
}

TEST(Explore, TriesWhatWasKilledFromOutsideOnceMore) {
  for (const int seed : {1003, 1004}) {
    Explored explored(space_over("\"run.seed\": [1, 2, " + std::to_string(seed) + ", 3]"));
    const Exploration done = explored.run(moody(explored.files.path("memory")), everything);
    EXPECT_TRUE(std::filesystem::exists(explored.files.path("memory")));
    EXPECT_TRUE(done.finished);
    EXPECT_EQ(done.counts.failed, 0u);
    EXPECT_EQ(explored.rows.size(), 4u);
  }
}

TEST(Explore, StopsWhenAskedAndGoesOnLater) {
  Explored explored(space_over(R"("run.seed": {"from": 1, "to": 300})"));
  ExploreOptions options = everything;
  std::uint64_t seen = 0;
  options.progress = [&seen](const Progress& progress) { seen = progress.done; };
  options.stop = [&seen] { return seen >= 10; };
  const Exploration stopped = explored.run(moody("none"), options);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_FALSE(stopped.finished);
  EXPECT_GE(explored.rows.size(), 10u);
  EXPECT_LT(explored.rows.size(), 300u);
  const std::size_t before = explored.rows.size();
  const Exploration rest = explored.run(moody("none"), everything);
  EXPECT_TRUE(rest.finished);
  EXPECT_EQ(rest.counts.reused, before);
  EXPECT_EQ(rest.counts.simulated, 300 - before);
}

TEST(Explore, StopsWhenItsTimeIsOver) {
  LONG_TEST();
  Explored explored(space_over(R"("run.seed": {"from": 1, "to": 100000})"));
  const Exploration done = explored.run(moody("none"), {.jobs = 2, .budget_s = 3, .prune = false});
  EXPECT_FALSE(done.finished);
  EXPECT_FALSE(done.stopped);
  EXPECT_LT(done.seconds, 30);
  EXPECT_GT(explored.rows.size(), 0u);
}

/// As one whose plugin is missing: that is the device's error, not each point's.
TEST(Explore, EndsWhenItsWorkerCannotStart) {
  Explored explored(space_over(batches));
  Backend backend = moody("none");
  backend.prepare = [] { throw description::DeviceError("no simulator"); };
  EXPECT_THROW(explored.run(backend, everything), description::DeviceError);
  Store store(explored.files.database(), Database::Access::read);
  EXPECT_EQ(store.points(1).size(), 0u);
}

/// Each second another process reads how far it is.
TEST(Explore, SaysInItsDatabaseHowFarItIs) {
  LONG_TEST();
  Explored explored(space_over(R"("run.seed": {"from": 1, "to": 100000})"));
  ExploreOptions options = everything;
  std::optional<RunRow> seen;
  Counts counts;
  options.progress = [&](const Progress& progress) {
    // a busy machine may have done nothing yet when it first looks
    if ((seen && seen->done > 0) || progress.seconds < 1.5) return;
    Store watcher(explored.files.database(), Database::Access::read);
    seen = watcher.run(1);
    counts = watcher.spaces().at(0).counts;
  };
  options.budget_s = 3;
  explored.run(moody("none"), options);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->process, ::getpid());
  EXPECT_EQ(seen->points, 100000u);
  EXPECT_GT(seen->done, 0u);
  EXPECT_LT(seen->silent_s, 2);
  EXPECT_FALSE(seen->ended);
  EXPECT_GT(counts.simulated, 0u);
  Store store(explored.files.database(), Database::Access::read);
  EXPECT_TRUE(store.run(1)->ended);
}

/// Who filled it last and says nothing any more does not count, nor one that is not there.
TEST(Explore, RefusesADatabaseThatAnotherProcessFills) {
  Explored explored(space_over(batches));
  explored.run(moody("none"), everything);
  const std::string host = [&] {
    Store store(explored.files.database(), Database::Access::read);
    return store.run(1)->host;
  }();
  const auto filled_by = [&](const std::string& by, std::int64_t process, bool ended) {
    Store store(explored.files.database(), Database::Access::write);
    store.begin_run(1, by, process, 4);
    store.beat(1, 3, ended);
    store.commit();
  };
  filled_by(host, ::getppid(), false);
  try {
    explored.run(moody("none"), everything);
    FAIL() << "two fill it";
  } catch (const description::ScenarioError& error) {
    EXPECT_NE(error.complaints().at(0).message.find("is filling it: 3 of 4 points"),
              std::string::npos)
        << error.what();
  }
  filled_by("another host", 1, false);
  EXPECT_THROW(explored.run(moody("none"), everything), description::ScenarioError);
  filled_by(host, ::getppid(), true);
  EXPECT_TRUE(explored.run(moody("none"), everything).finished);
  const pid_t killed = ::fork();
  if (killed == 0) ::_exit(0);
  siginfo_t how;  // it has ended, and nobody was told how yet
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(killed), &how, WEXITED | WNOWAIT), 0);
  filled_by(host, killed, false);
  EXPECT_TRUE(explored.run(moody("none"), everything).finished);
  ::waitpid(killed, nullptr, 0);
  filled_by(host, (1 << 22) + 1, false);  // beyond the largest number of a process
  EXPECT_TRUE(explored.run(moody("none"), everything).finished);
}

/// Explores in a process of its own that writes how many points are in the database for good.
Child explore_in_a_child(const Points& points, const std::string& database, int acknowledged) {
  return start_child([&points, &database, acknowledged] {
    ExploreOptions options = everything;
    options.progress = [acknowledged](const Progress& progress) {
      const std::uint64_t kept = progress.kept;
      write_all(acknowledged, {reinterpret_cast<const char*>(&kept), sizeof kept});
    };
    explore(moody("none"), points, database, options);
    return std::string("done");
  });
}

/// How often: a handful, or what SPILLWAY_KILLS says.
int kills() {
  const char* wanted = std::getenv("SPILLWAY_KILLS");
  return wanted ? std::atoi(wanted) : 4;
}

TEST(Explore, LosesNothingWhenItIsKilled) {
  LONG_TEST();
  std::mt19937 random(7);
  for (int round = 0; round < kills(); ++round) {
    Explored explored(space_over(R"("run.seed": {"from": 1, "to": 120})"));
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    Child child = explore_in_a_child(explored.points, explored.files.database(), ends[1]);
    ::close(ends[1]);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 400));
    ::kill(child.pid, SIGKILL);
    reap(child);
    std::uint64_t acknowledged = 0, kept = 0;
    while (::read(ends[0], &kept, sizeof kept) == sizeof kept) acknowledged = kept;
    ::close(ends[0]);
    std::size_t before = 0;
    {
      Store store(explored.files.database(), Database::Access::write);
      EXPECT_EQ(store.integrity(), "ok");
      if (!store.spaces().empty()) before = store.points(1).size();
    }
    EXPECT_GE(before, acknowledged);
    const Exploration rest = explored.run(moody("none"), everything);
    EXPECT_EQ(rest.counts.reused, before);
    EXPECT_EQ(explored.rows.size(), 120u);
    EXPECT_EQ(explored.front.size(), 1u);
  }
}

/// The processes that `parent` started and that are still there.
std::vector<pid_t> children_of(pid_t parent) {
  const std::string id = std::to_string(parent);
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  return {std::istream_iterator<pid_t>(list), std::istream_iterator<pid_t>()};
}

/// The small process goes at any moment, also while a scenario is on its way to it.
TEST(Explore, LosesNothingWhenItsSmallProcessIsKilled) {
  LONG_TEST();
  std::mt19937 random(11);
  for (int round = 0; round < kills(); ++round) {
    Explored explored(space_over(R"("run.seed": {"from": 1, "to": 60})"));
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    Child child = explore_in_a_child(explored.points, explored.files.database(), ends[1]);
    ::close(ends[1]);
    std::vector<pid_t> small;
    while ((small = children_of(child.pid)).empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 200'000));
    ::kill(small.front(), SIGKILL);
    while (read_some(child)) {
    }
    EXPECT_EQ(child.text, "done");
    reap(child);
    ::close(ends[0]);
    const Exploration again = explored.run(moody("none"), everything);
    EXPECT_EQ(again.counts.reused, 60u);
    for (const PointRow& row : explored.rows) EXPECT_EQ(row.verdict, "accepted") << row.reason;
  }
}

}  // namespace
}  // namespace spillway::explore::explorer_test
