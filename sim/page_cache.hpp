#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <vector>

namespace spillway::sim {

/// What one storage has of a range of a file.
struct StorageBytes {
  std::uint32_t storage = 0;
  double bytes = 0;
};

/// Files of a node in the memory that nobody else needs, as an engine without O_DIRECT has them:
/// the least recently used go first, and what was written is kept until it lies on its storage.
///   Background  from this share of its room on it writes, oldest first
///   Limit       beyond this share whoever writes waits until enough of it is written
///   Source      Linux, Documentation/admin-guide/sysctl/vm.rst; mm/page-writeback.c. What has not
///               reached the background share is written after 30 s there, and not here
class PageCache {
 public:
  PageCache(double background, double limit) : background_(background), limit_(limit) {}

  /// A file is read: what of it is not here joins the cache.
  ///   room     bytes that the cache may hold now
  ///   Result   bytes that were here
  double read(const void* file, std::uint64_t offset, std::uint64_t bytes, double room);
  /// A file is written, each storage its part.
  ///   Result  bytes that must be on storage before the writer goes on; 0: it need not wait
  double write(const void* file, std::uint64_t offset, std::uint64_t bytes,
               const std::vector<StorageBytes>& parts, double room);
  /// A file is no more: what it holds is dropped, and is not written.
  void forget(const void* file);

  /// The next that this storage is to be given, at most `most` bytes of it; 0: nothing is due.
  double next(std::uint32_t storage, double most, double room) const;
  /// So much of what is oldest lies there now.
  void written(std::uint32_t storage, double bytes);

  double unwritten() const { return unwritten_; }
  /// All that was ever written back.
  double written_back() const { return written_back_; }
  double held() const { return held_; }

 private:
  struct Range {
    const void* file;
    std::uint64_t offset;
    double bytes;
    double unwritten;
  };
  using Ranges = std::list<Range>;  ///< the least recently used first
  using Key = std::pair<const void*, std::uint64_t>;
  struct Due {
    const void* file;
    std::uint64_t offset;
    double bytes;
  };

  double take_out(const void* file, std::uint64_t offset, std::uint64_t bytes, double& unwritten);
  void put_in(const Range& range, double room);
  void drop(std::map<Key, Ranges::iterator>::iterator found);

  double background_, limit_;
  double held_ = 0, unwritten_ = 0, written_back_ = 0;
  Ranges ranges_;
  std::map<Key, Ranges::iterator> by_place_;
  std::map<std::uint32_t, std::deque<Due>> due_;  ///< by storage, oldest first
};

}  // namespace spillway::sim
