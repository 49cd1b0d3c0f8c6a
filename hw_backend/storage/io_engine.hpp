#pragma once

#include "hw_backend/storage/target.hpp"

#include <cstddef>
#include <exception>
#include <optional>
#include <vector>

namespace spillway::hw_backend {

/// Bytes to move between memory and a target; any offset, length and address will do.
struct Transfer {
  Target* target = nullptr;
  bool write = false;
  std::uint64_t offset = 0;     ///< in the target
  std::byte* memory = nullptr;  ///< of `bytes` bytes; the engine's until the completion
  std::uint64_t bytes = 0;
  void* tag = nullptr;  ///< comes back with the completion
  int device = -1;      ///< rank whose device's memory it is; -1: the host's, as most engines need
};

/// "write /mnt/a/spillway.5f/0.data, 4096 bytes at 8192"
std::string to_string(const Transfer& transfer);

/// Throws  InternalError: past the target's end, or a write to what was opened for reading
void check_transfer(const Transfer& transfer);

/// A transfer has ended, and the kernel touches its memory no more.
struct Completion {
  void* tag = nullptr;
  std::exception_ptr error;  ///< DeviceError; null: all bytes moved
};

/// Moves bytes between memory and targets, many transfers at once. One thread uses it, but for
/// `wake`.
///   Order    none between transfers; two that overlap, one of them writing, must not be in flight
///            together. Ranges that merely share a sector may be
///   Durable  no: a write that has ended is with the drive, perhaps only in its cache. Nothing is
///            flushed, as what is spilled is of no use after a loss of power; whoever keeps bytes
///            for longer than a run, as a checkpoint is, calls fdatasync of the target's descriptor
///   Returns  every transfer once, by `wait`, unless `cancel_all` dropped it
class IoEngine {
 public:
  IoEngine() = default;
  IoEngine(const IoEngine&) = delete;
  virtual ~IoEngine() = default;

  /// Returns at once; the kernel hears of it in the next `wait`. Zero bytes end without the device.
  ///   Throws  InternalError: past the target's end, or a write to what was opened for reading
  virtual void submit(const Transfer& transfer) = 0;
  /// Hands the kernel what is pending, in one batch, and waits for a completion.
  ///   timeout_s  at most that long; 0: does not wait; none: without end
  ///   Result     what has ended, in that order; may be empty: the timeout, a `wake` or a signal
  ///   Throws     DeviceError when the engine itself fails; the transfers' errors are in the result
  virtual std::vector<Completion> wait(std::optional<double> timeout_s) = 0;
  /// Ends the `wait` that is going on, or else the next one. From any thread, or a signal handler.
  virtual void wake() noexcept = 0;
  /// Drops every transfer, unreported.
  ///   Result  true: the kernel touches no memory of ours any more. false: it still may, after
  ///           Options::cancel_s; that memory must then never be freed or used again, so the
  ///           process has to end
  [[nodiscard]] virtual bool cancel_all() noexcept = 0;
  /// Transfers that `wait` has yet to return.
  virtual std::size_t in_flight() const = 0;

  /// Lets the kernel pin [base, base + bytes) once instead of for each request. Where it refuses,
  /// `notes` says so and all goes on without.
  virtual void register_memory(std::byte* base, std::uint64_t bytes) = 0;
  /// Before that memory is freed; no transfer in it may be in flight. Not registered: does nothing.
  virtual void unregister_memory(std::byte* base) = 0;
  /// Lets engines that move memory of a device know [base, base + bytes) of it once. Where that is
  /// refused, `notes` says so and all goes on without; engines of host memory have no use for it.
  ///   rank  whose device's memory it is
  virtual void register_device_memory(int /*rank*/, std::byte* /*base*/, std::uint64_t /*bytes*/) {}
  /// Before that memory is freed; no transfer in it may be in flight. Not registered: does nothing.
  virtual void unregister_device_memory(std::byte* /*base*/) noexcept {}
  /// Lets the kernel look the file up once. An attached target must be detached before it dies.
  virtual void attach(Target& target) = 0;
  /// Where the kernel refuses, `notes` says so: destructors call this.
  virtual void detach(Target& target) = 0;

  /// What lies in [offset, offset + bytes) is of no use any more, as of an extent that was freed.
  virtual void forget(const Target& target, std::uint64_t offset, std::uint64_t bytes) = 0;

  /// Of all targets, since the start.
  virtual IoCounters counters() const = 0;
  /// What was asked for and is not in use, with the reason and the remedy; for the report.
  virtual std::vector<std::string> notes() const = 0;
};

}  // namespace spillway::hw_backend
