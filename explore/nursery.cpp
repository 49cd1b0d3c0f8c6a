#include "explore/nursery.hpp"

#include "explore/child.hpp"
#include "scenarios/description/complaint_json.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace spillway::explore {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

/// Times that a scenario is tried whose process was ended from outside.
constexpr int most_tries = 2;

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

void Nursery::start() {
  around_.before();
  try {
    process_.emplace([this](int requests, int replies) {
      Matron(backend_, jobs_, limit_s_, requests, replies).run();
    });
  } catch (const description::DeviceError&) {
    around_.after();
    throw;
  }
  around_.after();
}

void Nursery::restart() {
  process_.reset();
  start();
  for (auto& [number, pending] : pending_) process_->send(pending.line);
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
  if (!process_->send(pending.line)) restart();
}

std::vector<Delivery> Nursery::collect(double wait_s) {
  std::vector<Delivery> delivered;
  const bool alive = process_->collect(wait_s, lines_);
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
    process_->send(pending->second.line);  // collect() finds out when it is gone
    return;
  }
  into.push_back({pending->first, read_outcome(text, 0), head.at("seconds")});
  pending_.erase(pending);
}

}  // namespace spillway::explore
