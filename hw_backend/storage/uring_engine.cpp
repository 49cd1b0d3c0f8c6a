#include "hw_backend/storage/uring_engine.hpp"

#include "hw_backend/storage/io_error.hpp"
#include "hw_backend/storage/registrations.hpp"
#include "hw_backend/storage/transfer_queue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace spillway::hw_backend {
namespace {

using Clock = std::chrono::steady_clock;
using Wait = std::optional<double>;

// A device moves whole sectors; that one ends in the middle is how a file's end shows.
constexpr unsigned tries_within_sector = 3;

/// A timeout of years is as good as one of a day, and cannot overflow a clock.
Clock::time_point after(double seconds) {
  constexpr double day_s = 86400;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, day_s)));
}

double seconds_until(Clock::time_point due) {
  return std::max(0.0, std::chrono::duration<double>(due - Clock::now()).count());
}

bool passes_by_itself(int result) {
  return result == -EAGAIN || result == -EBUSY || result == -EINTR;
}

std::string_view remedy_of(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, or name another directory";
    case EIO:
      return "the device reports a fault: look at dmesg and at its SMART data";
    case EROFS:
      return "the file system is read-only; mounted so, or turned so by a fault (dmesg)";
    case EINVAL:
      return "the device refuses direct transfers of this size or place";
    default:
      return {};
  }
}

std::string where(const Request& request) {
  return fmt::format("{}, {} bytes at {}", request.owner->transfer.target->name(),
                     request.piece.bytes - request.done, request.piece.offset + request.done);
}

std::exception_ptr cut_short(const Request& request) {
  return std::make_exception_ptr(description::DeviceError(
      fmt::format("{}: {}: the device moves no more of it; was the file cut short?",
                  request.writes() ? "write" : "read", where(request))));
}

}  // namespace

/// What an engine owns.
class UringEngine::State {
 public:
  explicit State(UringOptions options);

  void submit(const Transfer& transfer);
  std::vector<Completion> wait(Wait timeout_s);
  bool cancel_all();
  void wake() noexcept { kernel_.wake(); }
  std::size_t in_flight() const { return queue_.size() + ended_.size(); }
  Registrations& registrations() { return registrations_; }
  const IoCounters& counters() const { return counters_; }

 private:
  void hand_to_kernel();
  bool push(const Request& request);
  /// True: it was asked again, and moved nothing.
  bool take(Request& request, int result);
  bool again(Request& request, int code);
  void moved(Request& request, std::uint64_t bytes);
  void fail(Request& request, std::exception_ptr error);
  void end(Request& request);
  void count(Target& target, std::uint64_t IoCounters::*which, std::uint64_t amount);

  UringOptions options_;
  KernelRing kernel_;
  TransferQueue queue_;
  Registrations registrations_;
  IoCounters counters_;
  std::deque<Request*> ready_;  ///< for the kernel, with the next `wait`
  std::vector<Completion> ended_;
  bool cancelling_ = false;
};

UringEngine::State::State(UringOptions options)
    : options_(std::move(options)),
      queue_(options_.queue_depth, options_.block_size),
      registrations_(kernel_, options_.register_buffers, options_.register_files) {}

void UringEngine::State::submit(const Transfer& transfer) {
  check_transfer(transfer);
  if (transfer.bytes == 0) {
    ended_.push_back({transfer.tag, {}});
  } else {
    queue_.add(transfer);
  }
}

std::vector<Completion> UringEngine::State::wait(Wait timeout_s) {
  const auto due = after(timeout_s.value_or(0));
  for (;;) {
    hand_to_kernel();
    Wait rest = timeout_s;
    if (timeout_s) rest = seconds_until(due);
    if (!ended_.empty()) rest = 0.0;
    const KernelRing::Waited waited = kernel_.wait(rest);
    std::size_t answers = 0, retried = 0;
    for (const auto& [tag, result] : kernel_.take_answers()) {
      ++answers;
      retried += take(*static_cast<Request*>(tag), result) ? 1 : 0;
    }
    // What the kernel turned away would be turned away again at once.
    if (retried > 0 && retried == answers) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const bool late = timeout_s && Clock::now() >= due;
    if (!ended_.empty() || late || waited != KernelRing::Waited::answers) {
      hand_to_kernel();
      kernel_.submit();
      return std::exchange(ended_, {});
    }
  }
}

void UringEngine::State::hand_to_kernel() {
  queue_.fill(registrations_.memory(), [&](Request& request) { ready_.push_back(&request); });
  while (!ready_.empty() && push(*ready_.front())) ready_.pop_front();
}

bool UringEngine::State::push(const Request& request) {
  const Target& target = *request.owner->transfer.target;
  const KernelRing::Request asked{
      .fd = target.fd(),
      .file_slot = target.registered,
      .buffer_slot = request.bounce ? -1 : request.piece.slot,
      .write = request.writes(),
      .offset = request.piece.offset + request.done,
      .memory = request.memory(),
      .bytes = static_cast<unsigned>(request.piece.bytes - request.done),
      .tag = const_cast<Request*>(&request),
  };
  if (kernel_.push(asked)) return true;
  kernel_.submit();
  return kernel_.push(asked);
}

bool UringEngine::State::take(Request& request, int result) {
  const Transfer& transfer = request.owner->transfer;
  const std::uint64_t offset = request.piece.offset + request.done;
  const std::uint64_t asked = request.piece.bytes - request.done;
  if (options_.answer) result = options_.answer(transfer, offset, asked, result);
  count(*transfer.target, &IoCounters::requests, 1);
  if (cancelling_) return end(request), false;
  if (passes_by_itself(result)) return again(request, -result);
  if (result < 0) {
    const int code = -result;
    const char* call = request.writes() ? "write" : "read";
    fail(request, std::make_exception_ptr(io_error(call, code, where(request), remedy_of(code))));
  } else if (result == 0) {
    fail(request, cut_short(request));
  } else {
    moved(request, static_cast<std::uint64_t>(result));
  }
  return false;
}

bool UringEngine::State::again(Request& request, int code) {
  Target& target = *request.owner->transfer.target;
  if (++request.retries > options_.retries) {
    fail(request,
         std::make_exception_ptr(io_error(request.writes() ? "write" : "read", code,
                                          fmt::format("{} at {}, tried {} times", target.name(),
                                                      request.piece.offset, request.retries))));
    return false;
  }
  count(target, &IoCounters::resubmissions, 1);
  ready_.push_back(&request);
  return true;
}

void UringEngine::State::moved(Request& request, std::uint64_t bytes) {
  Target& target = *request.owner->transfer.target;
  count(target, request.writes() ? &IoCounters::bytes_written : &IoCounters::bytes_read, bytes);
  const std::uint64_t before = request.done;
  request.done += bytes;
  if (request.done < request.piece.bytes) {
    // A direct request begins at a sector, so the rest of one is moved again.
    request.done -= request.done % target.alignment().offset;
    if (request.done > before) request.retries = 0;
    if (request.done == before && request.retries >= tries_within_sector) {
      return fail(request, cut_short(request));
    }
    again(request, EIO);
  } else if (request.reads_first) {
    const Piece& piece = request.piece;
    std::copy_n(piece.memory, piece.wanted, request.bounce + piece.skip);
    request.reads_first = false;
    request.done = 0;
    ready_.push_back(&request);
  } else {
    end(request);
  }
}

void UringEngine::State::fail(Request& request, std::exception_ptr error) {
  if (!request.owner->error) request.owner->error = std::move(error);
  end(request);
}

void UringEngine::State::end(Request& request) {
  Moving& moving = *request.owner;
  queue_.retire(request);
  if (moving.in_kernel > 0 || !(moving.all_handed_out() || cancelling_)) return;
  if (!cancelling_) ended_.push_back({moving.transfer.tag, moving.error});
  queue_.remove(moving);
}

bool UringEngine::State::cancel_all() {
  cancelling_ = true;
  // Those that the kernel has not seen are back at once.
  for (Request* request : std::exchange(ready_, {})) end(*request);
  queue_.drop_waiting();
  ended_.clear();
  for (Request* request : queue_.requests()) {
    if (!kernel_.push_cancel(request)) kernel_.submit(), kernel_.push_cancel(request);
  }
  const auto due = after(options_.cancel_s);
  while (queue_.in_kernel() > 0 && Clock::now() < due) {
    kernel_.wait(seconds_until(due));
    for (const auto& [tag, result] : kernel_.take_answers()) {
      take(*static_cast<Request*>(tag), result);
    }
  }
  const bool quiet = queue_.in_kernel() == 0;
  cancelling_ = !quiet;
  return quiet;
}

void UringEngine::State::count(Target& target, std::uint64_t IoCounters::*which,
                               std::uint64_t amount) {
  counters_.*which += amount;
  target.counters.*which += amount;
}

UringEngine::UringEngine(UringOptions options) : state_(new State(std::move(options))) {}

UringEngine::~UringEngine() {
  // What the kernel may still write to has to stay.
  if (!cancel_all()) state_.release();
}

void UringEngine::submit(const Transfer& transfer) { state_->submit(transfer); }
std::vector<Completion> UringEngine::wait(Wait timeout_s) { return state_->wait(timeout_s); }
void UringEngine::wake() noexcept { state_->wake(); }
std::size_t UringEngine::in_flight() const { return state_->in_flight(); }
void UringEngine::register_memory(std::byte* base, std::uint64_t bytes) {
  state_->registrations().add_memory(base, bytes);
}
void UringEngine::unregister_memory(std::byte* base) {
  state_->registrations().remove_memory(base);
}
void UringEngine::attach(Target& target) { state_->registrations().attach(target); }
void UringEngine::detach(Target& target) { state_->registrations().detach(target); }
IoCounters UringEngine::counters() const { return state_->counters(); }
std::vector<std::string> UringEngine::notes() const { return state_->registrations().notes(); }

bool UringEngine::cancel_all() noexcept {
  try {
    return state_->cancel_all();
  } catch (const description::DeviceError&) {
    return false;  // the ring is broken: what the kernel does is unknown
  }
}

}  // namespace spillway::hw_backend
