#pragma once

#include "hw_backend/storage/pieces.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <set>

namespace spillway::hw_backend {

/// A transfer on its way, piece by piece.
struct Moving {
  Transfer transfer;
  std::uint64_t handed_out = 0;  ///< its bytes that pieces have been made of
  unsigned in_kernel = 0;        ///< its pieces that are not back yet
  std::exception_ptr error;      ///< of the first piece that failed; no further ones are made

  bool all_handed_out() const { return error || handed_out == transfer.bytes; }
};

/// A piece with its place in its device's queue.
struct Request {
  Moving* owner = nullptr;
  Piece piece;
  std::byte* bounce = nullptr;  ///< the engine's buffer, of a bounced piece
  bool reads_first = false;     ///< a partial write that has yet to read its sectors
  std::uint64_t done = 0;       ///< bytes moved
  unsigned retries = 0;         ///< since bytes last moved

  bool writes() const { return owner->transfer.write && !reads_first; }
  std::byte* memory() const { return (bounce ? bounce : piece.memory) + done; }
};

/// Cuts transfers into requests: at most `queue_depth` of a device at a time, for which its
/// transfers take turns.
class TransferQueue {
 public:
  TransferQueue(unsigned queue_depth, std::uint64_t block_size);
  ~TransferQueue();

  Moving& add(const Transfer& transfer);
  /// Makes the requests that there is room for.
  void fill(const RegisteredMemory& registered, const std::function<void(Request&)>& make);
  /// The request is back, for good; its owner's memory is written where it was bounced.
  void retire(Request& request);
  /// Forgets a transfer without pieces in the kernel.
  void remove(Moving& moving);
  /// Forgets all that have nothing in the kernel, and makes no further pieces of the others.
  void drop_waiting();
  std::size_t size() const { return moving_.size(); }
  unsigned in_kernel() const { return in_kernel_; }
  /// Requests that are in the kernel's hands.
  std::vector<Request*> requests();

 private:
  struct Lane {
    std::deque<Moving*> waiting;
    unsigned in_kernel = 0;
  };

  Request* hand_out(Moving& moving, const RegisteredMemory& registered);
  std::byte* take_bounce();

  unsigned queue_depth_;
  std::uint64_t block_size_;
  std::map<Moving*, std::unique_ptr<Moving>> moving_;
  std::map<dev_t, Lane> lanes_;
  std::deque<Request> requests_;  ///< never moved: the kernel knows their addresses
  std::vector<Request*> free_requests_;
  std::vector<std::byte*> free_bounces_;
  std::vector<std::byte*> bounces_;
  std::set<std::pair<Target*, std::uint64_t>> partial_;  ///< sectors with a partial write under way
  unsigned in_kernel_ = 0;
};

}  // namespace spillway::hw_backend
