#include "hw_backend/arithmetic/linear.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::hw_backend {

namespace {

using models::WeightKind;

/// The matrices of a feed-forward, or their gradients, with biases where it has any.
struct Matrices {
  std::vector<Operand> matrices, biases;

  /// Those of that role that come next.
  Matrices(OperandReader& operands, models::TensorRole role) {
    while (operands.left() > 0 && operands.next_role() == role) {
      const bool bias = operands.bias_next();
      (bias ? biases : matrices).push_back(operands.take());
    }
  }
  Linear of(WeightKind kind, std::uint64_t rows) const {
    for (std::size_t i = 0; i < matrices.size(); ++i)
      if (matrices[i].weight->kind == kind)
        return {matrices[i], biases.empty() ? std::nullopt : std::optional(biases[i]), rows};
    ENSURE(false, "a feed-forward without one of its matrices");
    return {};
  }
  bool has(WeightKind kind) const {
    return std::any_of(matrices.begin(), matrices.end(),
                       [&](const Operand& one) { return one.weight->kind == kind; });
  }
};

/// The tensors of one tile, one behind the other in the workspace.
class Tile {
 public:
  Tile(const Call& call, const Matrices& weights, std::uint64_t rows)
      : call_(call),
        weights_(weights),
        rows_(rows),
        elements_(rows * width_of(call, weights)),
        next_(call.workspace) {}

  /// What the last matrix multiplies, of rows x.
  ///   keeps  backward follows
  Operand forward(const Operand& x, bool keeps = false) {
    const bool gated = call_.architecture().gated_ffn;
    if (gated) gate_ = take();
    up_ = take();
    if (!gated) {
      multiply(call_, weights_.of(WeightKind::ffn_up, rows_), x, {up_});
      inner_ = take();
      call_.device.activate(activation(), elements_, up_.read(), inner_.replace());
      return inner_;
    }
    if (weights_.has(WeightKind::ffn_gate)) {
      multiply(call_, weights_.of(WeightKind::ffn_gate, rows_), x, {gate_});
      multiply(call_, weights_.of(WeightKind::ffn_up, rows_), x, {up_});
    } else {
      multiply(call_, weights_.of(WeightKind::ffn_up, rows_), x, {gate_, up_});
    }
    if (keeps && !call_.workload().fused_kernels) activated_ = take();
    inner_ = take();
    call_.device.gated_product({activation(), elements_}, gate_.read(), up_.read(),
                               activated_.replace(), inner_.replace());
    return inner_;
  }

  /// Of the gradient of the tile's outputs: those of its weights, and of its rows x.
  void backward(const Operand& y, const Operand& x, const Matrices& gradients, const Operand& into,
                bool sums) {
    forward(x, true);
    const bool trains = !gradients.matrices.empty();
    const Linear down = weights_.of(WeightKind::ffn_down, rows_);
    Operand slope = take();
    multiply_back(call_, down, {y}, slope);
    if (trains)
      multiply_weights(call_, gradients.of(WeightKind::ffn_down, rows_), {y}, inner_, sums);
    if (!call_.architecture().gated_ffn) {
      call_.device.activate_backward(activation(), elements_, slope.read(), up_.read(),
                                     up_.replace());
      return back_through(WeightKind::ffn_up, {up_}, x, gradients, into, sums);
    }
    call_.device.gated_product_backward({activation(), elements_}, slope.read(), gate_.read(),
                                        up_.read(), activated_.read(), gate_.replace(),
                                        up_.replace());
    if (!weights_.has(WeightKind::ffn_gate))
      return back_through(WeightKind::ffn_up, {gate_, up_}, x, gradients, into, sums);
    back_through(WeightKind::ffn_gate, {gate_}, x, gradients, into, sums);
    Operand both = into;
    both.add = true;
    back_through(WeightKind::ffn_up, {up_}, x, gradients, both, sums);
  }

 private:
  static std::uint64_t width_of(const Call& call, const Matrices& weights) {
    for (const Operand& one : weights.matrices)
      if (one.weight->kind == WeightKind::ffn_down) return call.inputs_of(*one.weight);
    return 0;
  }
  models::Activation activation() const { return call_.architecture().activation; }
  Operand take() {
    Operand taken;
    taken.data = next_;
    taken.type = call_.element();
    taken.elements = elements_;
    next_ += elements_ * size_of(taken.type);
    return taken;
  }
  void back_through(WeightKind kind, const std::vector<Operand>& slopes, const Operand& x,
                    const Matrices& gradients, const Operand& into, bool sums) {
    multiply_back(call_, weights_.of(kind, rows_), slopes, into);
    if (!gradients.matrices.empty())
      multiply_weights(call_, gradients.of(kind, rows_), slopes, x, sums);
  }

  const Call& call_;
  const Matrices& weights_;
  std::uint64_t rows_, elements_;
  std::byte* next_;
  Operand gate_, up_, activated_, inner_;
};

/// Calls work(first row, rows) for each tile of the operator's tokens.
template <class Work>
void for_tiles(const Call& call, std::uint64_t rows, const Work& work) {
  const std::uint64_t tiles = std::min(call.workload().mlp_tiles, rows);
  const std::uint64_t each = (rows + tiles - 1) / tiles;
  for (std::uint64_t first = 0; first < rows; first += each)
    work(first, std::min(each, rows - first));
}

/// Rows [first, first + rows) of hidden states.
Operand rows_of(const Operand& of, std::uint64_t first, std::uint64_t rows, std::uint64_t width) {
  Operand part = of;
  part.data += first * width * size_of(of.type);
  part.elements = rows * width;
  return part;
}

}  // namespace

void tiled_feed_forward(const Call& call) {
  OperandReader operands(call);
  const Operand x = operands.take();
  const Matrices weights(operands, models::TensorRole::weight);
  const Operand y = operands.take();
  const std::uint64_t hidden = call.architecture().hidden;
  for_tiles(call, x.elements / hidden, [&](std::uint64_t first, std::uint64_t rows) {
    Tile tile(call, weights, rows);
    const Operand inner = tile.forward(rows_of(x, first, rows, hidden));
    multiply(call, weights.of(WeightKind::ffn_down, rows), inner,
             {rows_of(y, first, rows, hidden)});
  });
}

void tiled_feed_forward_backward(const Call& call) {
  OperandReader operands(call);
  const Operand y = operands.take(), x = operands.take();
  const Matrices weights(operands, models::TensorRole::weight);
  const Matrices gradients(operands, models::TensorRole::weight_gradient);
  const Operand into = operands.take();
  const std::uint64_t hidden = call.architecture().hidden;
  for_tiles(call, x.elements / hidden, [&](std::uint64_t first, std::uint64_t rows) {
    Tile tile(call, weights, rows);
    tile.backward(rows_of(y, first, rows, hidden), rows_of(x, first, rows, hidden), gradients,
                  rows_of(into, first, rows, hidden), first > 0);
  });
}

}  // namespace spillway::hw_backend
