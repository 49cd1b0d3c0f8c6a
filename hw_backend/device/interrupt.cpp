#include "hw_backend/device/interrupt.hpp"

#include <signal.h>
#include <array>
#include <atomic>
#include <ctime>
#include <exception>

namespace spillway::hw_backend {

namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGQUIT, SIGHUP};
constexpr long long same_wish_ns = 1'000'000'000;

std::atomic<int> first_signal{0};
std::atomic<long long> first_ns{0};
std::atomic<bool> looked_for{false};
int guards = 0;
std::array<struct sigaction, signals.size()> before;

long long now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void note_signal(int number) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) {
    first_ns = now_ns();
    return;
  }
  if (number == SIGHUP || first_ns == 0 || now_ns() - first_ns < same_wish_ns) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

InterruptGuard::InterruptGuard(Reader reader) : reader_(reader) {
  struct sigaction action {};
  if (reader_ == Reader::may_go) {
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, &before_pipe_);
  }
  if (guards++ > 0) return;
  first_signal = 0;
  first_ns = 0;
  looked_for = false;
  action.sa_handler = note_signal;  // without SA_RESTART: a wait returns
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], nullptr, &before[i]);
    if (signals[i] != SIGHUP || before[i].sa_handler != SIG_IGN)
      sigaction(signals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  if (reader_ == Reader::may_go) sigaction(SIGPIPE, &before_pipe_, nullptr);
  if (--guards > 0) return;
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before[i], nullptr);
  const int missed = looked_for ? 0 : first_signal.load();
  first_signal = 0;  // who runs without a guard cannot be interrupted
  if (missed != 0 && std::uncaught_exceptions() == 0) std::raise(missed);
}

void stop_if_interrupted() {
  const int signal = first_signal;
  if (signal == 0) return;
  looked_for = true;
  throw Interrupted(signal);
}

}  // namespace spillway::hw_backend
