#include "strategies/parts/weights.hpp"

#include "strategies/parts/cpu_kernels.hpp"
#include "strategies/parts/replay.hpp"
#include "strategies/setup.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

using description::Home;
using models::WeightKind;

/// Shapes that share a class of the adaptive pool (MemAscend, IV-B).
std::size_t shape_class(WeightKind kind) {
  switch (kind) {
    case WeightKind::embedding:
    case WeightKind::lm_head:
      return 0;
    case WeightKind::ffn_gate:
    case WeightKind::ffn_up:
    case WeightKind::ffn_down:
      return 1;
    case WeightKind::key:
    case WeightKind::value:
      return 2;
    case WeightKind::query:
    case WeightKind::attention_output:
      return 3;
    default:
      return 4 + static_cast<std::size_t>(kind);
  }
}

}  // namespace

Weights::Weights(Machine& machine, Rank rank, const Job& job)
    : machine_(machine),
      rank_(rank),
      job_(job),
      group_(data_group(job.scenario, rank)),
      residence_(job.model.weights.size()),
      whole_(job.model.weights.size()),
      share_bytes_(job.model.weights.size()),
      flat_offset_(job.model.weights.size()),
      extents_(job.model.weights.size()),
      turn_(machine.scheduler(), 1),
      looked_again_(machine.scheduler()),
      pool_of_(job.model.weights.size()) {
  for (std::size_t layer = 0; layer < job.model.layers.size(); ++layer)
    demanded_.emplace_back(machine.scheduler());
  held_back_.resize(demanded_.size());
  stays_.resize(demanded_.size());
  kept_.resize(demanded_.size());
  if (job.shared->delays.empty() || job.replay) return;
  delays_ = &job.shared->delays[rank.index];
  delays_->seen.resize(residence_.size());
  read_.resize(residence_.size());
  renewed_.resize(residence_.size());
  renewals_.resize(residence_.size());
}

bool Weights::persistent(std::uint32_t weight) const {
  const auto& part = job_.scenario.strategy.weights;
  if (job_.elements(weight) <= part.persistence_threshold.value()) return true;
  if (part.home != Home::ssd) return false;
  return !job_.model.weights[weight].decays() ||
         job_.share(weight, job_.partition.weight_ways()) * job_.weight_bytes <
             Job::smallest_swapped;
}

void Weights::choose_residence() {
  const auto& part = job_.scenario.strategy.weights;
  const std::uint64_t ways = job_.partition.weight_ways();
  std::uint64_t host_room = part.max_in_host.value();
  for (std::uint32_t weight = 0; weight < residence_.size(); ++weight) {
    whole_[weight] = ways == 1 || persistent(weight);
    const std::uint64_t elements = job_.share(weight, ways);
    share_bytes_[weight] = elements * job_.weight_bytes;
    if (ways == 1) {  // whole, with room for the shares of who updates it
      const std::uint64_t states = job_.partition.state_ways();
      share_bytes_[weight] = in_sectors(job_.share(weight, states) * states * job_.weight_bytes);
    }
    if (part.home == Home::gpu || persistent(weight)) {
      residence_[weight] = Residence::gpu;
    } else if (part.home == Home::host || elements <= host_room) {
      residence_[weight] = Residence::host;
      if (part.home == Home::ssd) host_room -= elements;
    } else {
      residence_[weight] = Residence::storage;
    }
  }
}

Task<> Weights::init() {
  choose_residence();
  const std::uint64_t ways = job_.partition.weight_ways();
  std::uint64_t gpu = 0, host = 0;
  const auto& part = job_.scenario.strategy.weights;
  const bool pages = part.pool == description::PoolKind::pages;
  const std::uint64_t page = part.page.value();
  for (std::uint32_t weight = 0; weight < residence_.size(); ++weight) {
    if (residence_[weight] == Residence::gpu) {
      flat_offset_[weight] = gpu;
      gpu += share_bytes_[weight] * (whole_[weight] ? ways : 1);
    } else if (residence_[weight] == Residence::host) {
      flat_offset_[weight] = host;
      host += share_bytes_[weight];
      if (pages) host = description::divide_up(host, page) * page;
    }
  }
  if (gpu) gpu_flat_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(gpu), Purpose::weights);
  if (gpu) co_await init_gpu();
  if (host && chunk_knobs(job_.scenario.strategy).used) {
    chunks_ = std::make_unique<WeightChunks>(machine_, rank_, job_, share_bytes_);
    for (std::uint32_t weight = 0; weight < residence_.size(); ++weight)
      flat_offset_[weight] = chunks_->offset(weight);
    host = chunks_->host_bytes();
  }
  if (host) co_await make_host_flat(host);
  if (job_.scenario.strategy.weights.home == Home::ssd) {
    make_pools();
    co_await make_extents();
  }
}

Task<> Weights::make_host_flat(std::uint64_t bytes) {
  const auto& pinned = job_.scenario.strategy.weights.pinned;
  host_flat_ =
      machine_.allocate_now(TierId::pinned, rank_, Bytes(bytes), Purpose::parameter_flat_buffer,
                            pinned ? std::optional(rounding_of(*pinned)) : std::nullopt);
  co_await init_host();
}

/// Of this rank's share, in the whole weight.
std::uint64_t Weights::first_element(std::uint32_t weight) const {
  const std::uint64_t ways = job_.partition.weight_ways();
  return ways > 1 ? job_.member(rank_) * job_.share(weight, ways) : 0;
}

Task<> Weights::init_gpu() {
  std::vector<GpuKernel> kernels;
  for (std::uint32_t weight = 0; weight < residence_.size(); ++weight) {
    if (residence_[weight] != Residence::gpu || !job_.holds(weight)) continue;
    GpuKernel kernel;
    kernel.name = "initialize";
    kernel.work = GpuWork::initialize;
    kernel.first_element = whole_[weight] ? 0 : first_element(weight);
    View into = whole_[weight] ? whole_view(weight) : share(weight);
    kernel.bytes = static_cast<double>(into.bytes);
    kernel.operands.emplace_back(std::move(into), models::Access::write, Role::weight,
                                 job_.weight_type(), weight);
    kernels.push_back(std::move(kernel));
  }
  co_await machine_.run(rank_, kernels);
}

Task<> Weights::init_host() {
  for (std::uint32_t weight = 0; weight < residence_.size(); ++weight) {
    if (residence_[weight] != Residence::host) continue;
    const Op made = machine_.run(rank_, first_values(share(weight), job_.weight_type(),
                                                     Role::weight, weight, first_element(weight)));
    co_await made;
  }
}

void Weights::make_pools() {
  const auto& part = job_.scenario.strategy.weights;
  const std::uint64_t ways = job_.partition.weight_ways();
  const std::uint64_t ahead = part.prefetch_blocks;
  const auto add = [&](std::uint64_t count, std::uint64_t elements) {
    pools_.push_back(std::make_unique<BufferPool>(machine_, TierId::pinned, rank_, count,
                                                  Bytes(elements * job_.weight_bytes),
                                                  Purpose::parameter_pool));
  };
  if (part.pool != description::PoolKind::adaptive) {
    const std::uint64_t elements =
        part.buffer_size ? part.buffer_size->value() : job_.largest_share(ways);
    add(part.buffer_count.value_or(description::buffers_of_blocks(ahead)), elements);
    return;
  }
  struct Class {
    std::uint64_t elements = 0, per_layer = 0;
  };
  std::map<std::size_t, Class> classes;
  for (const models::Layer& layer : job_.model.layers) {
    std::map<std::size_t, std::uint64_t> here;
    for (const std::uint32_t weight : layer.weights) {
      if (residence_[weight] != Residence::storage) continue;
      const std::size_t kind = shape_class(job_.model.weights[weight].kind);
      Class& known = classes[kind];
      known.elements = std::max(known.elements, job_.share(weight, ways));
      known.per_layer = std::max(known.per_layer, ++here[kind]);
    }
  }
  std::map<std::size_t, std::size_t> index;
  for (const auto& [kind, shape] : classes) {
    index[kind] = pools_.size();
    add(kind == 0 ? 2 : shape.per_layer * std::max<std::uint64_t>(1, ahead), shape.elements);
  }
  for (std::uint32_t weight = 0; weight < residence_.size(); ++weight)
    if (residence_[weight] == Residence::storage)
      pool_of_[weight] = index.at(shape_class(job_.model.weights[weight].kind));
}

Task<> Weights::make_extents() {
  const StorageId home = machine_.topology().home(rank_);
  for (std::uint32_t weight = 0; weight < residence_.size(); ++weight) {
    if (residence_[weight] != Residence::storage) continue;
    extents_[weight] =
        co_await machine_.store(home, rank_, Bytes(stored_bytes(weight)), Purpose::weights);
    Buffer staging = co_await pool_for(weight).take();
    const View view = staging.view(0, stored_bytes(weight));
    const Op made = machine_.run(
        rank_, first_values(view, job_.weight_type(), Role::weight, weight, first_element(weight)));
    co_await machine_.write(rank_, extents_[weight], {0, view.bytes}, view, made);
  }
}

std::uint64_t Weights::stored_bytes(std::uint32_t weight) const {
  return in_sectors(share_bytes_[weight]);
}

BufferPool& Weights::pool_for(std::uint32_t weight) { return *pools_[pool_of_[weight]]; }

View Weights::share(std::uint32_t weight) const {
  const bool gpu = residence_[weight] == Residence::gpu;
  const std::uint64_t own = gpu && whole_[weight] && job_.partition.weight_ways() > 1
                                ? job_.member(rank_) * share_bytes_[weight]
                                : 0;
  return (gpu ? gpu_flat_ : host_flat_).view(flat_offset_[weight] + own, share_bytes_[weight]);
}

View Weights::whole_view(std::uint32_t weight) const {
  return gpu_flat_.view(flat_offset_[weight], share_bytes_[weight] * job_.partition.weight_ways());
}

View Weights::updated_share(std::uint32_t weight, std::uint64_t ways) const {
  if (ways == 1 || job_.partition.weight_ways() > 1) return share(weight);
  const std::uint64_t each = job_.share(weight, ways) * job_.weight_bytes;
  return whole_view(weight).part(job_.member(rank_) * each, each);
}

Op Weights::renew(std::uint32_t weight, const View& from) {
  renewed_[weight] = machine_.copy(rank_, share(weight).part(0, from.bytes), from,
                                   After(read_[weight], renewed_[weight]));
  ++renewals_[weight];
  return renewed_[weight];
}

Op Weights::gather_weight(const LayerWeight& slot, View region, Op own_share_is_there) {
  if (job_.partition.weight_ways() == 1) return own_share_is_there;
  View own = residence_[slot.weight] == Residence::gpu
                 ? share(slot.weight).part(0, slot.share_bytes)
                 : region.part(job_.member(rank_) * slot.share_bytes, slot.share_bytes);
  return machine_.collective(rank_, group_, Collective::all_gather, std::move(own), region,
                             own_share_is_there);
}

void Weights::look_again() {
  looked_again_.set();
  looked_again_.reset();
}

void Weights::demand(std::uint32_t layer) {
  demanded_[layer].set();
  look_again();
}

void Weights::begin_pass(bool backward) {
  if (chunks_) chunks_->begin_pass(backward);
  for (Event& event : demanded_) event.reset();
}

std::uint64_t Weights::ahead() const {
  const auto& part = job_.scenario.strategy.weights;
  return part.prefetch_bucket.value() && part.max_live.value() ? part.prefetch_blocks : 0;
}

bool Weights::fetches(std::uint32_t layer) const {
  if (kept_[layer]) return false;
  if (chunks_) return true;
  const auto& slots = job_.plans.layers[layer].weights;
  return std::any_of(slots.begin(), slots.end(), [this](const LayerWeight& slot) {
    return residence_[slot.weight] != Residence::gpu || !whole_[slot.weight];
  });
}

void Weights::find_staying(const std::function<bool(std::uint32_t)>& recomputes) {
  std::uint64_t passed = 0;
  for (auto layer = static_cast<std::uint32_t>(stays_.size()); layer-- > 0;) {
    stays_[layer] = passed < job_.scenario.strategy.weights.max_reuse.value();
    for (const LayerWeight& slot : job_.plans.layers[layer].weights)
      passed += (recomputes(layer) ? 3 : 2) * job_.elements(slot.weight);
  }
}

/// `max_live` allows it. DeepSpeed's bucket limits what one module fetches ahead, at least one
/// tensor; a block has more modules than tensors, so that it sets no limit to a block.
///   Source  partitioned_param_coordinator.py, _fetch_sub_module_impl
bool Weights::may_live(const LayerWeight& slot) const {
  const std::uint64_t most = job_.scenario.strategy.weights.max_live.value();
  return live_ + job_.elements(slot.weight) <= most;
}

/// Before its turn a layer takes no room that is not free.
bool Weights::finds_room(const LayerWeight& slot) const {
  const std::uint64_t bytes = slot.share_bytes * job_.partition.weight_ways();
  return machine_.usage(TierId::gpu, rank_).free >= machine_.gpu_charge(bytes);
}

bool Weights::has_room(std::uint32_t layer) const {
  std::uint64_t bytes = chunks_ ? chunks_->missing_bytes(layer) : 0;
  if (chunks_) return bytes <= machine_.usage(TierId::gpu, rank_).free;
  for (const LayerWeight& slot : job_.plans.layers[layer].weights)
    if (residence_[slot.weight] != Residence::gpu || !whole_[slot.weight])
      bytes += machine_.gpu_charge(slot.share_bytes * job_.partition.weight_ways());
  return bytes <= machine_.usage(TierId::gpu, rank_).free;
}

/// Own share of a weight into its place on the GPU, then the others' shares.
///   Result  the whole tensor; `gathered` gets the operations
Task<View> Weights::bring(const LayerWeight& slot, GatheredWeights& gathered) {
  const std::uint64_t ways = job_.partition.weight_ways();
  const Buffer memory = machine_.allocate_now(TierId::gpu, rank_, Bytes(slot.share_bytes * ways),
                                              Purpose::gathered_weights);
  View region = memory.view();
  const View own =
      region.part(ways > 1 ? job_.member(rank_) * slot.share_bytes : 0, slot.share_bytes);
  Op there;
  if (residence_[slot.weight] == Residence::host) {
    // one copy stream: a block's tensors follow each other, and leave peers half of the link
    Op renewed;
    if (delays_) renewed = renewed_[slot.weight];
    last_copy_ = machine_.copy(rank_, own, share(slot.weight).part(0, slot.share_bytes),
                               After(last_copy_, renewed));
    there = last_copy_;
    if (delays_) {
      read_[slot.weight] = there;
      delays_->seen[slot.weight].push_back(renewals_[slot.weight]);
    }
  } else if (residence_[slot.weight] == Residence::storage) {
    const Buffer staging = co_await pool_for(slot.weight).take();
    const View view = staging.view(0, stored_bytes(slot.weight));
    // one I/O queue a process: a layer's reads do not slow those of the layer before it
    last_read_ = machine_.read(rank_, extents_[slot.weight], {0, view.bytes}, view, last_read_);
    gathered.reads.push_back(last_read_);
    there = machine_.copy(rank_, own, view.part(0, slot.share_bytes), last_read_);
  } else if (replay_) {
    there = replay_->fetched(slot.weight);
  }
  gathered.ready.push_back(gather_weight(slot, region, there));
  co_return region;
}

Task<GatheredWeights> Weights::gather(std::uint32_t layer) {
  if (kept_[layer]) {
    GatheredWeights kept = std::move(*kept_[layer]);
    kept_[layer].reset();
    co_return kept;
  }
  const Semaphore::Lock turn = co_await turn_.acquire();
  GatheredWeights gathered;
  if (chunks_) {
    const bool room = has_room(layer);
    if (!room) co_await demanded_[layer];
    chunks_->gather(layer, host_flat_, gathered);
    co_return gathered;
  }
  for (const LayerWeight& slot : job_.plans.layers[layer].weights) {
    if (residence_[slot.weight] == Residence::gpu && whole_[slot.weight]) {
      gathered.views.push_back(whole_view(slot.weight));
      gathered.ready.push_back(replay_ ? replay_->fetched(slot.weight) : Op());
      continue;
    }
    const std::uint64_t more = job_.elements(slot.weight);
    held_back_[layer] = !may_live(slot);
    while (!may_live(slot) && !demanded_[layer].is_set()) co_await looked_again_;
    held_back_[layer] = false;
    if (!finds_room(slot)) co_await demanded_[layer];
    gathered.live.emplace_back(live_, more);
    gathered.views.push_back(co_await bring(slot, gathered));
  }
  co_return gathered;
}

}  // namespace spillway::strategies
