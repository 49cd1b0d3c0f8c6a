#include "models/program/split_backward.hpp"

#include <algorithm>
#include <map>

namespace spillway::models {

namespace {

class Splitter {
 public:
  explicit Splitter(StepProgram& program)
      : p_(program),
        last_write_(program.tensors.size()),
        layer_(program.tensors.size()),
        several_layers_(program.tensors.size()),
        late_(program.operators.size()) {
    for (std::uint32_t i = 0; i < p_.backward.last; ++i)
      for (const Operand& operand : p_.operators[i].operands) note(operand, i);
  }

  void split() {
    for (const LayerSpan& layer : p_.layers) find_late(layer.backward);
    std::vector<Operator> operators(p_.operators.begin(), p_.operators.begin() + p_.backward.first);
    for (std::size_t layer = p_.layers.size(); layer-- > 0;) append(p_.layers[layer], operators);
    const auto end = static_cast<std::uint32_t>(operators.size());
    operators.insert(operators.end(), p_.operators.begin() + p_.update.first, p_.operators.end());
    p_.backward.last = end;
    p_.update = {end, static_cast<std::uint32_t>(operators.size())};
    p_.operators = std::move(operators);
  }

 private:
  void note(const Operand& operand, std::uint32_t op) {
    const TensorId id = operand.tensor;
    if (operand.access != Access::read) last_write_[id] = op;
    const std::uint32_t layer = p_.operators[op].layer;
    several_layers_[id] = several_layers_[id] || (layer_[id] && *layer_[id] != layer);
    layer_[id] = layer;
  }

  bool written_behind(TensorId id, std::uint32_t op) const {
    return last_write_[id] && *last_write_[id] > op;
  }

  void find_late(Span span) {
    for (std::uint32_t i = span.first; i < span.last; ++i)
      late_[i] = p_.operators[i].function == OperatorFunction::product_weight_gradient &&
                 may_wait(i, span);
    for (std::uint32_t i = span.first; i < span.last; ++i)
      if (p_.operators[i].function == OperatorFunction::all_gather)
        late_[i] = gathers_late(i, span);
  }

  bool may_wait(std::uint32_t op, Span span) const {
    const auto& operands = p_.operators[op].operands;
    return std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
      const TensorRole role = p_.tensors[operand.tensor].role;
      if (role == TensorRole::logits) return false;
      if (role == TensorRole::activation) return !written_behind(operand.tensor, op);
      return role != TensorRole::weight_gradient || used_by_one(operand.tensor, span);
    });
  }

  bool used_by_one(TensorId id, Span span) const {
    std::size_t users = 0;
    for (std::uint32_t i = span.first; i < span.last; ++i)
      for (const Operand& operand : p_.operators[i].operands) users += operand.tensor == id;
    return users == 1;
  }

  /// What it gathers is of the forward, and products that wait read it alone.
  bool gathers_late(std::uint32_t op, Span span) const {
    const auto& operands = p_.operators[op].operands;
    if (p_.tensors[operands.front().tensor].role != TensorRole::activation) return false;
    for (std::uint32_t i = span.first; i < span.last; ++i)
      for (const Operand& operand : p_.operators[i].operands)
        if (i != op && operand.tensor == operands.back().tensor && !late_[i]) return false;
    return true;
  }

  /// The layer's backward, first what does not wait.
  void append(LayerSpan& layer, std::vector<Operator>& operators) {
    const Span old = layer.backward;
    layer.backward.first = static_cast<std::uint32_t>(operators.size());
    std::map<TensorId, TensorId> copies;  // of the gradients as they are now
    std::vector<Operator> late;
    for (std::uint32_t i = old.first; i < old.last; ++i) {
      Operator op = std::move(p_.operators[i]);
      for (const Operand& operand : op.operands)
        if (operand.access != Access::read) copies.erase(operand.tensor);
      if (!late_[i]) {
        operators.push_back(std::move(op));
        continue;
      }
      for (Operand& operand : op.operands)
        if (p_.tensors[operand.tensor].role == TensorRole::activation_gradient &&
            operand.access == Access::read &&
            (written_behind(operand.tensor, i) || several_layers_[operand.tensor]))
          operand.tensor = copy(operand.tensor, op.layer, copies, operators);
      late.push_back(std::move(op));
    }
    layer.weights_apart = static_cast<std::uint32_t>(late.size());
    operators.insert(operators.end(), late.begin(), late.end());
    layer.backward.last = static_cast<std::uint32_t>(operators.size());
  }

  TensorId copy(TensorId of, std::uint32_t layer, std::map<TensorId, TensorId>& copies,
                std::vector<Operator>& operators) {
    const auto [found, fresh] = copies.try_emplace(of, static_cast<TensorId>(p_.tensors.size()));
    if (!fresh) return found->second;
    Tensor kept = p_.tensors[of];
    kept.name += ".kept";
    kept.layer = layer;
    p_.tensors.push_back(kept);
    Operator& op = operators.emplace_back();
    op.name = kept.name;
    op.function = OperatorFunction::gradient_sum;
    op.layer = layer;
    op.operands = {{of, Access::read}, {found->second, Access::write}};
    op.bytes = kept.bytes * 2u;
    return found->second;
  }

  StepProgram& p_;
  std::vector<std::optional<std::uint32_t>> last_write_;  ///< by tensor: operator
  std::vector<std::optional<std::uint32_t>> layer_;       ///< by tensor: one that uses it
  std::vector<bool> several_layers_;                      ///< by tensor
  std::vector<bool> late_;                                ///< by operator
};

}  // namespace

void split_backward(StepProgram& program) { Splitter(program).split(); }

}  // namespace spillway::models
