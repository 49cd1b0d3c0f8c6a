#include "gui/model/asked_run.hpp"

#include <QTimer>

#include <cstring>
#include <utility>

namespace spillway::gui {

namespace {

/// What the program says when it waits, without a line's end.
constexpr const char* question_to_start = "Type yes to start: ";
constexpr const char* progress_start = "progress: ";

/// After which a program that was told to end is killed. A search keeps all that it knew even so.
constexpr int longest_end_ms = 8000;

}  // namespace

AskedRun::AskedRun(QString program, QObject* parent)
    : QObject(parent), program_(std::move(program)) {}

AskedRun::~AskedRun() {
  if (!process_) return;
  disconnect(process_, nullptr, this, nullptr);
  // a second signal would end it without what it does last
  if (state_ != State::stopping) process_->terminate();
  if (!process_->waitForFinished(longest_end_ms)) {
    process_->kill();
    process_->waitForFinished(longest_end_ms);
  }
}

void AskedRun::start(const QStringList& words, bool asks) {
  if (process_) return;
  verb_ = words.value(0);
  said_.clear();
  unended_.clear();
  progress_.clear();
  agreed_at_ = 0;
  state_ = asks ? State::preparing : State::running;
  process_ = new QProcess(this);
  connect(process_, &QProcess::readyReadStandardError, this, &AskedRun::hear);
  connect(process_, &QProcess::finished, this, &AskedRun::ended);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) ended();
  });
  process_->start(program_, words);
  Q_EMIT changed();
}

void AskedRun::hear() {
  unended_ += QString::fromUtf8(process_->readAllStandardError());
  qsizetype from = 0;
  for (qsizetype end; (end = unended_.indexOf('\n', from)) >= 0; from = end + 1)
    hear_line(unended_.mid(from, end - from));
  unended_.remove(0, from);
  if (state_ == State::preparing && unended_.endsWith(question_to_start)) {
    unended_.chop(static_cast<int>(std::strlen(question_to_start)));
    said_ += std::exchange(unended_, {});
    state_ = State::asking;
  }
  Q_EMIT changed();
}

void AskedRun::hear_line(const QString& line) {
  if (line.startsWith(progress_start))
    progress_ = line.mid(static_cast<int>(std::strlen(progress_start)));
  else
    said_ += line + '\n';
}

void AskedRun::agree() {
  if (state_ != State::asking) return;
  process_->write("yes\n");
  agreed_at_ = said_.size();
  state_ = State::running;
  Q_EMIT changed();
}

/// A validation removes its files, a search writes down what it knows; while it asks, there is
/// nothing yet.
void AskedRun::stop() {
  if (!process_ || state_ == State::stopping) return;
  state_ = State::stopping;
  process_->terminate();
  QTimer::singleShot(longest_end_ms, process_, &QProcess::kill);
  Q_EMIT changed();
}

void AskedRun::ended() {
  if (!process_) return;
  hear();
  if (!unended_.isEmpty()) hear_line(std::exchange(unended_, {}));
  QProcess* process = std::exchange(process_, nullptr);
  process->deleteLater();
  const bool told_to = std::exchange(state_, State::none) == State::stopping;
  const QByteArray output = process->readAllStandardOutput();
  const bool starts = process->error() != QProcess::FailedToStart;
  // 1: an answer, and what should hold does not
  if (starts && process->exitStatus() == QProcess::NormalExit && process->exitCode() <= 1) {
    Q_EMIT finished(output);
  } else if (starts && told_to) {
    Q_EMIT stopped();
  } else if (starts && misses_something(*process, output)) {
    Q_EMIT partly(output, what_is_missed(said_.mid(agreed_at_)));
  } else {
    const auto answer = nlohmann::json::parse(output.begin(), output.end(), nullptr, false);
    QString why = complaints_in(answer);
    if (!starts) why = program_ + " cannot be started: " + process->errorString();
    if (why.isEmpty()) why = said_.mid(agreed_at_).trimmed();
    Q_EMIT failed(why.isEmpty() ? "spillway " + verb_ + " ended without an answer" : why);
  }
  Q_EMIT changed();
}

}  // namespace spillway::gui
