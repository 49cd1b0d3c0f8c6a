#include "strategies/machine/step_record.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {

/// Rounding of sums of times: far below the 0.1 % to which steps repeat.
constexpr double rounding = 1e-9;

/// Calls visit(a's, b's) for every count of two steps of one machine, sizes of writes left out.
template <class A, class B, class Visit>
void each_count(A& a, B& b, Visit visit) {
  visit(a.operations, b.operations);
  visit(a.gpu_direct, b.gpu_direct);
  visit(a.network, b.network);
  visit(a.between_nodes, b.between_nodes);
  for (std::size_t i = 0; i < a.bytes.size(); ++i) {
    visit(a.bytes[i].ssd_read, b.bytes[i].ssd_read);
    visit(a.bytes[i].ssd_write, b.bytes[i].ssd_write);
    visit(a.bytes[i].h2d, b.bytes[i].h2d);
    visit(a.bytes[i].d2h, b.bytes[i].d2h);
    visit(a.bytes[i].gpu_direct_read, b.bytes[i].gpu_direct_read);
    visit(a.bytes[i].gpu_direct_write, b.bytes[i].gpu_direct_write);
  }
  for (std::size_t i = 0; i < a.by_storage.size(); ++i) {
    visit(a.by_storage[i].read, b.by_storage[i].read);
    visit(a.by_storage[i].write, b.by_storage[i].write);
    visit(a.inside[i].read, b.inside[i].read);
    visit(a.inside[i].write, b.inside[i].write);
  }
}

/// The same for every time.
template <class A, class B, class Visit>
void each_time(A& a, B& b, Visit visit) {
  for (std::size_t i = 0; i < a.busy.size(); ++i) {
    visit(a.phase_s[i], b.phase_s[i]);
    visit(a.busy[i].gpu, b.busy[i].gpu);
    visit(a.busy[i].gpu_recompute, b.busy[i].gpu_recompute);
    visit(a.busy[i].h2d, b.busy[i].h2d);
    visit(a.busy[i].d2h, b.busy[i].d2h);
    visit(a.busy[i].ssd, b.busy[i].ssd);
    visit(a.busy[i].cpu, b.busy[i].cpu);
    visit(a.busy[i].network, b.busy[i].network);
    visit(a.busy[i].launches, b.busy[i].launches);
    visit(a.busy[i].other_gpus, b.busy[i].other_gpus);
  }
  for (std::size_t i = 0; i < a.storage_busy_s.size(); ++i)
    visit(a.storage_busy_s[i], b.storage_busy_s[i]);
  visit(a.stalls.gpu_waits_for_ssd, b.stalls.gpu_waits_for_ssd);
  visit(a.stalls.gpu_waits_for_host, b.stalls.gpu_waits_for_host);
  visit(a.stalls.gpu_waits_for_gpus, b.stalls.gpu_waits_for_gpus);
  visit(a.stalls.gpu_waits_for_update, b.stalls.gpu_waits_for_update);
  visit(a.stalls.gpu_waits_for_launches, b.stalls.gpu_waits_for_launches);
}

std::uint64_t count_of(const WriteSizes& sizes, std::uint64_t bytes) {
  for (const WriteSize& size : sizes.all())
    if (size.bytes == bytes) return size.count;
  return 0;
}

/// What happened from `earlier` to `later`.
StepRecord between(const StepRecord& earlier, const StepRecord& later) {
  StepRecord part = later;
  const auto less = [](auto& a, const auto& b) { a -= b; };
  each_count(part, earlier, less);
  each_time(part, earlier, less);
  part.start_s = earlier.end_s;
  part.write_sizes.assign(later.write_sizes.size(), {});
  for (std::size_t i = 0; i < later.write_sizes.size(); ++i)
    for (const WriteSize& size : later.write_sizes[i].all())
      part.write_sizes[i].add(size.bytes,
                              size.count - count_of(earlier.write_sizes[i], size.bytes));
  return part;
}

bool equal(const WriteSizes& a, const WriteSizes& b) {
  return std::equal(a.all().begin(), a.all().end(), b.all().begin(), b.all().end(),
                    [](const WriteSize& one, const WriteSize& other) {
                      return one.bytes == other.bytes && one.count == other.count;
                    });
}

}  // namespace

void StepRecord::count_alike(std::uint64_t ranks) {
  const auto times = [ranks](std::uint64_t& count, std::uint64_t) { count *= ranks; };
  each_count(*this, *this, times);
  for (WriteSizes& sizes : write_sizes) {
    WriteSizes all;
    for (const WriteSize& size : sizes.all()) all.add(size.bytes, ranks * size.count);
    sizes = std::move(all);
  }
}

void StepRecord::add(const StepRecord& earlier, const StepRecord& later, std::uint64_t times) {
  const StepRecord part = between(earlier, later);
  each_count(*this, part, [&](std::uint64_t& sum, std::uint64_t one) { sum += times * one; });
  const auto factor = static_cast<double>(times);
  each_time(*this, part, [&](double& sum, double one) { sum += factor * one; });
  for (std::size_t i = 0; i < write_sizes.size(); ++i)
    for (const WriteSize& size : part.write_sizes[i].all())
      write_sizes[i].add(size.bytes, times * size.count);
  left_out_s += factor * part.seconds();
}

bool StepRecord::repeats(const StepRecord& a, const StepRecord& b, const StepRecord& c) {
  const StepRecord one = between(a, b), other = between(b, c);
  bool alike = true;
  each_count(one, other, [&](std::uint64_t x, std::uint64_t y) { alike = alike && x == y; });
  const double most = rounding * std::max(one.seconds(), other.seconds());
  const auto near = [&](double x, double y) { alike = alike && std::abs(x - y) <= most; };
  each_time(one, other, near);
  near(one.seconds(), other.seconds());
  for (std::size_t i = 0; i < one.write_sizes.size(); ++i)
    alike = alike && equal(one.write_sizes[i], other.write_sizes[i]);
  return alike;
}

}  // namespace spillway::strategies
