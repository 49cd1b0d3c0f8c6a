#include "strategies/parts/activations/activation_swap.hpp"

#include <algorithm>

namespace spillway::strategies {

ActivationSwap::ActivationSwap(Machine& machine, Rank rank, const Job& job)
    : machine_(machine),
      rank_(rank),
      job_(job),
      direct_(job.scenario.strategy.io_engine == description::IoEngine::gds),
      purpose_(job.activations.whole_layers ? Purpose::offloaded_checkpoints
                                            : Purpose::swapped_activations),
      in_host_(job.plans.moved.size()),
      on_drives_(job.plans.moved.size()),
      left_(job.plans.moved.size()),
      back_(job.plans.moved.size()),
      off_gpu_(job.plans.moved.size()),
      leaving_(job.plans.moved.size()),
      returning_(job.plans.moved.size()) {
  for (std::size_t moved = 0; moved < leaving_.size(); ++moved)
    sent_.emplace_back(machine.scheduler());
}

Task<> ActivationSwap::init() {
  std::uint64_t largest = 0;
  for (std::uint32_t moved = 0; moved < on_drives_.size(); ++moved) {
    if (fate(moved) != Fate::ssd) continue;
    const std::uint64_t bytes = job_.plans.moved[moved].bytes;
    largest = std::max(largest, bytes);
    on_drives_[moved] = co_await machine_.store(machine_.topology().home(rank_), rank_,
                                                Bytes(bytes), Purpose::activations);
  }
  if (largest && !direct_)
    staging_ = std::make_unique<BufferPool>(machine_, TierId::pinned, rank_,
                                            job_.activations.staging_buffers, Bytes(largest),
                                            Purpose::activation_staging);
}

void ActivationSwap::leave(std::uint32_t moved, Buffer from, Op made) {
  const View view = from.view(0, job_.plans.moved[moved].bytes);
  going_.push_back(moved);
  if (fate(moved) == Fate::host) {
    in_host_[moved] = machine_.allocate_now(TierId::pinned, rank_, Bytes(view.bytes), purpose_);
    left_[moved] = machine_.copy(rank_, in_host_[moved].view(), view, made);
  } else if (direct_) {
    left_[moved] = machine_.write(rank_, on_drives_[moved], {0, view.bytes}, view, made);
  } else {
    leaving_[moved] = machine_.spawn(write_out(moved, std::move(from), std::move(made)));
    return;
  }
  off_gpu_[moved] = left_[moved];
}

Task<> ActivationSwap::write_out(std::uint32_t moved, Buffer from, Op made) {
  co_await made;  // who is not made yet holds no staging buffer
  Buffer staging = co_await staging_->take();
  const View out = from.view(0, job_.plans.moved[moved].bytes);
  const View view = staging.view(0, out.bytes);
  const Op copied = machine_.copy(rank_, view, out, made);
  off_gpu_[moved] = copied;
  left_[moved] = machine_.write(rank_, on_drives_[moved], {0, view.bytes}, view, copied);
  sent_[moved].set();
}

void ActivationSwap::call_back(std::uint32_t moved, const View& into) {
  if (fate(moved) == Fate::host) {
    back_[moved] = machine_.copy(rank_, into, in_host_[moved].view(), left_[moved]);
    in_host_[moved].reset();
  } else if (direct_) {
    const Op behind = job_.activations.returns_early ? last_read_ : Op();
    back_[moved] =
        machine_.read(rank_, on_drives_[moved], {0, into.bytes}, into, {left_[moved], behind});
    last_read_ = back_[moved];
  } else {
    returning_[moved] = machine_.spawn(read_back(moved, into));
  }
}

Task<Op> ActivationSwap::read_back(std::uint32_t moved, View into) {
  co_await sent_[moved];
  Buffer staging = co_await staging_->take();
  const View view = staging.view(0, into.bytes);
  const Op read = machine_.read(rank_, on_drives_[moved], {0, view.bytes}, view, left_[moved]);
  co_return machine_.copy(rank_, into, view, read);
}

Task<Op> ActivationSwap::arrival(std::uint32_t moved) {
  if (returning_[moved]) {
    back_[moved] = co_await std::move(returning_[moved]);
    returning_[moved].reset();
  }
  co_return back_[moved];
}

Task<bool> ActivationSwap::one_leaves() {
  if (going_.empty()) co_return false;
  const std::uint32_t moved = going_.front();
  going_.pop_front();
  if (leaving_[moved]) co_await sent_[moved];
  co_await off_gpu_[moved];
  co_return true;
}

Task<> ActivationSwap::settle() {
  going_.clear();
  for (std::uint32_t moved = 0; moved < left_.size(); ++moved) {
    if (leaving_[moved]) {
      co_await std::move(leaving_[moved]);
      leaving_[moved].reset();
      sent_[moved].reset();
    }
    co_await left_[moved];
    left_[moved] = Op();
    off_gpu_[moved] = Op();
    back_[moved] = Op();
    in_host_[moved].reset();
  }
}

}  // namespace spillway::strategies
