#pragma once

#include "models/program/step_program.hpp"

namespace spillway::models {

/// How many copies of tokens go to each routed expert of a layer in one micro-batch, by the load
/// that the workload states: simulations fetch what is chosen here, and runs for real send tokens
/// there. Where a share is no whole number of copies, micro-batches and layers round it up and down
/// in turns that look drawn and repeat in every step: few tokens choose some of the experts, and
/// other ones in the next layer. Tokens that choose without regard to each other leave out more, of
/// experts with one copy in the mean a third: no less is fetched here than would be. Of experts
/// that ranks share all micro-batches are alike, as their buffers are.
///   layer  Operator::layer
std::vector<std::uint64_t> copies_of_experts(const Architecture& architecture,
                                             const Workload& workload, std::uint32_t layer,
                                             std::uint64_t micro_batch);

}  // namespace spillway::models
