#include "strategies/rules/rules.hpp"

#include "strategies/rules/tables.hpp"

#include <array>

namespace spillway::strategies {

std::span<const rules::Table> rules::all() {
  static const std::array tables{
      parallel_rules(),  selected_rules(),  planner_rules(),      activations_rules(),
      overflow_rules(),  gradients_rules(), pool_rules(),         weights_rules(),
      optimizer_rules(), cpu_share_rules(), near_storage_rules(), paths_rules(),
      buffers_rules(),   loose_rules(),     staleness_rules(),    storage_rules(),
      training_rules(),  method_rules(),    expert_rules(),       checkpoint_rules(),
      update_rules(),    by_layer_rules(),  fp8_rules(),          idle_rules(),
  };
  return tables;
}

std::vector<description::Complaint> unsupported(const description::Scenario& scenario) {
  return refusals(rules::all(), {scenario}, rules::Refuse::no_schedule);
}

void require_supported(const description::Scenario& scenario) {
  if (auto complaints = unsupported(scenario); !complaints.empty())
    throw description::ScenarioError(std::move(complaints));
}

}  // namespace spillway::strategies
