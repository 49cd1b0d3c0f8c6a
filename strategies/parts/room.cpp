#include "strategies/parts/room.hpp"

namespace spillway::strategies {

Room::Room(Machine& machine, Rank rank, const Job& job, LayerFetches& fetches,
           Activations& activations, SavedTensors& saved, Gradients& gradients)
    : machine_(machine),
      rank_(rank),
      job_(job),
      fetches_(fetches),
      activations_(activations),
      saved_(saved),
      gradients_(gradients) {}

void Room::begin_pass() { follow(Op(), {}, GatheredWeights()); }

void Room::follow(Op last, std::vector<Op> parts, GatheredWeights weights) {
  before_ = std::move(last);
  parts_ = std::move(parts);
  ended_ = 0;
  in_use_ = std::move(weights);
}

Task<> Room::pass_ends() {
  co_await before_;
  in_use_ = GatheredWeights();
}

Task<> Room::for_weights(std::uint32_t layer) {
  for (; ended_ < parts_.size() && !fits(fetches_.missing_bytes(layer)); ++ended_)
    co_await parts_[ended_];
  if (before_ && (fetches_.comes_in_its_turn(layer) || !fits(fetches_.missing_bytes(layer))))
    co_await pass_ends();
  bool more = saved_.waits();
  while (more && !fits(fetches_.missing_bytes(layer))) more = co_await saved_.one_leaves();
}

Task<> Room::for_gradients(std::uint32_t layer) {
  if (before_ && !fits(gradients_.gpu_bytes(layer))) co_await before_;
  bool more = saved_.waits();
  while (more && !fits(gradients_.gpu_bytes(layer))) more = co_await saved_.one_leaves();
}

bool Room::fits_pass(std::uint32_t layer, bool backward) const {
  return !saved_.waits() || fits(activations_.gpu_bytes(layer, backward));
}

Task<> Room::for_forward(std::uint32_t layer) {
  if (!fits_pass(layer, false)) {
    co_await pass_ends();
    bool more = true;
    while (more && !fits_pass(layer, false)) more = co_await saved_.one_leaves();
  }
  co_await temporaries(temporary_bytes(job_.plans.layers[layer], false));
}

Task<bool> Room::for_backward(std::uint32_t layer) {
  for (; ended_ < parts_.size() && !saved_.returns_all(layer); ++ended_) {
    co_await parts_[ended_];
    saved_.prefetch(layer, 0);
  }
  const bool whole = saved_.returns_all(layer) || saved_.recomputes(layer);
  if (!saved_.returns_all(layer) || !fits_pass(layer, true)) {
    co_await pass_ends();
    bool more = true;
    while (more && !fits_pass(layer, true)) more = co_await saved_.one_leaves();
    if (!fits_pass(layer, true)) co_await gradients_.others_leave();
    if (whole) saved_.call_back(layer);
  }
  co_await temporaries(temporary_bytes(job_.plans.layers[layer], true));
  co_return whole;
}

Task<> Room::for_weight_gradients(std::uint32_t layer) {
  co_await temporaries(late_temporary_bytes(job_.plans.layers[layer]));
}

/// Those of the pass before, where they are as large; else that pass must have ended.
Task<> Room::temporaries(TemporaryBytes room) {
  if (activations_.has_room(room)) co_return;
  co_await pass_ends();
  activations_.make_room(room);
}

std::uint64_t Room::left_by(std::uint32_t layer) const {
  if (layer == 0) return 0;
  return fetches_.gpu_bytes(layer - 1) + gradients_.gpu_bytes(layer - 1);
}

void Room::call_back_below(std::uint32_t layer) {
  if (layer == 0) return;
  saved_.prefetch(layer - 1, left_by(layer));
  if (saved_.returns_all(layer - 1)) saved_.return_early(layer - 1);
}

}  // namespace spillway::strategies
