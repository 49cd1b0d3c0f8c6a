#pragma once

#include "explore/companion.hpp"
#include "explore/outcomes.hpp"

#include <map>
#include <optional>

namespace spillway::explore {

/// What came of a scenario that was sent to a nursery.
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

/// Owns a small process that has the engine in it and nothing else, and forks a child for each
/// scenario. Whatever happens to a child is an outcome; when the small process itself is ended, a
/// new one takes over what it had not delivered.
class Nursery {
 public:
  /// Starts the process.
  ///   jobs     children at a time, at least one
  ///   limit_s  after which a child is ended
  ///   Throws   DeviceError when the process cannot be started
  Nursery(const Backend& backend, std::size_t jobs, double limit_s, AroundFork around = {});

  /// Hands over a resolved scenario, as JSON that can be read again.
  void send(std::uint64_t number, const nlohmann::json& scenario);

  /// What has been delivered within `wait_s`; one child that a signal ended is tried once more
  /// before its outcome says so.
  ///   Throws  DeviceError when no process can be started any more
  std::vector<Delivery> collect(double wait_s);

  /// Scenarios that were sent and not delivered.
  std::size_t pending() const { return pending_.size(); }
  std::size_t jobs() const { return jobs_; }
  pid_t pid() const { return process_->pid(); }

  /// Ends what is not delivered.
  void forget();

 private:
  struct Pending {
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
  std::optional<Companion> process_;
  std::deque<std::string> lines_;
  std::map<std::uint64_t, Pending> pending_;
};

}  // namespace spillway::explore
