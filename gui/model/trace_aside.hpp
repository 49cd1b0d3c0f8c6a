#pragma once

#include "gui/model/trace.hpp"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>

namespace spillway::gui {

/// Makes a trace on another thread, and hands it over on the application's own while `receiver` is
/// alive: the trace, or none and a sentence that says why.
void make_trace_aside(QObject* receiver, std::function<Trace()> make,
                      std::function<void(std::shared_ptr<const Trace>, QString)> take);

}  // namespace spillway::gui
