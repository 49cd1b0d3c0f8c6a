#pragma once

#include "scenarios/description/errors.hpp"
#include "strategies/coroutines/waiting.hpp"

#include <exception>
#include <optional>
#include <utility>
#include <variant>

/// Coroutines of a strategy. Everything runs on one thread, inside Scheduler::drain().
///   Parameters   values, but for Machine& and const Model&: a frame outlives the call that made it
///   g++ 12.2     `co_await f(Aggregate{..., shared_ptr})` corrupts the aggregate: give such types
///                constructors. A co_await behind && or ||, or in a loop's condition, frees what it
///                must not: it has a statement of its own (tests/house refuses others)
namespace spillway::strategies {

namespace detail {

template <class T>
class Outcome {
 public:
  template <class U>
  void return_value(U&& value) {
    value_.template emplace<1>(std::forward<U>(value));
  }
  void unhandled_exception() noexcept { value_.template emplace<2>(std::current_exception()); }
  std::exception_ptr error() const { return value_.index() == 2 ? std::get<2>(value_) : nullptr; }
  T take() {
    if (auto failed = error()) std::rethrow_exception(failed);
    return std::move(std::get<1>(value_));
  }

 private:
  std::variant<std::monostate, T, std::exception_ptr> value_;
};

template <>
class Outcome<void> {
 public:
  void return_void() {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  std::exception_ptr error() const { return error_; }
  void take() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

}  // namespace detail

/// A coroutine that starts when it is awaited, and belongs to who holds it. Destroying it cancels
/// it.
template <class T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::Outcome<T> {
    std::coroutine_handle<> continuation;
    bool started_inline = false;
    bool finished = false;

    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> frame) noexcept {
        promise_type& promise = frame.promise();
        promise.finished = true;
        if (promise.started_inline || !promise.continuation) return std::noop_coroutine();
        return promise.continuation;
      }
      void await_resume() noexcept {}
    };

    Task get_return_object() { return Task(Frame::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
  };
  using Frame = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

  /// Throws  InternalError for a Task that was moved from
  auto operator co_await() && {
    ENSURE(frame_, "awaits an empty Task");
    struct Awaiter {
      Frame frame;
      bool await_ready() { return false; }
      // Resumed here and not by symmetric transfer: g++ makes no tail call at -O0 and under
      // sanitizers, and a loop over tasks that never suspend would grow the stack.
      bool await_suspend(std::coroutine_handle<> parent) {
        promise_type& promise = frame.promise();
        promise.continuation = parent;
        promise.started_inline = true;
        frame.resume();
        promise.started_inline = false;
        return !promise.finished;
      }
      T await_resume() { return frame.promise().take(); }
    };
    return Awaiter{frame_};
  }

 private:
  explicit Task(Frame frame) : frame_(frame) {}
  Frame frame_;
};

/// A coroutine that was started at once and is joined later.
///   Joining    by one coroutine at a time; a second one, or an empty Pending, is an InternalError
///   Dropping   one that still runs fails the run; its frame is destroyed
///   Errors     one that nobody waits for when it fails ends the run at once
template <class T = void>
class [[nodiscard]] Pending {
 public:
  struct Awaiter;
  struct promise_type : detail::Outcome<T> {
    Scheduler* scheduler;
    Awaiter* consumer = nullptr;
    bool done = false;

    template <class... Rest>
    explicit promise_type(Scheduler& owner, Rest&&...) : scheduler(&owner) {}
    ~promise_type() {
      if (consumer) consumer->frame = {};  // both go in one cancellation, in any order
    }

    struct Final {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> frame) noexcept {
        promise_type& promise = frame.promise();
        promise.done = true;
        if (promise.consumer)
          promise.scheduler->post(promise.consumer->waiter);
        else if (auto failed = promise.error())
          promise.scheduler->fail(failed);
      }
      void await_resume() noexcept {}
    };

    Pending get_return_object() { return Pending(Frame::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
  };
  using Frame = std::coroutine_handle<promise_type>;

  Pending() = default;
  Pending(Pending&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  Pending& operator=(Pending&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Pending() { reset(); }

  explicit operator bool() const { return static_cast<bool>(frame_); }
  bool done() const { return frame_ && frame_.promise().done; }

  /// Forgets it; one that still runs is a dropped coroutine, and fails the run.
  void reset() {
    if (!frame_) return;
    Frame frame = std::exchange(frame_, {});
    Scheduler& scheduler = *frame.promise().scheduler;
    if (!frame.promise().done && !scheduler.stopping() && !std::uncaught_exceptions())
      scheduler.fail(std::make_exception_ptr(description::InternalError(
          "a Pending was dropped while its coroutine was still running")));
    frame.destroy();
  }

  struct Awaiter {
    Frame frame;
    Waiter waiter;
    explicit Awaiter(Frame joined) : frame(joined) {
      ENSURE(frame, "joins an empty Pending");
      ENSURE(!frame.promise().consumer, "two coroutines join one Pending");
    }
    Awaiter(const Awaiter&) = delete;
    ~Awaiter() {
      if (frame && frame.promise().consumer == this) frame.promise().consumer = nullptr;
    }
    bool await_ready() { return frame.promise().done; }
    void await_suspend(std::coroutine_handle<> parent) {
      waiter.frame = parent;
      frame.promise().consumer = this;
    }
    T await_resume() {
      frame.promise().consumer = nullptr;
      return frame.promise().take();
    }
  };
  Awaiter operator co_await() & { return Awaiter(frame_); }
  Awaiter operator co_await() && { return Awaiter(frame_); }

 private:
  explicit Pending(Frame frame) : frame_(frame) {}
  Frame frame_;
};

/// Starts `task` now. It is moved into the frame's own local, so that its leases die when it ends
/// and not when the Pending is dropped.
template <class T>
Pending<T> spawn(Scheduler&, Task<T> task) {
  Task<T> own = std::move(task);
  co_return co_await std::move(own);
}
template <>
inline Pending<void> spawn<void>(Scheduler&, Task<void> task) {
  Task<void> own = std::move(task);
  co_await std::move(own);
}

}  // namespace spillway::strategies
