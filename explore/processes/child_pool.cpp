#include "explore/processes/child_pool.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

namespace spillway::explore {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t frame_bytes = sizeof(std::size_t);  ///< its text's length, before it

/// False when there is none.
bool receive(int socket, std::size_t& number) {
  ssize_t count = -1;
  do count = ::recv(socket, &number, sizeof number, MSG_WAITALL);
  while (count < 0 && errno == EINTR);
  return count == sizeof number;
}

/// False when nobody is there any more.
bool send(int socket, std::size_t number) {
  ssize_t count = -1;
  do count = ::send(socket, &number, sizeof number, MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  return count == sizeof number;
}

/// Until nobody wants more of this child.
void work_on(const std::function<std::string(std::size_t)>& work, std::size_t first, int more,
             int pipe) {
  std::size_t number = first;
  do {
    const std::string text = work(number);
    const std::size_t size = text.size();
    write_all(pipe, {reinterpret_cast<const char*>(&size), frame_bytes});
    write_all(pipe, text);
  } while (receive(more, number));
}

/// Takes a whole text out of what came, once it is there.
std::optional<std::string> take_text(std::string& came) {
  std::size_t size = 0;
  if (came.size() < frame_bytes) return std::nullopt;
  std::memcpy(&size, came.data(), frame_bytes);
  if (came.size() - frame_bytes < size) return std::nullopt;
  std::string text = came.substr(frame_bytes, size);
  came.erase(0, frame_bytes + size);
  return text;
}

constexpr int most_refusals = 5;
constexpr double between_tries_s = 0.1, a_moment_s = 5;
/// Long enough for what another program started to end; a search would go on for minutes without.
constexpr double patience_s = 3;

}  // namespace

int Starts::tries() const {
  return state_->last && seconds_since(*state_->last) < a_moment_s ? 1 : most_refusals;
}

void Starts::refused() {
  state_->last = Clock::now();
  if (!state_->first) state_->first = state_->last;
}

void Starts::succeeded() { state_->first = state_->last = {}; }

bool Starts::given_up() const {
  return state_->first &&
         *state_->last - *state_->first > std::chrono::duration<double>(patience_s);
}

ChildPool::ChildPool(std::size_t count, std::function<std::string(std::size_t)> work,
                     std::size_t jobs, double limit_s, Watch watch, Starts starts)
    : work_(std::move(work)),
      jobs_(jobs),
      limit_s_(limit_s),
      watch_(std::move(watch)),
      starts_(std::move(starts)),
      pieces_(count) {
  start();
}

ChildPool::~ChildPool() { end_all(); }

std::vector<Piece> ChildPool::finish() {
  while (next_ < pieces_.size() || !children_.empty()) {
    if (watch_ && !watch_(std::exchange(done_, 0))) {
      end_all();
      return std::move(pieces_);
    }
    start();
    collect();
  }
  if (watch_) watch_(done_);
  return std::move(pieces_);
}

/// Where the system has no more processes, those that run are waited for, or, with none, a moment.
void ChildPool::start() {
  while (next_ < pieces_.size() && children_.size() < jobs_) {
    if (refused_ > 0 && seconds_since(refused_at_) < between_tries_s) return;
    Worker worker = start_worker();
    if (worker.child.pid != 0) {
      children_.push_back(std::move(worker));
      refused_ = 0;
      starts_.succeeded();
      continue;
    }
    refused_at_ = Clock::now();
    if (!children_.empty() || ++refused_ < starts_.tries()) return;
    starts_.refused();
    // nothing has changed since the last tries: what is left will not be started either
    for (; next_ < pieces_.size(); ++next_, ++done_)
      pieces_[next_] = {Piece::End::not_started, worker.child.text};
  }
}

/// On the next number, and others after it.
ChildPool::Worker ChildPool::start_worker() {
  Worker worker{{}, next_};
  worker.child =
      start_staying_child([&](int pipe, int more) { work_on(work_, worker.number, more, pipe); });
  if (worker.child.pid != 0) ++next_;
  return worker;
}

void ChildPool::collect() {
  std::vector<pollfd> watched;
  for (const Worker& one : children_) watched.push_back({one.child.pipe, POLLIN, 0});
  ::poll(watched.data(), watched.size(), 100);
  for (std::size_t i = children_.size(); i-- > 0;) {
    if (watched[i].revents != 0) {
      collect_from(i);
    } else if (seconds_since(children_[i].child.started) > limit_s_) {
      pieces_[children_[i].number].end = Piece::End::over_limit;
      end(i);
    }
  }
}

void ChildPool::collect_from(std::size_t worker) {
  Child& child = children_[worker].child;
  Piece& piece = pieces_[children_[worker].number];
  const bool goes_on = read_some(child);
  if (std::optional<std::string> text = take_text(child.text)) {
    piece = {Piece::End::done, std::move(*text)};
    give_next(worker);
  } else if (!goes_on) {
    piece.end = Piece::End::done;
    piece.status = reap(child);
    child.pid = 0;
    end(worker);
  } else if (seconds_since(child.started) > limit_s_) {
    piece.end = Piece::End::over_limit;
    end(worker);
  }
}

/// Ends it when there is none, and when it has died or grown large.
void ChildPool::give_next(std::size_t worker) {
  Worker& one = children_[worker];
  if (next_ == pieces_.size() || one.child.more < 0 || !is_small(one.child) ||
      !send(one.child.more, next_))
    return end(worker);
  one.number = next_++;
  one.child.started = Clock::now();
  ++done_;
}

/// Kills it, unless it has ended.
void ChildPool::end(std::size_t worker) {
  Worker& one = children_[worker];
  if (one.child.pid != 0) end_child(one.child);
  children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(worker));
  ++done_;
}

void ChildPool::end_all() {
  while (!children_.empty()) end(children_.size() - 1);
  next_ = pieces_.size();
}

std::vector<Piece> in_children(std::size_t count, std::function<std::string(std::size_t)> work,
                               std::size_t jobs, double limit_s, Watch watch, Starts starts) {
  return ChildPool(count, std::move(work), jobs, limit_s, std::move(watch), std::move(starts))
      .finish();
}

std::size_t usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&allowed)));
  return std::max(1u, std::thread::hardware_concurrency());  // more cores than the set can hold
}

}  // namespace spillway::explore
