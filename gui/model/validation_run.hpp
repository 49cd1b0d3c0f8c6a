#pragma once

#include "gui/model/asked_run.hpp"

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

/// One run of `spillway validate`.
class ValidationRun : public AskedRun {
  Q_OBJECT

 public:
  explicit ValidationRun(QString program = spillway_program(), QObject* parent = nullptr);

  void start(const ValidationRequest& request) { AskedRun::start(words_of(request)); }
};

}  // namespace spillway::gui
