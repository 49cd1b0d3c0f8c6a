#pragma once

#include "explore/processes/child.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spillway::explore {

/// Asked at least ten times a second while there is work in children, and before each bound that is
/// computed; false ends what is not done yet.
///   done  pieces of work that were done since it was asked last
using Watch = std::function<bool(std::size_t done)>;

/// What is known of starting processes, shared by all copies: where there were none a moment ago
/// one try is enough, and where there were none for some seconds nobody tries any more.
class Starts {
 public:
  /// Tries in a row that found none, while no other process of ours runs, before there is none.
  int tries() const;
  void refused();
  void succeeded();
  bool given_up() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct State {
    std::optional<Clock::time_point> first, last;  ///< refusals since the last success
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// What came of one piece of work.
struct Piece {
  enum class End : unsigned char {
    done,         ///< of its own accord: `text`, and `status` as waitpid gives it
    over_limit,   ///< killed
    not_tried,    ///< the watch ended the work first
    not_started,  ///< no process was to be had: `text` says why
  };
  End end = End::not_tried;
  std::string text;
  int status = 0;
};

/// Texts that are worked out in child processes, beside what the caller does. A child that has
/// worked out one takes the next, as the memory that a process touches first costs it much of its
/// time; one that ends otherwise ends its own text alone.
class ChildPool {
 public:
  /// Starts the first `jobs`.
  ///   work   by number, below `count`
  ///   watch  may be empty
  ChildPool(std::size_t count, std::function<std::string(std::size_t)> work, std::size_t jobs,
            double limit_s, Watch watch, Starts starts = {});
  ChildPool(const ChildPool&) = delete;
  ChildPool& operator=(const ChildPool&) = delete;
  /// Ends what is still at work.
  ~ChildPool();

  /// Keeps `jobs` at work until all is done. One that takes longer than `limit_s` is killed.
  ///   Result  by number
  std::vector<Piece> finish();

 private:
  struct Worker {
    Child child;
    std::size_t number = 0;
  };

  void start();
  Worker start_worker();
  void collect();
  void collect_from(std::size_t worker);
  void give_next(std::size_t worker);
  void end(std::size_t worker);
  void end_all();

  std::function<std::string(std::size_t)> work_;
  std::size_t jobs_;
  double limit_s_;
  Watch watch_;
  Starts starts_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;  ///< since the watch was asked
  int refused_ = 0;       ///< tries in a row for which there was no process
  std::chrono::steady_clock::time_point refused_at_;
  std::vector<Worker> children_;
  std::vector<Piece> pieces_;
};

/// The same while the caller waits.
std::vector<Piece> in_children(std::size_t count, std::function<std::string(std::size_t)> work,
                               std::size_t jobs, double limit_s, Watch watch, Starts starts = {});

/// Simulations at a time where nobody says: the cores that this process may use.
std::size_t usable_cores();

}  // namespace spillway::explore
