#include "strategies/layout/tensor_table.hpp"

#include "scenarios/description/errors.hpp"

#include <map>
#include <numeric>

namespace spillway::strategies {

Partition partition_of(const description::Scenario& scenario) {
  const std::uint64_t stage = scenario.parallel.zero_stage, ways = scenario.parallel.replicas();
  const ShardGroup group = ways > 1 && stage >= 1 ? ShardGroup::data : ShardGroup::none;
  return {group, ways, stage >= 3, stage >= 2, stage >= 1};
}

Partition expert_partition_of(const description::Scenario& scenario) {
  Partition partition = partition_of(scenario);
  if (scenario.parallel.expert == 1) return partition;
  partition.group = ShardGroup::expert_data;
  partition.ways = scenario.parallel.expert_data();
  return partition;
}

std::uint64_t share_of(std::uint64_t elements, std::uint64_t ways, const NumberFormat& format) {
  if (ways == 1) return elements;
  std::uint64_t unit = 8 * share_alignment / description::bits_of(format.type);
  if (format.block)
    unit = std::lcm(unit, format.block * std::max<std::uint64_t>(1, format.scale_block));
  return description::divide_up(description::divide_up(elements, ways), unit) * unit;
}

const NumberFormat& TensorRow::gradient_format() const {
  ENSURE(gradient, "the gradient of a frozen weight");
  return *gradient;
}

const NumberFormat* TensorRow::state(StateKind kind) const {
  for (const StateFormat& one : states)
    if (one.kind == kind) return &one.format;
  return nullptr;
}

const NumberFormat& TensorRow::master() const {
  const NumberFormat* const own = state(StateKind::master);
  return own ? *own : weight;
}

bool TensorRow::fp32_states() const {
  return !states.empty() && std::all_of(states.begin(), states.end(), [](const StateFormat& one) {
    return one.format == fp32_numbers;
  });
}

const NumberFormat& TensorRow::updating_gradient() const {
  return has_copy || fp32_states() ? fp32_numbers : gradient_format();
}

std::uint64_t TensorRow::state_bytes(std::uint64_t count) const {
  std::uint64_t bytes = 0;
  for (const StateFormat& one : states) bytes += one.format.bytes(count);
  return bytes;
}

std::uint64_t TensorRow::updated_bytes(std::uint64_t count) const {
  return state_bytes(count) + (has_own_master() ? 0 : weight.bytes(count));
}

TensorTable TensorTable::owned(const std::function<bool(const TensorRow&)>& owns) const {
  std::vector<TensorRow> own(rows());
  std::map<std::uint32_t, std::uint32_t> numbers;  // sub-groups: in the whole table, here
  for (TensorRow& row : own) {
    if (owns(row)) {
      if (row.subgroup) numbers[*row.subgroup] = 0;
      continue;
    }
    row.elements = 0;
    row.gradient.reset();
    row.states.clear();
    row.subgroup.reset();
    row.updater.reset();
  }
  std::uint32_t next = 0;
  for (auto& [whole, here] : numbers) here = next++;
  for (TensorRow& row : own)
    if (row.subgroup) row.subgroup = numbers.at(*row.subgroup);
  return TensorTable(std::move(own));
}

}  // namespace spillway::strategies
