#pragma once

#include <QObject>
#include <QProcess>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace spillway::gui {

/// `spillway`: $SPILLWAY_PROGRAM when it is set, else the one beside this program, else that of
/// $PATH.
QString spillway_program();

/// What to work out, and what of it to send back.
struct Request {
  nlohmann::json scenario;
  std::vector<std::string> want;  ///< result settings trace what_if faster remedy bound
  double limit_s = 60;
};

/// A line of a worker: large ones are shared, not copied, and may be read on any thread.
using Line = std::shared_ptr<const nlohmann::json>;

/// Owns a `spillway worker` process and speaks its protocol (FORMATS, "worker"): lines out in any
/// order, with further keys or without some. Starts the process with the first request, and again
/// after it ended; what was asked of one that ended has failed. One that ends at once, since it is
/// older than `--jobs`, is started again without options and asked the same.
class Worker : public QObject {
  Q_OBJECT

 public:
  using Id = std::uint64_t;

  explicit Worker(QString program = spillway_program(),
                  QStringList arguments = {"worker", "--jobs", "2"}, QObject* parent = nullptr);
  ~Worker() override;

  /// The answer arrives as `answered` or `failed` with this number, once, unless it is cancelled.
  Id ask(const Request& request);
  /// Nothing arrives of it any more. The worker is told, and may send its answer all the same.
  void cancel(Id id);
  std::size_t waiting() const { return waiting_.size(); }

 Q_SIGNALS:
  /// The whole line: "result", "errors" or "failure", and a key for each that was wanted.
  void answered(spillway::gui::Worker::Id id, const spillway::gui::Line& answer);
  void progressed(spillway::gui::Worker::Id id, const nlohmann::json& progress);
  /// The process could not be started, or ended; a sentence.
  void failed(spillway::gui::Worker::Id id, const QString& why);

 private:
  void send(const QByteArray& line);
  void read();
  void take(const QByteArray& line);
  void parse_aside(const QByteArray& line);
  void deliver(const Line& answer);
  bool start_older();
  void ended(const QString& why);

  QString program_;
  QStringList arguments_;
  QProcess process_;
  QByteArray unread_;
  std::map<Id, QByteArray> waiting_;  ///< line that asked
  bool heard_ = false;                ///< this process has answered something
  Id next_ = 1;
};

/// Owns one run of the program for one answer: the latest of a kind, since a new one ends the one
/// before it.
class Command : public QObject {
  Q_OBJECT

 public:
  explicit Command(QString program = spillway_program(), QObject* parent = nullptr);
  ~Command() override;

  void run(const QStringList& arguments);
  void stop();
  bool running() const { return process_ != nullptr; }

 Q_SIGNALS:
  /// Its standard output, when it ended with an answer.
  void finished(const QByteArray& output);
  /// The same of an answer that misses something, since not all could be tried.
  ///   why  "Not all could be tried: ..."
  void partly(const QByteArray& output, const QString& why);
  /// What it said of its input, or why it did not start.
  void failed(const QString& why);

 private:
  void ended(QProcess* process);

  QString program_;
  QProcess* process_ = nullptr;
};

/// Whether a program that ended printed an answer that misses something: exit code 3, and no
/// errors.
bool misses_something(const QProcess& ended, const QByteArray& output);
/// "Not all could be tried: ", and what it said of that on standard error.
QString what_is_missed(const QString& said);

/// "path: message; hint" of each complaint in {"errors": [...]}; "" without any.
QString complaints_in(const nlohmann::json& answer);

}  // namespace spillway::gui
