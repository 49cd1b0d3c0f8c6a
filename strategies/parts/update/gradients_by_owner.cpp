#include "strategies/parts/update/gradients_by_owner.hpp"

namespace spillway::strategies {

GradientSink& GradientsByOwner::of(std::uint32_t weight) const {
  for (const OwnedGradients& one : owners_)
    if (one.rows->holds(weight)) return *one.sink;
  throw description::InternalError("a gradient that nobody takes");
}

Task<> GradientsByOwner::init() {
  for (const OwnedGradients& one : owners_) co_await one.sink->init();
}

Task<> GradientsByOwner::take(std::vector<GradientShare> shares, LayerGradients layer,
                              MicroBatch micro) {
  std::vector<Task<>> all;
  for (const OwnedGradients& one : owners_) {
    std::vector<GradientShare> own;
    for (const GradientShare& share : shares)
      if (one.rows->holds(share.weight)) own.push_back(share);
    if (!own.empty()) all.push_back(one.sink->take(std::move(own), layer, micro));
  }
  shares.clear();
  layer = LayerGradients();
  co_await when_all(machine_.scheduler(), std::move(all));
}

bool GradientsByOwner::ends_with_backward() const {
  for (const OwnedGradients& one : owners_)
    if (!one.sink->ends_with_backward()) return false;
  return true;
}

Task<> GradientsByOwner::sum_at_end() {
  for (const OwnedGradients& one : owners_) co_await one.sink->sum_at_end();
}

Task<> GradientsByOwner::settle(std::uint64_t bytes) {
  for (const OwnedGradients& one : owners_) co_await one.sink->settle(bytes);
}

}  // namespace spillway::strategies
