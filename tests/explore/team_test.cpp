#include "explore/team.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <thread>

#include "tests/explore/simulator.hpp"
#include "tests/explore/spaces.hpp"

namespace spillway::explore::team_test {
namespace {

/// 72 points, three objectives, a front of several.
constexpr const char* wide = R"({ "base": { "model": "gpt2", "machine": "gaming_4090",
    "run": { "steps": 1 }, "strategy": { "system": "zero_offload" } },
  "axes": { "training.micro_batch": { "from": 1, "to": 12 },
            "machine.host.adam": ["0.5 Gparam/s", "1 Gparam/s"],
            "machine.storage.nvme.count": { "from": 1, "to": 3 } },
  "constraints": ["feasible", "training.micro_batch != 2"],
  "objectives": { "step_time_s": "min", "throughput.tokens_per_s": "max", "price_usd": "min" } })";

/// Letters between threads of this process. A rank that is cut off neither sends nor receives.
struct Post {
  explicit Post(std::size_t count) : boxes(count), cut(count) {}
  std::mutex mutex;
  std::vector<std::deque<Letter>> boxes;
  std::vector<std::atomic<bool>> cut;
};

class PostMessenger final : public Messenger {
 public:
  PostMessenger(Post& post, std::size_t rank) : post_(post), rank_(rank) {}
  std::size_t rank() const override { return rank_; }
  std::size_t ranks() const override { return post_.boxes.size(); }
  void send(std::size_t to, std::string text) override {
    if (post_.cut[rank_] || post_.cut[to]) return;
    const std::lock_guard lock(post_.mutex);
    post_.boxes[to].push_back({rank_, std::move(text)});
  }
  std::optional<Letter> receive() override {
    const std::lock_guard lock(post_.mutex);
    auto& box = post_.boxes[rank_];
    if (box.empty() || post_.cut[rank_]) return std::nullopt;
    Letter letter = std::move(box.front());
    box.pop_front();
    return letter;
  }
  void leave() override { left = true; }

  bool left = false;

 private:
  Post& post_;
  std::size_t rank_;
};

/// The ranks of a job, one a thread, with outposts that were started before the threads.
class Ranks {
 public:
  explicit Ranks(std::size_t count, const char* text = wide)
      : space(files.space(text)), points(space), post(count) {
    options.jobs = 1;
    options.silence_s = 2;
    options.progress = [this](const Progress& progress) {
      if (mishap && progress.counts.simulated >= 20) std::exchange(mishap, {})();
    };
    options.notice = [this](const std::string& notice) { notices.push_back(notice); };
    for (std::size_t rank = 0; rank < count; ++rank) outposts.push_back(outpost(points));
  }

  std::unique_ptr<Outpost> outpost(const Points& of) const {
    return std::make_unique<Outpost>(sim(), of, 1, 60);
  }

  Exploration run() {
    std::vector<std::thread> others;
    ended.assign(outposts.size(), "");
    for (std::size_t rank = 1; rank < outposts.size(); ++rank)
      others.emplace_back([this, rank] {
        PostMessenger messenger(post, rank);
        try {
          relay(*outposts[rank], messenger, options);
          ended[rank] = messenger.left ? "left" : "ended";
        } catch (const description::DeviceError& error) {
          ended[rank] = error.what();
        }
      });
    Exploration done;
    try {
      const Measures measures(points);
      Store store(files.database(), Database::Access::write);
      PostMessenger messenger(post, 0);
      ExploreOptions own = options;
      if (stopped) own.stop = stopped;
      Team team(points, measures, store, files.database(), *outposts[0], messenger, own);
      done = search(points, measures, store, team, own);
    } catch (const description::DeviceError& error) {
      ended[0] = error.what();
      post.cut[0] = true;
    }
    for (std::thread& other : others) other.join();
    return done;
  }

  void kill_outpost(std::size_t rank) { ::kill(outposts[rank]->pid(), SIGKILL); }

  std::vector<std::string> front(std::int64_t of, bool whole = true) const {
    Store store(files.database(), Database::Access::read);
    EXPECT_EQ(store.integrity(), "ok");
    std::vector<std::string> rows;
    for (const PointRow& row : store.points(of, "front")) {
      rows.push_back(std::to_string(row.number) + " " + row.key + " " + row.objectives.dump());
      EXPECT_EQ(store.has_result(row.key) || !whole, true) << row.number;
    }
    return rows;
  }

  SpaceFiles files;
  scenarios::Space space;
  Points points;
  Post post;
  ExploreOptions options;
  std::function<void()> mishap;   ///< happens after 20 simulations
  std::function<bool()> stopped;  ///< rank 0 alone
  std::vector<std::string> notices, ended;
  std::vector<std::unique_ptr<Outpost>> outposts;
};

/// The front as one process finds it.
const std::vector<std::string>& expected() {
  static const std::vector<std::string> front = [] {
    Ranks alone(0);
    const Exploration done = explore(sim(), alone.points, alone.files.database(), {.jobs = 2});
    return alone.front(done.space);
  }();
  return front;
}

TEST(Team, FindsTheFrontOfASingleProcess) {
  ASSERT_GE(expected().size(), 5u);
  for (const std::size_t count : {1, 2, 3}) {
    Ranks ranks(count);
    const Exploration done = ranks.run();
    EXPECT_TRUE(done.finished);
    EXPECT_EQ(ranks.front(done.space), expected()) << count;
    EXPECT_EQ(done.counts.points, 72u);
    EXPECT_EQ(done.counts.pruned + done.counts.simulated, 72u);
    EXPECT_THAT(ranks.notices, ::testing::IsEmpty());
    for (std::size_t rank = 1; rank < count; ++rank) {
      EXPECT_EQ(ranks.ended[rank], "left");
      Store shard(ranks.files.database() + "." + std::to_string(rank), Database::Access::read);
      EXPECT_GT(shard.points(1).size(), 0u) << rank;
    }
  }
}

TEST(Team, FindsTheSameByEverySearch) {
  for (const Search how : {Search::sobol, Search::nsga2}) {
    std::vector<std::vector<std::string>> fronts;
    for (const std::size_t count : {1, 2}) {
      Ranks ranks(count);
      ranks.options.search = how;
      ranks.options.samples = 128;
      fronts.push_back(ranks.front(ranks.run().space));
    }
    EXPECT_EQ(fronts[0], fronts[1]);
    EXPECT_GE(fronts[0].size(), 1u);
  }
}

TEST(Team, DoesThePointsOfARankThatFallsSilent) {
  Ranks ranks(2);
  ranks.options.prune = false;
  ranks.mishap = [&ranks] { ranks.post.cut[1] = true; };
  const Exploration done = ranks.run();
  EXPECT_TRUE(done.finished);
  EXPECT_EQ(done.counts.simulated, 72u);
  EXPECT_EQ(ranks.front(done.space), expected());
  ASSERT_EQ(ranks.notices.size(), 1u);
  EXPECT_THAT(ranks.notices[0], ::testing::HasSubstr("rank 1 is lost: it has been silent for"));
  EXPECT_THAT(ranks.ended[1], ::testing::HasSubstr("rank 0 has been silent for"));
}

TEST(Team, DoesThePointsOfARankWhoseProcessWasKilled) {
  for (const std::size_t victim : {0, 1}) {
    Ranks ranks(2);
    ranks.options.prune = false;
    ranks.mishap = [&ranks, victim] { ranks.kill_outpost(victim); };
    const Exploration done = ranks.run();
    EXPECT_TRUE(done.finished);
    EXPECT_EQ(done.counts.simulated, 72u);
    // without a process of its own rank 0 cannot complete what only a lost one could have
    EXPECT_EQ(ranks.front(done.space, victim != 0), expected());
    ASSERT_EQ(ranks.notices.size(), 1u) << victim;
    EXPECT_THAT(ranks.notices[0], ::testing::HasSubstr("its process was ended"));
  }
}

TEST(Team, EndsWhenNobodyIsLeftAndGoesOnLater) {
  Ranks ranks(2);
  ranks.options.prune = false;
  ranks.mishap = [&ranks] { ranks.kill_outpost(0), ranks.kill_outpost(1); };
  ranks.run();
  EXPECT_THAT(ranks.ended[0], ::testing::HasSubstr("no rank is left that simulates"));
  // what the shards have is not simulated again, even when the database of rank 0 is gone
  for (const char* part : {"", "-wal", "-shm"})
    std::filesystem::remove(ranks.files.database() + part);
  for (auto& outpost : ranks.outposts) outpost = ranks.outpost(ranks.points);
  ranks.post.cut[0] = false;
  for (auto& box : ranks.post.boxes) box.clear();
  const Exploration done = ranks.run();
  EXPECT_TRUE(done.finished);
  EXPECT_GE(done.counts.reused, 20u);
  EXPECT_EQ(done.counts.reused + done.counts.simulated, 72u);
  EXPECT_EQ(ranks.front(done.space), expected());
}

TEST(Team, StopsTheOthersWhenItIsStopped) {
  Ranks ranks(2);
  ranks.options.silence_s = 1000;
  bool stop = false;
  ranks.mishap = [&stop] { stop = true; };
  ranks.stopped = [&stop] { return stop; };
  const Exploration done = ranks.run();
  EXPECT_TRUE(done.stopped);
  EXPECT_FALSE(done.finished);
  EXPECT_EQ(ranks.ended[1], "ended");
}

TEST(Team, GivesUpARankWithAnotherSpace) {
  Ranks ranks(2);
  const SpaceFiles others;
  const auto other = others.space(space_over(R"("run.seed": [1, 2])"));
  const Points points(other);
  ranks.outposts[1] = ranks.outpost(points);
  const Exploration done = ranks.run();
  EXPECT_EQ(ranks.front(done.space), expected());
  ASSERT_EQ(ranks.notices.size(), 1u);
  EXPECT_THAT(ranks.notices[0],
              ::testing::HasSubstr("rank 1 is lost: its space file is not that of rank 0; 0 of"));
}

TEST(Team, ReusesScenariosThatAnotherSpaceAskedFor) {
  Ranks ranks(2, R"({ "base": { "model": "gpt2", "machine": "gaming_4090", "run": { "steps": 1 },
      "strategy": { "system": "resident" } }, "axes": { "training.micro_batch": [1, 2, 4, 8] },
    "objectives": { "step_time_s": "min" } })");
  const SpaceFiles files;
  const auto smaller = files.space(space_over(R"("training.micro_batch": [2, 4])"));
  const Points points(smaller);
  explore(sim(), points, ranks.files.database(), {.jobs = 1, .prune = false});
  ranks.options.prune = false;
  const Exploration done = ranks.run();
  EXPECT_EQ(done.counts.reused, 2u);
  EXPECT_EQ(done.counts.simulated, 2u);
}

}  // namespace
}  // namespace spillway::explore::team_test
