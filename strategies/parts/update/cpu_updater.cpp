#include "strategies/parts/update/cpu_updater.hpp"

namespace spillway::strategies {

Task<> CpuUpdater::update(const StepNumbers& numbers) {
  const GradientsToHost* const from = &gradients_;
  return optimizer_.update([from](std::uint32_t weight) { return from->gradient(weight); },
                           [from](std::uint32_t weight) { return from->sectors(weight); }, numbers);
}

Task<> LateUpdater::update(const StepNumbers& numbers) {
  gradients_.hand_over();
  const HandedOver* const from = &gradients_;
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

void ActiveUpdater::before_backward(const StepNumbers& numbers, bool completes) {
  if (completes) gradients_.begin_update(numbers);
}

Task<> ActiveUpdater::update(const StepNumbers& numbers) {
  gradients_.end_backward();
  co_await all_.drain();
  if (numbers.inverse_scale != optimizer_.numbers().inverse_scale)
    co_await gradients_.update_again(numbers);
  if (optimizer_.unscales_behind()) {
    co_await gradients_.updated();  // which has read them
    co_await optimizer_.unscale_all();
  }
  co_await gradients_.finish_update();
}

Task<> ActiveUpdater::take_back() {
  gradients_.end_backward();
  co_await all_.drain();
  co_await gradients_.finish_update(true);
}

Task<> LooseUpdater::init() {
  co_await optimizer_.init();
  co_await loop_.init();
}

}  // namespace spillway::strategies
