#pragma once

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QTimer>

namespace spillway::gui {

/// Lets events happen until `done`.
///   Result  false when that took longer than `most_ms`
template <class Done>
bool until(const Done& done, int most_ms = 30'000) {
  QElapsedTimer clock;
  clock.start();
  QTimer wake;  // what is waited for may come without an event
  wake.start(5);
  while (!done() && clock.elapsed() < most_ms)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  return done();
}

}  // namespace spillway::gui
