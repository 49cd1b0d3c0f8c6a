#include "explore/workers/fork_server.hpp"

#include "explore/processes/line_process.hpp"
#include "explore/workers/reply.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/complaint_json.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

namespace spillway::explore {

using nlohmann::json;

namespace {

constexpr int look_every_ms = 100;
constexpr double progress_every_s = 1;
/// Children at a time for what needs no simulation, beside those that simulate.
constexpr std::size_t quick_jobs = 2;
/// Requests that wait before no more are read, and bytes of answers before no more are started.
constexpr std::size_t most_waiting = 10'000, most_unsent = 1 << 24;

/// Of a request, in bytes; more would be held in memory until its end comes.
constexpr std::size_t longest_line = 64u << 20;
const description::Complaint too_long = {
    "", 0, 0, "", "the line has more than 64 MiB, which is the limit", "name files in a scenario"};

}  // namespace

void prepare_worker(const Backend& backend) {
  backend.prepare();
  const json scenario = {
      {"model", "gpt2"}, {"machine", "gaming_4090"}, {"strategy", {{"system", "zero_infinity"}}}};
  try {
    scenarios::read_scenario(scenario, {}, known_systems(), scenarios::Refuse::what_cannot_run);
  } catch (const description::ScenarioError&) {  // whoever asks for a scenario is told
  }
}

AnswerRequest answer_with(const Backend& backend) {
  return [&backend](const Request& request, int pipe) {
    Reply reply(request.id, pipe);
    try {
      static const std::vector<scenarios::SystemInfo> systems = known_systems();
      const Outcome outcome = attempt(backend,
                                      scenarios::read_scenario(request.scenario, {}, systems,
                                                               scenarios::Refuse::what_cannot_run)
                                          .scenario,
                                      {request.when_full});
      reply.end(outcome_json(outcome));
    } catch (const description::ScenarioError& error) {
      reply.end({{"errors", error.complaints()}});
    }
  };
}

ForkServer::ForkServer(AnswerRequest answer, std::size_t jobs, double limit_s, int requests,
                       int replies)
    : answer_(std::move(answer)),
      jobs_(std::max<std::size_t>(1, jobs)),
      limit_s_(limit_s),
      requests_(requests),
      replies_(replies) {}

ForkServer::~ForkServer() {
  for (auto* children : {&running_, &warm_})
    for (Running& one : *children) end_child(one.child);
}

void ForkServer::run() {
  std::signal(SIGPIPE, SIG_IGN);
  while (read_by_ && (open_ || !idle() || !unsent_.empty())) {
    start_waiting();
    write_some();
    if (!read_by_ || (!open_ && idle() && unsent_.empty())) return;
    read_by_ = serve() && read_by_;
  }
}

std::size_t ForkServer::simulating() const {
  return static_cast<std::size_t>(
      std::count_if(running_.begin(), running_.end(),
                    [this](const Running& one) { return jobs_ == 1 || !one.request.quick(); }));
}

void ForkServer::start_waiting() {
  std::size_t simulated = simulating();
  while (!waiting_.empty() && simulated < jobs_ && unsent_.size() < most_unsent) {
    Request next = std::move(waiting_.front());
    waiting_.pop_front();
    if (!start(std::move(next))) return;
    simulated = simulating();
  }
  while (!quick_.empty() && running_.size() - simulated < quick_jobs &&
         unsent_.size() < most_unsent) {
    Request next = std::move(quick_.front());
    quick_.pop_front();
    if (!start(std::move(next))) return;
  }
}

/// False when it waits again, since the system has no more processes.
bool ForkServer::start(Request request) {
  if (!request.complaints.empty()) {
    answer(request, 0, {{"errors", request.complaints}});
    return true;
  }
  if (start_warm(request)) return true;
  Running one = fork_child(std::move(request));
  if (one.child.pid == 0 && !warm_.empty()) {
    for (Running& other : warm_) end_child(other.child);
    warm_.clear();
    one = fork_child(std::move(one.request));
  }
  if (one.child.pid == 0 && !running_.empty()) return put_back(std::move(one.request));
  if (one.child.pid == 0)
    answer(one.request, 0, {{"failure", "no process for the simulation: " + one.child.text}});
  else
    running_.push_back(std::move(one));
  return true;
}

/// As the next, once one of those that run has ended.
bool ForkServer::put_back(Request request) {
  const bool at_once = jobs_ > 1 && request.quick();
  (at_once ? quick_ : waiting_).push_front(std::move(request));
  return false;
}

ForkServer::Running ForkServer::fork_child(Request request) const {
  Running one;
  one.limit_s = request.limit_s > 0 ? std::min(request.limit_s, limit_s_) : limit_s_;
  one.child = start_staying_child([&](int pipe, int more) {
    answer_(request, pipe);
    std::deque<std::string> lines;
    for (std::string unread; read_into(unread, more); lines.clear()) {
      take_lines(unread, lines);
      for (const std::string& line : lines) answer_(read_request(line), pipe);
    }
  });
  one.quick = request.quick();
  one.request = std::move(request);
  return one;
}

/// Gives a request to a child that waits for one of its kind; false when there is none.
bool ForkServer::start_warm(Request& request) {
  for (std::size_t i = warm_.size(); i-- > 0;) {
    if (warm_[i].quick != request.quick()) continue;
    Running one = std::move(warm_[i]);
    warm_.erase(warm_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!write_all(one.child.more, line_of(request))) {
      end_child(one.child);  // somebody else ended it
      continue;
    }
    one.child.started = std::chrono::steady_clock::now();
    one.limit_s = request.limit_s > 0 ? std::min(request.limit_s, limit_s_) : limit_s_;
    one.request = std::move(request);
    running_.push_back(std::move(one));
    return true;
  }
  return false;
}

/// False when nobody reads the answers any more.
bool ForkServer::serve() {
  const bool takes = open_ && waiting_.size() + quick_.size() < most_waiting;
  std::vector<pollfd> watched = {{replies_, static_cast<short>(unsent_.empty() ? 0 : POLLOUT), 0},
                                 {takes ? requests_ : -1, POLLIN, 0}};
  for (const Running& one : running_) watched.push_back({one.child.pipe, POLLIN, 0});
  ::poll(watched.data(), watched.size(), running_.empty() ? -1 : look_every_ms);
  if ((watched[0].revents & (POLLERR | POLLNVAL)) != 0) return false;
  if (watched[1].revents != 0) read_requests();
  std::vector<short> events;
  for (std::size_t i = 2; i < watched.size(); ++i) events.push_back(watched[i].revents);
  serve_children(events);
  return true;
}

void ForkServer::read_requests() {
  open_ = read_into(unread_, requests_);
  std::deque<std::string> lines;
  take_lines(unread_, lines);
  if (unread_.size() > longest_line) {
    if (!too_long_)
      unsent_ += end_line({}, 0, {{"errors", std::vector<description::Complaint>{too_long}}});
    too_long_ = true;
    unread_.clear();
  }
  if (too_long_ && !lines.empty()) {  // the rest of that line
    lines.pop_front();
    too_long_ = false;
  }
  if (too_long_ && !open_) unread_.clear();
  if (!open_ && !unread_.empty()) lines.push_back(std::move(unread_));  // the last has no end
  for (const std::string& line : lines)
    if (line.find_first_not_of(" \t\r") != std::string::npos) take(line);
}

void ForkServer::take(const std::string& line) {
  Request request = read_request(line);
  if (request.cancel) return cancel(request.id);
  const bool named = !request.id.is_null();
  if (named && !ids_.insert(request.id.dump()).second) {
    // without the id, or it would be taken for the answer to the other
    const std::vector<description::Complaint> twice = {
        {"", 0, 0, "id", "the request " + request.id.dump() + " is not answered yet",
         "give each request an id of its own, or cancel the other"}};
    unsent_ += end_line({}, 0, {{"errors", twice}});
    return;
  }
  const bool at_once = jobs_ > 1 && (request.quick() || !request.complaints.empty());
  (at_once ? quick_ : waiting_).push_back(std::move(request));
}

void ForkServer::cancel(const json& id) {
  const auto is_it = [&](const Request& request) { return request.id == id; };
  for (std::deque<Request>* queue : {&waiting_, &quick_}) {
    const auto found = std::find_if(queue->begin(), queue->end(), is_it);
    if (found == queue->end()) continue;
    const Request request = std::move(*found);
    queue->erase(found);
    return answer(request, 0, {{"failure", cancelled}});
  }
  for (std::size_t i = 0; i < running_.size(); ++i)
    if (is_it(running_[i].request)) return finish(i, cancelled);
}

void ForkServer::serve_children(const std::vector<short>& events) {
  // those that a request cancelled meanwhile are gone from the vector: looked at next time
  if (events.size() != running_.size()) return;
  for (std::size_t i = running_.size(); i-- > 0;) {
    Running& one = running_[i];
    const double seconds = seconds_since(one.child.started);
    const bool ended = events[i] != 0 && !read_some(one.child);
    forward(one);
    if (ended) {
      finish(i, nullptr);
    } else if (one.answered) {
      keep_or_end(i);
    } else if (seconds > one.limit_s) {
      finish(i, over_limit);
    } else if (!one.request.id.is_null() && seconds - one.told_s > progress_every_s) {
      unsent_ += progress_line(one.request.id, seconds);
      one.told_s = seconds;
    }
  }
}

/// Of a child that has answered.
void ForkServer::keep_or_end(std::size_t i) {
  Running done = std::move(running_[i]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  ids_.erase(done.request.id.dump());
  if (done.child.more >= 0 && is_small(done.child))
    warm_.push_back({std::move(done.child), {}, 0, 0, false, 0, done.quick});
  else
    end_child(done.child);
}

/// Passes on the lines of the child that are whole.
void ForkServer::forward(Running& one) {
  const std::size_t looked_at = std::exchange(one.looked_at, one.child.text.size());
  if (one.child.text.find('\n', looked_at) == std::string::npos) return;
  std::deque<std::string> lines;
  take_lines(one.child.text, lines);
  one.looked_at = one.child.text.size();
  for (const std::string& line : lines) {
    unsent_ += line + "\n";
    one.told_s = seconds_since(one.child.started);
    one.answered = !is_progress(one.request.id, line);
  }
}

/// Of a child that ended, or, with a failure, is ended.
void ForkServer::finish(std::size_t i, const char* failure) {
  Running done = std::move(running_[i]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  const double seconds = seconds_since(done.child.started);
  const int status = failure ? end_child(done.child) : reap(done.child);
  if (done.answered) {
    ids_.erase(done.request.id.dump());
    return;
  }
  if (failure) return answer(done.request, seconds, {{"failure", failure}});
  json end = {{"failure", read_outcome("", status).failure}};
  if (WIFSIGNALED(status)) end["signal"] = WTERMSIG(status);
  answer(done.request, seconds, end);
}

void ForkServer::answer(const Request& request, double seconds, const json& end) {
  unsent_ += end_line(request.id, seconds, end);
  ids_.erase(request.id.dump());
}

/// As much as goes without waiting: a pipe that can be written takes PIPE_BUF bytes.
void ForkServer::write_some() {
  while (sent_ < unsent_.size()) {
    pollfd free{replies_, POLLOUT, 0};
    if (::poll(&free, 1, 0) <= 0) break;
    const std::size_t size = std::min<std::size_t>(PIPE_BUF, unsent_.size() - sent_);
    const ssize_t count = ::write(replies_, unsent_.data() + sent_, size);
    if (count > 0) sent_ += static_cast<std::size_t>(count);
    if (count >= 0 || errno == EINTR) continue;
    if (errno == EAGAIN) break;
    read_by_ = false;
    if (errno != EPIPE)
      throw description::DeviceError(std::string("answers: ") + std::strerror(errno));
    return;
  }
  if (2 * sent_ < unsent_.size()) return;  // what is left is moved seldom: it may be large
  unsent_.erase(0, sent_);
  sent_ = 0;
}

}  // namespace spillway::explore
