#pragma once

#include "strategies/rules/rule.hpp"

namespace spillway::strategies::rules {

// The rows of each part, one file each.
Table parallel_rules();
Table planner_rules();
Table activations_rules();
Table checkpoint_rules();
Table overflow_rules();
Table gradients_rules();
Table pool_rules();
Table weights_rules();
Table optimizer_rules();
Table cpu_share_rules();
Table update_rules();
Table by_layer_rules();
Table paths_rules();
Table buffers_rules();
Table near_storage_rules();
Table loose_rules();
Table staleness_rules();
Table selected_rules();
Table storage_rules();
Table training_rules();
Table method_rules();
Table fp8_rules();
Table expert_rules();
Table idle_rules();

}  // namespace spillway::strategies::rules
