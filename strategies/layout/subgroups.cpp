#include "strategies/layout/subgroups.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::strategies {

namespace {

/// True when `next` is stored in one tensor with `weight`, where implementations fuse them.
bool fused_with(const models::WeightTensor& weight, const models::WeightTensor& next) {
  using models::WeightKind;
  if (weight.layer != next.layer || weight.decays() != next.decays()) return false;
  return (weight.kind == WeightKind::query && next.kind == WeightKind::key) ||
         (weight.kind == WeightKind::key && next.kind == WeightKind::value) ||
         (weight.kind == WeightKind::ffn_gate && next.kind == WeightKind::ffn_up);
}

/// True when no sub-group ends between the two.
bool stays_with(const models::WeightTensor& weight, const models::WeightTensor& next,
                description::Grouping grouping, bool fused_tensors) {
  if (grouping == description::Grouping::layers) return weight.layer == next.layer;
  return fused_tensors && fused_with(weight, next);
}

void append(Subgroup& group, std::uint32_t weight, std::uint64_t elements,
            std::uint64_t alignment) {
  group.members.push_back({weight, elements, group.span});
  group.elements += elements;
  group.span += description::divide_up(elements, alignment) * alignment;
}

}  // namespace

std::vector<Subgroup> make_subgroups(const models::Model& model, std::uint64_t target,
                                     description::Grouping grouping, bool fused_tensors,
                                     std::uint64_t alignment,
                                     const std::function<std::uint64_t(std::uint32_t)>& share) {
  std::vector<std::vector<std::uint32_t>> parameter_groups(
      grouping == description::Grouping::parameter_groups ? 2 : 1);
  for (std::uint32_t weight = 0; weight < model.weights.size(); ++weight)
    parameter_groups[model.weights[weight].decays() ? 0 : parameter_groups.size() - 1].push_back(
        weight);
  std::vector<Subgroup> groups;
  for (const auto& weights : parameter_groups) {
    Subgroup open;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (const std::uint64_t elements = share(weights[i]))
        append(open, weights[i], elements, alignment);
      if (i + 1 < weights.size() &&
          stays_with(model.weights[weights[i]], model.weights[weights[i + 1]], grouping,
                     fused_tensors))
        continue;
      if (open.elements < target || open.members.empty()) continue;
      groups.push_back(std::move(open));
      open = Subgroup{};
    }
    if (!open.members.empty()) groups.push_back(std::move(open));
  }
  return groups;
}

std::uint64_t subgroup_alignment(const std::vector<TensorRow>& rows) {
  std::uint64_t narrowest = description::bits_of(description::ElementType::fp32);
  for (const TensorRow& row : rows)
    for (const StateFormat& state : row.states)
      narrowest = std::min(narrowest, description::bits_of(state.format.type));
  return 8 * description::storage_sector / narrowest;
}

namespace {

bool same_format(const TensorRow& one, const TensorRow& other, StateKind kind) {
  const NumberFormat *a = one.state(kind), *b = other.state(kind);
  return a && b ? *a == *b : a == b;
}

}  // namespace

std::vector<Subgroup> subgroups_of(const TensorTable& table) {
  std::vector<Subgroup> groups;
  const std::uint64_t alignment = subgroup_alignment(table.rows());
  for (std::uint32_t weight = 0; weight < table.size(); ++weight) {
    const TensorRow& row = table.row(weight);
    if (!row.subgroup) continue;
    if (groups.size() <= *row.subgroup) groups.resize(*row.subgroup + 1);
    Subgroup& group = groups[*row.subgroup];
    if (!group.members.empty()) {
      const TensorRow& first = table.row(group.members.front().weight);
      ENSURE(row.updater == description::OptimizerDevice::gpu ||
                 (same_format(first, row, StateKind::momentum) &&
                  same_format(first, row, StateKind::variance)),
             "a sub-group whose states are of several formats");
    }
    append(group, weight, row.share(row.shards.state_ways()), alignment);
  }
  return groups;
}

}  // namespace spillway::strategies
