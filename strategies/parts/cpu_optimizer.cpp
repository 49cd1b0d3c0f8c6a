#include "strategies/parts/cpu_optimizer.hpp"

#include "strategies/parts/cpu_kernels.hpp"
#include "strategies/setup.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

using description::Home;

constexpr std::uint64_t sector = 4096;
constexpr std::uint64_t smallest_swapped = 1u << 20;  // bytes of fp32

std::uint64_t fp32_bytes(std::uint64_t elements) {
  return description::divide_up(4 * elements, sector) * sector;
}

}  // namespace

CpuOptimizer::CpuOptimizer(Machine& machine, Rank rank, const Job& job, Weights& weights)
    : machine_(machine),
      rank_(rank),
      job_(job),
      weights_(weights),
      part_(job.scenario.strategy.optimizer),
      states_(job.subgroups.size()),
      member_of_(job.model.weights.size()) {
  for (std::uint32_t group = 0; group < job.subgroups.size(); ++group)
    for (std::uint32_t i = 0; i < job.subgroups[group].members.size(); ++i)
      member_of_[job.subgroups[group].members[i].weight] = {group, i};
}

/// Bytes of a weight's new values in the swap-out buffer, padded as storage wants it; those that
/// live in host memory are written in place.
std::uint64_t CpuOptimizer::out_bytes(const Subgroup::Member& member) const {
  if (!weights_.on_gpu(member.weight) && !weights_.on_storage(member.weight)) return 0;
  return description::divide_up(member.elements * job_.weight_bytes, sector) * sector;
}

std::uint64_t CpuOptimizer::out_bytes(const Subgroup& group) const {
  std::uint64_t bytes = 0;
  for (const Subgroup::Member& member : group.members) bytes += out_bytes(member);
  return bytes;
}

bool CpuOptimizer::gradient_on_storage(std::uint32_t weight) const {
  const auto& [group, index] = member_of_[weight];
  return job_.scenario.strategy.gradients.policy == description::GradientPolicy::ssd_fp32 &&
         states_[group].swapped &&
         4 * job_.subgroups[group].members[index].elements >= smallest_swapped;
}

Task<> CpuOptimizer::init() {
  std::uint64_t largest = 0, largest_out = 0, host_elements = 0;
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    const Subgroup& group = job_.subgroups[i];
    largest = std::max(largest, group.span);
    largest_out = std::max(largest_out, out_bytes(group));
    states_[i].swapped = part_.home == Home::ssd && 4 * group.elements >= smallest_swapped;
    if (states_[i].swapped) continue;
    states_[i].host_offset = host_elements;
    host_elements += group.span;
  }
  if (part_.home == Home::ssd)
    swap_ = std::make_unique<BufferPool>(machine_, TierId::pinned, rank_, part_.buffers.value_or(4),
                                         Bytes(4 * largest), Purpose::optimizer_swap_buffers);
  if (largest_out)
    swap_out_ = std::make_unique<BufferPool>(
        machine_, TierId::pinned, rank_, job_.scenario.strategy.weights.home == Home::gpu ? 2 : 1,
        Bytes(largest_out), Purpose::swap_out_buffer);
  if (host_elements) {
    master_ = machine_.allocate_now(TierId::pageable, rank_, Bytes(4 * host_elements),
                                    Purpose::master_weights);
    momentum_variance_ = machine_.allocate_now(TierId::pageable, rank_, Bytes(8 * host_elements),
                                               Purpose::optimizer_states);
    co_await init_host_states();
  }
  co_await init_extents();
}

Task<> CpuOptimizer::init_host_states() {
  co_await machine_.run(rank_, first_values(master_.view(), 4));
  co_await machine_.run(rank_, first_values(momentum_variance_.view(), 4));
  if (part_.home != Home::host || !job_.mixed()) co_return;
  for (std::uint32_t i = 0; i < states_.size(); ++i)
    states_[i].host_gradient =
        machine_.allocate_now(TierId::pinned, rank_, Bytes(4 * job_.subgroups[i].span),
                              Purpose::optimizer_gradient_buffers);
}

/// The one storage that `optimizer.paths` names; without it the first drive.
StorageId CpuOptimizer::state_storage() const {
  const auto& storages = machine_.topology().storages;
  for (std::uint32_t i = 0; i < storages.size(); ++i)
    if (part_.paths.empty() ? storages[i].wears : part_.paths.contains(storages[i].name))
      return StorageId{i};
  ENSURE(false, "optimizer states on SSD without a storage");
}

Task<> CpuOptimizer::init_extents() {
  if (part_.home != Home::ssd) co_return;
  const StorageId drive = state_storage();
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    if (!state.swapped) continue;
    const std::uint64_t bytes = fp32_bytes(job_.subgroups[i].span);
    for (Stored* extent : {&state.master, &state.momentum, &state.variance}) {
      *extent = co_await machine_.store(drive, rank_, Bytes(bytes), Purpose::optimizer_states);
      Buffer staging = co_await swap_->take();
      const View view = staging.view(0, bytes);
      const Op made = machine_.run(rank_, first_values(view, 4));
      co_await machine_.write(rank_, *extent, {0, bytes}, view, made);
    }
    const auto& members = job_.subgroups[i].members;
    if (std::any_of(members.begin(), members.end(), [this](const Subgroup::Member& member) {
          return gradient_on_storage(member.weight);
        }))
      state.gradient = co_await machine_.store(drive, rank_, Bytes(bytes), Purpose::gradients);
  }
}

CpuOptimizer::GradientHome CpuOptimizer::gradient_home(std::uint32_t weight) const {
  const auto& [group, index] = member_of_[weight];
  const Subgroup::Member& member = job_.subgroups[group].members[index];
  const State& state = states_[group];
  GradientHome home;
  if (gradient_on_storage(weight)) {
    home.extent = &state.gradient;
    home.range = {member.offset * 4, fp32_bytes(member.elements)};
  } else if (state.host_gradient) {
    home.memory = state.host_gradient.view(member.offset * 4, member.elements * 4);
  }
  return home;
}

void CpuOptimizer::gradient_written(std::uint32_t weight, Op written) {
  states_[member_of_[weight].first].gradient_writes.push_back(std::move(written));
}

// ---- Update

std::vector<std::uint32_t> CpuOptimizer::order() {
  std::vector<std::uint32_t> groups(states_.size());
  for (std::uint32_t i = 0; i < groups.size(); ++i) groups[i] = i;
  const bool reversed = part_.order == description::SubgroupOrder::descending ||
                        (part_.order == description::SubgroupOrder::alternating && step_ % 2 == 1);
  if (reversed) std::reverse(groups.begin(), groups.end());
  return groups;
}

Task<CpuOptimizer::Loaded> CpuOptimizer::load(std::uint32_t group) {
  Loaded loaded;
  loaded.group = group;
  State& state = states_[group];
  if (!state.swapped) co_return loaded;
  const std::uint64_t bytes = fp32_bytes(job_.subgroups[group].span);
  std::vector<Op> reads;
  const std::pair<Buffer*, Stored*> tensors[] = {{&loaded.master, &state.master},
                                                 {&loaded.momentum, &state.momentum},
                                                 {&loaded.variance, &state.variance},
                                                 {&loaded.gradient, &state.gradient}};
  for (const auto& [buffer, extent] : tensors) {
    if (!*extent) continue;
    *buffer = co_await swap_->take();
    reads.push_back(
        machine_.read(rank_, *extent, {0, bytes}, buffer->view(0, bytes), state.gradient_writes));
  }
  for (const Op& read : reads) co_await read;
  state.gradient_writes.clear();
  co_return loaded;
}

Task<> CpuOptimizer::save(Loaded loaded) {
  State& state = states_[loaded.group];
  const std::uint64_t bytes = fp32_bytes(job_.subgroups[loaded.group].span);
  std::vector<Op> writes;
  writes.push_back(machine_.write(rank_, state.master, {0, bytes}, loaded.master.view(0, bytes)));
  writes.push_back(
      machine_.write(rank_, state.momentum, {0, bytes}, loaded.momentum.view(0, bytes)));
  writes.push_back(
      machine_.write(rank_, state.variance, {0, bytes}, loaded.variance.view(0, bytes)));
  loaded.master.reset();
  loaded.momentum.reset();
  loaded.variance.reset();
  for (const Op& write : writes) co_await write;
}

/// Traffic: master, momentum, variance read and written, gradient read, new weights written.
Op CpuOptimizer::adam(Loaded& loaded, const std::function<View(std::uint32_t)>& flat,
                      const Buffer& out) {
  const Subgroup& group = job_.subgroups[loaded.group];
  const State& state = states_[loaded.group];
  CpuKernel kernel;
  kernel.work = CpuWork::adam;
  kernel.elements = group.elements;
  kernel.traffic = group.elements * (28 + (job_.mixed() ? job_.weight_bytes : 0));
  const auto use = [&](View view, models::Access access) {
    kernel.operands.emplace_back(std::move(view), access);
  };
  if (state.swapped) {
    for (const Buffer* buffer : {&loaded.master, &loaded.momentum, &loaded.variance})
      use(buffer->view(), models::Access::read_write);
    if (loaded.gradient) use(loaded.gradient.view(), models::Access::read);
  } else {
    use(master_.view(4 * state.host_offset, 4 * group.span), models::Access::read_write);
    use(momentum_variance_.view(8 * state.host_offset, 8 * group.span), models::Access::read_write);
  }
  for (const Subgroup::Member& member : group.members) {
    const GradientHome home = gradient_home(member.weight);
    if (home.memory)
      use(home.memory, models::Access::read);
    else if (!home.extent)
      use(flat(member.weight), models::Access::read);
    if (!weights_.on_gpu(member.weight) && !weights_.on_storage(member.weight))
      use(weights_.share(member.weight), models::Access::write);
  }
  if (out) use(out.view(), models::Access::write);
  return machine_.run(rank_, std::move(kernel));
}

/// New weights to where they live: extents, or the GPU. Those in host memory were written by the
/// kernel.
Task<> CpuOptimizer::publish(std::uint32_t group, Op updated, Buffer out) {
  std::vector<Op> copies;
  std::uint64_t offset = 0;
  for (const Subgroup::Member& member : job_.subgroups[group].members) {
    const std::uint64_t bytes = out_bytes(member);
    if (bytes == 0) continue;
    const View from = out.view(offset, bytes);
    offset += bytes;
    if (weights_.on_storage(member.weight)) {
      copies.push_back(
          machine_.write(rank_, weights_.extent(member.weight), {0, bytes}, from, updated));
    } else if (weights_.on_gpu(member.weight)) {
      const View into = weights_.updated_share(member.weight, job_.partition.state_ways());
      copies.push_back(machine_.copy(rank_, into, from.part(0, into.bytes), updated));
      if (job_.partition.state_ways() > 1 && weights_.whole(member.weight))
        copies.push_back(machine_.collective(rank_, data_group(job_.scenario, rank_),
                                             Collective::all_gather, into,
                                             weights_.whole_view(member.weight), copies.back()));
    }
  }
  out.reset();
  for (const Op& copy : copies) co_await copy;
}

Task<> CpuOptimizer::update(const std::function<View(std::uint32_t)>& flat) {
  const std::vector<std::uint32_t> groups = order();
  ++step_;
  const auto fetch = [&](std::size_t i) { return machine_.spawn(load(groups[i])); };
  Pending<Loaded> next;
  std::vector<Pending<>> writing;
  if (!groups.empty()) next = fetch(0);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Loaded loaded = co_await std::move(next);
    next.reset();
    const bool more = i + 1 < groups.size();
    if (part_.pipeline_read && more) next = fetch(i + 1);
    Buffer out;
    if (out_bytes(job_.subgroups[groups[i]])) out = co_await swap_out_->take();
    const Op updated = adam(loaded, flat, out);
    co_await updated;
    loaded.gradient.reset();
    std::vector<Pending<>> saving;
    saving.push_back(machine_.spawn(publish(groups[i], updated, std::move(out))));
    const bool gpu_home = job_.scenario.strategy.weights.home == Home::gpu;
    // the 16-bit weights are written and waited for before the states are
    if (!part_.pipeline_write && !gpu_home) co_await saving.back();
    if (states_[groups[i]].swapped) saving.push_back(machine_.spawn(save(std::move(loaded))));
    if (part_.pipeline_write || gpu_home) {
      for (Pending<>& save : saving) writing.push_back(std::move(save));
    } else {
      for (Pending<>& save : saving) co_await save;
    }
    if (!part_.pipeline_read && more) next = fetch(i + 1);
  }
  for (Pending<>& save : writing) co_await save;
}

}  // namespace spillway::strategies
