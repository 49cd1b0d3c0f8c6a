#pragma once

#include "gui/model/worker.hpp"

#include <QObject>

namespace spillway::gui {

/// Owns one run of the program with `--ask`: it says on standard error what it will take and write,
/// and waits for a yes before it writes. Lines that begin with "progress: " say how far it is.
class AskedRun : public QObject {
  Q_OBJECT

 public:
  enum class State : unsigned char { none, preparing, asking, running, stopping };

  /// Nothing while another run has not ended.
  ///   asks  false: it starts at once, since somebody has agreed before
  void start(const QStringList& words, bool asks = true);
  /// Only while it asks.
  void agree();
  /// Tells it to end, as Ctrl-C does; `stopped` comes when it has.
  void stop();
  State state() const { return state_; }
  /// What it has said so far: what it will take and write.
  const QString& said() const { return said_; }
  /// What it said last of how far it is.
  const QString& progress() const { return progress_; }

 Q_SIGNALS:
  /// Its state or what it said.
  void changed();
  /// With an answer.
  void finished(const QByteArray& output);
  /// With one that misses something, since not all could be tried; `why` is a sentence.
  void partly(const QByteArray& output, const QString& why);
  void failed(const QString& why);
  /// Since it was told to.
  void stopped();

 protected:
  /// Only what derives from it knows which words the program takes.
  AskedRun(QString program, QObject* parent);
  ~AskedRun() override;

 private:
  void hear();
  void hear_line(const QString& line);
  void ended();

  QString program_, verb_, said_, unended_, progress_;
  qsizetype agreed_at_ = 0;  ///< how much of `said_` came before
  QProcess* process_ = nullptr;
  State state_ = State::none;
};

}  // namespace spillway::gui
