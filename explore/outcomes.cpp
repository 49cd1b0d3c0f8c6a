#include "explore/outcomes.hpp"

#include "scenarios/description/complaint_json.hpp"
#include "strategies/automatic.hpp"
#include "strategies/catalogue.hpp"
#include "strategies/run.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>

namespace spillway::explore {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A child that simulates one scenario and writes its outcome as JSON into a pipe.
struct Child {
  pid_t pid = 0;
  int pipe = -1;
  std::size_t index = 0;
  std::string text;
  Clock::time_point started;
};

nlohmann::json outcome_of(const Backend& backend, const description::Scenario& scenario) {
  nlohmann::json outcome;
  try {
    outcome["result"] = simulate(backend, scenario);
  } catch (const description::ScenarioError& error) {
    outcome["errors"] = error.complaints();
  } catch (const std::exception& error) {
    outcome["failure"] = error.what();
  }
  return outcome;
}

[[noreturn]] void run_child(const Backend& backend, const description::Scenario& scenario,
                            int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever stops the program stops its simulations
  const std::string text = outcome_of(backend, scenario).dump();
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(pipe, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  ::_exit(0);
}

Outcome read_outcome(const std::string& text, int status) {
  Outcome outcome;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    outcome.failure = WIFSIGNALED(status) ? "the simulation was ended by signal " +
                                                std::string(::strsignal(WTERMSIG(status)))
                                          : "the simulation ended without a result";
    return outcome;
  }
  if (json.contains("result")) outcome.result = json["result"].get<result::Result>();
  if (json.contains("failure")) outcome.failure = json["failure"];
  if (json.contains("errors")) json["errors"].get_to(outcome.complaints);
  return outcome;
}

/// Keeps up to `jobs` children busy and collects what they write.
class Crew {
 public:
  Crew(const Backend& backend, std::span<const description::Scenario> scenarios, std::size_t jobs,
       double limit_s)
      : backend_(backend),
        scenarios_(scenarios),
        jobs_(jobs),
        limit_s_(limit_s),
        outcomes_(scenarios.size()) {}

  std::vector<Outcome> work() {
    while (next_ < scenarios_.size() || !children_.empty()) {
      while (next_ < scenarios_.size() && children_.size() < jobs_) start(next_++);
      collect();
    }
    return std::move(outcomes_);
  }

 private:
  void start(std::size_t index) {
    int ends[2];
    if (::pipe(ends) != 0) {
      outcomes_[index].failure = std::string("pipe: ") + std::strerror(errno);
      return;
    }
    std::fflush(nullptr);  // what is still buffered here would be written by the child as well
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      run_child(backend_, scenarios_[index], ends[1]);
    }
    ::close(ends[1]);
    if (pid < 0) {
      ::close(ends[0]);
      outcomes_[index].failure = std::string("fork: ") + std::strerror(errno);
      return;
    }
    children_.push_back({pid, ends[0], index, {}, Clock::now()});
  }

  void collect() {
    std::vector<pollfd> watched;
    for (const Child& child : children_) watched.push_back({child.pipe, POLLIN, 0});
    ::poll(watched.data(), watched.size(), 100);
    for (std::size_t i = children_.size(); i-- > 0;) {
      if (watched[i].revents != 0 && !read_some(children_[i])) {
        finish(i);
      } else if (seconds_since(children_[i].started) > limit_s_) {
        ::kill(children_[i].pid, SIGKILL);
        outcomes_[children_[i].index].failure = "the simulation exceeded its time limit";
        reap(i);
      }
    }
  }

  /// False at the end of the pipe.
  static bool read_some(Child& child) {
    char buffer[1 << 16];
    const ssize_t count = ::read(child.pipe, buffer, sizeof buffer);
    if (count > 0) child.text.append(buffer, static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }

  int reap(std::size_t i) {
    int status = 0;
    while (::waitpid(children_[i].pid, &status, 0) < 0 && errno == EINTR) {
    }
    ::close(children_[i].pipe);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    return status;
  }

  void finish(std::size_t i) {
    const std::size_t index = children_[i].index;
    const std::string text = std::move(children_[i].text);
    outcomes_[index] = read_outcome(text, reap(i));
  }

  const Backend& backend_;
  std::span<const description::Scenario> scenarios_;
  std::size_t jobs_;
  double limit_s_;
  std::size_t next_ = 0;
  std::vector<Child> children_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

std::vector<scenarios::SystemInfo> known_systems() {
  std::vector<scenarios::SystemInfo> systems;
  for (const strategies::System& system : strategies::catalogue())
    systems.push_back({system.name, system.defaults()});
  return systems;
}

result::Result simulate(const Backend& backend, const description::Scenario& written,
                        result::Trace* trace) {
  const auto start = Clock::now();
  const strategies::Prepared prepared = strategies::prepare(written);
  const description::Scenario scenario = strategies::resolve_automatic(written, prepared);
  const auto machine = backend.open(scenario, trace != nullptr);
  result::Result result = strategies::run(*machine, scenario, prepared, backend.name);
  if (trace) *trace = std::move(machine->recorder().trace());
  result.simulated_in_s = seconds_since(start);
  return result;
}

std::vector<Outcome> simulate_all(const Backend& backend,
                                  std::span<const description::Scenario> scenarios,
                                  std::size_t jobs, double limit_s) {
  if (jobs == 0) jobs = std::max(1u, std::thread::hardware_concurrency());
  backend.prepare();
  std::fflush(nullptr);  // a child must not print what waits in the parent's buffers
  return Crew(backend, scenarios, jobs, limit_s).work();
}

}  // namespace spillway::explore
