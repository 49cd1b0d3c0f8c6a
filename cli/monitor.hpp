#pragma once

#include "explore/outcome/outcomes.hpp"
#include "hw_backend/device/interrupt.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace spillway::cli {

/// Owns the wait for an answer that takes many simulations: a line on standard error that says how
/// far it is, in a terminal after two seconds, else a few of them from five seconds on; a time
/// limit; and Ctrl-C, after which what was found so far is the answer. A second Ctrl-C ends the
/// program.
class Monitor {
 public:
  /// No limit.
  static constexpr double forever = 0;

  /// From now on.
  ///   what   is being done: "simulating"
  Monitor(std::string what, double limit_s);
  ~Monitor() { clear(); }
  Monitor(const Monitor&) = delete;

  /// The simulator, ended by the limit and by Ctrl-C. Valid as long as this.
  explore::Backend backend();

  /// From now on something else, with a limit of its own.
  void begin(std::string what, double limit_s);
  /// What is being done now, under the same limit.
  void say(std::string what) { what_ = std::move(what); }
  /// Scenarios that there are; 0: nobody knows.
  void expect(std::size_t scenarios) { of_ = scenarios; }

  /// Ctrl-C ends the program again, before what nothing can end from outside.
  void let_go() { guard_.reset(); }
  /// Takes the line away, before something is printed.
  void clear();
  /// False once it is to end; draws the line.
  bool goes_on();
  bool interrupted() const { return signal_ != 0; }
  bool ended() const { return signal_ != 0 || late_; }
  /// "Ended by Ctrl-C after 3.2 s", "The limit of 5 s was reached"; "" while it goes on.
  std::string why() const;
  /// After the answer was printed.  Throws  CLI::RuntimeError with the signal's exit code
  void finish() const;

 private:
  bool look(std::size_t simulated);
  double first_wait() const;
  double seconds() const;
  void draw();

  std::string what_;
  double limit_s_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t done_ = 0, of_ = 0;
  int signal_ = 0;
  bool late_ = false, terminal_, drawn_ = false;
  double next_s_, ended_s_ = 0;
  std::optional<hw_backend::InterruptGuard> guard_{std::in_place};
};

/// `--limit SECONDS` of a verb that simulates a lot.
void add_limit(CLI::App& verb, double& limit_s, const std::string& help);

}  // namespace spillway::cli
