#include "hw_backend/arithmetic/matrix_steps.hpp"
#include "hw_backend/arithmetic/host_primitives.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <vector>

namespace spillway::hw_backend::matrix_steps_test {
namespace {

Array array(std::vector<float>& of) {
  return {reinterpret_cast<std::byte*>(of.data()), Element::fp32};
}

std::vector<float> noise(std::uint64_t n, std::uint32_t seed) {
  RandomKey key;
  key.draw = seed;
  const RandomStream stream = random_stream(RandomUse::initial_values, key);
  std::vector<float> values(n);
  for (std::uint64_t i = 0; i < n; ++i) values[i] = initial_value({0, 1}, stream, i);
  return values;
}

/// Of [rows, columns] one behind the other: X X' or X' X, whichever is the smaller.
std::vector<double> gram(const float* x, std::uint64_t rows, std::uint64_t columns) {
  const std::uint64_t side = std::min(rows, columns), inner = std::max(rows, columns);
  std::vector<double> all(side * side);
  const auto at = [&](std::uint64_t of_side, std::uint64_t of_inner) {
    return rows <= columns ? x[of_side * columns + of_inner] : x[of_inner * columns + of_side];
  };
  for (std::uint64_t i = 0; i < side; ++i)
    for (std::uint64_t j = 0; j < side; ++j)
      for (std::uint64_t k = 0; k < inner; ++k)
        all[i * side + j] += double{at(i, k)} * double{at(j, k)};
  return all;
}

// Five iterations bring singular values to between 0.7 and 1.2, and keep the directions: what the
// masters lose is nearly orthogonal and has a positive product with the gradient.
TEST(Muon, TakesOffAMatrixThatIsNearlyOrthogonal) {
  struct Shape {
    std::uint64_t rows, columns;
  };
  for (const Shape& shape : {Shape{16, 64}, Shape{64, 16}}) {
    SCOPED_TRACE(shape.rows);
    const std::uint64_t each = shape.rows * shape.columns, count = 2;
    std::vector<float> master(count * each), momentum(count * each);
    std::vector<float> gradient = noise(count * each, 3);
    std::vector<float> workspace(count * (2 * each + 2 * 16 * 16));
    HostPrimitives device;
    MuonArrays arrays{array(master), array(momentum), array(gradient), {}};
    arrays.rows = shape.rows;
    arrays.columns = shape.columns;
    arrays.count = count;
    arrays.workspace = array(workspace).data;
    muon_step(device, arrays, {.learning_rate = 1});
    EXPECT_EQ(momentum, gradient);
    const double size = std::sqrt(std::max(1.0, double(shape.rows) / double(shape.columns)));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::vector<double> product = gram(&master[i * each], shape.rows, shape.columns);
      double trace = 0, off = 0, along = 0;
      for (std::uint64_t r = 0; r < 16; ++r)
        for (std::uint64_t c = 0; c < 16; ++c)
          (r == c ? trace : off) += r == c ? product[r * 16 + c] : std::pow(product[r * 16 + c], 2);
      EXPECT_NEAR(trace / 16 / (size * size), 0.9, 0.25);
      EXPECT_LT(std::sqrt(off / (16 * 15)) / (size * size), 0.1);
      for (std::uint64_t k = 0; k < each; ++k)
        along -= master[i * each + k] * gradient[i * each + k];
      EXPECT_GT(along, 0);
    }
  }
}

TEST(Muon, KeepsAShareOfTheMomentum) {
  std::vector<float> master(64), momentum(64, 2), gradient(64, 1), workspace(256);
  HostPrimitives device;
  MuonArrays arrays{array(master), array(momentum), array(gradient), {}};
  arrays.rows = arrays.columns = 8;
  arrays.workspace = array(workspace).data;
  muon_step(device, arrays, {.learning_rate = 0.5, .beta = 0.5, .inverse_scale = 0.25});
  EXPECT_FLOAT_EQ(momentum[5], 0.5f * 2 + 0.25f);
  // of rank one: all elements are alike, the norm between 0.7 and 1.2
  EXPECT_NEAR(master[0], -0.5 * 0.95 / 8, 0.5 * 0.3 / 8);
  EXPECT_FLOAT_EQ(master[0], master[63]);
}

/// The averages and masters of a step in doubles.
struct Expected {
  std::vector<double> rows, columns, master;
};

Expected stepped(const std::vector<float>& master, const std::vector<float>& gradient,
                 std::uint64_t rows, std::uint64_t columns, double rate, double rest) {
  Expected all{std::vector<double>(rows), std::vector<double>(columns), {}};
  double mean = 0, updates = 0, masters = 0;
  for (std::uint64_t i = 0; i < rows * columns; ++i) {
    const double square = double{gradient[i]} * double{gradient[i]};
    all.rows[i / columns] += rest * square / static_cast<double>(columns);
    all.columns[i % columns] += rest * square / static_cast<double>(rows);
    mean += rest * square / static_cast<double>(rows * columns);
    masters += double{master[i]} * double{master[i]};
  }
  std::vector<double> update(rows * columns);
  for (std::uint64_t i = 0; i < update.size(); ++i) {
    update[i] = gradient[i] / std::sqrt(all.rows[i / columns] * all.columns[i % columns] / mean);
    updates += update[i] * update[i];
  }
  const auto n = static_cast<double>(update.size());
  const double alpha = rate * std::max(1e-3, std::sqrt(masters / n));
  for (std::uint64_t i = 0; i < update.size(); ++i)
    all.master.push_back(master[i] - alpha / std::max(1.0, std::sqrt(updates / n)) * update[i]);
  return all;
}

TEST(Adafactor, HasAveragesOfRowsAndColumns) {
  const std::uint64_t rows = 13, columns = 40;
  std::vector<float> master = noise(rows * columns, 1), gradient = noise(rows * columns, 2);
  std::vector<float> row_means(rows), column_means(columns);
  const Expected expected = stepped(master, gradient, rows, columns, 0.01, 1);
  HostPrimitives device;
  AdafactorArrays arrays{array(master), array(gradient), {}, rows, columns};
  arrays.row_means = row_means.data();
  arrays.column_means = column_means.data();
  device.adafactor(arrays, adafactor_scalars(0.01, 0, 1, 1));
  for (std::uint64_t i = 0; i < rows; ++i) EXPECT_NEAR(row_means[i], expected.rows[i], 1e-5);
  for (std::uint64_t i = 0; i < columns; ++i)
    EXPECT_NEAR(column_means[i], expected.columns[i], 1e-5);
  for (std::uint64_t i = 0; i < master.size(); ++i)
    EXPECT_NEAR(master[i], expected.master[i], 1e-6) << i;
}

// Without factors an element's average is its own: in the first step every element moves alike.
TEST(Adafactor, OfAVectorHasAnAverageForEachElement) {
  std::vector<float> master(32, 1), gradient = noise(32, 5), squares(32);
  HostPrimitives device;
  AdafactorArrays arrays{array(master), array(gradient), {}, 1, 32};
  arrays.squares = squares.data();
  device.adafactor(arrays, adafactor_scalars(0.01, 0, 1, 1));
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_FLOAT_EQ(squares[i], gradient[i] * gradient[i]);
    EXPECT_NEAR(master[i], gradient[i] > 0 ? 0.99 : 1.01, 1e-5) << i;
  }
  // the second step keeps 1 - 2^-0.8 of it
  gradient.assign(32, 0);
  const float before = squares[3];
  device.adafactor(arrays, adafactor_scalars(0.01, 0, 1, 2));
  EXPECT_FLOAT_EQ(squares[3], before * (1 - std::pow(2.0f, -0.8f)));
}

}  // namespace
}  // namespace spillway::hw_backend::matrix_steps_test
