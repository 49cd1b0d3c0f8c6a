#include "explore/store/store.hpp"

#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace spillway::explore {
namespace {

using nlohmann::json;
using Access = Database::Access;

class StoreFile : public ::testing::Test {
 protected:
  std::string file() const { return files_.path("results.db"); }
  SpaceRow space(const std::string& id) const {
    SpaceRow row;
    row.id = id;
    row.name = "a space";
    row.axes = {"training.micro_batch", "box"};
    row.objectives = {{"step_time_s", true}, {"price_usd", false}};
    row.constraints = {"feasible"};
    return row;
  }
  PointRow point(std::uint64_t number, bool front = false) const {
    return {number,
            "key" + std::to_string(number),
            {{"training.micro_batch", number}, {"box", "it's \"big\""}},
            "accepted",
            "",
            {{"step_time_s", 1.5}},
            front};
  }

 private:
  scenarios::TemporaryFiles files_;
};

TEST_F(StoreFile, GivesBackWhatWasCommitted) {
  {
    Store store(file(), Access::write);
    const std::int64_t number = store.begin_space(space("a"));
    store.put("key3", ScenarioRow{"fits", "", {{"step_time_s", 1.5}}, 0.25});
    EXPECT_FALSE(store.has_points(number));
    store.put(number, point(3));
    EXPECT_TRUE(store.has_points(number));
    store.put_pruned(number, 4, 9);
    store.put_counts(number, {10, 9, 6, 1, 2, 3, 4}, true);
    store.commit();
    store.put("lost", ScenarioRow{"fits", "", json::object(), 0});
    EXPECT_TRUE(store.writing());
  }
  Store store(file(), Access::read);
  EXPECT_EQ(store.integrity(), "ok");
  EXPECT_FALSE(store.find("lost"));
  const auto row = store.find("key3");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->numbers.dump(), R"({"step_time_s":1.5})");
  EXPECT_EQ(row->seconds, 0.25);
  const auto spaces = store.spaces();
  ASSERT_EQ(spaces.size(), 1u);
  EXPECT_EQ(spaces[0].axes, space("a").axes);
  EXPECT_FALSE(spaces[0].objectives.at(1).smaller);
  EXPECT_EQ(spaces[0].counts.failed, 4u);
  EXPECT_TRUE(spaces[0].finished);
  const auto known = store.point(1, 3);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->point, point(3).point);
  EXPECT_FALSE(store.point(1, 4));
  EXPECT_FALSE(store.point(2, 3));
}

TEST_F(StoreFile, KnowsASpaceAgainByItsId) {
  Store store(file(), Access::write);
  EXPECT_EQ(store.begin_space(space("a")), 1);
  EXPECT_EQ(store.begin_space(space("b")), 2);
  EXPECT_EQ(store.begin_space(space("a")), 1);
  EXPECT_EQ(store.spaces().size(), 2u);
}

TEST_F(StoreFile, KeepsAResultAsLongAsSomeFrontHasIt) {
  Store store(file(), Access::write);
  const std::int64_t one = store.begin_space(space("a")), other = store.begin_space(space("b"));
  store.put(one, point(3));
  store.put(other, point(3));
  store.put_result("key3", {{"step_time_s", 1.5}});
  store.set_front(one, 3, "key3", true);
  store.set_front(other, 3, "key3", true);
  store.keep_front(one, {});
  EXPECT_TRUE(store.has_result("key3"));
  EXPECT_EQ(store.points(one, "front").size(), 0u);
  store.keep_front(other, {3});
  EXPECT_TRUE(store.has_result("key3"));
  store.set_front(other, 3, "key3", false);
  EXPECT_FALSE(store.has_result("key3"));
  EXPECT_TRUE(store.result("key3").is_null());
}

TEST_F(StoreFile, HasViewsWithAColumnForEachAxisAndObjective) {
  {
    Store store(file(), Access::write);
    const std::int64_t number = store.begin_space(space("a"));
    store.put(number, point(1));
    store.put(number, point(2));
    store.set_front(number, 2, "key2", true);
    store.commit();
  }
  const Database database(file(), Access::read);
  Statement read =
      database.prepare("SELECT \"training.micro_batch\", box, step_time_s, price_usd FROM front");
  ASSERT_TRUE(read.step());
  EXPECT_EQ(read.integer(0), 2);
  EXPECT_EQ(read.text(1), "it's \"big\"");
  EXPECT_EQ(read.number(2), 1.5);
  EXPECT_FALSE(read.number(3));
  EXPECT_FALSE(read.step());
  Statement count = database.prepare("SELECT count(*) FROM points");
  ASSERT_TRUE(count.step());
  EXPECT_EQ(count.integer(0), 2);
}

TEST_F(StoreFile, TakesOverWhatAnotherOneKnows) {
  const std::string other = file() + ".other";
  {
    Store store(other, Access::write);
    for (const char* key : {"both", "there"})
      store.put(key, ScenarioRow{"fits", "", {{"step_time_s", 1}}, 0});
    store.put_result("there", {{"step_time_s", 1}});
    store.commit();
  }
  Store store(file(), Access::write);
  store.put("both", ScenarioRow{"fits", "", {{"step_time_s", 2}}, 0});
  EXPECT_EQ(store.take_over(other), 1u);
  EXPECT_EQ(store.take_over(other), 0u);
  EXPECT_EQ(store.find("both")->numbers["step_time_s"], 2);
  EXPECT_TRUE(store.has_result("there"));
  EXPECT_EQ(store.integrity(), "ok");
  EXPECT_THROW(store.take_over(file() + ".none"), description::ScenarioError);
}

TEST_F(StoreFile, CallsWhileItTakesOver) {
  const std::string other = file() + ".0";
  {
    Store store(other, Access::write);
    for (int i = 0; i < 20'000; ++i)
      store.put("key" + std::to_string(i), ScenarioRow{"fits", "", json::object(), 0});
    store.commit();
  }
  Store store(file(), Access::write);
  int calls = 0;
  // an instruction or more for each column of 20,000 rows: a call for each 100,000
  EXPECT_EQ(store.take_over(other, [&calls] { ++calls; }), 20'000u);
  EXPECT_GE(calls, 1);
}

TEST_F(StoreFile, SurvivesClosingForAFork) {
  Store store(file(), Access::write);
  const std::int64_t number = store.begin_space(space("a"));
  store.put(number, point(1));
  store.close();
  store.open();
  EXPECT_TRUE(store.point(number, 1));
}

TEST_F(StoreFile, RefusesWhatIsNoDatabaseOfExplorations) {
  EXPECT_NE(scenarios::complaints_of([&] {
              Store(file(), Access::read);
            }).find("no such file; make it with spillway explore SPACE --db"),
            std::string::npos);
  {
    std::ofstream(file()) << std::string(5000, 'x');
    EXPECT_NE(scenarios::complaints_of([&] {
                Store(file(), Access::write);
              }).find("is no database; name another file, or delete this one"),
              std::string::npos);
  }
  std::filesystem::remove(file());
  Database(file(), Access::write).execute("CREATE TABLE other (x)");
  EXPECT_NE(scenarios::complaints_of([&] {
              Store(file(), Access::write);
            }).find("is another program's database"),
            std::string::npos);
}

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Another program's, with the number by which we know our tables, in both journal modes; the
/// second as a writer leaves it that was killed.
TEST_F(StoreFile, WritesNothingIntoTheDatabaseOfAnotherProgram) {
  const std::string log = file() + "-wal";
  for (const bool wal : {false, true}) {
    const std::string other = file() + ".other";
    {
      const Database database(other, Access::write);
      database.execute("CREATE TABLE theirs (x); PRAGMA user_version = 1");
      if (wal) database.execute("PRAGMA journal_mode = WAL; INSERT INTO theirs VALUES (1)");
      std::filesystem::copy_file(other, file(), std::filesystem::copy_options::overwrite_existing);
      if (wal) std::filesystem::copy_file(other + "-wal", log);
    }
    std::filesystem::remove(other);
    const std::string before = bytes_of(file()), log_before = bytes_of(log);
    EXPECT_EQ(log_before.empty(), !wal);
    for (const Access access : {Access::write, Access::read})
      EXPECT_NE(scenarios::complaints_of([&] {
                  Store(file(), access);
                }).find("is another program's database"),
                std::string::npos);
    EXPECT_TRUE(bytes_of(file()) == before) << wal;
    EXPECT_TRUE(bytes_of(log) == log_before) << wal;
  }
}

TEST_F(StoreFile, IsKnownAgainWhenAnOlderProgramMadeIt) {
  { Store(file(), Access::write).begin_space(space("a")); }
  Database(file(), Access::write).execute("PRAGMA application_id = 0; DROP TABLE runs");
  {
    Store reader(file(), Access::read);
    EXPECT_EQ(reader.spaces().size(), 1u);
    EXPECT_FALSE(reader.run(1));
  }
  Store writer(file(), Access::write);
  writer.begin_run(1, "node", 17, 5);
  EXPECT_TRUE(writer.run(1));
}

TEST_F(StoreFile, KeepsTheBaseOfASpaceUnlessAnOlderProgramFilledIt) {
  Store store(file(), Access::write);
  SpaceRow with = space("a");
  with.base = {{"model", "gpt2"}};
  EXPECT_EQ(store.base(store.begin_space(with)), with.base);
  EXPECT_EQ(store.base(store.begin_space(space("b"))), nullptr);
  Database(file(), Access::write).execute("DROP TABLE bases");
  EXPECT_EQ(Store(file(), Access::read).base(1), nullptr);
}

/// Whoever closes a file last takes away what SQLite keeps beside it: here one who only watched.
TEST_F(StoreFile, IsOneFileAgainWhenItsWatcherIsTheLast) {
  for (const bool ended : {true, false}) {
    std::optional<Store> writer(std::in_place, file(), Access::write);
    const std::int64_t number = writer->begin_space(space("a"));
    writer->begin_run(number, "node17", 4711, 60);
    writer->commit();
    {
      Store watcher(file(), Access::read);
      EXPECT_EQ(watcher.spaces().size(), 1u);
      writer->put(number, point(3));
      if (ended) writer->beat(number, 60, true);
      writer->commit();
      writer.reset();
      EXPECT_TRUE(std::filesystem::exists(file() + "-wal"));
    }
    EXPECT_EQ(std::filesystem::exists(file() + "-wal"), !ended) << "as of one that was killed";
    EXPECT_EQ(std::filesystem::exists(file() + "-shm"), !ended);
    EXPECT_EQ(Store(file(), Access::read).points(number).size(), 1u);
  }
}

/// A window of another process sees what is committed, and changes nothing of the file.
TEST_F(StoreFile, IsWatchedWhileItIsFilled) {
  Store writer(file(), Access::write);
  const std::int64_t number = writer.begin_space(space("a"));
  writer.begin_run(number, "node17", 4711, 60);
  writer.commit();
  Store watcher(file(), Access::read);
  std::optional<RunRow> run = watcher.run(number);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->host, "node17");
  EXPECT_EQ(run->process, 4711);
  EXPECT_EQ(run->points, 60u);
  EXPECT_GT(run->started_s, 1.7e9) << "since 1970";
  EXPECT_LT(run->silent_s, 60);
  EXPECT_FALSE(run->ended);
  writer.put(number, point(3));
  writer.put_counts(number, {10, 9, 6, 1, 2, 3, 4}, false);
  writer.beat(number, 7, false);
  EXPECT_EQ(watcher.run(number)->done, 0u) << "is not committed yet";
  writer.commit();
  EXPECT_EQ(watcher.run(number)->done, 7u);
  EXPECT_EQ(watcher.points(number).size(), 1u);
  EXPECT_EQ(watcher.spaces().at(0).counts.simulated, 1u);
  writer.beat(number, 9, true);
  writer.commit();
  EXPECT_TRUE(watcher.run(number)->ended);
  EXPECT_THROW(watcher.put_counts(number, {}, true), description::DeviceError);
}

}  // namespace
}  // namespace spillway::explore
