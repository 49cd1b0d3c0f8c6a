#include "gui/model/validation_run.hpp"
#include "tests/e2e/server.hpp"
#include "tests/gui/script.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QDir>
#include <QFile>
#include <QTemporaryDir>

namespace spillway::gui {
namespace {

struct HeardOfRun {
  QByteArray output;
  QString failure;

  explicit HeardOfRun(ValidationRun& run) {
    QObject::connect(&run, &ValidationRun::finished, &run,
                     [this](const QByteArray& json) { output = json; });
    QObject::connect(&run, &ValidationRun::failed, &run,
                     [this](const QString& why) { failure = why; });
  }
};

TEST(ValidationRun, SaysWhatItWillWriteAndWaitsForAYes) {
  const Script program(R"(#!/bin/sh
echo 'Predicted: 3 GB written' >&2; printf 'Type yes to start: ' >&2
read -r typed; [ "$typed" = yes ] && echo '{"device":"cpu"}'
)");
  ValidationRun run(program.path());
  HeardOfRun heard(run);
  run.start({"a.json", {"/tmp"}, "", false, "", ""});
  EXPECT_EQ(run.state(), ValidationRun::State::preparing);
  ASSERT_TRUE(until([&] { return run.state() == ValidationRun::State::asking; }));
  EXPECT_EQ(run.said(), "Predicted: 3 GB written\n");
  EXPECT_TRUE(heard.output.isEmpty());
  run.agree();
  ASSERT_TRUE(until([&] { return run.state() == ValidationRun::State::none; }));
  EXPECT_EQ(heard.output, "{\"device\":\"cpu\"}\n");
}

TEST(ValidationRun, GivesWhatMissesSomethingWithTheWordsThatSayIt) {
  const Script program(R"(#!/bin/sh
echo '{"device":"cpu"}'; echo 'not known: no process' >&2; exit 3
)");
  ValidationRun run(program.path());
  QString missed;
  QByteArray output;
  QObject::connect(&run, &ValidationRun::partly, &run,
                   [&](const QByteArray& json, const QString& why) {
                     output = json;
                     missed = why;
                   });
  run.start({"a.json", {"/tmp"}, "", false, "", ""});
  ASSERT_TRUE(until([&] { return !missed.isEmpty(); }));
  EXPECT_EQ(output, "{\"device\":\"cpu\"}\n");
  EXPECT_EQ(missed, "Not all could be tried: not known: no process");
}

TEST(ValidationRun, GivesWhatTheProgramRefusesAsAFailure) {
  const Script program(R"(#!/bin/sh
echo '{"errors":[{"file":"","line":0,"column":0,"path":"--on","message":"no room","hint":""}]}'
exit 2
)");
  ValidationRun run(program.path());
  HeardOfRun heard(run);
  run.start({"a.json", {"/tmp"}, "", false, "", ""});
  ASSERT_TRUE(until([&] { return !heard.failure.isEmpty(); }));
  EXPECT_EQ(heard.failure, "--on: no room");
  ValidationRun none("/nowhere/spillway");
  HeardOfRun silence(none);
  none.start({"a.json", {"/tmp"}, "", false, "", ""});
  ASSERT_TRUE(until([&] { return !silence.failure.isEmpty(); }));
  EXPECT_TRUE(silence.failure.contains("cannot be started"));
}

TEST(ValidationRun, EndsTheProgramWhenItIsStopped) {
  const Script program("#!/bin/sh\necho $$ >&2; exec sleep 60\n");
  ValidationRun run(program.path());
  run.start({"a.json", {"/tmp"}, "", false, "", ""});
  ASSERT_TRUE(until([&] { return run.said().endsWith('\n'); }));
  const QString process = "/proc/" + run.said().trimmed();
  EXPECT_TRUE(QFile::exists(process));
  bool stopped = false;
  QObject::connect(&run, &ValidationRun::stopped, &run, [&] { stopped = !QFile::exists(process); });
  run.stop();
  EXPECT_EQ(run.state(), ValidationRun::State::stopping);
  EXPECT_TRUE(until([&] { return run.state() == ValidationRun::State::none; }));
  EXPECT_TRUE(stopped) << "said before the program had ended";
}

TEST(ValidationRun, ValidatesTheTinyExampleWithTheProgramItself) {
  const QTemporaryDir folder;
  QFile profile(folder.filePath("server.json"));
  ASSERT_TRUE(profile.open(QIODevice::WriteOnly));
  profile.write(QByteArray::fromStdString(e2e::some_server().dump()));
  profile.close();
  ASSERT_TRUE(QDir(folder.path()).mkdir("a"));
  ValidationRun run(SPILLWAY_PROGRAM);
  HeardOfRun heard(run);
  run.start({SPILLWAY_SOURCE_DIR "/scenarios/examples/tiny.json",
             {folder.filePath("a")},
             "",
             true,
             profile.fileName(),
             folder.filePath("both.trace.json")});
  ASSERT_TRUE(until([&] { return run.state() != ValidationRun::State::preparing; }));
  ASSERT_EQ(run.state(), ValidationRun::State::asking) << heard.failure.toStdString();
  EXPECT_TRUE(run.said().contains("written in all")) << run.said().toStdString();
  run.agree();
  ASSERT_TRUE(until([&] { return run.state() == ValidationRun::State::none; }));
  const auto validation =
      nlohmann::json::parse(heard.output.begin(), heard.output.end(), nullptr, false);
  EXPECT_EQ(validation.value("schema", ""), "spillway/validation/1") << heard.failure.toStdString();
  EXPECT_TRUE(QFile::exists(folder.filePath("both.trace.json")));
}

}  // namespace
}  // namespace spillway::gui
