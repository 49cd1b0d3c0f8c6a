#include "strategies/parts/update/cpu_optimizer.hpp"

#include <algorithm>

/// One update of all sub-groups, in order, by the CPU or inside the storages.
namespace spillway::strategies {

// ---- Order and fetching

CpuOptimizer::Pass CpuOptimizer::begin_pass() {
  Pass pass;
  pass.order.resize(states_.count());
  for (std::uint32_t i = 0; i < pass.order.size(); ++i) pass.order[i] = i;
  const bool reversed = part_.order == description::SubgroupOrder::descending ||
                        (part_.order == description::SubgroupOrder::alternating && step_ % 2 == 1);
  if (reversed) std::reverse(pass.order.begin(), pass.order.end());
  ++step_;
  pass.fetches.resize(pass.order.size());
  pass.fetched.resize(pass.order.size());
  return pass;
}

void CpuOptimizer::fetch(Pass& pass, std::size_t position) {
  if (pass.fetched[position]) return;
  pass.fetched[position] = true;
  pass.fetches[position] = machine_.spawn(states_.load(pass.order[position]));
}

/// The next sub-group of each path that has nothing to read, or of any path when its own have none
/// left. No further than the buffers reach if all up to there hold theirs: else one far ahead could
/// take what the next one needs.
void CpuOptimizer::fetch_ahead(Pass& pass, std::size_t position) {
  const std::size_t end = std::min(pass.order.size(), position + states_.most_loaded());
  for (std::size_t path = 0; path < states_.paths(); ++path) {
    if (states_.reading(path)) continue;
    std::size_t other = end, own = end;
    for (std::size_t i = position; i < end && own == end; ++i) {
      if (pass.fetched[i] || !states_.must_read(pass.order[i])) continue;
      if (states_.path(pass.order[i]) == path) own = i;
      if (other == end) other = i;
    }
    if (std::min(own, other) < end) fetch(pass, own < end ? own : other);
  }
}

Task<> CpuOptimizer::update(Flat flat, Flat sectors, const StepNumbers& numbers) {
  begin_update(std::move(flat), std::move(sectors), numbers);
  pass_ = begin_pass();
  to_come_ = hits_ = 0;
  if (inside_) {
    co_await update_inside(pass_.order);
    co_return;
  }
  for (const std::uint32_t group : pass_.order) {
    to_come_ += states_.swapped(group);
    hits_ += states_.kept(group);
  }
  const std::size_t all = pass_.order.size();
  const auto late = static_cast<std::size_t>(part_.delayed_share * static_cast<double>(all));
  for (std::size_t i = all - late; i < all; ++i)
    for (const Subgroup::Member& member : job_.subgroups[pass_.order[i]].members)
      weights_.await_renewal(member.weight);
  if (part_.pipeline_read) fetch_ahead(pass_, 0);
  co_await update_groups(0, all - late);
  if (late)
    delayed_ = machine_.spawn(update_delayed(all - late));
  else
    states_.end_step(hits_);
}

Task<> CpuOptimizer::update_groups(std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    fetch(pass_, i);
    StateStore::Loaded loaded = co_await std::move(pass_.fetches[i]);
    pass_.fetches[i].reset();
    if (part_.pipeline_read) fetch_ahead(pass_, i + 1);
    const bool swapped = states_.swapped(pass_.order[i]);
    to_come_ -= swapped;
    const bool keep = swapped && to_come_ < states_.most_kept();
    co_await update_group(std::move(loaded), keep);
  }
  for (Pending<>& write : writing_) co_await write;
  writing_.clear();
  widened_.reset();
}

Task<> CpuOptimizer::update_delayed(std::size_t from) {
  co_await update_groups(from, pass_.order.size());
  states_.end_step(hits_);
}

Task<> CpuOptimizer::finish_delayed() {
  if (!delayed_) co_return;
  co_await delayed_;
  delayed_.reset();
}

/// Drives update a sub-group each, and begin the next when the new weights of all are where they
/// live. Meanwhile the CPU updates what is in host memory.
Task<> CpuOptimizer::update_inside(const std::vector<std::uint32_t>& order) {
  bool host_is_done = false;
  for (const std::vector<std::uint32_t>& round : inside_->rounds(order)) {
    std::vector<Pending<Buffer>> back;
    for (const std::uint32_t group : round)
      back.push_back(machine_.spawn(bring_back(group, inside_->update(group, numbers_))));
    if (!std::exchange(host_is_done, true)) co_await update_in_host(order);
    for (std::size_t i = 0; i < round.size(); ++i) {
      Buffer fresh = co_await std::move(back[i]);
      co_await hand_on(round[i], std::move(fresh));
    }
  }
  if (!host_is_done) co_await update_in_host(order);
  for (Pending<>& write : writing_) co_await write;
  writing_.clear();
  widened_.reset();
  states_.end_step(0);
}

Task<> CpuOptimizer::update_in_host(const std::vector<std::uint32_t>& order) {
  for (const std::uint32_t group : order) {
    if (states_.swapped(group)) continue;
    StateStore::Loaded loaded = co_await states_.load(group);
    co_await update_group(std::move(loaded), false);
  }
}

/// New weights to the host.
Task<Buffer> CpuOptimizer::bring_back(std::uint32_t group, Op updated) {
  co_await updated;
  Buffer out = co_await swap_out_->take();
  const std::vector<Op> reads = inside_->read_back(group, out, updated);
  for (const Op& read : reads) co_await read;
  co_return out;
}

/// ... and on to where they live, in the same order on all ranks.
Task<> CpuOptimizer::hand_on(std::uint32_t group, Buffer out) {
  std::vector<Op> ops;
  std::uint64_t offset = 0;
  for (const Subgroup::Member& member : job_.subgroups[group].members) {
    const View from = out.view(offset, out_bytes(member));
    offset += from.bytes;
    if (weights_.on_gpu(member.weight)) {
      for (Op& op : send_to_gpu(member, from, Op())) ops.push_back(std::move(op));
    } else if (weights_.in_host(member.weight)) {
      const View into = weights_.share(member.weight);
      const std::uint64_t bytes = std::min(into.bytes, weight_bytes(member));
      ops.push_back(machine_.copy(rank_, into.part(0, bytes), from.part(0, bytes)));
    } else {
      ops.push_back(machine_.write(rank_, weights_.extent(member.weight), {0, from.bytes}, from));
    }
  }
  for (const Op& op : ops) co_await op;
}

}  // namespace spillway::strategies
