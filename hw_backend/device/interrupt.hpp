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

/// While one lives, SIGINT, SIGTERM, SIGQUIT and SIGHUP end the run at its next look instead of the
/// process at once. A further one a second later does; within that second it is the same wish (a
/// terminal and `timeout` send to the process and to its group), and one that hangs up always is.
/// A SIGHUP that was ignored (nohup) still is. One that nobody looked for takes effect when the
/// last guard dies.
class InterruptGuard {
 public:
  /// Whether a reader of the output that goes away (SIGPIPE) may end the process.
  enum class Reader : unsigned char { needed, may_go };

  explicit InterruptGuard(Reader reader = Reader::needed);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;

 private:
  Reader reader_;
  struct sigaction before_pipe_ {};
};

/// Throws  Interrupted once a signal has come
void stop_if_interrupted();

}  // namespace spillway::hw_backend
