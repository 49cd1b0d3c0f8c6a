#include "models/program/tape.hpp"

#include <algorithm>

namespace spillway::models {

void Tape::add_updates() {
  const auto weights = static_cast<TensorId>(model_.weights.size());
  TensorId states = 0;  // kinds of state behind weight and gradient
  bool has_master = false;
  for (TensorId first = 2 * weights; first < program_.tensors.size(); first += weights) {
    const Tensor& tensor = program_.tensors[first];
    if (!tensor.weight) break;
    has_master = has_master || tensor.role == TensorRole::master;
    ++states;
  }
  for (TensorId i = 0; i < weights; ++i) {
    if (!trains(i)) continue;
    std::vector<Operand> operands;
    operands.reserve(2 + states);
    operands.push_back({i, has_master ? Access::write : Access::read_write});
    operands.push_back({weights + i, Access::read});
    for (TensorId state = 0; state < states; ++state)
      operands.push_back({(2 + state) * weights + i, Access::read_write});
    layer_ = model_.weights[i].layer;
    prefix_ = model_.weights[i].name;
    Operator& update = add(".update", OperatorFunction::update, std::move(operands));
    if (program_.workload.optimizer == Optimizer::muon && model_.weights[i].multiplies_in_block())
      orthogonalize(update, model_.weights[i]);
    if (program_.workload.optimizer == Optimizer::adafactor && model_.weights[i].decays())
      rescale_by_factors(update, model_.weights[i]);
  }
}

/// The variance of a matrix is the product of one of its rows and one of its columns, which lies
/// beside the gradient until that is divided by its root. Besides what the update reads and writes
/// in any case, in fp32: norms of weight and gradient by rows and columns (three reads), the
/// product written, four times read and written in place, multiplied by the gradient, its norm, and
/// added.
///   Source  PyTorch 2.5, torch/optim/_adafactor.py, _single_tensor_adafactor
void Tape::rescale_by_factors(Operator& update, const WeightTensor& weight) {
  constexpr std::uint64_t width = 4, passes = 14;
  const std::uint64_t elements = elements_of(weight);
  update.workspace = Bytes(width * elements);
  update.bytes += Bytes(width * passes * elements);
}

/// Five iterations X <- aX + (bA + cA A) X, A = X X', in bf16, of X with no more rows than columns:
/// three products each. X, A, their successors and bA + cAA are scratch.
///   Source  Jordan et al.: Muon (2024), zeropower_via_newtonschulz5
void Tape::orthogonalize(Operator& update, const WeightTensor& weight) {
  constexpr std::uint64_t iterations = 5, width = 2;
  const std::uint64_t m = std::min(weight.inputs(), weight.outputs());
  const std::uint64_t n = std::max(weight.inputs(), weight.outputs());
  const std::uint64_t count = elements_of(weight) / (m * n);  // of this rank's experts
  const double rows = static_cast<double>(m), columns = static_cast<double>(n);
  update.flops = Flops(static_cast<double>(count * iterations) *
                       (4 * rows * rows * columns + 2 * rows * rows * rows));
  update.gemm = {m, n, m, count};
  update.workspace = Bytes(count * width * (2 * m * n + 2 * m * m));
  // Each iteration reads X three times and writes it once, writes and reads A and its polynomial.
  update.orthogonalizing = Bytes(count * iterations * width * (4 * m * n + 5 * m * m));
  update.bytes += update.orthogonalizing;
}

}  // namespace spillway::models
