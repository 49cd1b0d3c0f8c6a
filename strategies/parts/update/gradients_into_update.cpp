#include "strategies/parts/update/gradients_into_update.hpp"

namespace spillway::strategies {

Task<> GradientsIntoUpdate::make_flats() {
  co_await update_.init();
  if (!update_.lands()) flat_ = co_await make_flat();
}

void GradientsIntoUpdate::begin_update(const Numbers& numbers) {
  updating_ = true;
  update_.begin([this](std::uint32_t weight) { return gradient(weight); },
                [this](std::uint32_t weight) { return sectors(weight); }, numbers);
}

}  // namespace spillway::strategies
