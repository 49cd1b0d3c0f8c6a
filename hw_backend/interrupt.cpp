#include "hw_backend/interrupt.hpp"

#include <signal.h>
#include <atomic>

namespace spillway::hw_backend {

namespace {

std::atomic<int> first_signal{0};
struct sigaction before_interrupt, before_terminate;

void note_signal(int number) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;  // without SA_RESTART: a wait returns
  sigaction(SIGINT, &action, &before_interrupt);
  sigaction(SIGTERM, &action, &before_terminate);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &before_interrupt, nullptr);
  sigaction(SIGTERM, &before_terminate, nullptr);
  first_signal = 0;  // who runs without a guard cannot be interrupted
}

void stop_if_interrupted() {
  if (const int signal = first_signal; signal != 0) throw Interrupted(signal);
}

}  // namespace spillway::hw_backend
