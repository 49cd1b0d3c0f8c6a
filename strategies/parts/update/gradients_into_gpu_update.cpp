#include "strategies/parts/update/gradients_into_gpu_update.hpp"

namespace spillway::strategies {

View GradientsIntoGpuUpdate::own(std::uint32_t) const {
  throw description::InternalError("a gradient that nobody keeps");
}

Task<> GradientsIntoGpuUpdate::take(std::vector<GradientShare> shares, LayerGradients layer,
                                    MicroBatch) {
  std::vector<Op> updated;
  for (const GradientShare& share : shares) updated.push_back(update_(share));
  shares.clear();  // of weights that two layers hold they are the last to know the gradient
  for (const Op& one : updated) co_await one;
  layer.buffer.reset();
}

}  // namespace spillway::strategies
