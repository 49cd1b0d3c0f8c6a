#include "explore/crew.hpp"

#include "explore/child.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace spillway::explore {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Keeps up to `jobs` children busy and collects what they write.
class Crew {
 public:
  Crew(std::size_t count, const std::function<std::string(std::size_t)>& work, std::size_t jobs,
       double limit_s, const Watch& watch)
      : work_(work), jobs_(jobs), limit_s_(limit_s), watch_(watch), pieces_(count) {}

  std::vector<Piece> run() {
    while (next_ < pieces_.size() || !children_.empty()) {
      if (watch_ && !watch_(std::exchange(done_, 0))) {
        give_up();
        break;
      }
      while (next_ < pieces_.size() && children_.size() < jobs_) start(next_++);
      collect();
    }
    if (watch_) watch_(done_);
    return std::move(pieces_);
  }

 private:
  /// A child at the piece of that number.
  struct Worker {
    Child child;
    std::size_t number = 0;
  };

  void start(std::size_t number) {
    Child child = start_child([this, number] { return work_(number); });
    if (child.pid == 0)
      pieces_[number] = {Piece::End::not_started, std::move(child.text)};
    else
      children_.push_back({std::move(child), number});
  }

  void collect() {
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

  void drop(std::size_t i) {
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    ++done_;
  }

  void give_up() {
    for (Worker& one : children_) {
      ::kill(one.child.pid, SIGKILL);
      reap(one.child);
    }
    children_.clear();
    next_ = pieces_.size();
  }

  const std::function<std::string(std::size_t)>& work_;
  std::size_t jobs_;
  double limit_s_;
  const Watch& watch_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;  ///< since the watch was asked
  std::vector<Worker> children_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::vector<Piece> in_children(std::size_t count,
                               const std::function<std::string(std::size_t)>& work,
                               std::size_t jobs, double limit_s, const Watch& watch) {
  return Crew(count, work, jobs, limit_s, watch).run();
}

std::size_t default_jobs() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace spillway::explore
