#include "hw_backend/arithmetic/matrix_steps.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::hw_backend {

namespace {

/// One matrix of the workspace, and what five iterations need beside it.
class Orthogonal {
 public:
  Orthogonal(Primitives& device, std::uint64_t rows, std::uint64_t columns, std::byte* workspace)
      : device_(device),
        rows_(rows),
        columns_(columns),
        side_(std::min(rows, columns)),
        x_(array(workspace)),
        next_(array(x_.data + width * rows * columns)),
        square_(array(next_.data + width * rows * columns)),
        polynomial_(array(square_.data + width * side_ * side_)) {}

  static std::uint64_t bytes(std::uint64_t rows, std::uint64_t columns) {
    const std::uint64_t side = std::min(rows, columns);
    return width * (2 * rows * columns + 2 * side * side);
  }
  Output begin() const { return x_; }

  /// X <- aX + (bA + cAA) X with A = XX', or of more rows than columns aX + X (bA + cAA), A = X'X.
  Input end() {
    normalize();
    for (int i = 0; i < iterations; ++i) {
      square();
      polynomial();
      device_.scale({a}, rows_ * columns_, x_.read(), next_);
      Product product{rows_, columns_, side_};
      product.a = tall() ? matrix(x_) : squared(polynomial_);
      product.b = tall() ? squared(polynomial_) : matrix(x_);
      product.c = {added(next_), columns_};
      device_.product(product);
      std::swap(x_, next_);
    }
    return x_.read();
  }

 private:
  static constexpr std::uint64_t width = 2;
  static constexpr int iterations = 5;
  static constexpr float a = 3.4445f, b = -4.7750f, c = 2.0315f;

  static Output array(std::byte* data) { return {data, Element::bf16, false}; }
  static Output added(Output of) { return {of.data, of.type, true}; }
  bool tall() const { return rows_ > columns_; }
  MatrixInput matrix(const Output& of, bool transposed = false) const {
    return {of.read(), columns_, transposed, 0};
  }
  MatrixInput squared(const Output& of) const { return {of.read(), side_, false, 0}; }

  /// The norms of rows lie where the next matrix will.
  void normalize() {
    auto* const norms = reinterpret_cast<float*>(next_.data);
    device_.row_norms(rows_, columns_, x_.read(), norms);
    float* const whole = reinterpret_cast<float*>(square_.data);
    device_.row_norms(1, rows_, {next_.data, Element::fp32}, whole);
    device_.scale({1, whole, 1e-7f}, rows_ * columns_, x_.read(), x_);
  }
  void square() {
    Product product{side_, side_, std::max(rows_, columns_)};
    product.a = matrix(x_, tall());
    product.b = matrix(x_, !tall());
    product.c = {square_, side_};
    device_.product(product);
  }
  void polynomial() {
    device_.scale({b}, side_ * side_, square_.read(), polynomial_);
    Product product{side_, side_, side_};
    product.a = squared(square_);
    product.b = squared(square_);
    product.c = {added(polynomial_), side_};
    product.scale = c;
    device_.product(product);
  }

  Primitives& device_;
  std::uint64_t rows_, columns_, side_;
  Output x_, next_, square_, polynomial_;
};

Output written(const Array& of, bool adds) { return {of.data, of.type, adds}; }

/// momentum = beta momentum + gradient.
void add_gradient(Primitives& device, std::uint64_t n, const Array& momentum,
                  const ConstArray& gradient, const MuonNumbers& numbers) {
  device.scale({static_cast<float>(numbers.beta)}, n, momentum, written(momentum, false));
  device.scale({static_cast<float>(numbers.inverse_scale)}, n, gradient, written(momentum, true));
}

/// gradient + beta momentum.
void look_ahead(Primitives& device, std::uint64_t n, Input momentum, Input gradient, Output sum,
                const MuonNumbers& numbers) {
  device.scale({static_cast<float>(numbers.inverse_scale)}, n, gradient, sum);
  sum.add = true;
  device.scale({static_cast<float>(numbers.beta)}, n, momentum, sum);
}

void decay(Primitives& device, std::uint64_t n, const Array& master, const MuonNumbers& numbers) {
  device.scale({static_cast<float>(1 - numbers.learning_rate * numbers.weight_decay)}, n, master,
               written(master, false));
}

/// By how much a master goes down along its direction.
float step_of(const MuonShape& shape, const MuonNumbers& numbers) {
  const double outputs = static_cast<double>(shape.inputs_first ? shape.columns : shape.rows);
  const double inputs = static_cast<double>(shape.inputs_first ? shape.rows : shape.columns);
  return static_cast<float>(-numbers.learning_rate * std::sqrt(std::max(1.0, outputs / inputs)));
}

Orthogonal orthogonal(Primitives& device, const MuonShape& shape, std::byte* workspace,
                      std::uint64_t matrix) {
  return {device, shape.rows, shape.columns,
          workspace + matrix * Orthogonal::bytes(shape.rows, shape.columns)};
}

}  // namespace

void muon_momentum(Primitives& device, std::uint64_t n, const Array& momentum,
                   const ConstArray& gradient, std::byte* sum, const MuonNumbers& numbers) {
  add_gradient(device, n, momentum, gradient, numbers);
  look_ahead(device, n, momentum, gradient, {sum, Element::bf16, false}, numbers);
}

void muon_products(Primitives& device, const MuonShape& shape, std::byte* matrices,
                   std::byte* workspace) {
  for (std::uint64_t i = 0; i < shape.count; ++i) {
    const Output place{matrices + i * shape.each() * size_of(Element::bf16), Element::bf16, false};
    Orthogonal matrix = orthogonal(device, shape, workspace, i);
    device.convert(shape.each(), place.read(), matrix.begin());
    device.convert(shape.each(), matrix.end(), place);
  }
}

void muon_apply(Primitives& device, std::uint64_t n, const MuonShape& shape, const Array& master,
                const std::byte* direction, const std::optional<Array>& weight,
                const MuonNumbers& numbers) {
  decay(device, n, master, numbers);
  device.scale({step_of(shape, numbers)}, n, {direction, Element::bf16}, written(master, true));
  if (weight) device.convert(n, master, written(*weight, false));
}

void muon_step(Primitives& device, const MuonArrays& arrays, const MuonNumbers& numbers) {
  const MuonShape shape = arrays.shape();
  const std::uint64_t each = shape.each(), all = shape.count * each;
  add_gradient(device, all, arrays.momentum, arrays.gradient, numbers);
  decay(device, all, arrays.master, numbers);
  for (std::uint64_t i = 0; i < shape.count; ++i) {
    Orthogonal matrix = orthogonal(device, shape, arrays.workspace, i);
    const auto part = [&](const ConstArray& of) {
      return Input{of.data + i * each * size_of(of.type), of.type};
    };
    look_ahead(device, each, part(arrays.momentum), part(arrays.gradient), matrix.begin(), numbers);
    const Output master{arrays.master.data + i * each * size_of(arrays.master.type),
                        arrays.master.type, true};
    device.scale({step_of(shape, numbers)}, each, matrix.end(), master);
  }
  if (arrays.weight) device.convert(all, arrays.master, written(*arrays.weight, false));
}

}  // namespace spillway::hw_backend
