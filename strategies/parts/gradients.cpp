#include "strategies/parts/gradients.hpp"

#include "strategies/parts/cpu_kernels.hpp"
#include "strategies/parts/weight_chunks.hpp"
#include "strategies/setup.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

using description::ConvertOn;
using description::CopyMemory;
using description::GradientPolicy;

}  // namespace

Gradients::Gradients(Machine& machine, Rank rank, const Job& job, CpuOptimizer* optimizer)
    : machine_(machine),
      rank_(rank),
      job_(job),
      part_(job.scenario.strategy.gradients),
      optimizer_(optimizer),
      group_(reduce_group(job.scenario, rank)),
      ways_(optimizer ? job.partition.state_ways() : job.partition.gradient_ways()),
      width_(job.weight_bytes),
      flat_width_(width_ == 4 || part_.accumulation == description::Width::fp32 ? 4 : 2),
      resident_width_(job.scenario.training.gradient_accumulation > 1 ? flat_width_ : width_),
      offset_(job.model.weights.size()),
      tied_(job.model.weights.size()),
      on_gpu_(machine.scheduler(), 2),
      delivering_(machine.scheduler(), 1),
      staging_(machine.scheduler(), 1),
      norms_(machine.scheduler(), 2),
      news_(machine.scheduler()),
      direct_(optimizer && lands_in_states(job.scenario)),
      sums_on_gpu_(optimizer && sums_before_landing(job.scenario)) {
  if (optimizer && job.scenario.strategy.optimizer.staleness == description::any_staleness)
    sums_.resize(job.model.weights.size());
  if ((direct_ || part_.policy == GradientPolicy::host_fp16) && width_ == 2) flat_width_ = 2;
  if (direct_) resident_width_ = width_;
  reuses_weights_ = optimizer && reuses_chunks(job.scenario);
  if (optimizer && updates_in_backward(part_.policy))
    active_ = std::make_unique<ActiveUpdate>(machine, rank, job, *optimizer, flat_width_);
}

Task<> Gradients::init() {
  const std::uint64_t width = optimizer_ ? flat_width_ : resident_width_;
  const auto& weights = job_.scenario.strategy.weights;
  std::uint64_t unit = share_alignment, total = 0;
  if (optimizer_ && optimizer_->in_place()) unit = storage_sector;
  if (weights.pool == description::PoolKind::pages) unit = weights.page.value();
  gpu_offset_.resize(offset_.size());
  std::uint64_t on_gpu = 0;
  for (std::uint32_t weight = 0; weight < offset_.size(); ++weight) {
    gpu_offset_[weight] = on_gpu;
    on_gpu += resident_bytes(weight);
    offset_[weight] = total;
    total += optimizer_ ? padded(job_.share(weight, ways_) * width, unit) : resident_bytes(weight);
  }
  if (const std::uint64_t bucket = part_.reduce_bucket.value() * width_)
    reduce_bucket_ =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(bucket), Purpose::reduce_buckets);
  if (!optimizer_ || sums_on_gpu_) {
    resident_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(on_gpu), Purpose::gradients);
    // what pads tensors is checked for overflow with them, and nobody else writes it
    GpuKernel clear;
    clear.name = "clear gradients";
    clear.work = GpuWork::initialize;
    clear.bytes = static_cast<double>(on_gpu);
    clear.operands.emplace_back(resident_.view(), models::Access::write, Role::gradient,
                                resident_type(), 0);
    const Op cleared = machine_.run(rank_, std::span<const GpuKernel>(&clear, 1));
    co_await cleared;
    if (!optimizer_) co_return;
  }
  if (direct_) make_landing();
  if (active_) co_await active_->init();
  if (!lands_by_subgroup() && !reuses_weights_) flat_ = co_await make_flat(total);
  if (job_.scenario.strategy.optimizer.staleness == 1) handed_over_ = co_await make_flat(total);
  const std::uint64_t largest = job_.largest_share(ways_);
  if (direct_) co_return;
  if (part_.staging_buffer)
    pinned_staging_ = std::make_unique<BufferPool>(
        machine_, TierId::pinned, rank_, 1, Bytes(4 * largest), Purpose::pinned_gradient_buffer);
  const bool lands_elsewhere =
      (part_.d2h == CopyMemory::pageable && !gradients_are_pageable(job_.scenario)) ||
      !sums_.empty() ||
      (part_.convert == ConvertOn::cpu &&
       (flat_width_ != width_ || job_.scenario.training.gradient_accumulation > 1));
  if (lands_elsewhere)
    landing_ = std::make_unique<BufferPool>(
        machine_, part_.d2h == CopyMemory::pageable ? TierId::pageable : TierId::pinned, rank_, 2,
        Bytes(padded(width_ * largest, storage_sector)), Purpose::bounce_buffers);
}

bool Gradients::lands_by_subgroup() const { return active_ && active_->lands(); }

View Gradients::flat(std::uint32_t weight) const {
  if (lands_by_subgroup()) return active_->gradient(weight);
  if (reuses_weights_)
    return optimizer_->weight_share(weight).part(0, job_.share(weight, ways_) * flat_width_);
  return flat_.view(offset_[weight], job_.share(weight, ways_) * flat_width_);
}

/// With whole sectors for it, where new weights take its place.
View Gradients::flat_sectors(std::uint32_t weight) const {
  if (lands_by_subgroup()) return active_->sectors(weight);
  if (reuses_weights_) return optimizer_->weight_share(weight);
  return flat_.view(offset_[weight],
                    padded(job_.share(weight, ways_) * flat_width_, storage_sector));
}

/// Micro-batches add up in resident gradients before the ranks' sums do (ZeRO-0 and 1).
bool Gradients::sums_locally() const {
  return !optimizer_ && job_.partition.gradient_ways() == 1 && !in_place();
}

/// Of a whole gradient with room for the shares of who updates from it, or of a share.
std::uint64_t Gradients::resident_bytes(std::uint32_t weight) const {
  const bool all = ways_ == 1 || optimizer_;
  const std::uint64_t states = all ? job_.partition.state_ways() : 1;
  const std::uint64_t shares =
      all ? job_.share(weight, states) * states : job_.share(weight, ways_);
  return padded(shares * resident_width_, storage_sector);
}

View Gradients::resident(std::uint32_t weight) const {
  return resident_.view(gpu_offset_[weight], resident_bytes(weight));
}

View Gradients::resident_share(std::uint32_t weight) const {
  const std::uint64_t states = job_.partition.state_ways();
  const std::uint64_t bytes = job_.share(weight, states) * resident_width_;
  const std::uint64_t first = ways_ == 1 && states > 1 ? job_.member(rank_) * bytes : 0;
  return resident(weight).part(first, bytes);
}

ElementType Gradients::flat_type() const {
  return flat_width_ == 4 ? ElementType::fp32 : job_.weight_type();
}

ElementType Gradients::resident_type() const {
  return resident_width_ == 4 ? ElementType::fp32 : job_.weight_type();
}

/// The kernels write, or add to, the resident gradients themselves.
bool Gradients::in_place() const {
  if (replay_) return false;
  const bool one = job_.scenario.training.gradient_accumulation == 1;
  if (optimizer_) return sums_on_gpu_;
  return job_.partition.gradient_ways() == 1 && resident_width_ == width_ &&
         (one || part_.fused_accumulation);
}

// ---- On the GPU

bool Gradients::has_room(std::uint32_t layer) const {
  std::uint64_t bytes = 0;
  for (const LayerWeight& slot : job_.plans.layers[layer].weights)
    if (!in_place() && !tied_[slot.weight])
      bytes += machine_.gpu_charge(slot.gradient_share_bytes * job_.partition.gradient_ways());
  return bytes <= machine_.usage(TierId::gpu, rank_).free;
}

Task<> Gradients::others_leave() {
  for (std::size_t i = 0; i < leaving_.size(); ++i) co_await leaving_[i];
}

Task<Gradients::OnGpu> Gradients::begin_layer(std::uint32_t layer, bool first_micro) {
  OnGpu gradients;
  gradients.slot = co_await on_gpu_.acquire();
  const LayerPlan& plan = job_.plans.layers[layer];
  const std::uint64_t ways = job_.partition.gradient_ways();
  std::uint64_t bytes = 0;
  for (const LayerWeight& slot : plan.weights)
    if (!in_place() && slot.owned && !tied_[slot.weight]) bytes += slot.gradient_share_bytes * ways;
  if (bytes)
    gradients.buffer = machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::gradients);
  std::uint64_t offset = 0;
  for (const LayerWeight& slot : plan.weights) {
    const std::uint64_t size = slot.gradient_share_bytes * ways;
    // the head has begun the sum of the weights that it shares with the embedding
    gradients.fresh.push_back(slot.begins && (first_micro || !in_place()));
    if (in_place()) {
      gradients.views.push_back(resident(slot.weight));
    } else if (!slot.owned || tied_[slot.weight]) {
      // made by the head, completed and sent away by the embedding
      if (!tied_[slot.weight])
        tied_[slot.weight] =
            machine_.allocate_now(TierId::gpu, rank_, Bytes(size), Purpose::gradients);
      gradients.views.push_back(tied_[slot.weight].view());
    } else {
      gradients.views.push_back(gradients.buffer.view(offset, size));
      offset += size;
    }
  }
  co_return gradients;
}

View Gradients::own_part(const LayerWeight& slot, const View& whole) const {
  if (ways_ == 1) return whole;
  const std::uint64_t member = job_.member(rank_);
  if (job_.partition.gradient_ways() > 1)
    return whole.part(member * slot.gradient_share_bytes, slot.gradient_share_bytes);
  const std::uint64_t bytes = padded(job_.share(slot.weight, ways_) * width_, share_alignment);
  return whole.part(member * bytes, bytes);
}

/// ZeRO-2 and 3 leave each rank its share; below, all ranks get the sum: once a step when
/// micro-batches add up on the GPU, each time when they do so in host memory.
Op Gradients::reduce(const LayerWeight& slot, const View& whole, Op computed, bool last_micro) {
  if (job_.partition.ways == 1) return computed;
  if (job_.partition.gradient_ways() > 1)
    return machine_.collective(rank_, group_, Collective::reduce_scatter, whole,
                               own_part(slot, whole), computed, job_.weight_type());
  if (sums_locally() || (in_place() && !last_micro)) return computed;  // at the end of the step
  return machine_.collective(rank_, group_, Collective::all_reduce, whole, whole, computed,
                             job_.weight_type());
}

std::vector<Gradients::Share> Gradients::reduce_layer(const LayerPlan& plan, const OnGpu& gradients,
                                                      const Op& computed, bool last_micro) {
  std::vector<Share> shares;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const LayerWeight& slot = plan.weights[i];
    if (!slot.owned) continue;
    Op reduced = reduce(slot, gradients.views[i], computed, last_micro);
    shares.push_back({slot.weight, job_.share(slot.weight, ways_),
                      own_part(slot, gradients.views[i]), std::move(reduced)});
  }
  return shares;
}

Op Gradients::gpu_kernel(std::string_view name, GpuWork work, Typed into, std::vector<Typed> from,
                         const After& after) {
  GpuKernel kernel;
  kernel.name = name;
  kernel.work = work;
  kernel.bytes = static_cast<double>(into.view.bytes);
  for (Typed& source : from) {
    kernel.bytes += static_cast<double>(source.view.bytes);
    kernel.operands.emplace_back(std::move(source.view), models::Access::read, Role::input,
                                 source.type, 0);
  }
  kernel.operands.emplace_back(std::move(into.view), models::Access::write, Role::output, into.type,
                               0);
  // DeepSpeed: reduce_and_partition_stream with overlap_comm, else the default stream
  return machine_.run(rank_, std::span<const GpuKernel>(&kernel, 1), after,
                      part_.overlap ? GpuStream::side : GpuStream::compute);
}

/// Adds a micro-batch's gradient to the sum that stays here.
Op Gradients::add_resident(const Share& share, bool first, const After& after) {
  const Typed into(resident(share.weight).part(0, share.elements * resident_width_),
                   resident_type());
  std::vector<Typed> from;
  if (!first) from.push_back(into);
  from.emplace_back(share.on_gpu.part(0, share.elements * width_), job_.weight_type());
  return gpu_kernel("keep gradient", GpuWork::sum, into, std::move(from), after);
}

/// Micro-batches add up on each rank, and ranks once a step: their order is that of the layers.
void Gradients::sum_locally(std::vector<Share>& shares, bool first_micro, bool last_micro) {
  for (Share& share : shares) {
    share.ready = keep(share, first_micro, share.ready);
    if (!last_micro || job_.partition.ways == 1) continue;
    const View whole = resident(share.weight);
    share.ready = machine_.collective(rank_, group_, Collective::all_reduce, whole, whole,
                                      share.ready, resident_type());
  }
}

/// Waits for shares that are reduced (or summed) and adds them to those that stay here.
Task<> Gradients::keep_resident(std::vector<Share> shares, OnGpu keep, bool first_micro) {
  std::vector<Op> kept;
  for (const Share& share : shares) {
    co_await share.ready;  // the stream must not stand still behind a reduction
    if (in_place() || sums_locally()) continue;
    kept.push_back(this->keep(share, first_micro, {}));
  }
  for (const Op& op : kept) co_await op;
  keep.buffer.reset();
}

Task<> Gradients::leave(std::uint32_t layer, OnGpu gradients, Op computed, bool first_micro,
                        bool last_micro) {
  const LayerPlan& plan = job_.plans.layers[layer];
  std::vector<Share> shares = reduce_layer(plan, gradients, computed, last_micro);
  if (sums_locally()) sum_locally(shares, first_micro, last_micro);
  for (const Share& share : shares) tied_[share.weight].reset();
  leaving_.push_back(machine_.spawn(
      optimizer_ ? offload(std::move(shares), std::move(gradients), first_micro, last_micro)
                 : keep_resident(std::move(shares), std::move(gradients), first_micro)));
  if (part_.overlap) co_return;
  co_await leaving_.back();
  leaving_.pop_back();
  while (!storage_writes_.empty()) {
    co_await storage_writes_.front();
    storage_writes_.pop_front();
  }
}

// ---- On their way down

/// No co_await in the branches of a conditional expression: g++ 12 miscompiles that.
Task<Gradients::Down> Gradients::bring(const Share& share, bool first_micro, bool last_micro) {
  if (direct_) return bring_to_states(share, first_micro, last_micro);
  return bring_down(share, first_micro);
}

Task<> Gradients::offload(std::vector<Share> shares, OnGpu keep, bool first_micro,
                          bool last_micro) {
  std::vector<Op> copied, arrived;
  if (sums_on_gpu_ && !last_micro) {
    for (const Share& share : shares) co_await share.ready;
    keep.slot.release();
    co_return;
  }
  for (const Share& share : shares) {
    // two tensors' fp32 copies on the GPU at most
    if ((direct_ || part_.convert == ConvertOn::gpu) && copied.size() >= 2)
      co_await copied[copied.size() - 2];
    if (active_) co_await active_->room(share.weight);
    Down down = co_await bring(share, first_micro, last_micro);
    if (active_ && last_micro) active_->arrives(share.weight, share.ready, down.arrived);
    copied.push_back(std::move(down.copied));
    arrived.push_back(std::move(down.arrived));
  }
  // the operations hold what they still read
  for (Share& share : shares) share.on_gpu = View();
  keep.buffer.reset();
  keep.views.clear();
  Pending<> delivery;
  if (last_micro && !active_ && !direct_)
    delivery = machine_.spawn(deliver_layer(std::move(shares), copied, arrived));
  for (const Op& copy : copied) co_await copy;
  keep.slot.release();
  for (const Op& arrival : arrived) co_await arrival;
  if (delivery) co_await delivery;
}

/// One layer at a time, so that the staging buffer fills in order.
Task<> Gradients::deliver_layer(std::vector<Share> shares, std::vector<Op> copied,
                                std::vector<Op> arrived) {
  const Semaphore::Lock turn = co_await delivering_.acquire();
  std::vector<Task<>> deliveries;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    // without overlap storage begins when the copies from the GPU are through
    deliveries.push_back(
        deliver(shares[i], arrived[i], part_.overlap ? std::vector<Op>() : copied));
  }
  co_await when_all(machine_.scheduler(), std::move(deliveries));
  storage_staging_.reset();
}

/// GPU to the flat buffer, widened or added as the knobs say.
Task<Gradients::Down> Gradients::bring_down(const Share& share, bool first_micro) {
  if (!sums_.empty()) co_return co_await add_down(share);
  // a copy of the same width needs no kernel
  if (part_.convert == ConvertOn::gpu && (flat_width_ > width_ || !first_micro))
    co_return Down(co_await widen_on_gpu(share, first_micro));
  const View into = flat(share.weight);
  const std::uint64_t bytes = share.elements * width_;
  const View from = share.on_gpu.part(0, bytes);
  if (!landing_) co_return Down(machine_.copy(rank_, into, from, share.ready));
  co_await share.ready;  // no landing buffer for a layer that still computes
  const Buffer landing = co_await landing_->take();
  const View there = landing.view(0, bytes);
  const Op copied = machine_.copy(rank_, there, from, share.ready);
  if (flat_width_ == width_ && first_micro)
    co_return Down(copied, machine_.copy(rank_, into, there, copied));
  co_return Down(copied, machine_.run(rank_,
                                      convert({into, flat_type()}, {there, job_.weight_type()},
                                              share.elements, !first_micro),
                                      copied));
}

Task<Op> Gradients::widen_on_gpu(const Share& share, bool first_micro) {
  const View into = flat(share.weight);
  const Typed narrow(share.on_gpu.part(0, share.elements * width_), job_.weight_type());
  if (first_micro) {
    co_await share.ready;
    const Buffer wide =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(into.bytes), Purpose::gradients);
    const Op widened =
        gpu_kernel("widen gradient", GpuWork::sum, Typed(wide.view(), flat_type()), {narrow}, {});
    co_return machine_.copy(rank_, into, wide.view(), widened);
  }
  const Buffer sum =
      machine_.allocate_now(TierId::gpu, rank_, Bytes(into.bytes), Purpose::gradients);
  const Op back = machine_.copy(rank_, sum.view(), into);
  co_await share.ready;
  co_await back;
  const Buffer wide =
      machine_.allocate_now(TierId::gpu, rank_, Bytes(into.bytes), Purpose::gradients);
  const Op added = gpu_kernel("add gradient", GpuWork::sum, Typed(wide.view(), flat_type()),
                              {Typed(sum.view(), flat_type()), narrow}, {});
  co_return machine_.copy(rank_, into, wide.view(), added);
}

/// The flat buffer's slice to where the optimizer reads it. With convert on the GPU it goes up once
/// more for its norm, and down into its place; else the CPU widens it. A write to storage also
/// waits for `before_write`.
Task<> Gradients::deliver(Share share, Op arrived, std::vector<Op> before_write) {
  const StateStore::GradientHome home = optimizer_->states().gradient_home(share.weight);
  const View from = flat(share.weight);
  View place = home.memory;
  Buffer staging;
  if (home.extent) {
    staging = co_await storage_staging(home.range.bytes);
    place = staging.view(staged_ - home.range.bytes, home.range.bytes);
  }
  Op staged;
  Semaphore::Lock room;
  if (part_.convert == ConvertOn::gpu) {
    room = co_await norms_.acquire();
    co_await arrived;
    const Buffer norm =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(from.bytes), Purpose::gradients);
    co_await machine_.copy(rank_, norm.view(), from);
    const View result = norm.view().part(0, std::min(share_alignment, from.bytes));
    staged = gpu_kernel("gradient norm", GpuWork::norm, Typed(result, flat_type()),
                        {Typed(norm.view(), flat_type())}, {});
    if (place) {
      const std::uint64_t bytes = 4 * share.elements;
      Buffer wide;  // the optimizer reads fp32, whatever the flat buffer keeps
      if (flat_width_ < 4) {
        wide = machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::gradients);
        staged = gpu_kernel("widen gradient", GpuWork::sum, Typed(wide.view(), ElementType::fp32),
                            {Typed(norm.view(), flat_type())}, staged);
      }
      const View whole = wide ? wide.view() : norm.view();
      staged = machine_.copy(rank_, place.part(0, bytes), whole, staged);
    }
  } else if (place) {
    staged = machine_.run(rank_,
                          convert({place.part(0, 4 * share.elements), ElementType::fp32},
                                  {from, flat_type()}, share.elements, false),
                          arrived);
  } else {
    co_return;
  }
  if (home.extent) {
    before_write.push_back(staged);
    before_write.push_back(last_write_);  // one I/O queue a process
    Op written = machine_.write(rank_, *home.extent, home.range, place, before_write);
    optimizer_->states().gradient_written(share.weight, written);
    last_write_ = written;
    storage_writes_.push_back(std::move(written));
  }
  co_await staged;
}

/// A swap buffer with room for `bytes` more, behind what was staged in it.
Task<Buffer> Gradients::storage_staging(std::uint64_t bytes) {
  const Semaphore::Lock turn = co_await staging_.acquire();
  if (!storage_staging_ || staged_ + bytes > storage_staging_.view().bytes) {
    storage_staging_.reset();
    storage_staging_ = co_await optimizer_->states().staging();
    staged_ = 0;
  }
  staged_ += bytes;
  co_return storage_staging_;
}

void Gradients::begin_update(const Numbers& numbers) {
  if (!active_) return;
  updating_ = true;
  active_->begin([this](std::uint32_t weight) { return flat(weight); },
                 [this](std::uint32_t weight) { return flat_sectors(weight); }, numbers);
}

Task<> Gradients::finish_update() {
  updating_ = false;
  co_await drain();
  co_await active_->finish();
}

Task<> Gradients::drain() {
  if (updating_) co_return;  // gradients on their way are part of the update
  for (Pending<>& leaving : leaving_) co_await leaving;
  leaving_.clear();
  std::uint64_t outstanding = 0;
  for (const Op& write : storage_writes_) outstanding += write.timing().bytes;
  while (!storage_writes_.empty() && outstanding > part_.flush_tail.value()) {
    outstanding -= storage_writes_.front().timing().bytes;
    co_await storage_writes_.front();
    storage_writes_.pop_front();
  }
}

}  // namespace spillway::strategies
