#include "gui/model/search_run.hpp"
#include "explore/store/store.hpp"
#include "tests/gui/script.hpp"
#include "tests/gui/small_space.hpp"
#include "tests/gui/until.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <QRegularExpression>
#include <QSysInfo>
#include <QTemporaryDir>

namespace spillway::gui {
namespace {

using State = AskedRun::State;

/// The program itself, in a folder of its own.
class Search : public testing::Test {
 public:
  void SetUp() override {
    QObject::connect(&run_, &AskedRun::finished, &run_, [this] { ++finished_; });
    QObject::connect(&run_, &AskedRun::stopped, &run_, [this] { ++stopped_; });
    QObject::connect(&run_, &AskedRun::failed, &run_,
                     [this](const QString& why) { failure_ = why; });
  }
  SearchRequest request(int seeds) {
    write_small_space(file("small.json"), seeds);
    return {file("small.json"), file("small.db"), 1, ""};
  }
  QString file(const char* name) const { return folder_.filePath(name); }
  bool reaches(State state) {
    return until([&] { return run_.state() == state; });
  }
  explore::SpaceRow space() const {
    explore::Store store(file("small.db").toStdString(), explore::Database::Access::read);
    return store.spaces().at(0);
  }
  std::size_t points() const {
    explore::Store store(file("small.db").toStdString(), explore::Database::Access::read);
    return store.points(1).size();
  }

  QTemporaryDir folder_;
  SearchRun run_{SPILLWAY_PROGRAM};
  int finished_ = 0, stopped_ = 0;
  QString failure_;
};

TEST(SearchWords, AreThoseOfTheCommand) {
  EXPECT_EQ(words_of(SearchRequest{"a.json", "a.db", 0, ""}),
            (QStringList{"explore", "a.json", "--db", "a.db"}));
  EXPECT_EQ(words_of(SearchRequest{"a.json", "a.db", 3, "10min"}),
            (QStringList{"explore", "a.json", "--db", "a.db", "--jobs", "3", "--budget", "10min"}));
}

TEST(SearchWords, NameTheKindAndWhereItRuns) {
  SearchRequest request{"a.json", "a.db", 0, ""};
  request.samples = 500;  // of every point there are no samples
  EXPECT_EQ(words_of(request), (QStringList{"explore", "a.json", "--db", "a.db"}));
  request.kind = "nsga2";
  request.hosts = "one, two";
  EXPECT_EQ(words_of(request), (QStringList{"explore", "a.json", "--db", "a.db", "--search",
                                            "nsga2", "--samples", "500", "--mpirun", "one,two"}));
  request.hosts = "slurm";
  EXPECT_EQ(words_of(request).last(), "--srun");
}

TEST_F(Search, FindsByASpreadOfPointsToo) {
  SearchRequest spread = request(8);
  spread.kind = "sobol";
  spread.samples = 4;
  run_.start(spread);
  ASSERT_TRUE(reaches(State::asking)) << failure_.toStdString();
  run_.agree();
  ASSERT_TRUE(until([&] { return finished_ == 1; })) << failure_.toStdString();
  EXPECT_GE(points(), 1u);
  EXPECT_LE(points(), 4u);
}

TEST_F(Search, SaysWhatItWritesBeforeItDoes) {
  run_.start(request(2));
  EXPECT_FALSE(run_.resumable());
  ASSERT_TRUE(reaches(State::asking)) << failure_.toStdString();
  EXPECT_TRUE(run_.said().contains("small: 4 points")) << run_.said().toStdString();
  EXPECT_TRUE(run_.said().contains("Writes " + file("small.db") + ", which is not there yet"))
      << run_.said().toStdString();
  EXPECT_FALSE(QFile::exists(file("small.db")));
  run_.agree();
  ASSERT_TRUE(reaches(State::none));
  EXPECT_EQ(finished_, 1) << failure_.toStdString();
  EXPECT_TRUE(space().finished);
}

TEST_F(Search, WritesNothingWhenNobodyAgrees) {
  LONG_TEST();
  run_.start(request(2));
  ASSERT_TRUE(reaches(State::asking)) << failure_.toStdString();
  run_.stop();
  ASSERT_TRUE(reaches(State::none));
  EXPECT_EQ(stopped_, 1);
  EXPECT_FALSE(run_.resumable());
  EXPECT_FALSE(QFile::exists(file("small.db")));
}

TEST_F(Search, StopsWithEverythingKeptAndGoesOn) {
  LONG_TEST();
  run_.start(request(200));
  ASSERT_TRUE(reaches(State::asking)) << failure_.toStdString();
  run_.agree();
  ASSERT_TRUE(until([&] { return run_.progress().contains(QRegularExpression("^[1-9]")); }))
      << failure_.toStdString();
  EXPECT_TRUE(run_.progress().contains("of 400 points, ")) << run_.progress().toStdString();
  EXPECT_TRUE(run_.progress().contains(" left, front ")) << run_.progress().toStdString();
  run_.stop();
  ASSERT_TRUE(reaches(State::none));
  EXPECT_EQ(stopped_, 1);
  EXPECT_TRUE(failure_.isEmpty()) << failure_.toStdString();
  EXPECT_TRUE(run_.said().contains("the same command goes on")) << run_.said().toStdString();
  const std::size_t kept = points();
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, 400u);
  ASSERT_TRUE(run_.resumable());
  run_.resume();
  EXPECT_EQ(run_.state(), State::running) << "it asks again";
  ASSERT_TRUE(until([&] { return run_.state() == State::none; }, 100'000));
  EXPECT_EQ(finished_, 1) << failure_.toStdString();
  EXPECT_TRUE(space().finished);
  EXPECT_GT(space().counts.reused, 0u) << "what was known was simulated again";
  run_.start({file("small.json"), file("small.db"), 1, ""});
  ASSERT_TRUE(reaches(State::asking)) << failure_.toStdString();
  EXPECT_TRUE(run_.said().contains("Goes on in " + file("small.db") + ", which has 400 of 400"))
      << run_.said().toStdString();
}

TEST_F(Search, EndsWhenItsOwnerDoes) {
  auto run = std::make_unique<SearchRun>(SPILLWAY_PROGRAM);
  run->start(request(200));
  ASSERT_TRUE(until([&] { return run->state() == State::asking; }));
  run->agree();
  ASSERT_TRUE(until([&] { return run->progress().contains(QRegularExpression("^[1-9]")); }));
  run.reset();
  EXPECT_GT(points(), 0u);
  explore::Store store(file("small.db").toStdString(), explore::Database::Access::read);
  EXPECT_TRUE(store.run(1)->ended) << "it was killed";
}

TEST_F(Search, GivesWhatIsWrongWithTheSpace) {
  QFile bad(file("bad.json"));
  ASSERT_TRUE(bad.open(QIODevice::WriteOnly));
  bad.write(
      "{ \"base\": \"tiny\",\n  \"axes\": { \"training.micro\": [1] },\n"
      "  \"objectives\": { \"step_time_s\": \"min\" } }");
  bad.close();
  run_.start({file("bad.json"), file("small.db"), 1, ""});
  ASSERT_TRUE(until([&] { return !failure_.isEmpty(); }));
  EXPECT_TRUE(failure_.contains(file("bad.json") + ":2:")) << failure_.toStdString();
  EXPECT_FALSE(run_.resumable());
  EXPECT_FALSE(QFile::exists(file("small.db")));
}

TEST_F(Search, RefusesAnotherProgramsDatabase) {
  {
    explore::Database other(file("small.db").toStdString(), explore::Database::Access::write);
    other.execute("CREATE TABLE bookmarks (address TEXT)");
  }
  run_.start(request(2));
  ASSERT_TRUE(until([&] { return !failure_.isEmpty(); }));
  EXPECT_TRUE(failure_.contains("is another program's database")) << failure_.toStdString();
}

TEST_F(Search, RefusesADatabaseThatAnotherProcessFills) {
  {
    explore::Store store(file("small.db").toStdString(), explore::Database::Access::write);
    explore::SpaceRow space;
    space.id = space.name = "other";
    const std::int64_t number = store.begin_space(space);
    const std::string host = QSysInfo::machineHostName().toStdString();
    store.begin_run(number, host, QCoreApplication::applicationPid(), 60);
    store.beat(number, 34, false);
    store.commit();
  }
  run_.start(request(2));
  ASSERT_TRUE(until([&] { return !failure_.isEmpty(); }));
  EXPECT_TRUE(failure_.contains("is filling it: 34 of 60 points")) << failure_.toStdString();
}

TEST(SearchRun, GivesWhatIsWrongAfterTheYesWithoutWhatWasSaidBefore) {
  const Script program(R"(#!/bin/sh
echo 'Writes a.db' >&2; printf 'Type yes to start: ' >&2
read -r typed; echo 'progress: 1 of 2 points' >&2; echo 'the disk is full' >&2; exit 3
)");
  SearchRun run(program.path());
  QString failure;
  QObject::connect(&run, &AskedRun::failed, &run, [&](const QString& why) { failure = why; });
  run.start({"a.json", "a.db", 0, ""});
  ASSERT_TRUE(until([&] { return run.state() == State::asking; }));
  run.agree();
  ASSERT_TRUE(until([&] { return !failure.isEmpty(); }));
  EXPECT_EQ(failure, "the disk is full");
  EXPECT_EQ(run.progress(), "1 of 2 points");
  EXPECT_TRUE(run.resumable());
}

}  // namespace
}  // namespace spillway::gui
