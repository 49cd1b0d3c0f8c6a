#pragma once

#include <QCoreApplication>
#include <QElapsedTimer>

namespace spillway::gui {

/// Lets events happen until `done`.
///   Result  false when that took longer than `most_ms`
template <class Done>
bool until(const Done& done, int most_ms = 30'000) {
  QElapsedTimer clock;
  clock.start();
  while (!done() && clock.elapsed() < most_ms)
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
  return done();
}

}  // namespace spillway::gui
