#include "hw_backend/arithmetic/cpu_experts.hpp"
#include "hw_backend/cpu/conversion.hpp"
#include "hw_backend/cpu/overflow_check.hpp"
#include "hw_backend/machine/real_work.hpp"
#include "strategies/layout/subgroups.hpp"

#include <algorithm>
#include <cstring>

namespace spillway::hw_backend {

using strategies::BoundOperand;
using strategies::CpuWork;
using strategies::Role;

namespace {

/// Where a sub-group's member has its values of one role: an operand of its own, or its place in
/// the sub-group's.
std::optional<Array> member_array(const RawCpuKernel& kernel, Role role, std::uint32_t member) {
  std::optional<Array> shared;
  for (const RawOperand& operand : kernel.operands) {
    if (operand.role != role) continue;
    if (operand.index == member) return Array{operand.data, operand.type};
    if (operand.index == BoundOperand::whole_group)
      shared = Array{operand.data + kernel.group->members[member].offset * size_of(operand.type),
                     operand.type};
  }
  return shared;
}

bool overlap(const Array& a, const ConstArray& b, std::size_t n) {
  return a.data < b.data + n * size_of(b.type) && b.data < a.data + n * size_of(a.type);
}

Array from(const Array& array, std::size_t first) {
  return {array.data + first * size_of(array.type), array.type};
}

/// The new weights take the place of wider gradients: block by block, each read before it is
/// written over.
template <class Step>
void in_blocks(const ConstArray& gradient, std::size_t n, const Step& step) {
  constexpr std::size_t block = 1u << 16;
  std::vector<std::byte> aside(block * size_of(gradient.type));
  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t count = std::min(block, n - first);
    std::memcpy(aside.data(), gradient.data + first * size_of(gradient.type),
                count * size_of(gradient.type));
    step(first, count, ConstArray(aside.data(), gradient.type));
  }
}

void update_member(const WorkContext& context, const RawCpuKernel& kernel, std::uint32_t member,
                   Team& team) {
  const std::size_t n = kernel.group->members[member].elements;
  const auto master = member_array(kernel, Role::master, member);
  const auto momentum = member_array(kernel, Role::momentum, member);
  const auto variance = member_array(kernel, Role::variance, member);
  const auto gradient = member_array(kernel, Role::gradient, member);
  const auto weight = member_array(kernel, Role::weight, member);
  const bool is_adam = description::is_adam(context.scenario->training.optimizer);
  ENSURE(master && gradient && momentum && (variance || !is_adam), "an update lacks an operand");
  const auto step = [&](std::size_t first, std::size_t count, ConstArray values) {
    std::optional<Array> into;
    if (weight) into = from(*weight, first);
    const Array masters = from(*master, first), momenta = from(*momentum, first);
    if (is_adam)
      adam({masters, momenta, from(*variance, first), values, into, count},
           adam_numbers(*context.scenario, kernel.numbers), team);
    else
      momentum_step({masters, momenta, values, into, count},
                    momentum_numbers(*context.scenario, kernel.numbers), team);
  };
  const bool in_place = weight && overlap(*weight, *gradient, n);
  if (in_place && size_of(weight->type) != size_of(gradient->type))
    in_blocks(*gradient, n, step);
  else
    step(0, n, *gradient);
}

void convert_pairs(const RawCpuKernel& kernel, Team& team) {
  for (const RawOperand& input : kernel.operands) {
    if (input.role != Role::input) continue;
    for (const RawOperand& output : kernel.operands) {
      if (output.role != Role::output || output.index != input.index) continue;
      const std::size_t n =
          std::min(input.bytes / size_of(input.type), output.bytes / size_of(output.type));
      const Array into{output.data, output.type};
      if (kernel.adds)
        add(into, into, {input.data, input.type}, n, team);
      else
        convert(into, {input.data, input.type}, n, team);
    }
  }
}

/// By one: whatever gradients are multiplied by, a step has in its numbers, so that it is rounded
/// alike in every system. The pass over memory is what takes the time.
void scale(const RawCpuKernel& kernel, Team& team) {
  for (const RawOperand& array : kernel.operands)
    convert({array.data, array.type}, {array.data, array.type}, array.bytes / size_of(array.type),
            team);
}

void pack_first_values(const WorkContext& context, const RawOperand& operand,
                       std::uint64_t first_element, Team& team) {
  const Lowering& lowering = *context.lowering;
  const InitialRule rule = initial_rule(*lowering.model, operand.index);
  const RandomStream stream = initial_stream(lowering.seed, operand.index);
  const WeightSlice slice = context.part_of(operand.index).slice;
  std::memset(operand.data, 0, operand.bytes);
  for (const PackedShare& share : packed_shares(context, operand, first_element))
    team.run(share.packing.parts(), [&](std::size_t part) {
      pack_initial_part(rule, stream, slice, share.first, share.packing, part, share.data);
    });
}

void first_values(const WorkContext& context, const RawCpuKernel& kernel, Team& team) {
  constexpr std::uint64_t part = 1u << 16;
  for (const RawOperand& operand : kernel.operands) {
    if (operand.role != Role::weight && operand.role != Role::master) {
      std::memset(operand.data, 0, operand.bytes);
      continue;
    }
    const Lowering& lowering = *context.lowering;
    if (operand.packed) {
      pack_first_values(context, operand, kernel.first_element, team);
      continue;
    }
    const std::uint64_t width = size_of(operand.type), room = operand.bytes / width;
    const WorkContext::Part own = context.part_of(operand.index);
    const std::uint64_t first = kernel.first_element, count = own.slice.count(first, room);
    team.run((count + part - 1) / part, [&](std::size_t i) {
      const std::uint64_t begin = i * part;
      initial_values(*lowering.model, lowering.seed, operand.index, first + begin,
                     std::min(part, count - begin), {operand.data + begin * width, operand.type},
                     own.slice);
    });
    std::memset(operand.data + count * width, 0, operand.bytes - count * width);
  }
}

/// Elements [first, first + count) of the rank's part.
void keep_master(std::vector<float>& whole, const WorkContext::Part& part, ConstArray values,
                 std::uint64_t first, std::uint64_t count) {
  const std::uint64_t kept = part.slice.count(first, count);
  for (std::uint64_t i = 0; i < kept; ++i)
    whole.at(part.slice.in_whole(first + i)) = load(values, i);
}

/// A byte of each page, by one thread.
void touch(const RawCpuKernel& kernel) {
  constexpr std::size_t page = 4096;
  for (const RawOperand& operand : kernel.operands)
    for (std::size_t at = 0; at < operand.bytes; at += page) operand.data[at] = std::byte{0};
}

void checkpoint(const WorkContext& context, const RawCpuKernel& kernel,
                std::vector<std::vector<float>>& masters) {
  if (!kernel.group) {
    const RawOperand& only = kernel.operands.front();
    keep_master(masters.at(only.index), context.part_of(only.index), {only.data, only.type},
                kernel.first_element, kernel.elements);
    return;
  }
  for (std::uint32_t i = 0; i < kernel.group->members.size(); ++i) {
    const auto& member = kernel.group->members[i];
    const auto master = member_array(kernel, Role::master, i);
    ENSURE(master, "a checkpoint lacks a master");
    const WorkContext::Part part = context.part_of(member.weight);
    keep_master(masters.at(member.weight), part, *master,
                kernel.share / part.ranks * member.elements, member.elements);
  }
}

bool check(const RawCpuKernel& kernel, Team& team) {
  const RawOperand& input = kernel.operands.front();
  const std::size_t n = input.bytes / size_of(input.type);
  if (kernel.work == CpuWork::check_fused) return check_fused({input.data, input.type}, n, team);
  const RawOperand& absolute = kernel.operands.at(1);
  return check_chained({input.data, input.type}, n, {absolute.data, input.type},
                       kernel.operands.at(2).data, team.isa());
}

}  // namespace

RawCpuKernel::RawCpuKernel(const strategies::CpuKernel& kernel)
    : work(kernel.work),
      elements(kernel.elements),
      group(kernel.group),
      share(kernel.share),
      numbers(kernel.numbers),
      first_element(kernel.first_element),
      operation(kernel.operation) {
  operands.reserve(kernel.operands.size());
  for (const BoundOperand& operand : kernel.operands) {
    operands.emplace_back(operand);
    adds = adds || (operand.role == Role::output && operand.access != models::Access::write);
  }
}

RawCpuKernel::RawCpuKernel(const strategies::StorageKernel& kernel)
    : elements(kernel.elements), group(kernel.group), numbers(kernel.numbers) {
  operands.reserve(kernel.operands.size());
  for (const BoundOperand& operand : kernel.operands) operands.emplace_back(operand);
}

namespace {

void experts(const WorkContext& context, const RawCpuKernel& kernel, Team& team) {
  CpuExperts of;
  of.lowering = context.lowering;
  of.operation = kernel.operation;
  of.moment = context.moment_of(kernel.numbers);
  std::vector<Bound> bound;
  for (const RawOperand& operand : kernel.operands)
    if (operand.role == Role::kept)
      of.kept = operand.data;
    else if (operand.role == Role::workspace)
      of.works = operand.data;
    else
      bound.push_back({operand.index, operand.data, false});
  of.bound = bound;
  compute_experts(of, team);
}

}  // namespace

bool run_work(const WorkContext& context, const RawCpuKernel& kernel, Team& team,
              std::vector<std::vector<float>>& masters) {
  switch (kernel.work) {
    case CpuWork::adam:
      for (std::uint32_t i = 0; i < kernel.group->members.size(); ++i)
        update_member(context, kernel, i, team);
      return false;
    case CpuWork::convert:
    case CpuWork::add:
      convert_pairs(kernel, team);
      return false;
    case CpuWork::scale:
      scale(kernel, team);
      return false;
    case CpuWork::check_chained:
    case CpuWork::check_fused:
      return check(kernel, team);
    case CpuWork::touch:
      touch(kernel);
      return false;
    case CpuWork::initialize:
      first_values(context, kernel, team);
      return false;
    case CpuWork::checkpoint:
      checkpoint(context, kernel, masters);
      return false;
    case CpuWork::products:
      experts(context, kernel, team);
      return false;
  }
  return false;
}

}  // namespace spillway::hw_backend
