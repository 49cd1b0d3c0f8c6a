#pragma once

#include <cstdint>

namespace spillway::sim {

/// The part of an array's flash that is written fast, and what it still has to move to the slow
/// part.
///   Filled    by every byte written while there is room; a write that finds less goes on slowly,
///             past the cache
///   Emptied   at `fold_bytes_per_s` while no read or write is in flight: drives move data when the
///             host leaves them alone (assumed: no maker states the rule). What was overwritten
///             meanwhile is moved like the rest
class SlcCache {
 public:
  SlcCache(double size_bytes, double fold_bytes_per_s, bool full)
      : size_(size_bytes), fold_rate_(fold_bytes_per_s), unfolded_(full ? size_bytes : 0) {}

  /// A read or write is in flight from now on.
  void started(double now_s) {
    if (users_++ == 0) fold(now_s - idle_since_s_);
  }
  void ended(double now_s) {
    if (--users_ == 0) idle_since_s_ = now_s;
  }
  /// Of a write that has started: the bytes that are written fast. They take their room at once.
  double admit(double bytes) {
    const double fast = bytes < size_ - unfolded_ ? bytes : size_ - unfolded_;
    unfolded_ += fast;
    return fast;
  }
  double unfolded() const { return unfolded_; }
  /// Writes have gone on for so long that there is no room left.
  void fill(double now_s) {
    unfolded_ = size_;
    if (idle_since_s_ < now_s) idle_since_s_ = now_s;
  }

 private:
  void fold(double seconds) {
    const double moved = seconds * fold_rate_;
    unfolded_ = moved < unfolded_ ? unfolded_ - moved : 0;
  }

  double size_, fold_rate_, unfolded_;
  int users_ = 0;
  double idle_since_s_ = 0;
};

}  // namespace spillway::sim
