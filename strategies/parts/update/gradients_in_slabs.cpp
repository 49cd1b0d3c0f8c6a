#include "strategies/parts/update/gradients_in_slabs.hpp"

#include <algorithm>

namespace spillway::strategies {

void GradientsInSlabs::make_staging() {
  GradientsToHost::make_staging();
  places_.resize(job_.model.weights.size());
  filled_.resize(job_.model.layers.size());
  slabs_.resize(job_.model.layers.size());
  std::uint64_t largest = 0;  // of the blocks
  for (std::uint32_t layer = 0; layer < job_.model.layers.size(); ++layer) {
    std::uint64_t bytes = 0;
    for (const std::uint32_t weight : job_.model.layers[layer].weights) {
      if (!job_.trains(weight)) continue;
      places_[weight] = {layer, bytes};
      bytes +=
          in_sectors(job_.row(weight).gradient_format().bytes(job_.share(weight, ways(weight))));
    }
    if (job_.model.layers[layer].is_block)
      largest = std::max(largest, bytes);
    else if (bytes)
      make_slabs(1, bytes, slabs_[layer]);
  }
  std::shared_ptr<BufferPool> of_blocks;
  if (largest) make_slabs(part_.slabs, largest, of_blocks);
  for (std::uint32_t layer = 0; layer < job_.model.layers.size(); ++layer)
    if (job_.model.layers[layer].is_block) slabs_[layer] = of_blocks;
}

void GradientsInSlabs::make_slabs(std::uint64_t count, std::uint64_t bytes,
                                  std::shared_ptr<BufferPool>& pool) {
  pool = std::make_shared<BufferPool>(machine_, TierId::pinned, rank_, count, Bytes(bytes),
                                      Purpose::pinned_gradient_buffer);
}

Task<> GradientsInSlabs::take(std::vector<GradientShare> shares, LayerGradients layer,
                              MicroBatch micro) {
  if (shares.empty()) co_return;
  const std::uint32_t from = places_[shares.front().weight].layer;
  filled_[from] = co_await slabs_[from]->take();
  co_await GradientsToHost::take(std::move(shares), std::move(layer), micro);
  filled_[from].reset();
}

Task<View> GradientsInSlabs::landing_place(const GradientShare& share) {
  const Place& place = places_[share.weight];
  co_return filled_[place.layer].view(place.offset, computed(share).view.bytes);
}

}  // namespace spillway::strategies
