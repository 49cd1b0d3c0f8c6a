#include "strategies/layout/module_plan.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace spillway::strategies {

namespace {

using models::Operator;
using models::StepProgram;
using models::TensorId;

constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

class Cutter {
 public:
  Cutter(LayerPlans& plans, const models::Model& model, const StepProgram& program)
      : plans_(plans),
        model_(model),
        program_(program),
        module_of_operator_(program.forward.last, nobody),
        saved_first_by_(program.tensors.size(), nobody),
        moved_index_(program.tensors.size(), nobody) {}

  void cut() {
    find_modules();
    for (LayerPlan& plan : plans_.layers) cut_forward(plan);
    order_moved();
    find_scopes();
    for (LayerPlan& plan : plans_.layers) {
      note_forward_uses(plan);
      cut_backward(plan);
    }
  }

 private:
  void find_modules() {
    for (std::uint32_t layer = 0; layer < program_.layers.size(); ++layer) {
      const models::Span span = program_.layers[layer].forward;
      const auto adds = [&](std::uint32_t i) {
        return model_.layers[layer].is_block &&
               program_.operators[i].function == models::OperatorFunction::residual;
      };
      std::uint32_t last = span.first;  // what follows the last addition belongs to its module
      for (std::uint32_t i = span.first; i < span.last; ++i)
        if (adds(i)) last = i;
      bool begins = true;
      for (std::uint32_t i = span.first; i < span.last; ++i) {
        if (begins) plans_.modules.push_back({layer, model_.layers[layer].is_block, {}});
        module_of_operator_[i] = static_cast<std::uint32_t>(plans_.modules.size() - 1);
        begins = adds(i) && i != last;
        for (const TensorId id : program_.operators[i].saved)
          if (saved_first_by_[id] == nobody) saved_first_by_[id] = i;
      }
    }
  }

  std::uint32_t module_of(const Operator& forward) const {
    return module_of_operator_[static_cast<std::size_t>(&forward - program_.operators.data())];
  }

  /// Cuts `pass` before each kernel whose module, as `module_at` says, is not that of the one
  /// before it.
  ///   Result  by old segment: the last of its parts
  template <class ModuleAt>
  static std::vector<std::uint32_t> cut_pass(PassPlan& pass, ModuleAt module_at) {
    std::vector<PassPlan::Segment> parts;
    std::vector<std::uint32_t> last_part;
    for (PassPlan::Segment& whole : pass.segments) {
      PassPlan::Segment part;
      bool empty = true;
      for (PlannedKernel& kernel : whole.kernels) {
        const std::uint32_t module = module_at(kernel);
        if (!empty && module != part.module) {
          parts.push_back(std::exchange(part, {}));
        }
        part.module = module;
        part.kernels.push_back(std::move(kernel));
        empty = false;
      }
      if (empty && !parts.empty()) part.module = parts.back().module;
      part.then = whole.then;
      part.of = std::move(whole.of);
      parts.push_back(std::move(part));
      last_part.push_back(static_cast<std::uint32_t>(parts.size() - 1));
    }
    pass.segments = std::move(parts);
    return last_part;
  }

  void cut_forward(LayerPlan& plan) {
    const auto last_part = cut_pass(
        plan.forward, [&](const PlannedKernel& kernel) { return module_of(*kernel.operation); });
    for (const std::uint32_t i : plan.leaves)
      plans_.moved[i].made_in = last_part[plans_.moved[i].made_in];
  }

  /// A tensor leaves with the layer that saves it first, in the order of saving.
  void order_moved() {
    for (MovedTensor& moved : plans_.moved) {
      moved.saved_by = saved_first_by_[moved.tensor];
      ENSURE(moved.saved_by != nobody, "a tensor leaves that nobody saves");
      moved.module = module_of_operator_[moved.saved_by];
      moved.layer = plans_.modules[moved.module].layer;
    }
    std::stable_sort(plans_.moved.begin(), plans_.moved.end(),
                     [](const auto& a, const auto& b) { return a.saved_by < b.saved_by; });
    for (LayerPlan& plan : plans_.layers) plan.leaves.clear(), plan.returns.clear();
    for (std::uint32_t i = 0; i < plans_.moved.size(); ++i) {
      const MovedTensor& moved = plans_.moved[i];
      moved_index_[moved.tensor] = i;
      plans_.layers[moved.layer].leaves.push_back(i);
      plans_.modules[moved.module].moved.push_back(i);
    }
  }

  void find_scopes() {
    std::vector<std::uint32_t> module(plans_.moved.size(), nobody);
    for (std::uint32_t i = 0; i < program_.forward.last; ++i)
      for (const TensorId id : program_.operators[i].saved) {
        const std::uint32_t moved = moved_index_[id];
        if (moved == nobody || module[moved] == module_of_operator_[i]) continue;
        module[moved] = module_of_operator_[i];
        plans_.scopes.push_back({module[moved], i, moved});
      }
  }

  /// Of its kernels, and of what comes behind them.
  template <class Visit>
  static void each_operand(const PassPlan::Segment& segment, Visit visit) {
    for (const PlannedKernel& kernel : segment.kernels)
      for (const PlannedOperand& operand : kernel.operands) visit(operand);
    for (const PlannedOperand& operand : segment.of) visit(operand);
  }

  void note_forward_uses(LayerPlan& plan) {
    std::vector<std::uint32_t> first(plan.saved.size(), nobody), last(plan.saved.size(), nobody);
    for (std::uint32_t i = 0; i < plan.forward.segments.size(); ++i)
      each_operand(plan.forward.segments[i], [&](const PlannedOperand& operand) {
        if (operand.area != Area::saved) return;
        first[operand.offset] = std::min(first[operand.offset], i);
        last[operand.offset] = i;
      });
    for (std::uint32_t saved = 0; saved < plan.saved.size(); ++saved) {
      ENSURE(first[saved] != nobody, "a saved tensor that no forward makes");
      plan.forward.segments[first[saved]].makes.push_back(saved);
      const std::uint32_t moved = moved_index_[plan.saved[saved].tensor];
      if (moved == nobody) continue;
      const std::uint32_t until = std::max(last[saved], plans_.moved[moved].made_in);
      plan.forward.segments[until].releases.push_back(moved);
    }
  }

  void cut_backward(LayerPlan& plan) {
    std::uint32_t now = module_of_operator_[program_.layers[plan.layer].forward.last - 1];
    const std::uint32_t first = module_of_operator_[program_.layers[plan.layer].forward.first];
    cut_pass(plan.backward, [&](const PlannedKernel& kernel) {
      for (const PlannedOperand& operand : kernel.operands) {
        if (operand.tensor == PlannedOperand::no_tensor) continue;
        const std::uint32_t saver = saved_first_by_[operand.tensor];
        if (saver != nobody && module_of_operator_[saver] >= first)
          now = std::min(now, module_of_operator_[saver]);
      }
      return now;
    });
    note_uses(plan);
  }

  void note_uses(LayerPlan& plan) {
    std::vector<std::uint32_t> last(plans_.moved.size(), nobody);
    for (std::uint32_t i = 0; i < plan.backward.segments.size(); ++i)
      each_operand(plan.backward.segments[i], [&](const PlannedOperand& operand) {
        if (operand.tensor == PlannedOperand::no_tensor) return;
        const std::uint32_t moved = moved_index_[operand.tensor];
        if (moved == nobody) return;
        if (operand.access != models::Access::read) plans_.moved[moved].overwritten = true;
        if (last[moved] == nobody) plan.backward.segments[i].needs.push_back(moved);
        last[moved] = i;
      });
    for (std::uint32_t moved = 0; moved < last.size(); ++moved) {
      const bool elsewhere = plans_.moved[moved].layer != plan.layer;  // its first user frees it
      if (last[moved] != nobody && !elsewhere)
        plan.backward.segments[last[moved]].releases.push_back(moved);
    }
  }

  LayerPlans& plans_;
  const models::Model& model_;
  const StepProgram& program_;
  std::vector<std::uint32_t> module_of_operator_;  ///< forward
  std::vector<std::uint32_t> saved_first_by_;      ///< by tensor: operator
  std::vector<std::uint32_t> moved_index_;         ///< by tensor
};

}  // namespace

void cut_into_modules(LayerPlans& plans, const models::Model& model, const StepProgram& program) {
  Cutter(plans, model, program).cut();
}

std::uint64_t saved_bytes(const LayerPlans& plans, const Module& module) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t index : module.moved) bytes += plans.moved[index].bytes;
  return bytes;
}

}  // namespace spillway::strategies
