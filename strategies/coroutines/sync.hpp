#pragma once

#include "scenarios/description/errors.hpp"
#include "strategies/coroutines/task.hpp"

#include <vector>

namespace spillway::strategies {

/// Something that happens once; `reset` arms it again.
class Event {
 public:
  explicit Event(Scheduler& scheduler) : scheduler_(&scheduler) {}
  bool is_set() const { return set_; }
  void set() {
    set_ = true;
    while (!waiters_.empty()) scheduler_->post(waiters_.front());
  }
  void reset() { set_ = false; }

  struct Awaiter {
    Event& event;
    Waiter waiter{};
    bool await_ready() { return event.set_; }
    void await_suspend(std::coroutine_handle<> parent) {
      waiter.frame = parent;
      event.waiters_.push_back(waiter);
    }
    void await_resume() {}
  };
  Awaiter operator co_await() { return Awaiter{*this}; }

 private:
  Scheduler* scheduler_;
  bool set_ = false;
  WaitList waiters_;
};

/// A counted resource, first come first served: semaphores and locks here, and the capacity of a
/// memory tier. Those who are urgent form a queue of their own, served before the other.
///   Invariant  used() <= capacity(); nobody overtakes the head of its queue, however small
///   Lifetime   outlives its Locks
class Semaphore {
 public:
  Semaphore(Scheduler& scheduler, std::uint64_t capacity)
      : scheduler_(&scheduler), capacity_(capacity) {}
  Semaphore(const Semaphore&) = delete;

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t free() const { return capacity_ - used_; }
  bool has_waiters() const { return !urgent_.empty() || !waiters_.empty(); }

  /// Holds its amount until it dies.
  class [[nodiscard]] Lock {
   public:
    Lock() = default;
    Lock(Lock&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), amount_(std::exchange(other.amount_, 0)) {}
    Lock& operator=(Lock&& other) noexcept {
      if (this == &other) return *this;
      release();
      owner_ = std::exchange(other.owner_, nullptr);
      amount_ = std::exchange(other.amount_, 0);
      return *this;
    }
    ~Lock() { release(); }
    void release() {
      if (owner_) std::exchange(owner_, nullptr)->give(amount_);
    }
    std::uint64_t amount() const { return amount_; }
    explicit operator bool() const { return owner_ != nullptr; }
    /// `part` of it as a lock of its own.
    Lock split(std::uint64_t part) {
      ENSURE(part <= amount_, "splits off more than the lock holds");
      amount_ -= part;
      return Lock(owner_, part);
    }

   private:
    friend class Semaphore;
    Lock(Semaphore* owner, std::uint64_t amount) : owner_(owner), amount_(amount) {}
    Semaphore* owner_ = nullptr;
    std::uint64_t amount_ = 0;
  };

  struct Awaiter : Waiter {
    Semaphore& owner;
    std::uint64_t amount;
    bool urgent;
    bool granted = false;
    Awaiter(Semaphore& semaphore, std::uint64_t wanted, bool goes_first)
        : owner(semaphore), amount(wanted), urgent(goes_first) {}
    ~Awaiter() {
      if (granted) {
        owner.give(amount);
      } else if (linked()) {
        unlink();  // who gives up at the head of the queue lets the next ones in
        owner.admit();
      }
    }
    bool await_ready() {
      granted = urgent ? owner.take_first(amount) : owner.take_now(amount);
      return granted;
    }
    void await_suspend(std::coroutine_handle<> parent) {
      frame = parent;
      (urgent ? owner.urgent_ : owner.waiters_).push_back(*this);
    }
    Lock await_resume() {
      granted = false;
      return Lock(&owner, amount);
    }
  };

  /// Waits its turn.  Throws  InternalError when `amount` exceeds the capacity
  Awaiter acquire(std::uint64_t amount = 1) {
    ENSURE(amount <= capacity_, "asks for more than the capacity");
    return Awaiter(*this, amount, false);
  }
  /// Waits its turn among the urgent.  Throws  InternalError when `amount` exceeds the capacity
  Awaiter acquire_urgent(std::uint64_t amount = 1) {
    ENSURE(amount <= capacity_, "asks for more than the capacity");
    return Awaiter(*this, amount, true);
  }
  /// An empty Lock when somebody waits or too little is free.
  Lock try_acquire(std::uint64_t amount = 1) {
    return take_now(amount) ? Lock(this, amount) : Lock();
  }
  /// A capacity of at least so much; who waits for it gets it.
  void grow_to(std::uint64_t capacity) {
    capacity_ = std::max(capacity_, capacity);
    admit();
  }
  /// Like try_overtake, with a capacity that grows where too little is free.
  Lock overtake(std::uint64_t amount) {
    used_ += amount;
    capacity_ = std::max(capacity_, used_);
    return Lock(this, amount);
  }
  /// Like try_acquire, but past those who wait: for who must not wait for them.
  Lock try_overtake(std::uint64_t amount) {
    if (amount > free()) return Lock();
    used_ += amount;
    return Lock(this, amount);
  }

 private:
  bool take_now(std::uint64_t amount) { return waiters_.empty() && take_first(amount); }
  bool take_first(std::uint64_t amount) {
    if (!urgent_.empty() || amount > free()) return false;
    used_ += amount;
    return true;
  }
  void give(std::uint64_t amount) {
    used_ -= amount;
    admit();
  }
  void admit() {
    while (has_waiters()) {
      WaitList& queue = urgent_.empty() ? waiters_ : urgent_;
      auto& head = static_cast<Awaiter&>(queue.front());
      if (head.amount > free()) break;
      used_ += head.amount;
      head.granted = true;
      scheduler_->post(head);
    }
  }

  Scheduler* scheduler_;
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  WaitList urgent_, waiters_;
};

/// Everybody waits until `members` have arrived; then it is ready for the next round.
class Barrier {
 public:
  Barrier(Scheduler& scheduler, std::size_t members) : scheduler_(&scheduler), members_(members) {}

  struct Awaiter : Waiter {
    Barrier& barrier;
    bool released = false;
    explicit Awaiter(Barrier& where) : barrier(where) {}
    ~Awaiter() {
      if (linked() && !released) --barrier.arrived_;  // cancelled: it has not arrived after all
    }
    bool await_ready() {
      if (++barrier.arrived_ < barrier.members_) return false;
      barrier.release();
      return true;
    }
    void await_suspend(std::coroutine_handle<> parent) {
      frame = parent;
      barrier.waiters_.push_back(*this);
    }
    void await_resume() {}
  };
  Awaiter arrive() { return Awaiter(*this); }

 private:
  void release() {
    arrived_ = 0;
    while (!waiters_.empty()) {
      auto& next = static_cast<Awaiter&>(waiters_.front());
      next.released = true;
      scheduler_->post(next);
    }
  }

  Scheduler* scheduler_;
  std::size_t members_;
  std::size_t arrived_ = 0;
  WaitList waiters_;
};

namespace detail {

struct AllState {
  Event settled;
  std::size_t left;
  std::exception_ptr error;
  AllState(Scheduler& scheduler, std::size_t count) : settled(scheduler), left(count) {}
};

inline Pending<> run_member(Scheduler&, AllState* state, Task<> task) {
  try {
    Task<> own = std::move(task);
    co_await std::move(own);
  } catch (...) {
    if (!state->error) state->error = std::current_exception();
    state->settled.set();
  }
  if (--state->left == 0) state->settled.set();
}

}  // namespace detail

/// Runs all of `tasks` at once, in their order.
///   Waits   until all have ended, or one failed: then the others are destroyed where they stand
///   Throws  the first error
inline Task<> when_all(Scheduler& scheduler, std::vector<Task<>> tasks) {
  detail::AllState state(scheduler, tasks.size());
  std::vector<Pending<>> members;
  members.reserve(tasks.size());
  for (Task<>& task : tasks) {
    members.push_back(detail::run_member(scheduler, &state, std::move(task)));
    if (state.error) break;
  }
  if (state.left != 0 && !state.error) co_await state.settled;
  if (state.error) {
    const bool stopping = scheduler.stopping();
    scheduler.set_stopping(true);
    members.clear();
    scheduler.set_stopping(stopping);
    std::rethrow_exception(state.error);
  }
}

}  // namespace spillway::strategies
