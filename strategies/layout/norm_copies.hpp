#pragma once

#include "strategies/layout/layer_plan.hpp"

namespace spillway::strategies {

/// What norms of gradients copy, with `gradients.norm` fp64. Of those that leave the GPU: where
/// they land in states all of a tensor, for the norm and then for the search for infinities; from
/// the flat buffer 250,000,000 elements at once, for the norm. Of those that stay, before an
/// update: all of a tensor, in stage 3 the rank's share.
///   Source  DeepSpeed stage_1_and_2.py, set_norm_for_param_grad_in_gpu and, from 0.13.3 on,
///           _has_inf_or_nan; stage3.py, _constant_buffered_norm2; get_grad_norm_direct of both

/// Bytes an element of a copy in fp64.
inline constexpr std::uint64_t fp64_bytes = 8;

/// Gradients are normed on the GPU on their way to the host.
bool norms_on_the_way(const description::Scenario& scenario);
/// Bytes that are copied of a weight's gradient at once.
std::uint64_t norm_copies(const description::Scenario& scenario, const TensorRow& row);
/// Bytes that the copies of `elements` of it take to be written and read.
double norm_traffic(const description::Scenario& scenario, const TensorRow& row,
                    std::uint64_t elements);
/// Says of each layer what its norms copy. They are issued when the pass that made the gradients
/// has given back its logits and temporaries, and over before the next has taken its own.
void add_norm_copies(LayerPlans& plans, const description::Scenario& scenario,
                     const TensorTable& tensors);

}  // namespace spillway::strategies
