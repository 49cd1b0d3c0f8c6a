#include "strategies/subgroups.hpp"

namespace spillway::strategies {

namespace {

constexpr std::uint64_t element_alignment = 1024;  // a sector of fp32

void append(Subgroup& group, std::uint32_t weight, std::uint64_t elements) {
  group.members.push_back({weight, elements, group.span});
  group.elements += elements;
  group.span += description::divide_up(elements, element_alignment) * element_alignment;
}

}  // namespace

std::vector<Subgroup> make_subgroups(const models::Model& model, std::uint64_t target,
                                     description::Grouping grouping,
                                     const std::function<std::uint64_t(std::uint32_t)>& share) {
  std::vector<std::vector<std::uint32_t>> parameter_groups(
      grouping == description::Grouping::parameter_groups ? 2 : 1);
  for (std::uint32_t weight = 0; weight < model.weights.size(); ++weight)
    parameter_groups[model.weights[weight].decays() ? 0 : parameter_groups.size() - 1].push_back(
        weight);
  std::vector<Subgroup> groups;
  for (const auto& weights : parameter_groups) {
    Subgroup open;
    for (const std::uint32_t weight : weights) {
      const std::uint64_t elements = share(weight);
      if (elements == 0) continue;
      append(open, weight, elements);
      if (open.elements < target) continue;
      groups.push_back(std::move(open));
      open = Subgroup{};
    }
    if (!open.members.empty()) groups.push_back(std::move(open));
  }
  return groups;
}

}  // namespace spillway::strategies
