#include "explore/child_pool.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace spillway::explore {

namespace {

using Clock = std::chrono::steady_clock;

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
    Child child = start_child([this] { return work_(next_); });
    if (child.pid != 0) {
      children_.push_back({std::move(child), next_++});
      refused_ = 0;
      starts_.succeeded();
      continue;
    }
    refused_at_ = Clock::now();
    if (!children_.empty() || ++refused_ < starts_.tries()) return;
    starts_.refused();
    // nothing has changed since the last tries: what is left will not be started either
    for (; next_ < pieces_.size(); ++next_, ++done_)
      pieces_[next_] = {Piece::End::not_started, child.text};
  }
}

void ChildPool::collect() {
  std::vector<pollfd> watched;
  for (const Worker& one : children_) watched.push_back({one.child.pipe, POLLIN, 0});
  ::poll(watched.data(), watched.size(), 100);
  for (std::size_t i = children_.size(); i-- > 0;) {
    Child& child = children_[i].child;
    Piece& piece = pieces_[children_[i].number];
    if (watched[i].revents != 0 && !read_some(child)) {
      piece.status = reap(child);
      piece.text = std::move(child.text);
      piece.end = Piece::End::done;
      drop(i);
    } else if (seconds_since(child.started) > limit_s_) {
      ::kill(child.pid, SIGKILL);
      reap(child);
      piece.end = Piece::End::over_limit;
      drop(i);
    }
  }
}

void ChildPool::drop(std::size_t worker) {
  children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(worker));
  ++done_;
}

void ChildPool::end_all() {
  for (Worker& one : children_) {
    ::kill(one.child.pid, SIGKILL);
    reap(one.child);
  }
  children_.clear();
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
