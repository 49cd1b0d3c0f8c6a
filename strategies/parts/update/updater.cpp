#include "strategies/parts/update/updater.hpp"

namespace spillway::strategies {

Task<> CpuUpdater::update(const Numbers& numbers) {
  const GradientsToHost* const from = &gradients_;
  return optimizer_.update([from](std::uint32_t weight) { return from->gradient(weight); },
                           [from](std::uint32_t weight) { return from->sectors(weight); }, numbers);
}

Task<> LateUpdater::update(const Numbers& numbers) {
  gradients_.hand_over();
  const LateGradients* const from = &gradients_;
  running_ = machine_.spawn(optimizer_.update(
      [from](std::uint32_t weight) { return from->handed_over(weight); },
      [from](std::uint32_t weight) { return from->handed_over_sectors(weight); }, numbers));
  co_return;
}

Task<> LateUpdater::publish() {
  if (!running_) co_return;
  co_await running_;
  running_.reset();
  co_await optimizer_.publish_late();
}

}  // namespace spillway::strategies
