#pragma once

#include "reports/text/text.hpp"
#include "strategies/layout/prepared.hpp"
#include "strategies/layout/tensor_table.hpp"

#include <vector>

namespace spillway::strategies {

/// Of so many sub-groups those that the GPU updates where the CPU has a share of them.
///   Source  DeepSpeed stage3.py, subgroup_to_device: the CPU has sub-group i where
///           i >= int((1 - ratio) * sub-groups), with numbers of 64 bits as here, since 0.18
std::size_t subgroups_of_gpu(double cpu_share, std::size_t subgroups);

/// Sub-groups of the rank that a table is of.
std::size_t subgroups_in(const TensorTable& table);

/// A share of the GPU (optimizer.cpu_share below 1) that comes to no sub-group of any rank, and
/// the size of sub-groups with which it comes to some, where one is found; empty where the GPU has
/// some, or none are to be had.
///   tables  as decide_tensors makes them of the scenario
text::Text idle_share_note(const description::Scenario& scenario, const Prepared& prepared,
                           const std::vector<TensorTable>& tables);

}  // namespace spillway::strategies
