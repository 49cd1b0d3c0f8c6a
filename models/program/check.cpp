#include "models/program/check.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

bool lasts(TensorRole role) {
  return role != TensorRole::activation && role != TensorRole::activation_gradient &&
         role != TensorRole::logits;
}

class Checker {
 public:
  explicit Checker(const StepProgram& program)
      : p_(program), written_(program.tensors.size()), read_(program.tensors.size()) {
    for (const Tensor& tensor : program.tensors)
      if (tensor.role == TensorRole::weight_gradient) gradient_elements_.push_back(tensor.elements);
  }

  void run() {
    sizes();
    spans();
    for (const Operator& op : p_.operators) operands(op);
    for (std::size_t i = 0; i < p_.tensors.size(); ++i)
      ENSURE(lasts(p_.tensors[i].role) || (written_[i] && (read_[i] || ends_here(i))),
             p_.tensors[i].name + " is never written or never read");
    for (std::uint32_t layer = 0; layer < p_.layers.size(); ++layer) round_trip(layer);
    updates();
  }

 private:
  void sizes() const {
    for (const Tensor& tensor : p_.tensors) {
      const bool of_frozen = tensor.weight && tensor.role != TensorRole::weight;
      ENSURE((of_frozen && tensor.elements == 0) ||
                 (tensor.elements > 0 && (tensor.bytes >= Bytes(tensor.elements / 2) ||
                                          tensor.role == TensorRole::variance)),
             tensor.name + " has no size");
    }
  }

  void spans() const {
    const auto count = static_cast<std::uint32_t>(p_.operators.size());
    ENSURE(p_.forward.first == 0 && p_.forward.last == p_.backward.first &&
               p_.backward.last == p_.update.first && p_.update.last == count,
           "the phases do not cover the operators");
    std::uint32_t forward = p_.forward.first;
    std::uint32_t backward = p_.backward.last;
    bool went_back = false;
    for (std::uint32_t layer = 0; layer < p_.layers.size(); ++layer) {
      const LayerSpan& span = p_.layers[layer];
      ENSURE(span.forward.first == forward && span.backward.last == backward,
             "a gap before layer " + std::to_string(layer));
      ENSURE(span.forward.last > forward && (span.backward.first < backward || !goes_back(layer)),
             "no operators in layer " + std::to_string(layer));
      went_back = went_back || goes_back(layer);
      ENSURE(went_back == goes_back(layer), "layers without backward are the lowest");
      forward = span.forward.last;
      backward = span.backward.first;
      for (const Span& part : {span.forward, span.backward})
        for (std::uint32_t i = part.first; i < part.last; ++i)
          ENSURE(p_.operators[i].layer == layer, p_.operators[i].name + " is in another layer");
    }
    ENSURE(forward == p_.forward.last && backward == p_.backward.first,
           "the layers do not cover forward and backward");
  }

  void operands(const Operator& op) {
    ENSURE(!op.operands.empty() && op.bytes > Bytes(0), op.name + " touches nothing");
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const Operand& operand = op.operands[i];
      const Tensor& tensor = p_.tensors.at(operand.tensor);
      for (std::size_t j = 0; j < i; ++j)
        ENSURE(op.operands[j].tensor != operand.tensor, op.name + " names twice " + tensor.name);
      if (operand.access != Access::write) {
        ENSURE(lasts(tensor.role) || written_[operand.tensor],
               op.name + " reads what nobody wrote: " + tensor.name);
        read_[operand.tensor] = true;
      }
    }
    for (const Operand& operand : op.operands)
      if (operand.access != Access::read) written_[operand.tensor] = true;
  }

  // What the forward of a layer saves is exactly what its backward reads of forward tensors, and
  // every weight it multiplies gets its gradient there.
  void round_trip(std::uint32_t layer) const {
    const std::vector<TensorId> saved = p_.saved_by(layer);
    std::vector<TensorId> read;
    std::vector<std::uint32_t> graded;
    const Span back = p_.layers[layer].backward;
    for (std::uint32_t i = back.first; i < back.last; ++i)
      for (const Operand& operand : p_.operators[i].operands) {
        const Tensor& tensor = p_.tensors[operand.tensor];
        if (is_forward(operand.tensor)) read.push_back(operand.tensor);
        if (tensor.role != TensorRole::weight_gradient) continue;
        ENSURE(operand.access == Access::read_write, tensor.name + " is not accumulated");
        graded.push_back(*tensor.weight);
      }
    for (const TensorId tensor : saved)
      ENSURE(std::find(read.begin(), read.end(), tensor) != read.end(),
             p_.tensors[tensor].name + " is saved for nothing");
    for (const TensorId tensor : read)
      ENSURE(std::find(saved.begin(), saved.end(), tensor) != saved.end(),
             p_.tensors[tensor].name + " is read by the backward but not saved");
    const Span forward = p_.layers[layer].forward;
    for (std::uint32_t i = forward.first; i < forward.last; ++i)
      multiplied(p_.operators[i], graded);
  }

  void multiplied(const Operator& op, const std::vector<std::uint32_t>& graded) const {
    for (const TensorId tensor : op.saved)
      ENSURE(std::any_of(op.operands.begin(), op.operands.end(),
                         [&](const Operand& operand) { return operand.tensor == tensor; }),
             op.name + " saves what it does not touch: " + p_.tensors[tensor].name);
    for (const Operand& operand : op.operands) {
      const Tensor& tensor = p_.tensors[operand.tensor];
      ENSURE(tensor.role != TensorRole::weight || frozen(*tensor.weight) ||
                 std::find(graded.begin(), graded.end(), *tensor.weight) != graded.end(),
             tensor.name + " gets no gradient from " + op.name);
    }
  }

  bool is_forward(TensorId tensor) const {
    const Tensor& t = p_.tensors[tensor];
    if (t.role == TensorRole::activation) return true;
    // Logits and their gradient share a role; the forward writes only the former.
    if (t.role != TensorRole::logits) return false;
    for (std::uint32_t i = p_.backward.first; i-- > p_.forward.first;)
      for (const Operand& operand : p_.operators[i].operands)
        if (operand.tensor == tensor) return true;
    return false;
  }

  void updates() const {
    std::vector<std::uint32_t> times(p_.tensors.size());
    for (std::uint32_t i = p_.update.first; i < p_.update.last; ++i)
      for (const Operand& operand : p_.operators[i].operands) ++times[operand.tensor];
    for (std::size_t i = 0; i < p_.tensors.size(); ++i)
      ENSURE(times[i] == (p_.tensors[i].weight && !frozen(*p_.tensors[i].weight) ? 1u : 0u),
             p_.tensors[i].name + " is not updated exactly once");
  }

  bool goes_back(std::uint32_t layer) const { return p_.layers[layer].goes_back(); }
  /// Made for a backward that the layer does not have, or the gradient of what comes from there.
  bool ends_here(std::size_t tensor) const { return !goes_back(p_.tensors[tensor].layer); }
  bool frozen(std::uint32_t weight) const { return gradient_elements_[weight] == 0; }

  const StepProgram& p_;
  std::vector<std::uint64_t> gradient_elements_;  ///< by weight
  std::vector<bool> written_;
  std::vector<bool> read_;
};

}  // namespace

void check(const StepProgram& program) { Checker(program).run(); }

}  // namespace spillway::models
