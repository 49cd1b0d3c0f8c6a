#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "cli/from_database.hpp"
#include "explore/points/reprice.hpp"
#include "explore/search/explorer.hpp"
#include "explore/workers/fork_server.hpp"
#include "strategies/counting/counting_machine.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/explore/spaces.hpp"
#include "tests/long_test.hpp"

/// What could not be simulated is no answer: it is told, stored as that, and tried again.
namespace spillway::explore::unanswered_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* tiny = R"({ "model": "gpt2", "machine": "gaming_4090",
  "run": { "steps": 1 }, "strategy": { "system": "zero_offload" } })";

description::Scenario with_batch(int batch) {
  return scenarios::read_scenario(nlohmann::json::parse(tiny),
                                  {"training.micro_batch=" + std::to_string(batch)},
                                  known_systems())
      .scenario;
}

/// Ends the first `times` simulations of micro-batch 2 as `end` does.
Backend unlucky(const std::string& memory, std::size_t times, void (*end)()) {
  Backend backend{"counting", {}, [] {}};
  backend.open = [=](const description::Scenario& scenario, bool) {
    const auto before = std::filesystem::exists(memory) ? std::filesystem::file_size(memory) : 0;
    if (scenario.training.micro_batch == 2 && before < times) {
      std::ofstream(memory, std::ios::app) << 'x';
      end();
    }
    return std::make_unique<strategies::CountingMachine>(scenario);
  };
  return backend;
}
void is_killed() { std::raise(SIGKILL); }
void has_no_memory() { throw std::bad_alloc(); }

std::vector<description::Scenario> three() { return {with_batch(1), with_batch(2), with_batch(4)}; }

TEST(SimulateAll, TriesAgainWhatTheSystemKilled) {
  const scenarios::TemporaryFiles files;
  const auto once = simulate_all(unlucky(files.path("once"), 1, is_killed), three(), 2);
  EXPECT_TRUE(once[0].result && once[1].result && once[2].result);
  std::vector<std::string> told;
  std::uint64_t unanswered = 0;
  Backend backend = unlucky(files.path("twice"), 2, is_killed);
  backend.on_unanswered = [&told](const std::string& why) { told.push_back(why); };
  const auto twice = simulate_all(counting(backend, unanswered), three(), 2);
  EXPECT_FALSE(twice[1].answered());
  EXPECT_EQ(twice[1].failure, "the simulation was ended by signal Killed");
  EXPECT_EQ(told, std::vector<std::string>{twice[1].failure});
  EXPECT_EQ(unanswered, 1u);
  EXPECT_TRUE(twice[0].answered() && twice[2].answered());
}

TEST(SimulateAll, SaysThatThereWasNoMemoryAndCallsItNoBug) {
  const scenarios::TemporaryFiles files;
  const auto outcomes = simulate_all(unlucky(files.path("a"), 9, has_no_memory), three(), 2);
  EXPECT_EQ(outcomes[1].failure, "the simulation ran out of memory");
  EXPECT_TRUE(outcomes[0].result);
}

/// No process more than there are now: nobody but root may start one beyond it.
class NoProcess {
 public:
  NoProcess() {
    ::getrlimit(RLIMIT_NPROC, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NPROC, &none);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    works_ = child < 0;
    if (child > 0) ::waitpid(child, nullptr, 0);
  }
  ~NoProcess() { ::setrlimit(RLIMIT_NPROC, &before_); }
  bool works() const { return works_; }

 private:
  rlimit before_{};
  bool works_ = false;
};

TEST(ChildPool, SaysOfAllThatIsLeftThatThereIsNoProcess) {
  const NoProcess limit;
  if (!limit.works()) GTEST_SKIP() << "root starts processes beyond the limit";
  const auto pieces = in_children(1000, [](std::size_t) { return std::string("done"); }, 4, 60, {});
  for (const Piece& piece : pieces) EXPECT_EQ(piece.end, Piece::End::not_started);
  EXPECT_THAT(outcome_of(pieces.front()).failure,
              StartsWith("no process for the simulation: fork: "));
}

TEST(Starts, GiveUpOnceThereWereNoProcessesForSomeSeconds) {
  LONG_TEST();
  Starts starts;
  const Starts other;
  EXPECT_EQ(starts.tries(), 5);
  const auto begin = std::chrono::steady_clock::now();
  while (seconds_since(begin) < 3.2) {
    starts.refused();
    EXPECT_EQ(starts.tries(), 1);
    ::usleep(100'000);
  }
  Backend backend{"sim", {}, [] {}};
  EXPECT_TRUE(backend.goes_on());
  backend.starts = starts;
  EXPECT_FALSE(backend.goes_on());
  EXPECT_FALSE(Backend(backend).goes_on()) << "copies share it";
  EXPECT_EQ(other.tries(), 5) << "others do not";
  starts.succeeded();
  EXPECT_TRUE(backend.goes_on());
  starts.refused();
  EXPECT_TRUE(backend.goes_on()) << "one refusal, long after the others";
}

TEST(Explore, TriesAgainWhatFailedAndSaysThatItIsNotFinished) {
  const SpaceFiles files;
  const scenarios::Space space = files.space(std::string("{ \"base\": ") + tiny + R"(,
    "axes": { "training.micro_batch": [1, 2, 4, 8] },
    "objectives": { "step_time_s": "min", "throughput.tokens_per_s": "max" } })");
  const Points points(space);
  const Backend backend = unlucky(files.database() + ".killed", 2, is_killed);
  const ExploreOptions everything{.jobs = 2, .prune = false};
  const Exploration first = explore(backend, points, files.database(), everything);
  EXPECT_EQ(first.counts.failed, 1u);
  const auto look = [&] {
    Store store(files.database(), Database::Access::read);
    return std::tuple(store.spaces().at(0).finished, store.points(first.space, "front").size(),
                      store.points(first.space, "verdict = 'failed'").size());
  };
  EXPECT_EQ(look(), std::tuple(false, 1u, 1u));
  const Exploration second = explore(backend, points, files.database(), everything);
  EXPECT_EQ(second.counts.simulated, 1u);
  EXPECT_EQ(second.counts.reused, 3u);
  EXPECT_EQ(second.counts.failed, 0u);
  EXPECT_EQ(look(), std::tuple(true, 1u, 0u));
  Store store(files.database(), Database::Access::read);
  for (const PointRow& point : store.points(second.space, "front"))
    EXPECT_TRUE(store.result(point.key).contains("step_time_s")) << point.number;
}

TEST(Store, SaysOfRowsThatHoldNoJsonThatTheFileIsDamaged) {
  const SpaceFiles files;
  {
    Store store(files.database(), Database::Access::write);
    SpaceRow row;
    row.id = "a";
    row.name = "a space";
    store.begin_space(row);
  }
  for (const std::string& axes :
       {std::string("'['"), std::string("x'ff'"), "'" + std::string(100, '[') + "'"}) {
    Database(files.database(), Database::Access::write).execute("UPDATE spaces SET axes = " + axes);
    Store store(files.database(), Database::Access::read);
    try {
      store.spaces();
      ADD_FAILURE() << axes;
    } catch (const description::DeviceError& error) {
      EXPECT_THAT(error.what(), HasSubstr(".recover"));
    }
  }
}

/// What `read` says of a file whose rows do not go together.
template <class Read>
std::string damage_found(const SpaceFiles& files, const Read& read) {
  try {
    cli::from_database(files.database(), [&] {
      Store store(files.database(), Database::Access::read);
      read(store);
    });
  } catch (const description::DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST(Store, SaysOfAnObjectiveWithoutAPathThatTheFileIsDamaged) {
  const SpaceFiles files;
  {
    Store store(files.database(), Database::Access::write);
    SpaceRow row;
    row.id = "a", row.name = "a space";
    store.begin_space(row);
  }
  for (const std::string objectives : {"[[]]", R"([["step_time_s"]])", "[5]", R"(["min"])"}) {
    Database(files.database(), Database::Access::write)
        .execute("UPDATE spaces SET objectives = '" + objectives + "'");
    EXPECT_THAT(damage_found(files, [](Store& store) { store.spaces(); }), HasSubstr(".recover"))
        << objectives;
  }
}

TEST(Reprice, SaysOfAConstraintThatIsNoExpressionThatTheFileIsDamaged) {
  const SpaceFiles files;
  {
    Store store(files.database(), Database::Access::write);
    SpaceRow row;
    row.id = "a", row.name = "a space", row.constraints = {"price_usd <"};
    const std::int64_t space = store.begin_space(row);
    const auto empty = nlohmann::json::object();
    store.put(space, PointRow{0, "key", empty, "accepted", "", empty, true});
    store.put_result("key", {{"scenario", {{"machine", {{"prices_usd", empty}}}}}});
    store.commit();
  }
  const auto found = damage_found(files, [](Store& store) {
    reprice(store, store.spaces().at(0), {{"dram", 3, "", ""}});
  });
  EXPECT_THAT(found, HasSubstr("a number, a name or a bracket"));
  EXPECT_THAT(found, HasSubstr(".recover"));
}

TEST(Reprice, RefusesASpaceOfMachinesWithoutPrices) {
  for (const nlohmann::json& prices : {nlohmann::json(), nlohmann::json(3)}) {
    const SpaceFiles files;
    Store store(files.database(), Database::Access::write);
    SpaceRow row;
    row.id = "a", row.name = "a space";
    const std::int64_t space = store.begin_space(row);
    const auto empty = nlohmann::json::object();
    store.put(space, PointRow{0, "key", empty, "accepted", "", empty, true});
    store.put_result("key", {{"scenario", {{"machine", {{"prices_usd", prices}}}}}});
    store.commit();
    try {
      reprice(store, store.spaces().at(0), {{"dram", 3, "", ""}});
      ADD_FAILURE() << prices;
    } catch (const description::ScenarioError& error) {
      EXPECT_THAT(error.what(), HasSubstr("have no prices"));
    }
  }
}

TEST(ReadRequest, RefusesDepthAndAKeyThatStandsTwice) {
  const auto complaint = [](const std::string& line) {
    return read_request(line).complaints.at(0).message;
  };
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(complaint("{\"id\": " + deep + "}"), StartsWith("nested deeper than 64 levels"));
  EXPECT_THAT(complaint(R"({"id": 1, "scenario": {"model": "a", "model": "b"}})"),
              HasSubstr("\"model\" stands twice"));
  EXPECT_THAT(complaint("{"), testing::StrEq("is no JSON"));
}

}  // namespace
}  // namespace spillway::explore::unanswered_test
