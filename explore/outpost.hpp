#pragma once

#include "explore/line_process.hpp"
#include "explore/measure.hpp"

namespace spillway::explore {

/// Owns a process with a worker and a part of the database of its own: its shard. It is asked and
/// answers in lines of JSON, so that both may come from another machine:
///   {"begin": FILE, "space": ID}  opens the shard; {"ready": simulations at a time}
///   {"points": [NUMBER, ...]}     each in its time {"number", "how", "key", "outcome"}: how is
///                                 "simulated", "known" to the shard or "refused"; its rows are
///                                 committed before the answer leaves
///   {"whole": NUMBER}             simulated for {"whole": NUMBER, "result"}; no row is written
///   {"close": true}               what is not begun is dropped, the shard closed; {"closed": true}
/// and {"lost": why} when it cannot go on. It forks, so it has to be started before anything is
/// loaded that does not survive a fork.
class Outpost {
 public:
  /// Keeps no references: the process has copies of its own.
  Outpost(const Backend& backend, const Points& points, std::size_t jobs, double limit_s);

  /// Takes lines.
  void send(const std::string& lines) { alive_ = process_.send(lines) && alive_; }
  /// Lines that come within `wait_s`.
  std::deque<std::string> collect(double wait_s);
  bool alive() const { return alive_; }
  pid_t pid() const { return process_.pid(); }

 private:
  LineProcess process_;
  bool alive_ = true;
};

}  // namespace spillway::explore
