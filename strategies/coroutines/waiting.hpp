#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <vector>

namespace spillway::strategies {

/// A node of an intrusive ring: it takes itself out when it dies, so that a destroyed coroutine
/// frame leaves no trace in any list.
class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() { unlink(); }

  void unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }
  bool linked() const { return next_ != this; }

 private:
  friend class WaitList;
  Ring* previous_ = this;
  Ring* next_ = this;
};

/// One suspended coroutine; lives in its frame.
struct Waiter : Ring {
  std::coroutine_handle<> frame;
  std::uint64_t cause = 0;  ///< number of the operation whose end resumes it
};

/// Waiters, first come first served; owns none of them.
class WaitList {
 public:
  WaitList() = default;
  ~WaitList() {
    while (!empty()) front().unlink();
  }
  bool empty() const { return !anchor_.linked(); }
  Waiter& front() { return static_cast<Waiter&>(*anchor_.next_); }
  /// Calls visit(waiter) for each, first come first.
  template <class Visit>
  void each(Visit visit) const {
    for (const Ring* node = anchor_.next_; node != &anchor_; node = node->next_)
      visit(static_cast<const Waiter&>(*node));
  }
  void push_back(Waiter& waiter) {
    Ring& node = waiter;
    node.unlink();
    node.previous_ = anchor_.previous_;
    node.next_ = &anchor_;
    anchor_.previous_->next_ = &node;
    anchor_.previous_ = &node;
  }

 private:
  Ring anchor_;
};

/// The one place where coroutines are resumed: in the order they were posted.
class Scheduler {
 public:
  void post(Waiter& waiter) {
    waiter.cause = cause_;
    ready_.push_back(waiter);
  }
  bool idle() const { return ready_.empty(); }

  /// Resumes until nobody is ready, or the run failed or stops.
  void drain() {
    while (!ready_.empty() && !stopping_ && !failure_) {
      Waiter& next = ready_.front();
      next.unlink();
      cause_ = next.cause;
      next.frame.resume();
    }
  }

  /// The number of the operation whose end led to what happens now; 0: the beginning did.
  std::uint64_t cause() const { return cause_; }
  void set_cause(std::uint64_t cause) { cause_ = cause; }

  /// Ends the run with `error`: nobody is waiting for it. The first one counts.
  void fail(std::exception_ptr error) {
    if (!failure_) failure_ = std::move(error);
  }
  const std::exception_ptr& failure() const { return failure_; }
  /// The failed run is over; the next one starts clean.
  void forget_failure() { failure_ = nullptr; }

  /// While frames are destroyed on purpose (cancellation, end of a failed run) nothing counts as
  /// dropped.
  bool stopping() const { return stopping_; }
  void set_stopping(bool stopping) { stopping_ = stopping; }

 private:
  WaitList ready_;
  std::uint64_t cause_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
};

}  // namespace spillway::strategies
