#include "gui/model/worker.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

namespace spillway::gui {
namespace {

using nlohmann::json;

/// A worker of a shell script: `answers` sees each line as $line and its number as $n.
QStringList script(const char* answers) {
  return {"-c", QString("n=0; while read -r line; do n=$((n+1)); %1; done").arg(answers)};
}

struct Heard {
  std::map<Worker::Id, json> answers;
  std::map<Worker::Id, QString> failures;
  int progress = 0;

  explicit Heard(Worker& worker) {
    QObject::connect(&worker, &Worker::answered, &worker,
                     [this](Worker::Id id, const Line& line) { answers[id] = *line; });
    QObject::connect(&worker, &Worker::failed, &worker,
                     [this](Worker::Id id, const QString& why) { failures[id] = why; });
    QObject::connect(&worker, &Worker::progressed, &worker, [this] { ++progress; });
  }
};

TEST(WorkerClient, TakesAnswersInAnyOrderWithProgressBetween) {
  // the second line answers both, the later question first
  Worker worker("/bin/sh", script(R"(case $n in 2)
    echo '{"id":2,"progress":{"steps":1}}'; echo '{"id":2,"result":{"a":2}}';
    echo 'no json'; echo '{"result":{}}'; echo '{"id":1,"result":{"a":1}}';; esac)"));
  Heard heard(worker);
  const auto first = worker.ask({json::object(), {"result"}, 1});
  const auto second = worker.ask({json::object(), {"result"}, 1});
  ASSERT_TRUE(until([&] { return heard.answers.size() == 2; }));
  EXPECT_EQ(heard.answers[first]["result"]["a"], 1);
  EXPECT_EQ(heard.answers[second]["result"]["a"], 2);
  EXPECT_EQ(heard.progress, 1);
  EXPECT_EQ(worker.waiting(), 0u);
}

TEST(WorkerClient, HearsNothingOfWhatItCancelled) {
  Worker worker("/bin/sh", script(R"(case $line in *cancel*) echo '{"id":1,"result":{}}';
    echo '{"id":2,"result":{}}';; esac)"));
  Heard heard(worker);
  const auto stale = worker.ask({json::object(), {}, 1});
  const auto wanted = worker.ask({json::object(), {}, 1});
  worker.cancel(stale);
  ASSERT_TRUE(until([&] { return heard.answers.contains(wanted); }));
  EXPECT_FALSE(heard.answers.contains(stale));
}

TEST(WorkerClient, FailsWhatWasAskedOfAWorkerThatEndsAndStartsAnother) {
  Worker worker("/bin/sh", script(R"(case $line in *die*) exit 1;; *)
    echo "{\"id\":2,\"result\":{}}";; esac)"));
  Heard heard(worker);
  const auto lost = worker.ask({{{"name", "die"}}, {}, 1});
  ASSERT_TRUE(until([&] { return heard.failures.contains(lost); }));
  const auto next = worker.ask({json::object(), {}, 1});
  ASSERT_TRUE(until([&] { return heard.answers.contains(next); }));
}

TEST(WorkerClient, AsksAnOlderWorkerWithoutOptions) {
  // like a worker of before `--jobs`: it ends when it sees an option
  const QTemporaryDir folder;
  const QString program = folder.filePath("spillway");
  QFile script(program);
  ASSERT_TRUE(script.open(QIODevice::WriteOnly));
  script.write(R"(#!/bin/sh
[ $# -gt 1 ] && exit 1
while read -r line; do n=$((n+1)); echo "{\"id\":$n,\"result\":{}}"; done
)");
  script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  script.close();
  Worker worker(program);
  Heard heard(worker);
  worker.ask({json::object(), {"bound"}, 1});
  worker.ask({json::object(), {"result"}, 1});
  ASSERT_TRUE(until([&] { return heard.answers.size() + heard.failures.size() == 2; }));
  EXPECT_TRUE(heard.failures.empty());
}

TEST(WorkerClient, SaysThatAProgramCannotBeStarted) {
  Worker worker("/nowhere/spillway", {});
  Heard heard(worker);
  const auto id = worker.ask({json::object(), {}, 1});
  ASSERT_TRUE(until([&] { return heard.failures.contains(id); }));
  EXPECT_TRUE(heard.failures[id].contains("cannot be started"));
}

TEST(WorkerClient, ReadsLinesThatComeInPiecesAndLongOnesAside) {
  // 300 kB in one line, written in two halves
  Worker worker("/bin/sh", script(R"(printf '{"id":1,"re'; sleep 0.1; printf 'sult":"';
    head -c 300000 /dev/zero | tr '\0' 'x'; echo '"}')"));
  Heard heard(worker);
  worker.ask({json::object(), {}, 1});
  ASSERT_TRUE(until([&] { return heard.answers.contains(1); }));
  EXPECT_EQ(heard.answers[1]["result"].get<std::string>().size(), 300'000u);
}

TEST(WorkerClient, AsksTheProgramItself) {
  Worker worker(SPILLWAY_PROGRAM);
  Heard heard(worker);
  const auto id = worker.ask(
      {{{"model", "gpt2"}, {"machine", "gaming_4090"}, {"strategy", {{"system", "resident"}}}},
       {"result"},
       30});
  ASSERT_TRUE(until([&] { return heard.answers.contains(id); }));
  EXPECT_TRUE(heard.answers[id].contains("result")) << heard.answers[id].dump();
}

/// What came of a shell script as a Command.
struct HeardOfCommand {
  QByteArray output;
  QString missed, failure;

  explicit HeardOfCommand(const char* script) {
    Command command("/bin/sh");
    QObject::connect(&command, &Command::finished, &command,
                     [this](const QByteArray& printed) { output = printed; });
    QObject::connect(&command, &Command::partly, &command,
                     [this](const QByteArray& printed, const QString& why) {
                       output = printed;
                       missed = why;
                     });
    QObject::connect(&command, &Command::failed, &command,
                     [this](const QString& why) { failure = why; });
    command.run({"-c", script});
    EXPECT_TRUE(until([&] { return !command.running(); }));
  }
};

TEST(Command, GivesAnAnswerThatMissesSomethingWithTheWordsThatSayIt) {
  const HeardOfCommand part(R"(echo '{"a":1}'; echo 'not known: no process, 7 times' >&2; exit 3)");
  EXPECT_EQ(part.output, "{\"a\":1}\n");
  EXPECT_EQ(part.missed, "Not all could be tried: not known: no process, 7 times");
  EXPECT_EQ(part.failure, "");
  const HeardOfCommand none("echo 'fork: no process' >&2; exit 3");
  EXPECT_EQ(none.failure, "fork: no process");
  const HeardOfCommand errors(
      R"(echo '{"errors":[{"file":"","line":0,"column":0,"path":"","message":"no","hint":""}]}'
         exit 3)");
  EXPECT_EQ(errors.failure, "no");
  EXPECT_EQ(errors.output, "");
  const HeardOfCommand whole("echo '{}'");
  EXPECT_EQ(whole.output, "{}\n");
  EXPECT_EQ(whole.missed, "");
}

}  // namespace
}  // namespace spillway::gui
