#include "strategies/planner/saved/offload_planner.hpp"

#include <algorithm>
#include <numeric>

namespace spillway::strategies {

namespace {

/// Picks in `order` until the tensors give up `need` bytes.
OffloadChoice pick(std::span<const OffloadTensor> tensors, std::span<const std::uint32_t> order,
                   std::uint64_t need, bool compresses) {
  OffloadChoice choice;
  for (const std::uint32_t tensor : order) {
    if (choice.bytes >= need) break;
    choice.picked.push_back(tensor);
    choice.bytes += tensors[tensor].bytes;
    choice.moved_bytes += compresses ? tensors[tensor].compressed_bytes : tensors[tensor].bytes;
  }
  choice.by_ratio = compresses;
  std::sort(choice.picked.begin(), choice.picked.end());
  return choice;
}

}  // namespace

OffloadChoice choose_offload(std::span<const OffloadTensor> tensors, std::uint64_t need,
                             double forward_s, double bytes_per_s) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  const OffloadChoice first = pick(tensors, order, need, false);
  if (static_cast<double>(first.moved_bytes) <= forward_s * bytes_per_s) return first;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t one, std::uint32_t other) {
    __extension__ typedef unsigned __int128 Wide;  // ratios compared without division
    const OffloadTensor &a = tensors[one], &b = tensors[other];
    return Wide(a.compressed_bytes) * b.bytes < Wide(b.compressed_bytes) * a.bytes;
  });
  const OffloadChoice second = pick(tensors, order, need, true);
  return second.moved_bytes < first.moved_bytes ? second : first;
}

}  // namespace spillway::strategies
