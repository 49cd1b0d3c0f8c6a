#include "strategies/parts/update/gradients_to_storage.hpp"

namespace spillway::strategies {

/// For an extent: a part of a swap buffer, behind what was staged in it.
Task<View> GradientsToStorage::destination(std::uint32_t weight) {
  const StateStore::GradientHome home = optimizer_.states().gradient_home(weight);
  if (!home.extent) co_return home.memory;
  const std::uint64_t bytes = home.range.bytes;
  const Semaphore::Lock turn = co_await turn_.acquire();
  if (!staging_ || staged_ + bytes > staging_.view().bytes) {
    staging_.reset();
    staging_ = co_await optimizer_.states().staging();
    staged_ = 0;
  }
  staged_ += bytes;
  co_return staging_.view(staged_ - bytes, bytes);
}

void GradientsToStorage::delivered(std::uint32_t weight, const View& place, const Op& placed,
                                   std::vector<Op> copied) {
  const StateStore::GradientHome home = optimizer_.states().gradient_home(weight);
  if (!home.extent) return;
  copied.push_back(placed);
  copied.push_back(last_write_);
  last_write_ = machine_.write(rank_, *home.extent, home.range, place, copied);
  optimizer_.states().gradient_written(weight, last_write_);
  writes_.push_back(last_write_);
}

Task<> GradientsToStorage::settle(std::uint64_t bytes) {
  std::uint64_t outstanding = 0;
  for (const Op& write : writes_) outstanding += write.timing().bytes;
  while (!writes_.empty() && outstanding > bytes) {
    outstanding -= writes_.front().timing().bytes;
    co_await writes_.front();
    writes_.pop_front();
  }
}

}  // namespace spillway::strategies
