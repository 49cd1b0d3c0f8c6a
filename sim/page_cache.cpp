#include "sim/page_cache.hpp"

#include <algorithm>

namespace spillway::sim {

void PageCache::drop(std::map<Key, Ranges::iterator>::iterator found) {
  held_ -= found->second->bytes;
  ranges_.erase(found->second);
  by_place_.erase(found);
}

/// Ranges that reach into this one leave; what of them lies outside is forgotten with them.
///   unwritten  grows by what was not on storage
///   Result     bytes that lie inside
double PageCache::take_out(const void* file, std::uint64_t offset, std::uint64_t bytes,
                           double& unwritten) {
  double inside = 0;
  auto found = by_place_.lower_bound({file, offset});
  if (found != by_place_.begin()) {
    const auto before = std::prev(found);
    const Range& range = *before->second;
    if (range.file == file && static_cast<double>(range.offset) + range.bytes > double(offset))
      found = before;
  }
  const double end = static_cast<double>(offset) + static_cast<double>(bytes);
  while (found != by_place_.end() && found->first.first == file &&
         static_cast<double>(found->first.second) < end) {
    const Range& range = *found->second;
    const double first = std::max<double>(range.offset, offset);
    inside += std::min(end, static_cast<double>(range.offset) + range.bytes) - first;
    unwritten += range.unwritten;
    drop(found++);
  }
  return inside;
}

/// As the youngest; then the oldest that lie on storage leave until all fits.
void PageCache::put_in(const Range& range, double room) {
  held_ += range.bytes;
  by_place_[{range.file, range.offset}] = ranges_.insert(ranges_.end(), range);
  for (auto oldest = ranges_.begin(); oldest != ranges_.end() && held_ > room;) {
    const auto found = by_place_.find({oldest->file, oldest->offset});
    const bool clean = oldest->unwritten <= 0;
    ++oldest;
    if (clean) drop(found);
  }
}

double PageCache::read(const void* file, std::uint64_t offset, std::uint64_t bytes, double room) {
  double unwritten = 0;
  const double here = take_out(file, offset, bytes, unwritten);
  put_in({file, offset, static_cast<double>(bytes), unwritten}, room);
  return here;
}

/// What is written again before it was on storage is written once more all the same: pages change
/// hands as a queue here.
double PageCache::write(const void* file, std::uint64_t offset, std::uint64_t bytes,
                        const std::vector<StorageBytes>& parts, double room) {
  double unwritten = 0;
  take_out(file, offset, bytes, unwritten);
  const double all = static_cast<double>(bytes);
  put_in({file, offset, all, unwritten + all}, room);
  for (const StorageBytes& part : parts) due_[part.storage].push_back({file, offset, part.bytes});
  unwritten_ += all;
  return std::max(0.0, unwritten_ - limit_ * room);
}

void PageCache::forget(const void* file) {
  auto found = by_place_.lower_bound({file, 0});
  while (found != by_place_.end() && found->first.first == file) drop(found++);
  for (auto& [storage, list] : due_)
    std::erase_if(list, [&](const Due& due) {
      if (due.file != file) return false;
      unwritten_ -= due.bytes;
      written_back_ += due.bytes;  // nobody waits for it any more
      return true;
    });
}

double PageCache::next(std::uint32_t storage, double most, double room) const {
  const auto list = due_.find(storage);
  if (list == due_.end() || list->second.empty() || unwritten_ <= background_ * room) return 0;
  return std::min(most, list->second.front().bytes);
}

void PageCache::written(std::uint32_t storage, double bytes) {
  std::deque<Due>& list = due_[storage];
  if (list.empty()) return;  // its file went meanwhile
  Due& due = list.front();
  bytes = std::min(bytes, due.bytes);
  due.bytes -= bytes;
  unwritten_ -= bytes;
  written_back_ += bytes;
  const auto found = by_place_.find({due.file, due.offset});
  if (found != by_place_.end()) found->second->unwritten -= bytes;
  if (due.bytes <= 0) list.pop_front();
}

}  // namespace spillway::sim
