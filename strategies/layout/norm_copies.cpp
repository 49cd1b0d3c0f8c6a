#include "strategies/layout/norm_copies.hpp"

#include "strategies/layout/landing.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

/// Elements of a part.
constexpr std::uint64_t most_at_once = 250'000'000;

bool is_wide(const TensorRow& row) { return row.gradient_format().type == ElementType::fp32; }

/// Bytes an element that the search holds at once at most: the gradient in fp32, two masks, their
/// union, and that in fp32; of a gradient in fp32 its magnitudes, and two masks.
constexpr std::uint64_t searched(bool wide) { return wide ? 7 : 11; }

/// Bytes an element that it writes and reads: x.float(), isnan, abs() == inf, logical_or, float(),
/// max.
constexpr double search_traffic(bool wide) { return wide ? 30 : 36; }

bool in_fp64(const description::Scenario& scenario) {
  return scenario.strategy.gradients.norm == description::GradientNorm::fp64;
}

bool stay(const description::Scenario& scenario) {
  return scenario.strategy.gradients.policy == description::GradientPolicy::resident;
}

}  // namespace

bool norms_on_the_way(const description::Scenario& scenario) {
  const description::Strategy& strategy = scenario.strategy;
  const description::GradientsPart& gradients = strategy.gradients;
  if (stay(scenario)) return false;
  return lands_in_states(scenario) ||
         (gradients.convert == description::ConvertOn::gpu && gradients.slabs == 0 &&
          (!updates_in_backward(gradients.policy) || strategy.optimizer.roll_back) &&
          !strategy.weights.chunk && strategy.optimizer.staleness != description::any_staleness);
}

std::uint64_t norm_copies(const description::Scenario& scenario, const TensorRow& row) {
  if (!in_fp64(scenario) || !row.trainable()) return 0;
  const std::uint64_t share = row.share(row.shards.state_ways());
  if (stay(scenario)) return fp64_bytes * (scenario.parallel.zero_stage < 3 ? row.elements : share);
  if (!norms_on_the_way(scenario)) return 0;
  if (!lands_in_states(scenario)) return fp64_bytes * std::min(share, most_at_once);
  // the rank that updates a tensor looks at all of it
  return std::max(fp64_bytes, searched(is_wide(row))) * row.elements;
}

double norm_traffic(const description::Scenario& scenario, const TensorRow& row,
                    std::uint64_t elements) {
  if (!in_fp64(scenario) || !norms_on_the_way(scenario)) return 0;
  const double search = lands_in_states(scenario) ? search_traffic(is_wide(row)) : 0;
  return static_cast<double>(elements) * (2 * fp64_bytes + search);
}

void add_norm_copies(LayerPlans& plans, const description::Scenario& scenario,
                     const TensorTable& tensors) {
  if (!norms_on_the_way(scenario)) return;
  for (LayerPlan& plan : plans.layers)
    for (const LayerWeight& slot : plan.weights)
      if (slot.owned)
        plan.norm_copies =
            std::max(plan.norm_copies, norm_copies(scenario, tensors.row(slot.weight)));
}

}  // namespace spillway::strategies
