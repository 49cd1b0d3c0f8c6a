#include "gui/model/trace_aside.hpp"

#include "gui/model/open_file.hpp"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>

namespace spillway::gui {

void make_trace_aside(QObject* receiver, std::function<Trace()> make,
                      std::function<void(std::shared_ptr<const Trace>, QString)> take) {
  const QPointer<QObject> alive(receiver);
  QThreadPool::globalInstance()->start([alive, make = std::move(make), take = std::move(take)] {
    std::shared_ptr<const Trace> trace;
    QString refusal;
    try {
      trace = std::make_shared<const Trace>(make());
    } catch (const std::exception& error) {
      refusal = QString::fromStdString(one_sentence(error));
    }
    QMetaObject::invokeMethod(
        qApp,
        [alive, take, trace, refusal] {
          if (alive) take(trace, refusal);
        },
        Qt::QueuedConnection);
  });
}

}  // namespace spillway::gui
