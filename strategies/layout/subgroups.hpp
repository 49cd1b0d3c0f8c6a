#pragma once

#include "models/architecture/model.hpp"
#include "scenarios/description/parts.hpp"
#include "strategies/layout/tensor_table.hpp"

#include <functional>
#include <vector>

namespace spillway::strategies {

/// Weights whose optimizer states are moved and updated together.
struct Subgroup {
  struct Member {
    std::uint32_t weight;
    std::uint64_t elements;  ///< of one rank
    std::uint64_t offset;    ///< in elements, inside the sub-group; a multiple of `alignment`
  };
  std::vector<Member> members;
  std::uint64_t elements = 0;  ///< sum over members
  std::uint64_t span = 0;      ///< offset behind the last member, elements
};

/// DeepSpeed's greedy grouping: weights are appended until their sum reaches `target` or they are
/// the last. A weight is never split, so one larger than `target` makes a sub-group of its own.
///   parameter_groups   first those that decay (matrices), then norms and biases, each in model
///                      order
///   model_order        all in one
///   layers             like model_order, but only between two layers a sub-group ends
///   alignment          of members, elements: a sector of a state
///   share              elements of a weight on one rank; weights with 0 are left out
///   Source  DeepSpeed runtime/zero/stage3.py, _create_fp16_sub_groups
std::vector<Subgroup> make_subgroups(const models::Model& model, std::uint64_t target,
                                     description::Grouping grouping, bool fused_tensors,
                                     std::uint64_t alignment,
                                     const std::function<std::uint64_t(std::uint32_t)>& share);

/// Elements whose states begin and end with sectors, whatever the width of a row's narrowest state.
std::uint64_t subgroup_alignment(const std::vector<TensorRow>& rows);

/// The sub-groups that the rows of a table name, members in the order of their weights. Those of
/// one sub-group have momenta of one format, and variances.
std::vector<Subgroup> subgroups_of(const TensorTable& table);

}  // namespace spillway::strategies
