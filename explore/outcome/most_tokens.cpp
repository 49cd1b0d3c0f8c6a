#include "explore/outcome/most_tokens.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/decide/lohan_plan.hpp"
#include "strategies/run/counting_probe.hpp"

#include <limits>

namespace spillway::explore {

using description::Scenario;

namespace {

/// Whether no amount of swapping leaves room on the GPU.
bool swaps_in_vain(const Scenario& scenario) {
  if (scenario.strategy.activations.policy != description::ActivationPolicy::swap) return false;
  const strategies::Prepared prepared = strategies::prepare(scenario);
  return !strategies::some_swap_fits_gpu(scenario, prepared, strategies::counting_probe());
}

}  // namespace

double tokens_a_step(const Scenario& scenario) {
  const description::Training& training = scenario.training;
  return static_cast<double>(training.micro_batch * training.gradient_accumulation *
                             scenario.parallel.data * training.sequence);
}

std::optional<strategies::Mandatory> mandatory_of(const Scenario& scenario) {
  try {
    return strategies::Mandatory::of(scenario);
  } catch (const description::InternalError&) {
    return std::nullopt;
  }
}

double most_tokens_per_s(const Scenario& scenario) {
  constexpr double none = std::numeric_limits<double>::infinity();
  try {
    if (strategies::operator_too_large(scenario)) return 0;
    const auto mandatory = strategies::Mandatory::of(scenario);
    if (!mandatory) return none;
    if (mandatory->too_small(scenario.machine) || swaps_in_vain(scenario)) return 0;
    const double step_s = mandatory->step_s(scenario);
    return step_s > 0 ? tokens_a_step(scenario) / step_s : none;
  } catch (const description::InternalError&) {
    return none;
  }
}

}  // namespace spillway::explore
