#include "strategies/machine/write_sizes.hpp"

#include <algorithm>

namespace spillway::strategies {

void WriteSizes::add(std::uint64_t bytes, std::uint64_t count) {
  if (bytes == 0 || count == 0) return;
  if (last_ >= sizes_.size() || sizes_[last_].bytes != bytes) {
    const auto place =
        std::lower_bound(sizes_.begin(), sizes_.end(), bytes,
                         [](const WriteSize& size, std::uint64_t b) { return size.bytes < b; });
    last_ = static_cast<std::size_t>(place - sizes_.begin());
    if (place == sizes_.end() || place->bytes != bytes) sizes_.insert(place, {bytes, 0});
  }
  sizes_[last_].count += count;
}

}  // namespace spillway::strategies
