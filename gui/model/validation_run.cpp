#include "gui/model/validation_run.hpp"

#include <utility>

namespace spillway::gui {

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
    : AskedRun(std::move(program), parent) {}

}  // namespace spillway::gui
