#include "strategies/parts/weights/weights_on_storage.hpp"

#include "strategies/machine/cpu_kernels.hpp"

#include <algorithm>
#include <map>

namespace spillway::strategies {

using description::Home;
using models::WeightKind;

namespace {

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

WeightsOnStorage::WeightsOnStorage(Machine& machine, Rank rank, const Job& job,
                                   const WeightLayout& layout)
    : machine_(machine),
      rank_(rank),
      job_(job),
      layout_(layout),
      gather_(machine, rank, job),
      extents_(layout.size()),
      pool_of_(layout.size()) {}

Task<> WeightsOnStorage::init() {
  if (job_.scenario.strategy.weights.pool == description::PoolKind::adaptive)
    make_classes();
  else
    make_equal_buffers();
  const StorageId home = machine_.topology().home(rank_);
  for (std::uint32_t weight = 0; weight < layout_.size(); ++weight) {
    if (!layout_.lives(weight, Home::ssd)) continue;
    const std::uint64_t bytes = layout_.stored_bytes(weight);
    extents_[weight] = co_await machine_.store(home, rank_, Bytes(bytes), Purpose::weights);
    Buffer staging = co_await pool_for(weight).take();
    const View view = staging.view(0, bytes);
    const Op made =
        machine_.run(rank_, first_values(view, job_.row(weight).weight.type, Role::weight, weight,
                                         first_element(job_, rank_, weight)));
    co_await machine_.write(rank_, extents_[weight], {0, view.bytes}, view, made);
  }
}

void WeightsOnStorage::add_pool(std::uint64_t count, std::uint64_t bytes) {
  pools_.push_back(std::make_unique<BufferPool>(machine_, TierId::pinned, rank_, count,
                                                Bytes(bytes), Purpose::parameter_pool));
}

void WeightsOnStorage::make_equal_buffers() {
  const auto& part = job_.scenario.strategy.weights;
  const std::uint64_t bytes = job_.tensors.largest([&](const TensorRow& row) {
    return row.weight.bytes(part.buffer_size ? part.buffer_size->value()
                                             : row.share(row.shards.weight_ways()));
  });
  add_pool(part.buffer_count.value_or(description::buffers_of_blocks(part.prefetch_blocks)), bytes);
}

void WeightsOnStorage::make_classes() {
  const std::uint64_t ways = job_.partition.weight_ways();
  const std::uint64_t ahead = job_.scenario.strategy.weights.prefetch_blocks;
  struct Class {
    std::uint64_t bytes = 0, per_layer = 0;
  };
  std::map<std::size_t, Class> classes;
  for (const models::Layer& layer : job_.model.layers) {
    std::map<std::size_t, std::uint64_t> here;
    for (const std::uint32_t weight : layer.weights) {
      if (!layout_.lives(weight, Home::ssd)) continue;
      const std::size_t kind = shape_class(job_.model.weights[weight].kind);
      Class& known = classes[kind];
      known.bytes = std::max(known.bytes, job_.row(weight).weight.bytes(job_.share(weight, ways)));
      known.per_layer = std::max(known.per_layer, ++here[kind]);
    }
  }
  std::map<std::size_t, std::size_t> index;
  for (const auto& [kind, shape] : classes) {
    index[kind] = pools_.size();
    add_pool(kind == 0 ? 2 : shape.per_layer * std::max<std::uint64_t>(1, ahead), shape.bytes);
  }
  for (std::uint32_t weight = 0; weight < layout_.size(); ++weight)
    if (layout_.lives(weight, Home::ssd))
      pool_of_[weight] = index.at(shape_class(job_.model.weights[weight].kind));
}

View WeightsOnStorage::share(std::uint32_t weight) const {
  throw description::InternalError("weight " + std::to_string(weight) +
                                   " lies on storage, not in memory");
}

Task<FetchedWeight> WeightsOnStorage::fetch(const LayerWeight& slot) {
  const WeightGather::Place place = gather_.place(slot);
  const Buffer staging = co_await pool_for(slot.weight).take();
  const View view = staging.view(0, layout_.stored_bytes(slot.weight));
  last_read_ = machine_.read(rank_, extents_[slot.weight], {0, view.bytes}, view, last_read_);
  const Op read = last_read_;
  const Op there = machine_.copy(rank_, place.own, view.part(0, slot.share_bytes), read);
  co_return FetchedWeight{place.whole, gather_.gather(place, place.own, there), read};
}

}  // namespace spillway::strategies
