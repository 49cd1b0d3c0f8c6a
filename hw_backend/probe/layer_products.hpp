#pragma once

#include "hw_backend/probe/device_loop.hpp"
#include "hw_backend/probe/session.hpp"

namespace spillway::hw_backend {

/// A layer's product y = x W^T and the two of its backward pass, as training does them. Nothing
/// that is computed is an operand again: numbers neither grow nor vanish.
///   x [rows, inner], weight [columns, inner], y [rows, columns], and a gradient of each
class LayerProducts {
 public:
  LayerProducts(Device& device, ProductShape shape, Element type)
      : shape_(shape),
        type_(type),
        x_(device, shape.rows * shape.inner * size_of(type)),
        weight_(device, shape.columns * shape.inner * size_of(type)),
        y_gradient_(device, shape.rows * shape.columns * size_of(type)),
        y_(device, y_gradient_.bytes()),
        x_gradient_(device, x_.bytes()),
        weight_gradient_(device, weight_.bytes()) {}

  /// Values that no power-saving circuit can guess.
  void fill(Primitives& device) const {
    const InitialRule rule{0, 0.1f};
    for (const DeviceArea* each : {&x_, &weight_, &y_gradient_})
      device.initialize(rule, RandomStream{}, 0, each->bytes() / size_of(type_),
                        {each->data(), type_});
  }

  void run(Primitives& device) const {
    const std::uint64_t rows = shape_.rows, columns = shape_.columns, inner = shape_.inner;
    const MatrixInput x = input(x_, inner), w = input(weight_, inner);
    const MatrixInput dy = input(y_gradient_, columns);
    device.product({rows, columns, inner, 1, x, transposed(w), output(y_, columns), 1.0f});
    device.product({rows, inner, columns, 1, dy, w, output(x_gradient_, inner), 1.0f});
    device.product(
        {columns, inner, rows, 1, transposed(dy), x, output(weight_gradient_, inner), 1.0f});
  }
  double flops() const { return 3 * shape_.flops(); }

 private:
  MatrixInput input(const DeviceArea& memory, std::uint64_t stride) const {
    MatrixInput made;
    made.values = {memory.data(), type_};
    made.stride = stride;
    return made;
  }
  MatrixOutput output(const DeviceArea& memory, std::uint64_t stride) const {
    MatrixOutput made;
    made.values = {memory.data(), type_};
    made.stride = stride;
    return made;
  }
  static MatrixInput transposed(MatrixInput matrix) {
    matrix.transposed = true;
    return matrix;
  }

  ProductShape shape_;
  Element type_;
  DeviceArea x_, weight_, y_gradient_, y_, x_gradient_, weight_gradient_;
};

}  // namespace spillway::hw_backend
