#include "scenarios/description/quantity.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <fmt/ranges.h>

namespace spillway::strategies::rules {

namespace {

using description::Home;
using description::PoolKind;
using description::WeightsPart;

const WeightsPart& weights_of(const Case& subject) { return subject.parts().weights; }

/// What a pool of buffers of one size needs is known.
bool has_known_buffers(const Case& subject) {
  return subject.model && weights_of(subject).home == Home::ssd &&
         has_equal_buffers(weights_of(subject).pool);
}

/// Elements of a rank's share of the largest tensor.
std::uint64_t largest_share(const Case& subject) {
  return description::divide_up(subject.model->largest_tensor().value(),
                                subject.parallel().replicas() * subject.parallel().tensor);
}

/// Masters of fp32 in host memory are updated there and become the 16-bit weights of the GPU, when
/// backward has ended.
bool makes_weights_of_masters(const Case& subject) {
  const description::OptimizerPart& optimizer = subject.parts().optimizer;
  return weights_of(subject).home == Home::gpu && optimizer.home == Home::host &&
         optimizer.device == description::OptimizerDevice::cpu &&
         optimizer.staleness != description::any_staleness &&
         (!is_active(subject) || optimizer.roll_back) && is_mixed(subject.training().precision) &&
         subject.training().optimizer_state == description::StateWidth::fp32;
}

std::string why_a_pool(const Case& subject) {
  return weights_of(subject).home == Home::ssd ? "weights on SSD pass a pool"
                                               : "only weights on SSD pass a pool";
}
void set_pool(description::Scenario& scenario) {
  WeightsPart& weights = scenario.strategy.weights;
  weights.pool = weights.home == Home::ssd ? PoolKind::monolithic : PoolKind::none;
}

bool pool_fits_home(const Case& subject) {
  const PoolKind pool = weights_of(subject).pool;
  const Home home = weights_of(subject).home;
  if (pool == PoolKind::pages) return home == Home::host;
  return takes_reads(pool) == (home == Home::ssd);
}
std::string why_not_this_pool(const Case& subject) {
  const PoolKind pool = weights_of(subject).pool;
  if (pool == PoolKind::pages) return "pages are what weights in host memory consist of";
  return pool == PoolKind::none ? "weights from SSD need host buffers to land in"
                                : "a pool buffers weights that come from SSD";
}
/// "\"monolithic\" or \"adaptive\"": all that weights on SSD can pass.
std::string pools_of_reads() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < description::names_of<PoolKind>.size(); ++i)
    if (takes_reads(static_cast<PoolKind>(i)))
      names.push_back(fmt::format("\"{}\"", description::names_of<PoolKind>[i]));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}
std::string another_pool(const Case& subject) {
  const PoolKind pool = weights_of(subject).pool;
  if (pool == PoolKind::none) return "set weights.pool to " + pools_of_reads();
  return fmt::format("set weights.home to \"{}\" or weights.pool to \"none\"",
                     pool == PoolKind::pages ? "host" : "ssd");
}

/// How weights on SSD and in host memory are buffered.
constexpr Rule pool_rows[] = {
    {.path = "strategy.weights.pool",
     .other = "strategy.weights.home",
     .ground = Ground::contradiction,
     .holds = pool_fits_home,
     .why = why_not_this_pool,
     .hint = another_pool,
     .settles = {set_pool, why_a_pool}},
    {.path = "strategy.weights.buffer_size",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !has_known_buffers(c) || !weights_of(c).buffer_size ||
                  weights_of(c).buffer_size->value() >= largest_share(c);
         },
     .why =
         [](const Case& c) {
           return fmt::format("{} is below the largest tensor of a rank, {} params",
                              to_text(*weights_of(c).buffer_size), largest_share(c));
         },
     .hint = "raise it or write \"auto\""},
    {.path = "strategy.weights.buffer_count",
     .other = "strategy.weights.prefetch_blocks",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           const WeightsPart& weights = weights_of(c);
           return !has_known_buffers(c) || weights.pool != PoolKind::monolithic ||
                  !weights.buffer_count ||
                  *weights.buffer_count >= description::buffers_of_blocks(weights.prefetch_blocks);
         },
     .why =
         [](const Case& c) {
           return fmt::format("2 vocabulary tensors and 7 of each block in flight need {} buffers",
                              description::buffers_of_blocks(weights_of(c).prefetch_blocks));
         },
     .hint = "raise buffer_count or write \"auto\""},
    {.path = "strategy.weights.page",
     .holds =
         [](const Case& c) {
           const std::uint64_t page = weights_of(c).page.value();
           return weights_of(c).pool != PoolKind::pages ||
                  (page > 0 && page % description::storage_sector == 0);
         },
     .why = "a page is some sectors of 4 KiB",
     .hint = "write \"4 MiB\""},
};

constexpr Rule weights_rows[] = {
    {.path = "strategy.weights.h2d",
     .holds =
         [](const Case& c) {
           return weights_of(c).h2d != description::WeightCopy::typed ||
                  makes_weights_of_masters(c);
         },
     .why = "only fp32 masters of the host whose 16-bit weights are on the GPU change type on "
            "their way up, after an update that steps wait for, or one step late",
     .hint = "use pinned, or weights.home gpu with optimizer.home host and device cpu",
     .settles = {[](description::Scenario& s) {
                   s.strategy.weights.h2d = description::WeightCopy::pinned;
                 },
                 "weights that are not made of fp32 masters keep their type on their way up"}},
    {.path = "strategy.weights.h2d",
     .other = "strategy.overflow_check",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.parts().optimizer.roll_back || weights_of(c).home != Home::gpu ||
                  weights_of(c).h2d == description::WeightCopy::typed ||
                  c.parts().overflow_check != description::OverflowCheck::chained;
         },
     .why = "new weights take the place of gradients that are still to be looked through",
     .hint = "set weights.h2d to \"typed\" or overflow_check to \"fused\""},
    {.path = "strategy.weights.home",
     .holds = [](const Case& c) { return updates_off_gpu(c) || weights_of(c).home == Home::gpu; },
     .why = "the GPU optimizer needs its weights on the GPU",
     .hint = "use weights.home gpu"},
    {.path = "strategy.weights.home",
     .holds =
         [](const Case& c) { return !weights_of(c).chunk || weights_of(c).home == Home::host; },
     .why = "weights.chunk packs weights in host memory, weights.home is another",
     .hint = "use weights.home host, or a system without weights.chunk, such as zero_infinity"},
    {.path = "strategy.overflow_check",
     .holds =
         [](const Case& c) {
           return !weights_of(c).chunk ||
                  c.parts().overflow_check == description::OverflowCheck::none;
         },
     .why = "with weights.chunk gradients take the place of their weights: overflow_check has no "
            "step left to skip",
     .hint = "use overflow_check none, or a system without weights.chunk, such as zero_offload"},
    {.path = "strategy.optimizer.staleness",
     .holds =
         [](const Case& c) { return !weights_of(c).chunk || c.parts().optimizer.staleness == 0; },
     .why = "an update beside the next step would renew what weights.chunk has on the GPU",
     .hint = "use staleness 0, or a system without weights.chunk, such as zero_offload"},
    {.path = "strategy.weights.persistence_threshold",
     .holds =
         [](const Case& c) {
           return !weights_of(c).chunk || weights_of(c).persistence_threshold.value() == 0;
         },
     .why = "weights.chunk packs all weights, persistence_threshold keeps some on the GPU",
     .hint = "use persistence_threshold 0"},
};

}  // namespace

Table pool_rules() { return pool_rows; }

Table weights_rules() { return weights_rows; }

}  // namespace spillway::strategies::rules
