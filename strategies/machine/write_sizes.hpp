#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spillway::strategies {

/// Writes of one size.
struct WriteSize {
  std::uint64_t bytes = 0;  ///< of one
  std::uint64_t count = 0;
};

/// How many writes of which size a storage took. A step has few sizes and repeats them.
class WriteSizes {
 public:
  /// `count` writes of `bytes`; nothing where either is 0.
  void add(std::uint64_t bytes, std::uint64_t count = 1);
  /// Ascending.
  std::span<const WriteSize> all() const { return sizes_; }

 private:
  std::vector<WriteSize> sizes_;
  std::size_t last_ = 0;  ///< where the one before was
};

}  // namespace spillway::strategies
