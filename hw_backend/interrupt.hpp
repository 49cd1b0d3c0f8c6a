#pragma once

#include <csignal>
#include <stdexcept>

namespace spillway::hw_backend {

/// The user wants it to stop: nothing is left behind.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal = SIGINT) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

/// While it lives, SIGINT and SIGTERM end the run at its next look instead of the process at once;
/// a second one does.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
};

/// Throws  Interrupted once a signal has come
void stop_if_interrupted();

}  // namespace spillway::hw_backend
