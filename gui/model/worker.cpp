#include "gui/model/worker.hpp"

#include "gui/model/answer.hpp"
#include "gui/model/text.hpp"

#include <QCoreApplication>
#include <QFileInfo>
#include <QPointer>
#include <QStandardPaths>
#include <QThreadPool>

#include <memory>
#include <utility>

namespace spillway::gui {

using nlohmann::json;

namespace {

/// Lines of more bytes are parsed on another thread: 1 MB takes 10 ms.
constexpr int long_line = 200'000;

QByteArray line_of(const json& value) {
  return QByteArray::fromStdString(value.dump(-1, ' ', false, json::error_handler_t::replace) +
                                   "\n");
}

Line parsed(const QByteArray& line) {
  return std::make_shared<const json>(json::parse(line.begin(), line.end(), nullptr, false));
}

}  // namespace

QString spillway_program() {
  if (const QString chosen = qEnvironmentVariable("SPILLWAY_PROGRAM"); !chosen.isEmpty())
    return chosen;
  const QString beside = QCoreApplication::applicationDirPath() + "/spillway";
  if (QFileInfo(beside).isExecutable()) return beside;
  const QString found = QStandardPaths::findExecutable("spillway");
  return found.isEmpty() ? "spillway" : found;
}

QString complaints_in(const json& answer) {
  return answer.is_object() && answer.contains("errors") ? qt(words_of_errors(answer["errors"]))
                                                         : QString();
}

bool misses_something(const QProcess& ended, const QByteArray& output) {
  constexpr int no_answer = 3;  // to a part of the question, or to all of it
  if (ended.exitStatus() != QProcess::NormalExit || ended.exitCode() != no_answer) return false;
  return !output.trimmed().isEmpty() &&
         complaints_in(json::parse(output.begin(), output.end(), nullptr, false)).isEmpty();
}

QString what_is_missed(const QString& said) {
  const QString why = said.trimmed();
  return why.isEmpty() ? QString("Not all could be tried.") : "Not all could be tried: " + why;
}

Worker::Worker(QString program, QStringList arguments, QObject* parent)
    : QObject(parent), program_(std::move(program)), arguments_(std::move(arguments)) {
  process_.setProcessChannelMode(QProcess::SeparateChannels);
  process_.setStandardErrorFile(QProcess::nullDevice());
  connect(&process_, &QProcess::readyReadStandardOutput, this, &Worker::read);
  connect(&process_, &QProcess::finished, this, [this] { ended("the worker ended"); });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      ended(QString("%1 cannot be started: %2").arg(program_, process_.errorString()));
  });
}

Worker::~Worker() {
  disconnect(&process_, nullptr, this, nullptr);
  process_.closeWriteChannel();
  if (process_.state() != QProcess::NotRunning && !process_.waitForFinished(200)) {
    process_.kill();
    process_.waitForFinished(1000);
  }
}

Worker::Id Worker::ask(const Request& request) {
  const Id id = next_++;
  json line = {{"id", id}, {"scenario", request.scenario}, {"limit_s", request.limit_s}};
  if (!request.want.empty()) line["want"] = request.want;
  waiting_.emplace(id, line_of(line));
  if (process_.state() == QProcess::NotRunning) {
    heard_ = false;
    process_.start(program_, arguments_);
  }
  send(waiting_[id]);
  return id;
}

void Worker::cancel(Id id) {
  if (waiting_.erase(id) > 0 && process_.state() != QProcess::NotRunning)
    send(line_of({{"cancel", id}}));
}

void Worker::send(const QByteArray& line) { process_.write(line); }

void Worker::read() {
  unread_ += process_.readAllStandardOutput();
  qsizetype from = 0;
  for (qsizetype end; (end = unread_.indexOf('\n', from)) >= 0; from = end + 1)
    take(unread_.mid(from, end - from));
  unread_.remove(0, from);
}

void Worker::take(const QByteArray& line) {
  heard_ = true;
  if (line.size() > long_line) return parse_aside(line);
  deliver(parsed(line));
}

void Worker::parse_aside(const QByteArray& line) {
  const QPointer<Worker> self(this);
  QThreadPool::globalInstance()->start([self, line] {
    QMetaObject::invokeMethod(
        qApp,
        [self, answer = parsed(line)] {
          if (self) self->deliver(answer);
        },
        Qt::QueuedConnection);
  });
}

void Worker::deliver(const Line& line) {
  const json& answer = *line;
  if (!answer.is_object() || !answer.contains("id") || !answer["id"].is_number_unsigned()) return;
  const Id id = answer["id"].get<Id>();
  if (!waiting_.contains(id)) return;  // cancelled
  if (answer.contains("progress")) {
    Q_EMIT progressed(id, answer["progress"]);
    return;
  }
  waiting_.erase(id);
  Q_EMIT answered(id, line);
}

bool Worker::start_older() {
  const bool has_options = arguments_.size() > 1 && arguments_[0] == "worker";
  if (heard_ || !has_options || process_.exitStatus() != QProcess::NormalExit ||
      process_.exitCode() == 0)
    return false;
  arguments_ = {"worker"};
  process_.start(program_, arguments_);
  for (const auto& [id, line] : waiting_) send(line);
  return true;
}

void Worker::ended(const QString& why) {
  read();  // what it wrote before
  unread_.clear();
  if (process_.error() != QProcess::FailedToStart && start_older()) return;
  const auto lost = std::exchange(waiting_, {});
  for (const auto& [id, line] : lost) Q_EMIT failed(id, why);
}

Command::Command(QString program, QObject* parent)
    : QObject(parent), program_(std::move(program)) {}

Command::~Command() { stop(); }

void Command::run(const QStringList& arguments) {
  stop();
  auto* process = new QProcess(this);
  process_ = process;
  connect(process, &QProcess::finished, this, [this, process] { ended(process); });
  connect(process, &QProcess::errorOccurred, this, [this, process](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart || process != process_) return;
    process_ = nullptr;
    process->deleteLater();
    Q_EMIT failed(QString("%1 cannot be started: %2").arg(program_, process->errorString()));
  });
  process->start(program_, arguments, QIODevice::ReadOnly);
}

void Command::stop() {
  if (!process_) return;
  QProcess* process = std::exchange(process_, nullptr);
  disconnect(process, nullptr, this, nullptr);
  connect(process, &QProcess::finished, process, &QObject::deleteLater);
  process->kill();
  process->waitForFinished(100);
}

void Command::ended(QProcess* process) {
  if (process != process_) return;
  process_ = nullptr;
  process->deleteLater();
  const QByteArray output = process->readAllStandardOutput();
  if (process->exitStatus() == QProcess::NormalExit && process->exitCode() == 0) {
    Q_EMIT finished(output);
    return;
  }
  const QString said = QString::fromUtf8(process->readAllStandardError()).trimmed();
  if (misses_something(*process, output)) return Q_EMIT partly(output, what_is_missed(said));
  const json answer = json::parse(output.begin(), output.end(), nullptr, false);
  QString why = complaints_in(answer);
  if (why.isEmpty()) why = said;
  Q_EMIT failed(why.isEmpty() ? "spillway ended without an answer" : why);
}

}  // namespace spillway::gui
