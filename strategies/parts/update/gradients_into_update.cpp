#include "strategies/parts/update/gradients_into_update.hpp"

namespace spillway::strategies {

GradientsIntoUpdate::GradientsIntoUpdate(Machine& machine, Rank rank, const Job& job,
                                         CpuOptimizer& optimizer, const Job& all)
    : GradientsToHost(machine, rank, job, optimizer),
      all_(all),
      passes_on_(job.scenario.strategy.optimizer.roll_back),
      update_(machine, rank, job, optimizer, flat_format_) {}

Task<> GradientsIntoUpdate::make_flats() {
  co_await update_.init();
  if (update_.lands()) co_return;
  if (passes_on_)
    for (std::uint32_t weight = 0; weight < all_.model.weights.size(); ++weight)
      if (all_.trains(weight) && !job_.holds(weight)) make_room(all_.row(weight));
  flat_ = co_await make_flat();
}

/// Where nothing is passed on, an update takes them where they come to first.
void GradientsIntoUpdate::arrives(const GradientShare& share, const Op& arrived, MicroBatch micro) {
  if (!micro.last) return;
  const bool goes_on = passes_on_ && (part_.convert == description::ConvertOn::gpu ||
                                      optimizer_.states().gradient_home(share.weight).memory);
  if (!goes_on) update_.arrives(share.weight, share.ready, arrived);
}

void GradientsIntoUpdate::begin_update(const StepNumbers& numbers) {
  updating_ = true;
  update_.begin([this](std::uint32_t weight) { return gradient(weight); },
                [this](std::uint32_t weight) { return sectors(weight); }, numbers);
}

}  // namespace spillway::strategies
