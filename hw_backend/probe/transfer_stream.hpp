#pragma once

#include "hw_backend/probe/device_loop.hpp"
#include "hw_backend/probe/session.hpp"

namespace spillway::hw_backend {

/// Where a transfer of a stream goes.
struct TargetOffset {
  Target* target = nullptr;
  std::uint64_t offset = 0;
};

/// Transfers of one direction, one after the other over its places and round again.
struct Flow {
  bool write = false;
  std::vector<TargetOffset> places;
  std::size_t in_flight = 8;  ///< at most TransferStream::window
};

/// What moved in one interval.
struct Interval {
  double read = 0, written = 0;  ///< bytes
  double seconds = 0;

  double read_rate() const { return read / seconds; }
  double write_rate() const { return written / seconds; }
};

/// Keeps transfers of several flows in flight, a window of which fills the engine's queue, through
/// locked memory of random data that the engine knows. Every sector that is written is another one.
///   Transfers  8 MiB each
class TransferStream {
 public:
  static constexpr std::uint64_t transfer_bytes = 8 << 20;
  static constexpr std::size_t window = 8;  ///< transfers in flight, at least

  ///   written  by those before it: sectors that it writes differ from theirs too
  explicit TransferStream(IoEngine& engine, std::uint64_t written = 0);
  TransferStream(const TransferStream&) = delete;

  /// An interval ends after `interval_s`, or `interval_bytes` if that is sooner; the first, a
  /// quarter as long, does not count. Ends when `enough(intervals so far)` says so.
  ///   Throws  DeviceError of a transfer; Interrupted. Nothing is in flight then
  std::vector<Interval> run(const std::vector<Flow>& flows, double interval_s,
                            double interval_bytes,
                            const std::function<bool(const std::vector<Interval>&)>& enough);
  /// Writes every place once.
  ///   limit_s  gives up then
  ///   Result   how many places, from the first on, were written
  std::size_t fill(const Flow& flow, double limit_s);
  /// Seconds of one transfer alone, of up to `transfer_bytes` x `window` bytes.
  double one(TargetOffset place, bool write, std::uint64_t bytes);

  /// With what those before it wrote.
  std::uint64_t bytes_written() const { return written_; }

 private:
  struct Slot {
    Flow const* flow = nullptr;
    std::size_t* next = nullptr;
    std::byte* memory = nullptr;
  };
  void submit(Slot& slot);
  void stamp(std::byte* memory, std::uint64_t bytes);
  void wait(double timeout_s, std::vector<Slot*>& ended);
  void drain();

  IoEngine& engine_;
  PinnedMemory reads_, writes_;
  std::uint64_t stamps_, written_;
  std::size_t in_flight_ = 0;
};

}  // namespace spillway::hw_backend
