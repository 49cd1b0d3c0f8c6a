#pragma once

#include "strategies/systems/catalogue.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spillway::explore {

/// The override `strategy={...}` of a system as people start it today: DeepSpeed in its newest
/// version. Where its defaults are no good choice the system's own stay: gradients are added in
/// fp32 (data_types.grad_accum_dtype), as sums of many in 16 bits lose; a block is gathered ahead
/// (stage3_max_live_parameters) where 1e9 parameters would take GPU memory; and sub-groups that
/// pass buffers on their way from drives are small (sub_group_size), as larger ones are no faster.
///   parts  of `strategy`, beside the system: they win
std::string started_today(const strategies::System& system, const nlohmann::json& parts);
std::string started_today(const strategies::System& system);

}  // namespace spillway::explore
