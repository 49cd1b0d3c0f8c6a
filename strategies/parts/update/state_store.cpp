#include "strategies/parts/update/state_store.hpp"

#include "strategies/layout/buffers.hpp"
#include "strategies/layout/landing.hpp"
#include "strategies/machine/cpu_kernels.hpp"

#include <algorithm>
#include <array>

namespace spillway::strategies {

namespace {

using description::Home;

/// Bytes of what an update of the sub-group reads and writes.
std::uint64_t updated_bytes(const Job& job, const Subgroup& group) {
  std::uint64_t bytes = 0;
  for (const Subgroup::Member& member : group.members)
    bytes += job.row(member.weight).updated_bytes(member.elements);
  return bytes;
}

}  // namespace

StateStore::StateStore(Machine& machine, Rank rank, const Job& job, Weights& weights)
    : machine_(machine),
      rank_(rank),
      job_(job),
      weights_(weights),
      part_(job.scenario.strategy.optimizer),
      set_(buffers_of_a_set(job.scenario)),
      groups_(job.subgroups.size()),
      member_of_(job.model.weights.size()) {
  for (std::uint32_t group = 0; group < job.subgroups.size(); ++group)
    for (std::uint32_t i = 0; i < job.subgroups[group].members.size(); ++i)
      member_of_[job.subgroups[group].members[i].weight] = {group, i};
}

const NumberFormat& StateStore::format(const Subgroup& group, StateKind kind) const {
  const TensorRow& row = job_.row(group);
  if (kind == StateKind::master) return row.master();
  ENSURE(row.state(kind), "a state that no weight of the sub-group has");
  return *row.state(kind);
}

std::uint64_t StateStore::bytes(const Subgroup& group, StateKind kind) const {
  if (kind == StateKind::variance && !has_variance(group)) return 0;
  return format(group, kind).bytes(group.span);
}

View StateStore::master_in(const View& masters, const Subgroup::Member& member) const {
  const NumberFormat& format = job_.row(member.weight).master();
  return masters.part(format.bytes(member.offset), format.bytes(member.elements));
}

/// Bytes of the sub-group's own masters, as storage wants them.
std::uint64_t StateStore::own_master_bytes(const Subgroup& group) const {
  std::uint64_t bytes = 0;
  for (const Subgroup::Member& member : group.members)
    if (job_.row(member.weight).has_own_master()) bytes += master_sectors(member);
  return bytes;
}

std::uint64_t StateStore::master_sectors(const Subgroup::Member& member) const {
  return in_sectors(job_.row(member.weight).master().bytes(member.elements));
}

bool StateStore::gradient_on_storage(std::uint32_t weight) const {
  const auto& [group, index] = member_of_[weight];
  return lie_on_storage(job_.scenario.strategy.gradients.policy) && groups_[group].swapped &&
         (job_.row(weight).updater == description::OptimizerDevice::near_storage ||
          fp32_numbers.bytes(job_.subgroups[group].members[index].elements) >= smallest_swapped);
}

/// What a weight's gradient on storage is written as.
NumberFormat StateStore::stored_gradient(std::uint32_t weight) const {
  return job_.scenario.strategy.gradients.policy == description::GradientPolicy::ssd_fp16
             ? job_.row(weight).gradient_format()
             : fp32_numbers;
}

/// In its sub-group's extent: fp32 as the states lie, narrower ones one behind the other.
Range StateStore::gradient_range(std::uint32_t weight) const {
  const auto& [group, index] = member_of_[weight];
  const std::vector<Subgroup::Member>& members = job_.subgroups[group].members;
  const std::uint64_t bytes = in_sectors(stored_gradient(weight).bytes(members[index].elements));
  if (job_.scenario.strategy.gradients.policy == description::GradientPolicy::ssd_fp32)
    return {fp32_numbers.bytes(members[index].offset), bytes};
  std::uint64_t offset = 0;
  for (std::uint32_t i = 0; i < index; ++i)
    offset += in_sectors(stored_gradient(members[i].weight).bytes(members[i].elements));
  return {offset, bytes};
}

/// Of the extent.
std::uint64_t StateStore::gradient_bytes(const Subgroup& group) const {
  if (job_.scenario.strategy.gradients.policy == description::GradientPolicy::ssd_fp32)
    return fp32_numbers.bytes(group.span);
  const Range last = gradient_range(group.members.back().weight);
  return last.offset + last.bytes;
}

Task<> StateStore::init() {
  bool in_host = false;
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    groups_[i].swapped = is_swapped(job_, job_.subgroups[i]);
    in_host |= !groups_[i].swapped;
  }
  if (part_.home == Home::ssd) make_buffers();
  if (in_host) co_await init_host_states();
  if (part_.home == Home::ssd) co_await init_extents();
}

void StateStore::make_buffers() {
  paths_ = std::make_unique<StatePaths>(machine_, rank_, job_);
  reading_.resize(paths_->count());
  const SwapBuffers buffers = swap_buffers(job_, paths_->count());
  swap_ =
      std::make_unique<BufferPool>(machine_, TierId::pinned, rank_, paths_->count() * buffers.each,
                                   Bytes(buffers.bytes), Purpose::optimizer_swap_buffers);
  most_kept_ = buffers.most_kept;
}

std::uint64_t StateStore::most_loaded() const { return swap_ ? swap_->size() / set_ : 1; }

/// One after the other as the sub-groups are: masters, if any weight has its own; of each momenta
/// and variances.
Task<> StateStore::init_host_states() {
  std::uint64_t masters = 0, others = 0;
  bool own = false;
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    const Subgroup& group = job_.subgroups[i];
    if (groups_[i].swapped) continue;
    groups_[i].host_master = masters;
    groups_[i].host_states = others;
    masters += bytes(group, StateKind::master);
    others += bytes(group, StateKind::momentum) + bytes(group, StateKind::variance);
    own |= own_master_bytes(group) > 0;
  }
  const TierId gradients =
      gradients_are_pageable(job_.scenario) ? TierId::pageable : TierId::pinned;
  if (own) {
    // ZeRO-1 and 2 pin the masters with the gradients
    const bool pins = lands_in_states(job_.scenario) && !updates_in_shared_memory(job_.scenario);
    const TierId tier = pins ? gradients : TierId::pageable;
    master_ = machine_.allocate_now(tier, rank_, Bytes(masters), Purpose::master_weights);
    co_await machine_.run(rank_, zeros(master_.view()));
    for (std::uint32_t i = 0; i < groups_.size(); ++i) {
      const Subgroup& group = job_.subgroups[i];
      if (groups_[i].swapped) continue;
      co_await first_masters(
          group, master_.view(groups_[i].host_master, bytes(group, StateKind::master)), true);
    }
  }
  momentum_variance_ =
      machine_.allocate_now(TierId::pageable, rank_, Bytes(others), Purpose::optimizer_states);
  co_await machine_.run(rank_, zeros(momentum_variance_.view()));
  // gradients that another step may follow are read where they arrived
  const bool landed =
      part_.staleness > 0 ||
      (updates_in_backward(job_.scenario.strategy.gradients.policy) && !part_.roll_back);
  if (part_.home != Home::host || landed) co_return;
  for (std::uint32_t i = 0; i < groups_.size(); ++i)
    if (has_gradients(job_.subgroups[i])) make_gradients(i, gradients);
}

/// Beside fp32 masters of narrower weights always; beside masters of 16 bits where the policy has
/// gradients brought to the states, though those of the flat buffer are as wide.
bool StateStore::has_gradients(const Subgroup& group) const {
  const bool brought =
      part_.master == description::MasterKept::copy &&
      job_.scenario.strategy.gradients.policy == description::GradientPolicy::host_fp32;
  return job_.row(group).has_copy || brought;
}

/// Where another process updates, they move into memory that it shares, which is not pinned, when
/// they are first sent to it, and the allocator keeps the pinned block that they were in.
///   Source  DeepSpeed stage3.py, initialize_optimizer_states; superoffload_utils.py, async_step,
///           whose queue is torch.multiprocessing's; PyTorch torch/csrc/StorageSharing.cpp,
///           THPStorage_shareFd
void StateStore::make_gradients(std::uint32_t group, TierId tier) {
  const Subgroup& subgroup = job_.subgroups[group];
  const Bytes bytes(job_.row(subgroup).updating_gradient().bytes(subgroup.span));
  const bool moves = part_.roll_back && tier == TierId::pinned;
  if (moves)
    groups_[group].left_behind =
        machine_.allocate_now(tier, rank_, bytes, Purpose::allocator_cache);
  groups_[group].host_gradient = machine_.allocate_now(moves ? TierId::pageable : tier, rank_,
                                                       bytes, Purpose::optimizer_gradient_buffers);
}

std::uint64_t StateStore::first_element(std::uint32_t weight) const {
  const std::uint64_t ways = job_.row(weight).shards.state_ways();
  return ways > 1 ? job_.member(rank_, weight) * job_.share(weight, ways) : 0;
}

/// First values of a sub-group's masters, each at its place in `into`.
Task<> StateStore::first_masters(const Subgroup& group, View into, bool own_only) {
  for (const Subgroup::Member& member : group.members) {
    if (own_only && !job_.row(member.weight).has_own_master()) continue;
    const Op made = machine_.run(
        rank_, first_values(master_in(into, member), job_.row(member.weight).master().type,
                            Role::master, member.weight, first_element(member.weight)));
    co_await made;
  }
}

Task<> StateStore::init_extents() {
  std::uint64_t swapped = 0, largest = 0;
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i].swapped) continue;
    ++swapped;
    largest = std::max(largest, set_ * in_sectors(largest_state_bytes(job_, job_.subgroups[i])));
  }
  if (swapped == 0) co_return;
  paths_->place(swapped, largest);
  std::vector<std::uint32_t> turn(paths_->count());
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i].swapped) continue;
    const std::size_t path = groups_[i].path = paths_->next();
    if (part_.device == description::OptimizerDevice::near_storage)
      groups_[i].drive = turn[path]++ % machine_.topology().info(paths_->storage(path)).drives;
    co_await make_extents(i);
    Loaded first;
    first.group = i;
    if (groups_[i].master) first.master = co_await swap_->take();
    first.momentum = co_await swap_->take();
    if (has_variance(job_.subgroups[i])) first.variance = co_await swap_->take();
    const std::array<const Buffer*, 3> buffers{&first.master, &first.momentum, &first.variance};
    for (const Buffer* buffer : buffers) {
      if (!*buffer) continue;
      const Op cleared = machine_.run(rank_, zeros(buffer->view()));
      co_await cleared;
    }
    if (first.master) co_await first_masters(job_.subgroups[i], first.master.view(), false);
    for (const Transfer& transfer : transfers(first))
      if (transfer.extent->block()->purpose == Purpose::optimizer_states)
        co_await machine_.write(rank_, *transfer.extent, transfer.range, transfer.memory);
  }
}

/// New extents for all that `group` has on storage, on its path.
Task<> StateStore::make_extents(std::uint32_t group) {
  Group& state = groups_[group];
  const Subgroup& subgroup = job_.subgroups[group];
  const StorageId storage = paths_->storage(state.path);
  const auto size = [&](std::uint64_t bytes) { return Bytes(in_sectors(bytes)); };
  const Bytes momenta = size(bytes(subgroup, StateKind::momentum));
  if (const std::uint64_t own = own_master_bytes(subgroup))
    state.master =
        co_await machine_.store(storage, rank_, Bytes(own), Purpose::optimizer_states, state.drive);
  state.momentum =
      co_await machine_.store(storage, rank_, momenta, Purpose::optimizer_states, state.drive);
  if (has_variance(subgroup))
    state.variance =
        co_await machine_.store(storage, rank_, size(bytes(subgroup, StateKind::variance)),
                                Purpose::optimizer_states, state.drive);
  const auto& members = subgroup.members;
  if (std::any_of(members.begin(), members.end(), [this](const Subgroup::Member& member) {
        return gradient_on_storage(member.weight);
      }))
    state.gradient = co_await machine_.store(storage, rank_, size(gradient_bytes(subgroup)),
                                             Purpose::gradients, state.drive);
}

/// What lies where on storage of a sub-group's states: whole extents, but for masters that are the
/// weights themselves.
std::vector<StateStore::Transfer> StateStore::transfers(const Loaded& loaded) const {
  const Group& state = groups_[loaded.group];
  const Subgroup& subgroup = job_.subgroups[loaded.group];
  std::vector<Transfer> all;
  const auto add = [&](const Stored& extent, StateKind kind, const Buffer& into) {
    const std::uint64_t whole = in_sectors(bytes(subgroup, kind));
    all.push_back({&extent, {0, whole}, into.view(0, whole)});
  };
  if (job_.row(subgroup).fp32_states()) {
    add(state.master, StateKind::master, loaded.master);
  } else if (loaded.master) {
    std::uint64_t own_offset = 0;
    for (const Subgroup::Member& member : subgroup.members) {
      const bool own = job_.row(member.weight).has_own_master();
      if (!own && weights_.in_host(member.weight)) continue;
      const std::uint64_t length = master_sectors(member);
      const View memory =
          loaded.master.view(job_.row(member.weight).master().bytes(member.offset), length);
      if (own) {
        all.push_back({&state.master, {own_offset, length}, memory});
        own_offset += length;
      } else {
        all.push_back({&weights_.extent(member.weight), {0, length}, memory});
      }
    }
  }
  add(state.momentum, StateKind::momentum, loaded.momentum);
  if (has_variance(subgroup)) add(state.variance, StateKind::variance, loaded.variance);
  return all;
}

// ---- Between updates

StateStore::GradientHome StateStore::gradient_home(std::uint32_t weight) const {
  const auto& [group, index] = member_of_[weight];
  const Subgroup::Member& member = job_.subgroups[group].members[index];
  const Group& state = groups_[group];
  GradientHome home;
  if (gradient_on_storage(weight)) {
    home.extent = &state.gradient;
    home.range = gradient_range(weight);
    home.format = stored_gradient(weight);
  } else if (state.host_gradient) {
    home.format = job_.row(weight).updating_gradient();
    home.memory = state.host_gradient.view(home.format.bytes(member.offset),
                                           home.format.bytes(member.elements));
  }
  return home;
}

StateStore::OnStorage StateStore::on_storage(std::uint32_t group) {
  Group& state = groups_[group];
  return {&state.master, &state.momentum, &state.variance,
          std::exchange(state.gradient_writes, {})};
}

void StateStore::gradient_written(std::uint32_t weight, Op written) {
  groups_[member_of_[weight].first].gradient_writes.push_back(std::move(written));
}

/// Where gradients lie in a sub-group's extent; those of small tensors stay in host memory.
std::vector<Range> StateStore::gradient_ranges(const Subgroup& group) const {
  std::vector<Range> ranges;
  for (const Subgroup::Member& member : group.members) {
    if (!gradient_on_storage(member.weight)) continue;
    const Range range = gradient_home(member.weight).range;
    if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == range.offset)
      ranges.back().bytes += range.bytes;
    else
      ranges.push_back(range);
  }
  return ranges;
}

// ---- In an update

bool StateStore::must_read(std::uint32_t group) const {
  return groups_[group].swapped && (!kept(group) || groups_[group].gradient);
}

Task<StateStore::Loaded> StateStore::load(std::uint32_t group) {
  Group& state = groups_[group];
  Loaded loaded = std::exchange(state.kept, Loaded());
  loaded.group = group;
  const bool fresh = state.swapped && !loaded.momentum;
  if (!fresh && !state.gradient) co_return loaded;
  const auto& members = job_.subgroups[group].members;
  const bool master =
      fresh && std::any_of(members.begin(), members.end(), [this](const Subgroup::Member& member) {
        return job_.row(member.weight).has_own_master() || !weights_.in_host(member.weight);
      });
  std::vector<Buffer*> wanted;
  if (master) wanted.push_back(&loaded.master);
  if (fresh) wanted.push_back(&loaded.momentum);
  if (fresh && has_variance(job_.subgroups[group])) wanted.push_back(&loaded.variance);
  if (state.gradient) wanted.push_back(&loaded.gradient);
  const std::size_t path = state.path;
  ++reading_[path];
  std::vector<Buffer> buffers = co_await swap_->take(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) *wanted[i] = std::move(buffers[i]);
  const Semaphore::Lock turn = co_await paths_->turn(path, false);
  std::vector<Op> reads;
  if (fresh)
    for (Transfer& transfer : transfers(loaded))
      reads.push_back(
          machine_.read(rank_, *transfer.extent, transfer.range, std::move(transfer.memory)));
  if (state.gradient)
    for (const Range& range : gradient_ranges(job_.subgroups[group]))
      reads.push_back(machine_.read(rank_, state.gradient, range,
                                    loaded.gradient.view(range.offset, range.bytes),
                                    state.gradient_writes));
  for (const Op& read : reads) co_await read;
  --reading_[path];
  state.gradient_writes.clear();
  paths_->measured(path, false, reads);
  co_return loaded;
}

Task<> StateStore::save(Loaded loaded) {
  Group& state = groups_[loaded.group];
  const std::size_t path = paths_->next();
  Stored old[3];
  if (path != state.path) {
    state.path = path;
    old[0] = std::move(state.master);
    old[1] = std::move(state.momentum);
    old[2] = std::move(state.variance);
    co_await make_extents(loaded.group);
  }
  const Semaphore::Lock turn = co_await paths_->turn(path, true);
  std::vector<Op> writes;
  for (Transfer& transfer : transfers(loaded))
    writes.push_back(
        machine_.write(rank_, *transfer.extent, transfer.range, std::move(transfer.memory)));
  loaded.master.reset();
  loaded.momentum.reset();
  loaded.variance.reset();
  for (const Op& write : writes) co_await write;
  paths_->measured(path, true, writes);
}

void StateStore::keep(Loaded loaded) {
  const std::uint32_t group = loaded.group;
  groups_[group].kept = std::move(loaded);
}

std::vector<BoundOperand> StateStore::operands(const Loaded& loaded) const {
  const Group& state = groups_[loaded.group];
  const Subgroup& subgroup = job_.subgroups[loaded.group];
  std::vector<BoundOperand> all;
  const auto use = [&](View view, Role role, StateKind kind) {
    all.emplace_back(std::move(view), models::Access::read_write, role, format(subgroup, kind).type,
                     BoundOperand::whole_group);
  };
  if (state.swapped) {
    if (loaded.master) use(loaded.master.view(), Role::master, StateKind::master);
    use(loaded.momentum.view(), Role::momentum, StateKind::momentum);
    if (has_variance(subgroup)) use(loaded.variance.view(), Role::variance, StateKind::variance);
  } else {
    const std::uint64_t momenta = bytes(subgroup, StateKind::momentum);
    const std::uint64_t variances = bytes(subgroup, StateKind::variance);
    if (own_master_bytes(subgroup))
      use(master_.view(state.host_master, bytes(subgroup, StateKind::master)), Role::master,
          StateKind::master);
    use(momentum_variance_.view(state.host_states, momenta), Role::momentum, StateKind::momentum);
    if (variances > 0)
      use(momentum_variance_.view(state.host_states + momenta, variances), Role::variance,
          StateKind::variance);
  }
  return all;
}

View StateStore::narrow_master(const Loaded& loaded, const Subgroup::Member& member) const {
  const TensorRow& row = job_.row(member.weight);
  if (row.fp32_states()) return View();
  const std::uint64_t offset = row.master().bytes(member.offset), bytes = master_sectors(member);
  if (groups_[loaded.group].swapped) return loaded.master.view(offset, bytes);
  if (!job_.row(member.weight).has_own_master()) return View();
  return master_.view(groups_[loaded.group].host_master + offset, bytes);
}

void StateStore::end_step(std::uint64_t cache_hits) {
  result::OptimizerStates& says = job_.shared->states[rank_.index];
  result::Checkpoint& checkpoint = job_.shared->checkpoints[rank_.index];
  says = {};
  checkpoint = {};
  if (!paths_) return;
  says.cache_hits = cache_hits;
  const Topology& topology = machine_.topology();
  for (std::size_t path = 0; path < paths_->count(); ++path) {
    const StorageInfo& storage = topology.info(paths_->storage(path));
    says.paths[storage.name].estimate_bytes_per_s = paths_->estimate(path);
  }
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    const std::uint64_t states = updated_bytes(job_, job_.subgroups[i]);
    checkpoint.bytes += states;
    if (!groups_[i].swapped) continue;
    ++says.subgroups;
    if (kept(i)) continue;
    const StorageInfo& storage = topology.info(paths_->storage(groups_[i].path));
    ++says.paths[storage.name].subgroups;
    if (!storage.wears) checkpoint.prestaged_bytes += states;
  }
  // fp32 masters are saved besides the weights
  checkpoint.bytes += job_.tensors.sum([](const TensorRow& row) {
    return row.fp32_states() ? row.weight.bytes(row.share(row.shards.state_ways())) : 0;
  });
  paths_->end_step();
}

}  // namespace spillway::strategies
