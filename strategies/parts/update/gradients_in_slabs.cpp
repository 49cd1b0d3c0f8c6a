#include "strategies/parts/update/gradients_in_slabs.hpp"

#include <algorithm>

namespace spillway::strategies {

void GradientsInSlabs::make_staging() {
  GradientsToHost::make_staging();
  places_.resize(job_.model.weights.size());
  filled_.resize(job_.model.layers.size());
  std::uint64_t largest = 0;
  for (std::uint32_t layer = 0; layer < job_.model.layers.size(); ++layer) {
    std::uint64_t bytes = 0;
    for (const std::uint32_t weight : job_.model.layers[layer].weights) {
      if (!job_.trains(weight)) continue;
      places_[weight] = {layer, bytes};
      bytes +=
          in_sectors(job_.row(weight).gradient_format().bytes(job_.share(weight, ways(weight))));
    }
    largest = std::max(largest, bytes);
  }
  slabs_ = std::make_unique<BufferPool>(machine_, TierId::pinned, rank_, part_.slabs,
                                        Bytes(largest), Purpose::pinned_gradient_buffer);
}

Task<> GradientsInSlabs::take(std::vector<GradientShare> shares, LayerGradients layer,
                              MicroBatch micro) {
  if (shares.empty()) co_return;
  const std::uint32_t from = places_[shares.front().weight].layer;
  filled_[from] = co_await slabs_->take();
  co_await GradientsToHost::take(std::move(shares), std::move(layer), micro);
  filled_[from].reset();
}

Task<View> GradientsInSlabs::landing_place(const GradientShare& share) {
  const Place& place = places_[share.weight];
  co_return filled_[place.layer].view(place.offset, computed(share).view.bytes);
}

}  // namespace spillway::strategies
