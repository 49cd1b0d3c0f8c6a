#include "gui/model/validation_run.hpp"

#include <QTimer>

#include <cstring>
#include <utility>

namespace spillway::gui {

namespace {

/// The end of what the program says when it waits.
constexpr const char* question_to_start = "Type yes to start: ";

constexpr int longest_end_ms = 3000;

}  // namespace

QStringList words_of(const ValidationRequest& request) {
  QStringList words = {"validate", request.scenario};
  for (const QString& one : request.directories) words << "--on" << one;
  if (!request.pace.isEmpty()) words << "--pace" << request.pace;
  if (!request.profile.isEmpty()) words << "--profile" << request.profile;
  if (!request.trace.isEmpty()) words << "--trace" << request.trace;
  if (request.synthetic) words << "--synthetic";
  return words << "--ask"
               << "--json";
}

ValidationRun::ValidationRun(QString program, QObject* parent)
    : QObject(parent), program_(std::move(program)) {}

ValidationRun::~ValidationRun() {
  if (!process_) return;
  disconnect(process_, nullptr, this, nullptr);
  process_->terminate();
  if (!process_->waitForFinished(longest_end_ms)) process_->kill();
}

void ValidationRun::start(const ValidationRequest& request) {
  stop();
  said_.clear();
  state_ = State::preparing;
  process_ = new QProcess(this);
  connect(process_, &QProcess::readyReadStandardError, this, &ValidationRun::hear);
  connect(process_, &QProcess::finished, this, &ValidationRun::ended);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) ended();
  });
  process_->start(program_, words_of(request));
  Q_EMIT changed();
}

void ValidationRun::hear() {
  said_ += QString::fromUtf8(process_->readAllStandardError());
  if (state_ == State::preparing && said_.endsWith(question_to_start)) {
    said_.chop(static_cast<int>(std::strlen(question_to_start)));
    state_ = State::asking;
  }
  Q_EMIT changed();
}

void ValidationRun::agree() {
  if (state_ != State::asking) return;
  process_->write("yes\n");
  state_ = State::running;
  Q_EMIT changed();
}

/// The program removes its files when it is told to end, or, while it asks, has none yet.
void ValidationRun::stop() {
  if (!process_) return;
  QProcess* process = std::exchange(process_, nullptr);
  disconnect(process, nullptr, this, nullptr);
  connect(process, &QProcess::finished, process, &QObject::deleteLater);
  process->terminate();
  QTimer::singleShot(longest_end_ms, process, &QProcess::kill);
  state_ = State::none;
  Q_EMIT changed();
}

void ValidationRun::ended() {
  QProcess* process = std::exchange(process_, nullptr);
  process->deleteLater();
  state_ = State::none;
  const QByteArray output = process->readAllStandardOutput();
  const bool starts = process->error() != QProcess::FailedToStart;
  if (starts && process->exitStatus() == QProcess::NormalExit && process->exitCode() == 0) {
    Q_EMIT finished(output);
  } else {
    const auto answer = nlohmann::json::parse(output.begin(), output.end(), nullptr, false);
    QString why = complaints_in(answer);
    if (!starts) why = program_ + " cannot be started: " + process->errorString();
    if (why.isEmpty()) why = QString::fromUtf8(process->readAllStandardError()).trimmed();
    Q_EMIT failed(why.isEmpty() ? "spillway validate ended without an answer" : why);
  }
  Q_EMIT changed();
}

}  // namespace spillway::gui
