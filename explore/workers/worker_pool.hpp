#pragma once

#include "explore/outcome/outcomes.hpp"
#include "explore/processes/line_process.hpp"

#include <chrono>
#include <map>
#include <memory>

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

/// A process that speaks the protocol of ForkServer, and how it is started.
struct WorkerPlace {
  std::string name;  ///< for messages: "worker 2 (node17)"
  std::function<std::unique_ptr<LineProcess>()> start;
};

/// A worker that is forked from this process and has the engine in it and nothing else.
WorkerPlace own_worker(const Backend& backend, std::size_t jobs, double limit_s,
                       AroundFork around = {});
/// One that a command starts, such as srun, on whatever machine that is.
WorkerPlace worker_of_command(std::string name, std::vector<std::string> command);

struct PoolOptions {
  std::size_t jobs = 1;  ///< simulations that each worker does at a time
  /// Whether a worker that ended is started again; else its scenarios go to the others.
  bool again = true;
  /// After which a worker that has work to do, which says something each second, counts as ended;
  /// 0: never.
  double silence_s = 0;
  std::function<void(const std::string&)> notice = [](const std::string&) {};
};

/// Owns workers and what they were sent and have not answered. Whatever happens to a child of a
/// worker is an outcome; what a worker had not answered when it ended is sent again.
class WorkerPool {
 public:
  /// Starts them.
  ///   Throws   DeviceError when a process cannot be started
  WorkerPool(std::vector<WorkerPlace> places, PoolOptions options);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  /// Ends them, all at the same time.
  ~WorkerPool();

  /// Hands a scenario, resolved or as people write it, to the worker with the least to do.
  void send(std::uint64_t number, const nlohmann::json& scenario);

  /// What has been answered within `wait_s`; one child that was killed is tried once more before
  /// its outcome says so.
  ///   Throws  DeviceError when no process can be started any more, or none is left, or one that
  ///           is started again ended of its own accord: so would each that takes its place
  std::vector<Delivery> collect(double wait_s);

  /// Scenarios that were sent and not answered.
  std::size_t pending() const { return pending_.size(); }
  std::size_t size() const { return members_.size(); }
  /// Simulations at a time, of all workers that are there.
  std::size_t jobs() const;
  /// Cancels what is not answered.
  void forget();

 private:
  using Clock = std::chrono::steady_clock;
  struct Member {
    WorkerPlace place;
    std::unique_ptr<LineProcess> process;  ///< nullptr: lost
    std::size_t pending = 0;
    Clock::time_point heard = Clock::now();
  };
  struct Pending {
    std::uint64_t number = 0;
    std::string line;
    int tries = 0;
    std::size_t member = 0;
  };

  void assign(Pending& pending);
  void wait(double wait_s) const;
  void listen(std::size_t index, std::vector<Delivery>& into);
  void deliver(const std::string& line, std::vector<Delivery>& into);
  Outcome read_answer(const nlohmann::json& said, const Pending& pending) const;
  void ended(std::size_t index, std::vector<Delivery>& into);
  void lose(std::size_t index, const std::string& why);
  void restart(std::size_t index, const char* twice, std::vector<Delivery>& into);
  void lose_silent(std::vector<Delivery>& into);
  void erase(std::map<std::uint64_t, Pending>::iterator pending);

  PoolOptions options_;
  std::vector<Member> members_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Pending> pending_;  ///< by the id of the request
  Clock::time_point listened_ = Clock::now();
};

}  // namespace spillway::explore
