#pragma once

#include "answers/fit/change.hpp"

namespace spillway::answers {

/// Gives the results of a search their best plan for less, what would make them faster and how far
/// their headline numbers may be off, and finds the one change that helps most what people can run.
/// All of it side by side, in children. What-ifs and ranges are of plans for all of the machine
/// alone, in proportion to what that takes: each plan for less costs a simulation.
class Completion {
 public:
  ///   backend  outlives this
  ///   wishes   what a change has to heed
  Completion(const explore::Backend& backend, Wishes wishes)
      : backend_(backend), wishes_(std::move(wishes)) {}

  /// Starts what is about the fastest that people can run, beside the rest of the search.
  void begin(const Found& found);

  /// Starts the rest, and waits for all of it.
  ///   found   the whole search's
  ///   answer  gets its results and the change, simulations are added
  void finish(const Found& found, FitAnswer& answer);

 private:
  /// What is worked out in a child of its own.
  enum class Task : std::uint8_t { runnable_next, runnable_range, change, best_next, best_range };

  void start(const Found& found, std::vector<Task> tasks);
  void take(const nlohmann::json& part, Task task, FitAnswer& answer) const;
  void take(const explore::Piece& piece, Task task, FitAnswer& answer) const;
  static nlohmann::json part_of(const explore::Backend& backend, const Wishes& wishes,
                                const Found& found, Task task);

  struct Shift {
    std::vector<Task> tasks;
    std::unique_ptr<explore::ChildPool> pool;
  };

  const explore::Backend& backend_;
  Wishes wishes_;
  std::vector<Shift> shifts_;
};

}  // namespace spillway::answers
