#pragma once

#include "gui/model/worker.hpp"

#include <QObject>

namespace spillway::gui {

/// What to run for real, and where.
struct ValidationRequest {
  QString scenario;         ///< a file
  QStringList directories;  ///< one for each storage, in their order, or NAME=DIR
  QString pace;             ///< a machine whose times kernels keep; "": none
  bool synthetic = false;   ///< nothing is computed
  QString profile;          ///< a machine file that probe wrote; "": measures first
  QString trace;            ///< a file for both runs on one time line; "": none
};

/// Arguments of the program for it, "validate" first.
QStringList words_of(const ValidationRequest& request);

/// Owns one run of `spillway validate --ask`, which says what it will take and write, and waits for
/// a yes before it writes anything of the scenario.
class ValidationRun : public QObject {
  Q_OBJECT

 public:
  enum class State : unsigned char { none, preparing, asking, running };

  explicit ValidationRun(QString program = spillway_program(), QObject* parent = nullptr);
  ~ValidationRun() override;

  void start(const ValidationRequest& request);
  /// Only while it asks.
  void agree();
  void stop();
  State state() const { return state_; }
  /// What it has said so far: what it will take and write.
  const QString& said() const { return said_; }

 Q_SIGNALS:
  /// Its state or what it said.
  void changed();
  void finished(const QByteArray& json);
  void failed(const QString& why);

 private:
  void hear();
  void ended();

  QString program_, said_;
  QProcess* process_ = nullptr;
  State state_ = State::none;
};

}  // namespace spillway::gui
