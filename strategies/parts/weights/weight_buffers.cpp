#include "strategies/parts/weights/weight_buffers.hpp"

#include "strategies/layout/buffers.hpp"
#include "strategies/machine/ring.hpp"

#include <algorithm>
#include <map>

namespace spillway::strategies {

using description::Home;
using description::PoolKind;
using models::WeightKind;

namespace {

/// Buffers of one size, each for any weight, lent in the order that `Buffers` has.
///   Source  a BufferPool: DeepSpeed partitioned_param_swapper.py
template <class Buffers>
class OfOneSize final : public WeightBuffers {
 public:
  OfOneSize(Machine& machine, Rank rank, const EqualBuffers& equal)
      : buffers_(machine, TierId::pinned, rank, equal.count, Bytes(equal.bytes),
                 Purpose::parameter_pool) {}
  Task<Buffer> take(std::uint32_t) override { return buffers_.take(); }

 private:
  Buffers buffers_;
};

/// Weights of one class pass the same buffers.
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

/// A pool for each class of shapes, with as many buffers as the layers under way have such weights.
///   Source  MemAscend IV-B
class AdaptiveBuffers final : public WeightBuffers {
 public:
  AdaptiveBuffers(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout)
      : pool_of_(layout.size()) {
    const std::uint64_t blocks =
        std::max<std::uint64_t>(1, job.scenario.strategy.weights.prefetch_blocks);
    std::map<std::size_t, std::size_t> index;
    for (const auto& [kind, shape] : classes_of(job, layout)) {
      index[kind] = pools_.size();
      pools_.push_back(std::make_unique<BufferPool>(machine, TierId::pinned, rank,
                                                    kind == 0 ? 2 : shape.per_layer * blocks,
                                                    Bytes(shape.bytes), Purpose::parameter_pool));
    }
    for (std::uint32_t weight = 0; weight < layout.size(); ++weight)
      if (layout.lives(weight, Home::ssd))
        pool_of_[weight] = index.at(shape_class(job.model.weights[weight].kind));
  }
  Task<Buffer> take(std::uint32_t weight) override { return pools_[pool_of_[weight]]->take(); }

 private:
  struct Class {
    std::uint64_t bytes = 0, per_layer = 0;
  };
  static std::map<std::size_t, Class> classes_of(const Job& job, const WeightLayout& layout) {
    std::map<std::size_t, Class> classes;
    for (const models::Layer& layer : job.model.layers) {
      std::map<std::size_t, std::uint64_t> here;
      for (const std::uint32_t weight : layer.weights) {
        if (!layout.lives(weight, Home::ssd)) continue;
        const std::size_t kind = shape_class(job.model.weights[weight].kind);
        Class& known = classes[kind];
        const TensorRow& row = job.row(weight);
        known.bytes = std::max(known.bytes, row.weight.bytes(row.share(row.shards.weight_ways())));
        known.per_layer = std::max(known.per_layer, ++here[kind]);
      }
    }
    return classes;
  }

  std::vector<std::unique_ptr<BufferPool>> pools_;
  std::vector<std::size_t> pool_of_;  ///< by weight
};

}  // namespace

std::unique_ptr<WeightBuffers> make_weight_buffers(Machine& machine, Rank rank, const Job& job,
                                                   const WeightLayout& layout) {
  const PoolKind pool = job.scenario.strategy.weights.pool;
  if (pool == PoolKind::adaptive)
    return std::make_unique<AdaptiveBuffers>(machine, rank, job, layout);
  if (pool == PoolKind::ring)
    return std::make_unique<OfOneSize<BufferRing>>(machine, rank, equal_buffers(job));
  return std::make_unique<OfOneSize<BufferPool>>(machine, rank, equal_buffers(job));
}

}  // namespace spillway::strategies
