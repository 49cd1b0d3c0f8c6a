#include "strategies/parts/update/gradients_to_host.hpp"

#include "strategies/layout/landing.hpp"
#include "strategies/layout/norm_copies.hpp"
#include "strategies/machine/cpu_kernels.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/parts/update/typed_copy.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::ConvertOn;
using description::CopyMemory;

GradientsToHost::GradientsToHost(Machine& machine, Rank rank, const Job& job,
                                 CpuOptimizer& optimizer)
    : machine_(machine),
      rank_(rank),
      job_(job),
      part_(job.scenario.strategy.gradients),
      optimizer_(optimizer),
      kernels_(machine, rank, job),
      flat_format_(job),
      offset_(job.model.weights.size()),
      delivering_(machine.scheduler(), 1),
      norms_(machine.scheduler(), 2) {}

std::uint64_t GradientsToHost::flat_bytes(std::uint32_t weight) const {
  return job_.row(weight).trainable() ? format(weight).bytes(job_.share(weight, ways(weight))) : 0;
}

// ---- In host memory

void GradientsToHost::lay_out() {
  const auto& weights = job_.scenario.strategy.weights;
  std::uint64_t unit = share_alignment;
  if (optimizer_.in_place()) unit = storage_sector;
  if (weights.pool == description::PoolKind::pages) unit = weights.page.value();
  for (std::uint32_t weight = 0; weight < offset_.size(); ++weight) {
    offset_[weight] = total_;
    total_ += padded(flat_bytes(weight), unit);
  }
}

void GradientsToHost::make_room(const TensorRow& row) {
  total_ += padded(flat_format_.of(row).bytes(row.share(row.shards.state_ways())), share_alignment);
}

Task<> GradientsToHost::init() {
  lay_out();
  widens_ = flat_format_.widens(job_.tensors);
  co_await make_flats();
  make_staging();
}

Task<> GradientsToHost::make_flats() { flat_ = co_await make_flat(); }

/// Where only states leave the GPUs, host memory sums 16-bit gradients; else it is DeepSpeed's flat
/// buffer.
Purpose GradientsToHost::flat_purpose() const {
  const bool sums = type() != ElementType::fp32 && part_.convert == ConvertOn::cpu &&
                    job_.scenario.strategy.weights.home == description::Home::gpu;
  return sums ? Purpose::gradient_accumulation : Purpose::gradient_flat_buffer;
}

/// One buffer for all gradients of the rank.
Task<Buffer> GradientsToHost::make_flat() {
  std::optional<Rounding> rounding;
  if (part_.pinned) rounding = rounding_of(*part_.pinned);
  const Bytes bytes(total_);
  Buffer pageable;  // built pageable, then copied into pinned memory: both alive for a moment
  if (part_.init_copy)
    pageable = machine_.allocate_now(TierId::pageable, rank_, bytes, Purpose::init_copy);
  const TierId tier = gradients_are_pageable(job_.scenario) ? TierId::pageable : TierId::pinned;
  if (tier != TierId::pinned) rounding.reset();
  Buffer flat = machine_.allocate_now(tier, rank_, bytes, flat_purpose(), rounding);
  // what pads the shares must look like gradients without an overflow
  View first = flat.view();
  if (pageable) first = pageable.view();
  const Op cleared = machine_.run(rank_, zeros(std::move(first)));
  co_await cleared;
  if (pageable) co_await machine_.copy(rank_, flat.view(), pageable.view());
  co_return flat;
}

bool GradientsToHost::passes_landing() const {
  const bool pageable = part_.d2h == CopyMemory::pageable && !gradients_are_pageable(job_.scenario);
  const bool converts =
      part_.convert == ConvertOn::cpu && (widens_ || gradients_of_a_step(job_.scenario) > 1);
  return pageable || converts;
}

void GradientsToHost::make_staging() {
  const auto largest = [this](const auto& bytes) {
    return job_.tensors.largest([&](const TensorRow& row) -> std::uint64_t {
      return row.trainable() ? bytes(row, row.share(row.shards.state_ways())) : 0;
    });
  };
  if (part_.staging_buffer)
    pinned_staging_ = std::make_unique<BufferPool>(
        machine_, TierId::pinned, rank_, 1,
        Bytes(largest([](const TensorRow&, auto share) { return fp32_numbers.bytes(share); })),
        Purpose::pinned_gradient_buffer);
  if (passes_landing() && part_.slabs == 0)
    landing_ = std::make_unique<BufferPool>(
        machine_, part_.d2h == CopyMemory::pageable ? TierId::pageable : TierId::pinned, rank_, 2,
        Bytes(largest([](const TensorRow& row, auto share) {
          return in_sectors(row.gradient_format().bytes(share));
        })),
        Purpose::bounce_buffers);
}

View GradientsToHost::in_flat(const Buffer& flat, std::uint32_t weight) const {
  return flat.view(offset_[weight], flat_bytes(weight));
}

View GradientsToHost::sectors_in(const Buffer& flat, std::uint32_t weight) const {
  return flat.view(offset_[weight], in_sectors(flat_bytes(weight)));
}

TypedView GradientsToHost::computed(const GradientShare& share) const {
  const NumberFormat& format = job_.row(share.weight).gradient_format();
  return TypedView(share.on_gpu.part(0, format.bytes(share.elements)), format.type);
}

/// What it copies has the place of the pass's temporaries (add_norm_copies).
Op GradientsToHost::norm_on_gpu(const GradientShare& share, View result, TypedView gradient,
                                const After& after) {
  const ElementType type = gradient.type;
  GpuKernel kernel = GradientKernels::kernel("gradient norm", GpuWork::norm,
                                             {std::move(result), type}, {std::move(gradient)});
  kernel.bytes += norm_traffic(job_.scenario, job_.row(share.weight), share.elements);
  if (optimizer_.norm()) optimizer_.norm()->leave(kernel, share.weight);
  return kernels_.run(kernel, after);
}

// ---- On their way down

Task<> GradientsToHost::take(std::vector<GradientShare> shares, LayerGradients layer,
                             MicroBatch micro) {
  std::vector<Op> copied, arrived;
  for (const GradientShare& share : shares) {
    // two tensors' fp32 copies on the GPU at most
    if (two_at_a_time() && copied.size() >= 2) co_await copied[copied.size() - 2];
    co_await room(share.weight);
    Down down = co_await bring(share, micro);
    arrives(share, down.arrived, micro);
    copied.push_back(std::move(down.copied));
    arrived.push_back(std::move(down.arrived));
  }
  // the operations hold what they still read
  for (GradientShare& share : shares) share.on_gpu = View();
  layer.buffer.reset();
  layer.views.clear();
  Pending<> delivery;
  if (micro.last && delivers())
    delivery = machine_.spawn(deliver_layer(std::move(shares), copied, arrived));
  for (const Op& copy : copied) co_await copy;
  layer.slot.reset();
  for (const Op& arrival : arrived) co_await arrival;
  if (delivery) co_await delivery;
}

/// GPU to the flat buffer, widened or added as the knobs say.
Task<GradientsToHost::Down> GradientsToHost::bring(const GradientShare& share, MicroBatch micro) {
  const ElementType sum = format(share.weight).type;
  const bool widens = sum != job_.row(share.weight).gradient_format().type;
  // a copy of the same type needs no kernel
  if (part_.convert == ConvertOn::gpu && (widens || !micro.first))
    co_return Down(co_await widen_on_gpu(share, micro.first));
  const View into = gradient(share.weight);
  const TypedView from = computed(share);
  if (!passes_landing()) co_return Down(machine_.copy(rank_, into, from.view, share.ready));
  co_await share.ready;  // no landing buffer for a layer that still computes
  View place = co_await landing_place(share);
  const TypedView there(std::move(place), from.type);
  const Op copied = machine_.copy(rank_, there.view, from.view, share.ready);
  if (!widens && micro.first)
    co_return Down(copied, machine_.copy(rank_, into, there.view, copied));
  const CpuKernel widen =
      convert({into, sum}, {there.view, there.type}, share.elements, !micro.first);
  co_return Down(copied, machine_.run(rank_, widen, copied));
}

Task<View> GradientsToHost::landing_place(const GradientShare& share) {
  const Buffer landing = co_await landing_->take();
  co_return landing.view(0, computed(share).view.bytes);
}

Task<Op> GradientsToHost::widen_on_gpu(GradientShare share, bool first_micro) {
  const View into = gradient(share.weight);
  const Bytes bytes(into.bytes);
  const TypedView narrow = computed(share);
  const ElementType type = format(share.weight).type;
  if (first_micro) {
    co_await share.ready;
    const Buffer wide = machine_.allocate_now(TierId::gpu, rank_, bytes, Purpose::gradients);
    const Op widened =
        kernels_.run("widen gradient", GpuWork::sum, TypedView(wide.view(), type), {narrow}, {});
    co_return machine_.copy(rank_, into, wide.view(), widened);
  }
  const Buffer sum = machine_.allocate_now(TierId::gpu, rank_, bytes, Purpose::gradients);
  const Op back = machine_.copy(rank_, sum.view(), into);
  co_await share.ready;
  co_await back;
  const Buffer wide = machine_.allocate_now(TierId::gpu, rank_, bytes, Purpose::gradients);
  const Op added = kernels_.run("add gradient", GpuWork::sum, TypedView(wide.view(), type),
                                {TypedView(sum.view(), type), narrow}, {});
  co_return machine_.copy(rank_, into, wide.view(), added);
}

// ---- On to where the optimizer reads them

/// One layer at a time, so that a staging buffer fills in order.
Task<> GradientsToHost::deliver_layer(std::vector<GradientShare> shares, std::vector<Op> copied,
                                      std::vector<Op> arrived) {
  const Semaphore::Lock turn = co_await delivering_.acquire();
  std::vector<Task<>> deliveries;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    // without overlap storage begins when the copies from the GPU are through
    deliveries.push_back(
        deliver(shares[i], arrived[i], part_.overlap ? std::vector<Op>() : copied));
  }
  co_await when_all(machine_.scheduler(), std::move(deliveries));
  layer_delivered();
}

Task<View> GradientsToHost::destination(std::uint32_t weight) {
  co_return optimizer_.states().gradient_home(weight).memory;
}

/// The flat buffer's slice to where the optimizer reads it. With convert on the GPU it goes up once
/// more for its norm, and down into its place; else the CPU widens it, or copies it where the
/// optimizer reads its type.
Task<> GradientsToHost::deliver(GradientShare share, Op arrived, std::vector<Op> copied) {
  const View place = co_await destination(share.weight);
  Op staged;
  Semaphore::Lock room;
  if (part_.convert == ConvertOn::gpu) {
    room = co_await norms_.acquire();
    staged = co_await norm(share, arrived, place);
  } else if (place) {
    const NumberFormat wanted = optimizer_.states().gradient_home(share.weight).format;
    const View into = place.part(0, wanted.bytes(share.elements)), from = gradient(share.weight);
    const ElementType type = format(share.weight).type;
    if (type != ElementType::fp32 && wanted.type == type)
      staged = machine_.copy(rank_, into, from, arrived);
    else
      staged = machine_.run(
          rank_, convert({into, wanted.type}, {from, type}, share.elements, false), arrived);
  } else {
    co_return;
  }
  delivered(share.weight, place, staged, std::move(copied));
  co_await staged;
}

/// What is on the GPU for it lives as long as the operations that use it.
Task<Op> GradientsToHost::norm(GradientShare share, Op arrived, View place) {
  const View from = gradient(share.weight);
  co_await arrived;
  const Buffer up =
      machine_.allocate_now(TierId::gpu, rank_, Bytes(from.bytes), Purpose::gradients);
  co_await machine_.copy(rank_, up.view(), from);
  const TypedView sum(up.view(), format(share.weight).type);
  const Buffer result = machine_.allocate_now(
      TierId::gpu, rank_, Bytes(std::min(share_alignment, from.bytes)), Purpose::workspace);
  Op normed = norm_on_gpu(share, result.view(), sum, {});
  if (!place) co_return normed;
  // what the optimizer reads, whatever the flat buffer keeps
  const NumberFormat wanted = optimizer_.states().gradient_home(share.weight).format;
  const std::uint64_t bytes = wanted.bytes(share.elements);
  View whole = sum.view;
  if (sum.type != wanted.type && part_.d2h == CopyMemory::typed) {
    const FreshMemory fresh = fresh_memory(machine_, rank_, sum.view.bytes);
    co_await normed;  // one after the other: the thread that copies issues the norm too
    const View there = fresh.buffer.view(0, sum.view.bytes);
    const Op copied = machine_.copy(rank_, there, sum.view, fresh.touched);
    co_return machine_.run(
        rank_,
        convert({place.part(0, bytes), wanted.type}, {there, sum.type}, share.elements, false),
        copied);
  }
  if (sum.type != wanted.type) {
    const Buffer wide = machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::gradients);
    whole = wide.view();
    normed =
        kernels_.run("widen gradient", GpuWork::sum, TypedView(whole, wanted.type), {sum}, normed);
  }
  co_return machine_.copy(rank_, place.part(0, bytes), whole, normed);
}

}  // namespace spillway::strategies
