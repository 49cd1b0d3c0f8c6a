#pragma once

#include "hw_backend/storage/io_engine.hpp"

#include <functional>
#include <memory>

namespace spillway::hw_backend {

/// How an engine asks the kernel.
struct UringOptions {
  unsigned queue_depth = 32;            ///< requests in flight per device
  std::uint64_t block_size = 1u << 20;  ///< bytes of a request; a multiple of 4096
  bool register_buffers = true;
  bool register_files = true;
  double cancel_s = 30;     ///< how long `cancel_all` waits for the kernel
  unsigned retries = 1000;  ///< of one request, without progress in between
  /// Between the kernel and the engine, for tests: the transfer, the request's offset and bytes,
  /// what the kernel answered (bytes, or a negative code) to what the engine shall believe.
  std::function<int(const Transfer&, std::uint64_t offset, std::uint64_t bytes, int result)>
      answer{};
};

/// An engine on io_uring. Transfers are split into blocks; those of one device take turns for its
/// places in the queue, so that they share it by equal bytes.
///   Unaligned   an end that fills no whole sector, and memory that direct I/O cannot use, go
///               through buffers of the engine. Such a write first reads its sector, and no two of
///               them are in one sector at a time: neighbours keep their bytes. A second,
///               buffered, descriptor would not do: the page cache writes back whole pages, over
///               what direct requests have put beside these bytes
///   Errors      a transfer fails with the first error of its blocks, once all of them are back
class UringEngine final : public IoEngine {
 public:
  /// Throws  DeviceError with the remedy when the kernel has no io_uring or forbids it
  explicit UringEngine(UringOptions options);
  ~UringEngine() override;

  void submit(const Transfer& transfer) override;
  std::vector<Completion> wait(std::optional<double> timeout_s) override;
  void wake() noexcept override;
  [[nodiscard]] bool cancel_all() noexcept override;
  std::size_t in_flight() const override;
  void register_memory(std::byte* base, std::uint64_t bytes) override;
  void unregister_memory(std::byte* base) override;
  void attach(Target& target) override;
  void detach(Target& target) override;
  void forget(const Target&, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) override {}
  IoCounters counters() const override;
  std::vector<std::string> notes() const override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace spillway::hw_backend
