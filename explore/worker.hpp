#pragma once

#include "explore/line_process.hpp"
#include "explore/outcomes.hpp"

#include <map>
#include <optional>

namespace spillway::explore {

/// What came of a scenario that was sent to a worker.
struct Delivery {
  std::uint64_t number = 0;  ///< as it was sent
  Outcome outcome;
  double seconds = 0;  ///< from its child's start to its end
};

/// Hooks around a fork of this process: what does not survive one is put away and taken out again.
struct AroundFork {
  std::function<void()> before = [] {};
  std::function<void()> after = [] {};
};

/// Owns a worker, a process that has the engine in it and nothing else and speaks the protocol of
/// ForkServer, and what it has not answered yet. Whatever happens to a child of it is an outcome;
/// when the worker itself is ended, a new one takes over what it had not answered.
class Worker {
 public:
  /// Starts the process.
  ///   jobs     children at a time, at least one
  ///   limit_s  after which a child is ended
  ///   Throws   DeviceError when the process cannot be started
  Worker(const Backend& backend, std::size_t jobs, double limit_s, AroundFork around = {});

  /// Hands over a scenario, resolved or as people write it.
  void send(std::uint64_t number, const nlohmann::json& scenario);

  /// What has been answered within `wait_s`; one child that was killed is tried once more before
  /// its outcome says so.
  ///   Throws  DeviceError when no process can be started any more
  std::vector<Delivery> collect(double wait_s);

  /// Scenarios that were sent and not answered.
  std::size_t pending() const { return pending_.size(); }
  std::size_t jobs() const { return jobs_; }
  pid_t pid() const { return process_->pid(); }

  /// Cancels what is not answered.
  void forget();

 private:
  struct Pending {
    std::uint64_t number = 0;
    std::string line;
    int tries = 0;
  };
  void start();
  void restart();
  void deliver(const std::string& line, std::vector<Delivery>& into);

  Backend backend_;
  std::size_t jobs_;
  double limit_s_;
  AroundFork around_;
  std::optional<LineProcess> process_;
  std::deque<std::string> lines_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Pending> pending_;  ///< by the id of the request
};

}  // namespace spillway::explore
