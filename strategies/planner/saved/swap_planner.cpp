#include "strategies/planner/saved/swap_planner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace spillway::strategies {

namespace {

using models::Access;
using models::TensorId;

double share(std::uint64_t bytes, double per_s) {
  return bytes == 0 ? 0 : static_cast<double>(bytes) / per_s;
}

/// Tensors that one block must have made, or make again, together.
class Joined {
 public:
  TensorId root(TensorId tensor) {
    const auto [known, fresh] = parent_.try_emplace(tensor, tensor);
    if (fresh || known->second == tensor) return tensor;
    return parent_[tensor] = root(known->second);
  }
  void join(TensorId one, TensorId other) { parent_[root(other)] = root(one); }

 private:
  std::map<TensorId, TensorId> parent_;
};

/// The saved tensors of one block and what it takes to make each again.
class BlockItems {
 public:
  BlockItems(const models::StepProgram& program, std::uint32_t layer,
             std::span<const std::uint64_t> costs, std::span<const TensorId> least)
      : program_(program), costs_(costs), least_(least), span_(program.layers[layer].forward) {
    std::vector<bool> made(program.tensors.size(), false);
    for (std::uint32_t i = span_.first; i < span_.last; ++i)
      for (const models::Operand& operand : program.operators[i].operands)
        if (operand.access != Access::read) made[operand.tensor] = true;
    for (const TensorId id : program.saved_by(layer)) {
      const models::Tensor& tensor = program.tensors[id];
      if (tensor.role == models::TensorRole::activation && made[id] && !is_least(id))
        saved_.push_back(id);
    }
  }

  void add_to(std::vector<SwapItem>& items) {
    for (std::uint32_t i = span_.first; i < span_.last; ++i) {
      join_outputs(program_.operators[i]);
      const std::uint64_t flops = costs_[i];
      if (flops == 0) continue;
      const std::vector<TensorId> needed_by = users(i);
      if (needed_by.empty()) continue;  // nothing that is saved depends on it: it never runs again
      for (const TensorId tensor : needed_by) joined_.join(needed_by.front(), tensor);
      flops_[needed_by.front()] += flops;
    }
    std::map<TensorId, std::size_t> place;
    for (const TensorId tensor : saved_) {
      const auto [known, fresh] = place.try_emplace(joined_.root(tensor), items.size());
      if (fresh) items.emplace_back();
      items[known->second].tensors.push_back(tensor);
      items[known->second].bytes += program_.tensors[tensor].bytes.value();
    }
    for (const auto& [tensor, flops] : flops_) items[place.at(joined_.root(tensor))].flops += flops;
  }

 private:
  /// What an operator makes it makes again together: rotated queries and keys, where they lie.
  void join_outputs(const models::Operator& op) {
    const models::Operand* first = nullptr;
    for (const models::Operand& operand : op.operands) {
      if (operand.access == Access::read || !is_saved(operand.tensor)) continue;
      if (first) joined_.join(first->tensor, operand.tensor);
      if (!first) first = &operand;
    }
  }

  bool is_least(TensorId tensor) const {
    return std::find(least_.begin(), least_.end(), tensor) != least_.end();
  }
  bool is_saved(TensorId tensor) const {
    return std::find(saved_.begin(), saved_.end(), tensor) != saved_.end();
  }

  /// Saved tensors that cannot be made without operator `first`, unless another saved one is there.
  std::vector<TensorId> users(std::uint32_t first) const {
    std::vector<TensorId> reached, open;
    const auto reach = [&](const models::Operator& op) {
      for (const models::Operand& operand : op.operands) {
        if (operand.access == Access::read || is_least(operand.tensor)) continue;
        auto& list = is_saved(operand.tensor) ? reached : open;
        if (std::find(list.begin(), list.end(), operand.tensor) == list.end())
          list.push_back(operand.tensor);
      }
    };
    reach(program_.operators[first]);
    for (std::uint32_t i = first + 1; i < span_.last; ++i) {
      const models::Operator& op = program_.operators[i];
      const bool reads = std::any_of(op.operands.begin(), op.operands.end(), [&](const auto& used) {
        return used.access != Access::write &&
               std::find(open.begin(), open.end(), used.tensor) != open.end();
      });
      if (reads) reach(op);
    }
    return reached;
  }

  const models::StepProgram& program_;
  std::span<const std::uint64_t> costs_;
  std::span<const TensorId> least_;
  models::Span span_;
  std::vector<TensorId> saved_;
  Joined joined_;
  std::map<TensorId, std::uint64_t> flops_;
};

/// The plan that takes the first `count` items of `order`.
SwapPlan prefix(const SwapProblem& problem, const std::vector<std::size_t>& order,
                std::size_t count) {
  SwapPlan plan;
  plan.bytes = problem.least_bytes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const SwapItem& item = problem.items[order[i]];
    if (i < count) {
      plan.taken.push_back(order[i]);
      plan.bytes += item.bytes;
    } else {
      plan.recompute_flops += item.flops;
    }
  }
  plan.which_case = count == 0 ? 1 : count == order.size() ? 2 : 3;
  plan.times = swap_times(problem, plan.bytes, plan.recompute_flops);
  return plan;
}

__extension__ typedef unsigned __int128 Wide;  // flops of one x bytes of the other: exact

bool pays_more(const SwapItem& one, const SwapItem& other) {
  return Wide(one.flops) * other.bytes > Wide(other.flops) * one.bytes;
}

/// `count` places in such an order that each prefix is spread over all of them: by their bits read
/// backwards.
std::vector<std::size_t> spread_out(std::size_t count) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0, end = std::bit_ceil(count); i < end; ++i) {
    std::size_t place = 0;
    for (std::size_t bit = 1; bit < end; bit *= 2) place = place * 2 + (i & bit ? 1 : 0);
    if (place < count) places.push_back(place);
  }
  return places;
}

}  // namespace

std::uint64_t spilled_bytes(const SwapProblem& problem, std::uint64_t bytes) {
  const std::uint64_t all = problem.ranks * bytes;
  return all - std::min(all, problem.host_bytes);
}

SwapTimes swap_times(const SwapProblem& problem, std::uint64_t bytes,
                     std::uint64_t recompute_flops) {
  const std::uint64_t p = problem.parameters, own = p / problem.ranks;
  const std::uint64_t spilled = spilled_bytes(problem, bytes);
  const double read = problem.read_bytes_per_s, write = problem.write_bytes_per_s;
  SwapTimes times;
  if (spilled && !problem.spills) {
    times.forward_s = std::numeric_limits<double>::infinity();
    return times;
  }
  times.forward_s =  // Eq. 2 and 4
      std::max({share(problem.forward_flops, problem.flops_per_s),
                share(bytes, problem.down_bytes_per_s),
                share(problem.up * own, problem.up_bytes_per_s),
                share(problem.read * p, read) + share(spilled, write)});
  const double reads = share((problem.read + problem.read_also) * p + spilled, read);
  const double writes = share(problem.written * p, write);
  times.backward_s =  // Eq. 5
      std::max({share(2 * problem.forward_flops + recompute_flops, problem.flops_per_s),
                share(problem.down * own, problem.down_bytes_per_s),
                share(problem.up * own + bytes, problem.up_bytes_per_s),
                (reads + writes) / problem.mixed_efficiency, reads, writes,
                share(p, problem.adam_per_s)});
  return times;
}

std::vector<std::size_t> swap_order(const SwapProblem& problem, SwapOrder order) {
  std::vector<std::size_t> indices(problem.items.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  if (order == SwapOrder::layer) return indices;
  const auto before = [&](std::size_t one, std::size_t other) {
    return pays_more(problem.items[one], problem.items[other]);
  };
  std::stable_sort(indices.begin(), indices.end(), before);
  std::vector<std::size_t> spread;
  for (std::size_t first = 0; first < indices.size();) {
    std::size_t last = first + 1;
    while (last < indices.size() && !before(indices[first], indices[last])) ++last;
    for (const std::size_t place : spread_out(last - first))
      spread.push_back(indices[first + place]);
    first = last;
  }
  return spread;
}

SwapPlan plan_swap(const SwapProblem& problem, SwapOrder how) {
  const std::vector<std::size_t> order = swap_order(problem, how);
  std::uint64_t bytes = problem.least_bytes, recompute = 0;
  for (const SwapItem& item : problem.items) recompute += item.flops;
  double best = swap_times(problem, bytes, recompute).step_s();
  std::size_t count = 0;
  for (; count < order.size() && problem.items[order[count]].fits; ++count) {
    bytes += problem.items[order[count]].bytes;
    recompute -= problem.items[order[count]].flops;
    const double now = swap_times(problem, bytes, recompute).step_s();
    if (now >= best) break;
    best = now;
  }
  return prefix(problem, order, count);
}

SwapPlan plan_swap_of(const SwapProblem& problem, SwapOrder how, std::uint64_t bytes) {
  const std::vector<std::size_t> order = swap_order(problem, how);
  std::uint64_t sum = problem.least_bytes;
  std::size_t count = 0;
  for (; count < order.size(); ++count) {
    const std::uint64_t more = problem.items[order[count]].bytes;
    if (sum >= bytes || (sum + more > bytes && sum + more - bytes >= bytes - sum)) break;
    sum += more;
  }
  return prefix(problem, order, count);
}

std::vector<SwapItem> items_of_block(const models::StepProgram& program, std::uint32_t layer,
                                     std::span<const std::uint64_t> costs,
                                     std::span<const TensorId> least) {
  std::vector<SwapItem> items;
  BlockItems(program, layer, costs, least).add_to(items);
  return items;
}

std::vector<SwapItem> swap_items(const models::Model& model, const models::StepProgram& program,
                                 std::span<const TensorId> least) {
  std::vector<std::uint64_t> flops;
  for (const models::Operator& op : program.operators)
    flops.push_back(static_cast<std::uint64_t>(std::llround(op.flops.value())));
  std::vector<SwapItem> items;
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    if (!model.layers[layer].is_block) continue;
    const std::vector<SwapItem> more = items_of_block(program, layer, flops, least);
    items.insert(items.end(), more.begin(), more.end());
  }
  return items;
}

}  // namespace spillway::strategies
