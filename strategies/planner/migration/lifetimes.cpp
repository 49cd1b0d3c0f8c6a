#include "strategies/planner/migration/lifetimes.hpp"

#include <array>
#include <cmath>
#include <unordered_set>

namespace spillway::strategies::planner {

namespace {

constexpr std::array<std::string_view, 6> kind_names = {
    "weight", "gradient", "optimizer_state", "activation", "communication", "workspace"};

void check_ranges(const LifetimeTensor& tensor, std::size_t row, std::size_t slots,
                  std::vector<LifetimeFault>& faults) {
  const auto fault = [&](std::string message) { faults.push_back({row, {}, std::move(message)}); };
  if (tensor.bytes == 0) fault("a tensor of no bytes");
  if (tensor.active.empty()) fault("no kernel uses it");
  for (std::size_t i = 0; i < tensor.active.size(); ++i) {
    const ActiveRange& range = tensor.active[i];
    const std::string text = std::to_string(range.first) + "-" + std::to_string(range.last);
    if (range.first > range.last) fault("the range " + text + " ends before it begins");
    if (range.last >= slots)
      fault("the range " + text + " names a kernel that does not exist: there are " +
            std::to_string(slots));
    if (!range.reads && !range.writes) fault("the range " + text + " neither reads nor writes");
    if (i > 0 && range.first <= tensor.active[i - 1].last)
      fault("the range " + text + " overlaps the one before it, or is out of order");
  }
}

/// Adds `bytes` of [first, end) by differences; `end` may pass the number of slots.
void add(std::vector<std::uint64_t>& difference, std::uint64_t first, std::uint64_t end,
         std::uint64_t bytes) {
  difference[first] += bytes;
  difference[end] -= bytes;  // modulo 2^64, as the sums are
}

std::vector<std::uint64_t> running_sum(std::vector<std::uint64_t> difference) {
  difference.pop_back();
  std::uint64_t sum = 0;
  for (std::uint64_t& value : difference) value = sum += value;
  return difference;
}

}  // namespace

std::string_view to_string(TensorKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::optional<TensorKind> tensor_kind(std::string_view name) {
  for (std::size_t i = 0; i < kind_names.size(); ++i)
    if (kind_names[i] == name) return static_cast<TensorKind>(i);
  return {};
}

std::vector<LifetimeFault> faults_of(const Lifetimes& lifetimes) {
  std::vector<LifetimeFault> faults;
  if (lifetimes.kernels.empty()) faults.push_back({{}, {}, "a step of no kernels"});
  for (std::size_t i = 0; i < lifetimes.kernels.size(); ++i) {
    const LifetimeKernel& kernel = lifetimes.kernels[i];
    if (!(kernel.duration_s >= 0) || !std::isfinite(kernel.duration_s) ||
        !std::isfinite(kernel.start_s))
      faults.push_back({{}, i, "a kernel needs a start and a duration of 0 s or more"});
    if (i > 0 && kernel.start_s < lifetimes.kernels[i - 1].start_s)
      faults.push_back({{}, i, "the kernel begins before the one above it"});
  }
  std::unordered_set<std::uint64_t> ids;
  for (std::size_t i = 0; i < lifetimes.tensors.size(); ++i) {
    check_ranges(lifetimes.tensors[i], i, lifetimes.kernels.size(), faults);
    if (!ids.insert(lifetimes.tensors[i].id).second)
      faults.push_back({i, {}, "a tensor above it has the same id"});
  }
  return faults;
}

std::vector<IdleInterval> idle_intervals(const Lifetimes& lifetimes) {
  const std::uint32_t slots = lifetimes.slots();
  std::vector<IdleInterval> intervals;
  for (std::uint32_t i = 0; i < lifetimes.tensors.size(); ++i) {
    const LifetimeTensor& tensor = lifetimes.tensors[i];
    for (std::size_t range = 1; range < tensor.active.size(); ++range)
      if (tensor.active[range - 1].last + 1 < tensor.active[range].first)
        intervals.push_back({i, tensor.active[range - 1].last + 1, tensor.active[range].first});
    if (!tensor.persistent || tensor.active.empty()) continue;
    const std::uint32_t first = tensor.active.back().last + 1;
    const std::uint32_t end = tensor.active.front().first + slots;
    if (first >= end) continue;
    const std::uint32_t back = first == slots ? slots : 0;
    intervals.push_back({i, first - back, end - back});
  }
  return intervals;
}

std::vector<std::uint64_t> alive_bytes(const Lifetimes& lifetimes) {
  std::vector<std::uint64_t> difference(lifetimes.kernels.size() + 1);
  for (const LifetimeTensor& tensor : lifetimes.tensors) {
    if (tensor.active.empty()) continue;
    if (tensor.persistent)
      add(difference, 0, lifetimes.kernels.size(), tensor.bytes);
    else
      add(difference, tensor.active.front().first, tensor.active.back().last + 1, tensor.bytes);
  }
  return running_sum(std::move(difference));
}

std::vector<std::uint64_t> active_bytes(const Lifetimes& lifetimes) {
  std::vector<std::uint64_t> difference(lifetimes.kernels.size() + 1);
  for (const LifetimeTensor& tensor : lifetimes.tensors)
    for (const ActiveRange& range : tensor.active)
      add(difference, range.first, range.last + 1, tensor.bytes);
  return running_sum(std::move(difference));
}

}  // namespace spillway::strategies::planner
