#include "explore/nursery.hpp"

#include "explore/child.hpp"
#include "scenarios/description/complaint_json.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace spillway::explore {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

/// Times that a scenario is tried whose process was ended from outside.
constexpr int most_tries = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Takes the lines that are complete out of `text`.
void take_lines(std::string& text, std::deque<std::string>& lines) {
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
    lines.push_back(text.substr(start, end - start));
  text.erase(0, start);
}

/// False at the end of the file.
bool read_into(std::string& text, int file) {
  char buffer[1 << 16];
  const ssize_t count = ::read(file, buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

/// Resolves and simulates the scenario of a request, in a child.
std::string answer(const Backend& backend, const json& scenario) {
  try {
    static const std::vector<scenarios::SystemInfo> systems = known_systems();
    return outcome_text(backend, scenarios::read_scenario(scenario, {}, systems).scenario);
  } catch (const description::ScenarioError& error) {
    return json{{"errors", error.complaints()}}.dump();
  }
}

/// The small process: a request is a line {"number", "scenario"}, a reply one {"number", "seconds"}
/// and what outcome_text gives, or {"failure", "signal"}.
class Matron {
 public:
  Matron(const Backend& backend, std::size_t jobs, double limit_s, int requests, int replies)
      : backend_(backend), jobs_(jobs), limit_s_(limit_s), requests_(requests), replies_(replies) {}

  void run() {
    backend_.prepare();
    while (open_ || !waiting_.empty() || !children_.empty()) {
      while (!waiting_.empty() && children_.size() < jobs_) start_next();
      if (!serve()) return;
    }
  }

 private:
  struct Charge {
    Child child;
    std::uint64_t number = 0;
  };

  void start_next() {
    const json request = json::parse(waiting_.front());
    waiting_.pop_front();
    const std::uint64_t number = request.at("number");
    Child child = start_child([&] { return answer(backend_, request.at("scenario")); });
    if (child.pid == 0)
      reply(number, json{{"failure", child.text}}.dump(), 0);
    else
      children_.push_back({std::move(child), number});
  }

  /// False when nobody listens any more.
  bool serve() {
    std::vector<pollfd> watched;
    for (const Charge& one : children_) watched.push_back({one.child.pipe, POLLIN, 0});
    if (open_) watched.push_back({requests_, POLLIN, 0});
    ::poll(watched.data(), watched.size(), children_.empty() ? -1 : 100);
    if (open_ && watched.back().revents != 0) {
      open_ = read_into(unread_, requests_);
      take_lines(unread_, waiting_);
    }
    for (std::size_t i = children_.size(); i-- > 0;) {
      Child& child = children_[i].child;
      if (watched[i].revents != 0 && !read_some(child))
        finish(i, false);
      else if (seconds_since(child.started) > limit_s_)
        finish(i, true);
    }
    return listened_;
  }

  void finish(std::size_t i, bool late) {
    Charge done = std::move(children_[i]);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    if (late) ::kill(done.child.pid, SIGKILL);
    const double seconds = seconds_since(done.child.started);
    const int status = reap(done.child);
    std::string text = std::move(done.child.text);
    if (late) {
      text = json{{"failure", over_limit}}.dump();
    } else if (text.empty() || !json::accept(text)) {
      const json failure = {{"failure", read_outcome(text, status).failure},
                            {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0}};
      text = failure.dump();
    }
    reply(done.number, text, seconds);
  }

  void reply(std::uint64_t number, const std::string& outcome, double seconds) {
    const json head = {{"number", number}, {"seconds", seconds}};
    listened_ = listened_ && write_all(replies_, head.dump() + "\t" + outcome + "\n");
  }

  const Backend& backend_;
  const std::size_t jobs_;
  const double limit_s_;
  const int requests_, replies_;
  bool open_ = true, listened_ = true;
  std::string unread_;
  std::deque<std::string> waiting_;
  std::vector<Charge> children_;
};

}  // namespace

Nursery::Nursery(const Backend& backend, std::size_t jobs, double limit_s, AroundFork around)
    : backend_(backend),
      jobs_(std::max<std::size_t>(1, jobs)),
      limit_s_(limit_s),
      around_(std::move(around)) {
  start();
}

Nursery::~Nursery() { stop(); }

void Nursery::start() {
  int requests[2], replies[2];
  if (::pipe2(requests, O_CLOEXEC) != 0 || ::pipe2(replies, O_CLOEXEC) != 0)
    throw description::DeviceError(std::string("pipe: ") + std::strerror(errno));
  std::fflush(nullptr);
  around_.before();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);  // it ended before the line above
    std::signal(SIGINT, SIG_IGN);           // whoever started it decides
    std::signal(SIGPIPE, SIG_IGN);
    ::close(requests[1]);
    ::close(replies[0]);
    Matron(backend_, jobs_, limit_s_, requests[0], replies[1]).run();
    ::_exit(0);
  }
  const int reason = errno;
  around_.after();
  ::close(requests[0]);
  ::close(replies[1]);
  if (pid_ < 0) throw description::DeviceError(std::string("fork: ") + std::strerror(reason));
  requests_ = requests[1];
  replies_ = replies[0];
  ::fcntl(requests_, F_SETFL, O_NONBLOCK);
  ::fcntl(replies_, F_SETFL, O_NONBLOCK);
}

void Nursery::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(requests_);
  ::close(replies_);
  pid_ = 0;
}

void Nursery::restart() {
  stop();
  unread_.clear();
  unsent_.clear();
  start();
  for (auto& [number, pending] : pending_) unsent_ += pending.line;
}

void Nursery::forget() {
  if (pending_.empty()) return;
  pending_.clear();
  lines_.clear();
  restart();
}

void Nursery::send(std::uint64_t number, const json& scenario) {
  const json request = {{"number", number}, {"scenario", scenario}};
  Pending& pending = pending_[number] = {request.dump() + "\n", 0};
  unsent_ += pending.line;
  if (!write_some()) restart();
}

/// False when the process is gone.
bool Nursery::write_some() {
  while (!unsent_.empty()) {
    const ssize_t count = ::write(requests_, unsent_.data(), unsent_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    unsent_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

/// False when the process is gone.
bool Nursery::read_lines() {
  const bool more = read_into(unread_, replies_);
  take_lines(unread_, lines_);
  return more;
}

std::vector<Delivery> Nursery::collect(double wait_s) {
  std::vector<Delivery> delivered;
  pollfd watched[2] = {{replies_, POLLIN, 0}, {requests_, POLLOUT, 0}};
  ::poll(watched, unsent_.empty() ? 1 : 2, static_cast<int>(wait_s * 1000));
  bool alive = write_some();
  if (watched[0].revents != 0) alive = read_lines() && alive;
  for (const std::string& line : lines_) deliver(line, delivered);
  lines_.clear();
  if (alive) return delivered;
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    if (++pending->second.tries >= most_tries) {
      delivered.push_back({pending->first, {{}, {}, "its process was ended twice"}, 0});
      pending = pending_.erase(pending);
    } else {
      ++pending;
    }
  }
  restart();
  return delivered;
}

void Nursery::deliver(const std::string& line, std::vector<Delivery>& into) {
  const std::size_t tab = line.find('\t');
  const json head = json::parse(line.substr(0, tab));
  const std::string text = line.substr(tab + 1);
  const auto pending = pending_.find(head.at("number"));
  if (pending == pending_.end()) return;
  const bool killed =
      text.starts_with("{\"failure\"") && json::parse(text).value("signal", 0) == SIGKILL;
  if (killed && ++pending->second.tries < most_tries) {
    unsent_ += pending->second.line;
    return;
  }
  into.push_back({pending->first, read_outcome(text, 0), head.at("seconds")});
  pending_.erase(pending);
}

}  // namespace spillway::explore
