#include "hw_backend/arithmetic/linear.hpp"
#include "models/program/tile_arrays.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::hw_backend {

namespace {

using models::TiledFeedForward;
using models::TiledModule;
using models::WeightKind;

/// The weights of a feed-forward, or the gradients of those that train.
class WeightOperands {
 public:
  /// Those of that role that come next.
  WeightOperands(const Call& call, OperandReader& operands, models::TensorRole role)
      : first_(call.lowering.model->weights.data()) {
    while (operands.left() > 0 && operands.next_role() == role) all_.push_back(operands.take());
  }
  /// Without data: that weight is not among them.
  Operand of(std::optional<std::uint32_t> weight) const {
    for (const Operand& one : all_)
      if (weight && one.weight == first_ + *weight) return one;
    return {};
  }
  /// Its matrices, in the order in which they multiply.
  std::vector<std::uint32_t> matrices() const {
    std::vector<std::uint32_t> found;
    for (const Operand& one : all_)
      for (const WeightKind kind : {WeightKind::ffn_gate, WeightKind::ffn_up, WeightKind::ffn_down})
        if (one.weight->kind == kind)
          found.push_back(static_cast<std::uint32_t>(one.weight - first_));
    return found;
  }

 private:
  const models::WeightTensor* first_;
  std::vector<Operand> all_;
};

TiledFeedForward feed_forward_of(const Call& call, const WeightOperands& weights) {
  return models::tiled_feed_forward(*call.lowering.model, call.lowering.program->tensors,
                                    call.workload(), size_of(call.element()), weights.matrices());
}

/// The gradients that a tile makes, into which the tiles behind the first add.
struct Grades {
  const WeightOperands& gradients;
  bool sums;
};

/// One tile, whose arrays lie in the workspace.
class Tile {
 public:
  Tile(const Call& call, const TiledFeedForward& of, const WeightOperands& weights,
       std::uint64_t rows, bool backward)
      : call_(call),
        of_(of),
        weights_(weights),
        arrays_(models::tile_arrays(of, rows, backward)),
        rows_(rows),
        backward_(backward) {
    ENSURE(arrays_.bytes <= call.op.workspace.value(), call.op.name + " needs more workspace");
  }

  /// y = what the last matrix and its adapter make of what is between.
  void forward(const Operand& x, const Operand& y) {
    make_inner(x);
    pass(of_.modules.size() - 1, inner(), {y});
  }

  /// Of the gradient `y` of the tile's outputs: those of its weights, and of its rows `x`.
  void backward(const Operand& y, const Operand& x, const Grades& grades, const Operand& into) {
    make_inner(x);
    const std::size_t last = of_.modules.size() - 1;
    if (of_.modules[last].down) pass(last, inner(), {});
    Operand activated_gradient = of_inner(arrays_.activated_gradient);
    back(last, {y}, inner(), grades, activated_gradient);
    if (of_.gated)
      call_.device.gated_product_backward({activation(), rows_ * of_.inner},
                                          activated_gradient.read(), gate().read(), up().read(),
                                          activated().read(), gate().replace(), up().replace());
    else
      call_.device.activate_backward(activation(), rows_ * of_.inner, activated_gradient.read(),
                                     up().read(), up().replace());
    Operand sum = into;
    for (std::size_t i = 0; i < last; ++i) {
      back(i, outputs_of(i), x, grades, sum);
      sum.add = true;
    }
  }

 private:
  models::Activation activation() const { return call_.architecture().activation; }
  Operand array(std::uint64_t at, std::uint64_t elements) const {
    Operand there;
    there.data = call_.workspace + at;
    there.type = call_.element();
    there.elements = elements;
    return there;
  }
  Operand of_inner(std::uint64_t at) const { return array(at, rows_ * of_.inner); }
  Operand gate() const { return of_inner(arrays_.gate); }
  Operand up() const { return of_inner(arrays_.up); }
  Operand inner() const { return of_inner(arrays_.inner); }
  /// silu(gate), where backward reads it.
  Operand activated() const {
    return backward_ && !of_.fused ? of_inner(arrays_.activated) : Operand();
  }
  /// Of a module before the last.
  std::vector<Operand> outputs_of(std::size_t i) const {
    if (of_.modules[i].outputs == 2) return {gate(), up()};
    return {of_.gated && i == 0 ? gate() : up()};
  }
  /// As many arrays as module `i` has outputs, one behind the other.
  std::vector<Operand> like_outputs(std::size_t i, std::uint64_t at) const {
    const TiledModule& module = of_.modules[i];
    std::vector<Operand> all;
    for (std::uint64_t output = 0; output < module.outputs; ++output) {
      all.push_back(array(at, rows_ * module.width));
      at += rows_ * module.width * of_.element;
    }
    return all;
  }

  Linear linear(std::uint32_t matrix, std::optional<std::uint32_t> bias = std::nullopt) const {
    Linear one{weights_.of(matrix), std::nullopt, rows_};
    if (bias) one.bias = weights_.of(*bias);
    return one;
  }
  /// With scratch at that place of the workspace.
  Call with_scratch(std::uint64_t at) const {
    Call call = call_;
    call.workspace += at;
    return call;
  }
  float* norms_of(std::size_t i) const {
    return reinterpret_cast<float*>(call_.workspace + arrays_.modules[i].norms);
  }
  Rescaling rescaling_of(std::size_t i) const {
    const TiledModule& module = of_.modules[i];
    return {rows_, weights_.of(module.bias), weights_.of(module.magnitudes), norms_of(i)};
  }

  void make_inner(const Operand& x) {
    for (std::size_t i = 0; i + 1 < of_.modules.size(); ++i) pass(i, x, outputs_of(i));
    if (of_.gated)
      call_.device.gated_product({activation(), rows_ * of_.inner}, gate().read(), up().read(),
                                 activated().replace(), inner().replace());
    else
      call_.device.activate(activation(), rows_ * of_.inner, up().read(), inner().replace());
  }

  /// What module `i` makes of x.
  ///   y  nothing: what its own backward will read alone
  void pass(std::size_t i, const Operand& x, const std::vector<Operand>& y) {
    const TiledModule& module = of_.modules[i];
    const models::TileArrays::OfModule& at = arrays_.modules[i];
    const Call wide = with_scratch(at.wide);
    const bool rescales = module.magnitudes.has_value();
    const std::vector<Operand> products = rescales ? like_outputs(i, at.product) : y;
    if (!products.empty()) multiply(wide, linear(module.matrix, module.bias), x, products);
    if (!module.down) return;
    if (rescales)
      take_norms(wide, weights_.of(module.matrix), weights_.of(module.down), weights_.of(module.up),
                 norms_of(i));
    const Call copied = with_scratch(at.copy);
    const Operand narrow = array(at.narrow, rows_ * module.rank);
    multiply(copied, linear(*module.down), x, {narrow});
    if (products.empty()) return;
    const std::vector<Operand> added = like_outputs(i, at.added);
    multiply(copied, linear(*module.up), narrow, added);
    std::uint64_t first = 0;
    for (std::size_t k = 0; k < y.size(); ++k) {
      if (rescales) {
        call_.device.rescale(rescale_of(rescaling_of(i), products[k], added[k], first),
                             y[k].replace());
      } else {
        Output sum = y[k].replace();
        sum.add = true;
        call_.device.convert(y[k].elements, added[k].read(), sum);
      }
      first += module.width;
    }
  }

  /// The gradients of module i's weights and of what it read, x, by those of its outputs.
  void back(std::size_t i, std::vector<Operand> output_gradients, const Operand& x,
            const Grades& grades, Operand into) {
    const TiledModule& module = of_.modules[i];
    if (module.magnitudes) output_gradients = back_through_magnitudes(i, output_gradients, grades);
    if (module.down) {
      back_through_adapter(i, output_gradients, x, grades, into);
      into.add = true;
    }
    multiply_back(with_scratch(arrays_.modules[i].wide), linear(module.matrix), output_gradients,
                  into);
    const Operand gradient = grades.gradients.of(module.matrix);
    if (!gradient.data) return;
    Linear graded{gradient, std::nullopt, rows_};
    if (module.bias) graded.bias = grades.gradients.of(*module.bias);
    multiply_weights(call_, graded, output_gradients, x, grades.sums);
  }

  void back_through_adapter(std::size_t i, const std::vector<Operand>& output_gradients,
                            const Operand& x, const Grades& grades, const Operand& into) {
    const TiledModule& module = of_.modules[i];
    const models::TileArrays::OfModule& at = arrays_.modules[i];
    const Call copied = with_scratch(at.copy);
    const Operand narrow = array(at.narrow, rows_ * module.rank);
    const Operand narrow_gradient = array(arrays_.narrow_gradient, rows_ * module.rank);
    multiply_back(copied, linear(*module.up), output_gradients, narrow_gradient);
    multiply_weights(call_, {grades.gradients.of(module.up), std::nullopt, rows_}, output_gradients,
                     narrow, grades.sums);
    multiply_back(copied, linear(*module.down), {narrow_gradient}, into);
    multiply_weights(call_, {grades.gradients.of(module.down), std::nullopt, rows_},
                     {narrow_gradient}, x, grades.sums);
  }

  /// The gradients of the products, which are those of what is added to them as well.
  std::vector<Operand> back_through_magnitudes(std::size_t i,
                                               const std::vector<Operand>& output_gradients,
                                               const Grades& grades) {
    const TiledModule& module = of_.modules[i];
    const std::vector<Operand> products = like_outputs(i, arrays_.modules[i].product);
    const std::vector<Operand> added = like_outputs(i, arrays_.modules[i].added);
    const std::vector<Operand> made = like_outputs(i, arrays_.product_gradient);
    Output magnitudes = grades.gradients.of(module.magnitudes).write();
    magnitudes.add = magnitudes.add || grades.sums;
    std::uint64_t first = 0;
    for (std::size_t k = 0; k < output_gradients.size(); ++k) {
      call_.device.rescale_backward(rescale_of(rescaling_of(i), products[k], added[k], first),
                                    output_gradients[k].read(), made[k].replace(),
                                    from(magnitudes, first));
      first += module.width;
    }
    return made;
  }

  const Call& call_;
  const TiledFeedForward& of_;
  const WeightOperands& weights_;
  models::TileArrays arrays_;
  std::uint64_t rows_;
  bool backward_;
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
  const WeightOperands weights(call, operands, models::TensorRole::weight);
  const Operand y = operands.take();
  const TiledFeedForward of = feed_forward_of(call, weights);
  const std::uint64_t hidden = call.architecture().hidden;
  for_tiles(call, x.elements / hidden, [&](std::uint64_t first, std::uint64_t rows) {
    Tile tile(call, of, weights, rows, false);
    tile.forward(rows_of(x, first, rows, hidden), rows_of(y, first, rows, hidden));
  });
}

void tiled_feed_forward_backward(const Call& call) {
  OperandReader operands(call);
  const Operand y = operands.take(), x = operands.take();
  const WeightOperands weights(call, operands, models::TensorRole::weight);
  const WeightOperands gradients(call, operands, models::TensorRole::weight_gradient);
  const Operand into = operands.take();
  const TiledFeedForward of = feed_forward_of(call, weights);
  const std::uint64_t hidden = call.architecture().hidden;
  for_tiles(call, x.elements / hidden, [&](std::uint64_t first, std::uint64_t rows) {
    Tile tile(call, of, weights, rows, true);
    tile.backward(rows_of(y, first, rows, hidden), rows_of(x, first, rows, hidden),
                  {gradients, first > 0}, rows_of(into, first, rows, hidden));
  });
}

}  // namespace spillway::hw_backend
