#pragma once

#include "hw_backend/storage/descriptor.hpp"

#include <liburing.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace spillway::hw_backend {

/// Owns the rings shared with the kernel, the descriptor that wakes who waits on them, and the
/// slots for registered files and buffers.
class KernelRing {
 public:
  /// What to ask the kernel; `tag` comes back with the answer.
  struct Request {
    int fd = -1;
    int file_slot = -1;    ///< -1: not registered
    int buffer_slot = -1;  ///< -1: not registered
    bool write = false;
    std::uint64_t offset = 0;
    std::byte* memory = nullptr;
    unsigned bytes = 0;
    void* tag = nullptr;
  };
  struct Answer {
    void* tag = nullptr;
    int result = 0;  ///< bytes moved, or a negative code
  };
  enum class Waited { answers, timeout, signal, wake };

  /// Throws  DeviceError with the remedy when there is no io_uring to be had
  KernelRing();
  ~KernelRing();
  KernelRing(const KernelRing&) = delete;

  /// False: no room until something was submitted.
  bool push(const Request& request);
  /// Asks to end the request of that tag early; its answer still comes.
  bool push_cancel(void* tag);
  void submit();
  /// Submits, then waits for an answer; 0: does not wait, none: without end.
  Waited wait(std::optional<double> timeout_s);
  /// What the kernel answered since the last call.
  std::vector<Answer> take_answers();
  void wake() noexcept;

  /// Slots for buffers and files; 0, or the code of the kernel's refusal.
  int reserve_buffers(unsigned slots) { return io_uring_register_buffers_sparse(&ring_, slots); }
  int reserve_files(unsigned slots) { return io_uring_register_files_sparse(&ring_, slots); }
  /// Puts memory (or, with null, nothing) into a slot; negative: the code of the refusal.
  int set_buffer(int slot, std::byte* memory, std::uint64_t bytes);
  int set_file(int slot, int fd);

 private:
  void arm_wake();
  void collect();

  io_uring ring_{};
  Descriptor wake_;
  bool wake_armed_ = false;
  bool woken_ = false;
  std::vector<Answer> answers_;
};

}  // namespace spillway::hw_backend
