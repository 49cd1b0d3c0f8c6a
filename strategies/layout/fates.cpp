#include "strategies/layout/fates.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/planner/saved/cache_budget.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <unordered_set>

namespace spillway::strategies {

namespace {

using description::ActivationPolicy;
using description::SavingOperator;
using models::Access;
using models::Operand;
using models::Operator;
using models::StepProgram;
using models::TensorId;
using models::TensorRole;

bool is_activation(const StepProgram& program, TensorId id) {
  return program.tensors[id].role == TensorRole::activation;
}

/// By tensor: the layers whose forward or backward touches it.
struct Touched {
  std::vector<std::uint32_t> last_forward;
  std::vector<bool> by_several;
};

Touched touched_by_layers(const StepProgram& program) {
  constexpr std::uint32_t nobody = ~std::uint32_t{0};
  Touched touched{std::vector<std::uint32_t>(program.tensors.size(), 0),
                  std::vector<bool>(program.tensors.size(), false)};
  std::vector<std::uint32_t> layer(program.tensors.size(), nobody);
  for (std::uint32_t i = 0; i < program.backward.last; ++i) {
    const Operator& op = program.operators[i];
    for (const Operand& operand : op.operands) {
      if (layer[operand.tensor] != nobody && layer[operand.tensor] != op.layer)
        touched.by_several[operand.tensor] = true;
      layer[operand.tensor] = op.layer;
      if (i < program.forward.last)
        touched.last_forward[operand.tensor] =
            std::max(touched.last_forward[operand.tensor], op.layer);
    }
  }
  return touched;
}

/// It is the input of the block `layer`, which no layer behind it reads; an encoder's output is
/// read by many blocks.
bool is_own_input(const StepProgram& program, const Touched& touched, TensorId id,
                  std::uint32_t layer) {
  const models::Tensor& tensor = program.tensors[id];
  return tensor.is_residual && tensor.layer + 1 == layer && touched.last_forward[id] == layer;
}

/// It is what a layer hands to the next.
bool handed_on(const StepProgram& program, TensorId id) {
  return std::any_of(program.layers.begin(), program.layers.end(),
                     [id](const models::LayerSpan& layer) { return layer.output == id; });
}

/// The operators of one layer's forward that make tensors again.
class Rerun {
 public:
  Rerun(const StepProgram& program, std::uint32_t layer, const ActivationPlan& plan)
      : program_(program),
        layer_(layer),
        span_(program.layers[layer].forward),
        plan_(plan),
        made_again_(program.tensors.size(), false),
        runs_(span_.last - span_.first, false),
        written_last_(program.tensors.size(), 0),
        made_here_(program.tensors.size(), false) {
    for (std::uint32_t i = span_.first; i < span_.last; ++i)
      for (const Operand& operand : program_.operators[i].operands)
        if (operand.access != Access::read) {
          written_last_[operand.tensor] = i;
          made_here_[operand.tensor] = true;
        }
    for (const TensorId id : program.saved_by(layer))
      if (is_activation(program, id) && plan.of(id) == Fate::recompute) {
        ENSURE(made_here_[id] || handed_on(program, id),
               program.tensors[id].name + " is recomputed by a layer that did not make it");
        if (made_here_[id]) made_again_[id] = any_ = true;
      }
    saved_ = program.saved_by(layer);
  }

  std::vector<std::uint32_t> operators() {
    if (any_ && plan_.whole_layers)
      runs_.assign(runs_.size(), true);
    else if (any_)
      while (grow()) {
      }
    std::vector<std::uint32_t> list;
    for (std::uint32_t i = span_.first; i < span_.last; ++i)
      if (runs_[i - span_.first]) list.push_back(i);
    return list;
  }

 private:
  /// True when an operator was added.
  bool grow() {
    bool added = false;
    for (std::uint32_t i = span_.last; i-- > span_.first;) {
      const std::vector<Operand>& operands = program_.operators[i].operands;
      if (runs_[i - span_.first] ||
          std::none_of(operands.begin(), operands.end(), [&](const Operand& operand) {
            return operand.access != Access::read && made_again_[operand.tensor];
          }))
        continue;
      runs_[i - span_.first] = added = true;
      for (const Operand& operand : operands)
        if (operand.access != Access::read || !readable(operand.tensor, i))
          made_again_[operand.tensor] = true;
    }
    return added;
  }

  /// The tensor is there, with the value that operator `reader` saw.
  bool readable(TensorId id, std::uint32_t reader) const {
    if (!made_here_[id]) return true;
    if (program_.layers[layer_].output == id) return false;  // of the next layer by now
    if (written_last_[id] > reader) return false;
    if (program_.tensors[id].role == TensorRole::logits) return true;
    return plan_.of(id) != Fate::recompute &&
           std::find(saved_.begin(), saved_.end(), id) != saved_.end();
  }

  const StepProgram& program_;
  std::uint32_t layer_;
  models::Span span_;
  const ActivationPlan& plan_;
  std::vector<bool> made_again_, runs_;
  std::vector<std::uint32_t> written_last_;
  std::vector<bool> made_here_;
  std::vector<TensorId> saved_;
  bool any_ = false;
};

}  // namespace

std::optional<ActivationPlanner> activation_planner(const description::Strategy& strategy) {
  const std::optional<ActivationPlanner>& planner = strategy.activations.planner;
  if (strategy.activations.policy != ActivationPolicy::plan || plans_steps(strategy.system))
    return std::nullopt;
  return planner && gives_fates(*planner) ? planner : std::nullopt;
}

ActivationPlan keep_everything(const StepProgram& program) {
  ActivationPlan plan;
  plan.fates.assign(program.tensors.size(), Fate::keep);
  return plan;
}

namespace {

/// As what the operator keeps tensors for backward.
std::optional<SavingOperator> saved_as(models::OperatorFunction function) {
  switch (function) {
    case models::OperatorFunction::attention:
      return SavingOperator::attention;
    case models::OperatorFunction::activation:
    case models::OperatorFunction::gated_product:
      return SavingOperator::activation;
    case models::OperatorFunction::norm:
      return SavingOperator::norm;
    case models::OperatorFunction::product:
    case models::OperatorFunction::tiled_feed_forward:
      return SavingOperator::product;
    default:
      return std::nullopt;
  }
}

SavingOperator saving(description::RecomputedOperator operators) {
  using description::RecomputedOperator;
  switch (operators) {
    case RecomputedOperator::attention:
      return SavingOperator::attention;
    case RecomputedOperator::activation:
      return SavingOperator::activation;
    case RecomputedOperator::norm:
      return SavingOperator::norm;
  }
  ENSURE(false, "operators that are recomputed and keep nothing");
}

/// What operators of a layer's forward read.
std::unordered_set<TensorId> read_in(const StepProgram& program, models::Span forward) {
  std::unordered_set<TensorId> read;
  for (std::uint32_t i = forward.first; i < forward.last; ++i)
    for (const Operand& operand : program.operators[i].operands)
      if (operand.access != Access::write) read.insert(operand.tensor);
  return read;
}

/// What it is itself, or of an 8-bit copy what made the original: but an attention, whose output
/// stays.
std::optional<SavingOperator> recomputed_with(const StepProgram& program, const Operator& op) {
  if (op.function != models::OperatorFunction::quantize) return saved_as(op.function);
  const TensorId source = op.operands.front().tensor;
  const models::Span forward = program.layers[op.layer].forward;
  for (std::uint32_t i = forward.first; i < forward.last; ++i)
    for (const Operand& operand : program.operators[i].operands) {
      if (operand.tensor != source || operand.access == Access::read) continue;
      const auto named = saved_as(program.operators[i].function);
      return named == SavingOperator::attention ? std::nullopt : named;
    }
  return std::nullopt;
}

/// What the operator makes, for backward alone where it is an attention.
std::vector<TensorId> made_for_backward(const Operator& op,
                                        const std::unordered_set<TensorId>& read_in_forward) {
  std::vector<TensorId> made;
  for (const Operand& operand : op.operands)
    if (operand.access != Access::read && (op.function != models::OperatorFunction::attention ||
                                           !read_in_forward.contains(operand.tensor)))
      made.push_back(operand.tensor);
  return made;
}

}  // namespace

ActivationPlan recompute_operators(const models::Model& model, const StepProgram& program) {
  ActivationPlan plan = keep_everything(program);
  std::vector<SavingOperator> chosen;
  for (const auto operators : program.workload.recomputed) chosen.push_back(saving(operators));
  if (chosen.empty()) return plan;
  plan.late = true;
  const Touched touched = touched_by_layers(program);
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    if (!model.layers[layer].is_block) continue;
    const std::vector<TensorId> saved = program.saved_by(layer);
    const models::Span forward = program.layers[layer].forward;
    const std::unordered_set<TensorId> read = read_in(program, forward);
    for (std::uint32_t i = forward.first; i < forward.last; ++i) {
      const Operator& op = program.operators[i];
      const auto named = recomputed_with(program, op);
      if (!named || std::find(chosen.begin(), chosen.end(), *named) == chosen.end()) continue;
      for (const TensorId id : made_for_backward(op, read))
        if (!touched.by_several[id] && is_activation(program, id) &&
            std::find(saved.begin(), saved.end(), id) != saved.end())
          plan.fates[id] = Fate::recompute;
    }
  }
  return plan;
}

namespace {

/// What named operators of blocks keep for backward leaves; without names, what any of them keeps.
///   Source  torchtune, enable_activation_offloading; Megatron-LM, --offload-modules
ActivationPlan offload_saved(const description::ActivationsPart& part, const models::Model& model,
                             const StepProgram& program) {
  ActivationPlan plan = keep_everything(program);
  const Touched touched = touched_by_layers(program);
  const bool to_host = part.homes.empty() || part.homes.front() == "host";
  const auto leaves = [&](const Operator& op) {
    if (!part.offloaded) return true;
    auto named = saved_as(op.function);
    if (op.function == models::OperatorFunction::quantize)  // keeps what a product of 8 bits reads
      named = SavingOperator::product;
    return named && std::find(part.offloaded->begin(), part.offloaded->end(), *named) !=
                        part.offloaded->end();
  };
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    if (!model.layers[layer].is_block) continue;
    const models::Span forward = program.layers[layer].forward;
    for (std::uint32_t i = forward.first; i < forward.last; ++i)
      if (leaves(program.operators[i]))
        for (const TensorId id : program.operators[i].saved)
          if (is_activation(program, id) &&
              (!touched.by_several[id] || is_own_input(program, touched, id, layer)))
            plan.fates[id] = to_host ? Fate::host : Fate::ssd;
  }
  return plan;
}

}  // namespace

ActivationPlan checkpoint_blocks(const models::Model& model, const StepProgram& program,
                                 Fate inputs, std::uint64_t every) {
  ActivationPlan plan = keep_everything(program);
  plan.whole_layers = true;
  const Touched touched = touched_by_layers(program);
  std::uint64_t in_a_row = 0;  // blocks before this one that backward reaches
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    if (!model.layers[layer].is_block || !program.layers[layer].goes_back()) {
      in_a_row = 0;
      continue;
    }
    for (const TensorId id : program.saved_by(layer)) {
      if (!is_activation(program, id)) continue;
      if (!touched.by_several[id])
        plan.fates[id] = Fate::recompute;
      else if (is_own_input(program, touched, id, layer))
        plan.fates[id] = in_a_row % every == 0 ? inputs : Fate::recompute;
    }
    ++in_a_row;
  }
  return plan;
}

bool hands_on_again(const StepProgram& program, std::uint32_t layer, const ActivationPlan& plan) {
  if (layer + 1 >= program.layers.size()) return false;
  const std::optional<TensorId> output = program.layers[layer].output;
  const auto saved = program.saved_by(layer + 1);
  return output && plan.of(*output) == Fate::recompute &&
         std::find(saved.begin(), saved.end(), *output) != saved.end();
}

std::string fault_of(const StepProgram& program, const ActivationPlan& plan) {
  if (plan.fates.size() != program.tensors.size())
    return "is of " + std::to_string(plan.fates.size()) + " tensors, and the model's step has " +
           std::to_string(program.tensors.size());
  const Touched touched = touched_by_layers(program);
  std::vector<bool> saved(program.tensors.size(), false);
  for (std::uint32_t layer = 0; layer < program.layers.size(); ++layer)
    for (const TensorId id : program.saved_by(layer)) saved[id] = is_activation(program, id);
  for (TensorId id = 0; id < plan.fates.size(); ++id) {
    if (plan.of(id) == Fate::keep) continue;
    if (!saved[id]) return "moves " + program.tensors[id].name + ", which no forward saves";
    if (plan.of(id) == Fate::recompute && touched.by_several[id] && !handed_on(program, id))
      return "makes " + program.tensors[id].name + " again, which several layers use";
  }
  return "";
}

std::optional<TensorId> middle_of_block(const models::Model& model, const StepProgram& program,
                                        std::uint32_t layer) {
  if (!model.layers[layer].is_block) return {};
  std::vector<TensorId> sums;
  for (std::uint32_t i = program.layers[layer].forward.first;
       i < program.layers[layer].forward.last; ++i)
    if (program.operators[i].function == models::OperatorFunction::residual)
      for (const Operand& operand : program.operators[i].operands)
        if (operand.access != Access::read) sums.push_back(operand.tensor);
  if (sums.size() < 2) return {};
  const TensorId middle = sums[sums.size() - 2];
  const auto saved = program.saved_by(layer);
  if (std::find(saved.begin(), saved.end(), middle) == saved.end()) return {};
  return middle;
}

ActivationPlan cacheable(const description::Strategy& strategy, const models::Model& model,
                         const StepProgram& program) {
  const CacheKnobs knobs = cache_knobs(strategy);
  using description::SkippedLayer;
  ActivationPlan plan = keep_everything(program);
  plan.by_module = true;
  const auto layers = static_cast<std::uint32_t>(model.layers.size());
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    // the last layer is the head with its loss; others that are no block hold tensors of the model
    const bool skipped = layer + 1 == layers
                             ? knobs.skips(SkippedLayer::head) || knobs.skips(SkippedLayer::loss)
                             : knobs.skips(SkippedLayer::model) && !model.layers[layer].is_block;
    if (skipped) continue;
    for (const TensorId id : program.saved_by(layer)) {
      const models::Tensor& tensor = program.tensors[id];
      if (!is_activation(program, id) || tensor.elements == 0 ||
          tensor.elements < knobs.min_elements)
        continue;
      plan.fates[id] = knobs.to_host ? Fate::host : Fate::ssd;
    }
  }
  return plan;
}

std::optional<ActivationPlan> fates_of_policy(const description::Strategy& strategy,
                                              const models::Model& model,
                                              const StepProgram& program) {
  const std::uint64_t every = strategy.activations.checkpoint_every;
  switch (strategy.activations.policy) {
    case ActivationPolicy::keep:
      return recompute_operators(model, program);
    case ActivationPolicy::offload:
      return offload_saved(strategy.activations, model, program);
    case ActivationPolicy::plan:
      if (activation_planner(strategy)) return std::nullopt;
      return keep_everything(program);  // plans of tensors, not of layers: see tensor_by_tensor
    case ActivationPolicy::checkpoint_gpu:
      return checkpoint_blocks(model, program, Fate::keep, every);
    case ActivationPolicy::checkpoint_host:
      return checkpoint_blocks(model, program, Fate::host, every);
    case ActivationPolicy::checkpoint_ssd:
      return checkpoint_blocks(model, program, Fate::ssd, every);
    case ActivationPolicy::swap:
      return std::nullopt;
    case ActivationPolicy::tensor_cache:
      return cacheable(strategy, model, program);
    default:
      ENSURE(false, "a policy of activations without a plan");
  }
}

std::vector<std::uint32_t> operators_to_rerun(const StepProgram& program, std::uint32_t layer,
                                              const ActivationPlan& plan) {
  return Rerun(program, layer, plan).operators();
}

Reruns reruns_of(const models::Model& model, const StepProgram& program,
                 const ActivationPlan& plan) {
  Reruns reruns;
  reruns.in_blocks.assign(program.operators.size(), false);
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    const std::vector<std::uint32_t>& again =
        reruns.of_layer.emplace_back(operators_to_rerun(program, layer, plan));
    const models::LayerSpan& span = program.layers[layer];
    if (!model.layers[layer].is_block || !span.goes_back()) continue;
    for (const std::uint32_t i : again) reruns.in_blocks[i] = true;
    if (hands_on_again(program, layer, plan))
      for (std::uint32_t i = span.forward.first; i < span.forward.last; ++i)
        reruns.in_blocks[i] = true;
  }
  return reruns;
}

models::Flops recomputed_flops(const StepProgram& program, const ActivationPlan& plan) {
  double flops = 0;
  for (std::uint32_t layer = 0; layer < program.layers.size(); ++layer) {
    for (const std::uint32_t i : operators_to_rerun(program, layer, plan))
      flops += program.operators[i].flops.value();
    if (!hands_on_again(program, layer, plan)) continue;
    const models::Span forward = program.layers[layer].forward;
    for (std::uint32_t i = forward.first; i < forward.last; ++i)
      flops += program.operators[i].flops.value();
  }
  return models::Flops(flops);
}

std::uint64_t bytes_of(const StepProgram& program, const ActivationPlan& plan, Fate fate) {
  std::vector<bool> counted(program.tensors.size(), false);
  std::uint64_t bytes = 0;
  for (std::uint32_t layer = 0; layer < program.layers.size(); ++layer)
    for (const TensorId id : program.saved_by(layer)) {
      if (counted[id] || !is_activation(program, id) || plan.of(id) != fate) continue;
      counted[id] = true;
      bytes += program.tensors[id].bytes.value();
    }
  return bytes;
}

}  // namespace spillway::strategies
