#include "hw_backend/interrupt.hpp"

#include <signal.h>
#include <atomic>
#include <csignal>

namespace spillway::hw_backend {

namespace {

std::atomic<int> signals{0};
struct sigaction before_interrupt, before_terminate;

void note_signal(int number) {
  if (signals.fetch_add(1) == 0) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signals = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;  // without SA_RESTART: a wait returns
  sigaction(SIGINT, &action, &before_interrupt);
  sigaction(SIGTERM, &action, &before_terminate);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &before_interrupt, nullptr);
  sigaction(SIGTERM, &before_terminate, nullptr);
}

void stop_if_interrupted() {
  if (signals > 0) throw Interrupted();
}

}  // namespace spillway::hw_backend
