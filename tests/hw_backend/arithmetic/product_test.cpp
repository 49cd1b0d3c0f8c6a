#include "tests/hw_backend/arithmetic/executor.hpp"

#include <gtest/gtest.h>
#include <cmath>

namespace spillway::hw_backend {
namespace {

struct Values {
  Values(std::size_t elements, Element type, std::uint32_t seed, std::size_t shift = 0)
      : count(elements), element(type), memory(elements * size_of(type), shift) {
    for (std::size_t i = 0; i < count; ++i)
      store(array(), i, initial_value({0, 1}, initial_stream(seed, 0), i));
  }
  Array array() { return {memory.data(), element}; }
  double at(std::size_t i) { return load(array(), i); }

  std::size_t count;
  Element element;
  Memory memory;
};

/// What the product should be, in fp64; c before it where it adds.
double expected(const Product& p, Values& a, Values& b, std::uint64_t batch, std::uint64_t row,
                std::uint64_t column) {
  double sum = 0;
  for (std::uint64_t k = 0; k < p.inner; ++k) {
    const std::uint64_t ia = p.a.transposed ? k * p.a.stride + row : row * p.a.stride + k;
    const std::uint64_t ib = p.b.transposed ? column * p.b.stride + k : k * p.b.stride + column;
    sum += a.at(batch * p.a.batch_stride + ia) * b.at(batch * p.b.batch_stride + ib);
  }
  return p.scale * sum;
}

struct Shape {
  std::uint64_t rows, columns, inner;
};

void check(Isa isa, Shape shape, Element type, bool a_transposed, bool b_transposed, bool add) {
  // rows in memory are 3 elements longer than what is used
  const std::uint64_t a_stride = (a_transposed ? shape.rows : shape.inner) + 3;
  const std::uint64_t b_stride = (b_transposed ? shape.inner : shape.columns) + 3;
  const std::uint64_t a_size = a_stride * (a_transposed ? shape.inner : shape.rows);
  const std::uint64_t b_size = b_stride * (b_transposed ? shape.columns : shape.inner);
  const std::uint64_t c_stride = shape.columns + 3, c_size = shape.rows * c_stride;
  Values a(2 * a_size, type, 1), b(b_size, type, 2), c(2 * c_size, type, 3);
  Values before = c;
  Product p{shape.rows, shape.columns, shape.inner, 2};
  p.a = {a.array(), a_stride, a_transposed, a_size};
  p.b = {b.array(), b_stride, b_transposed, 0};
  p.c = {{c.memory.data(), type, add}, c_stride, c_size};
  p.scale = 0.5f;
  before.memory = c.memory;
  HostPrimitives(isa).product(p);
  const double precision = type == Element::fp32 ? 1e-6 : type == Element::fp16 ? 1e-3 : 8e-3;
  const double largest = std::sqrt(static_cast<double>(shape.inner)) + 1;
  for (std::uint64_t batch = 0; batch < 2; ++batch)
    for (std::uint64_t row = 0; row < shape.rows; ++row)
      for (std::uint64_t column = 0; column < c_stride; ++column) {
        const std::uint64_t at = batch * c_size + row * c_stride + column;
        if (column >= shape.columns) {
          ASSERT_EQ(c.at(at), before.at(at)) << "written between the rows";
          continue;
        }
        const double sum = expected(p, a, b, batch, row, column) + (add ? before.at(at) : 0);
        ASSERT_NEAR(c.at(at), sum, precision * (largest + std::abs(sum)))
            << row << ", " << column << " of batch " << batch;
      }
}

class EveryProduct : public testing::TestWithParam<Isa> {};

TEST_P(EveryProduct, OfAnyTransposesAndTypesIsRight) {
  for (const Element type : {Element::fp32, Element::fp16, Element::bf16})
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        for (const bool add : {false, true}) check(GetParam(), {19, 23, 31}, type, a, b, add);
}

TEST_P(EveryProduct, OfOneElementARowOrAColumnIsRight) {
  for (const bool transposed : {false, true}) {
    check(GetParam(), {1, 1, 1}, Element::fp32, transposed, transposed, false);
    check(GetParam(), {1, 40, 70}, Element::fp32, transposed, transposed, false);
    check(GetParam(), {40, 1, 70}, Element::bf16, transposed, transposed, true);
    check(GetParam(), {40, 50, 1}, Element::fp32, transposed, transposed, true);
  }
}

TEST_P(EveryProduct, OfSeveralBlocksIsRight) {
  // blocks are 256 rows, 512 columns and 1024 inner elements: two of each, the last of one element
  check(GetParam(), {257, 513, 9}, Element::bf16, false, true, false);
  check(GetParam(), {5, 7, 1025}, Element::fp32, true, false, true);
  check(GetParam(), {257, 2, 1025}, Element::fp16, false, false, false);
}

TEST_P(EveryProduct, HasTheSameBitsAtAnyAlignment) {
  const auto bits = [](Element type, std::size_t shift) {
    Values a(70 * 90, type, 1, shift), b(90 * 50, type, 2, 2 * shift), c(70 * 50, type, 3, shift);
    Product p{70, 50, 90};
    p.a = {a.array(), 90};
    p.b = {b.array(), 50};
    p.c = {{c.memory.data(), type, false}, 50};
    HostPrimitives(GetParam()).product(p);
    return c.memory.copy();
  };
  for (const Element type : {Element::fp32, Element::fp16, Element::bf16})
    for (const std::size_t shift : {4u, 12u, 28u, 32u, 60u})
      EXPECT_EQ(bits(type, shift), bits(type, 0));
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, EveryProduct, testing::ValuesIn(available_isas()),
                         [](const auto& row) { return std::string(to_string(row.param)); });

TEST(SumRows, AddsUpColumns) {
  // 1 2 3 / 4 5 6
  Values x(6, Element::fp32, 1), sum(3, Element::fp32, 1);
  for (std::size_t i = 0; i < 6; ++i) store(x.array(), i, static_cast<float>(i + 1));
  HostPrimitives().sum_rows(2, 3, x.array(), {sum.memory.data(), Element::fp32, false});
  EXPECT_EQ(sum.at(0), 5);
  EXPECT_EQ(sum.at(2), 9);
  HostPrimitives().sum_rows(2, 3, x.array(), {sum.memory.data(), Element::fp32, true});
  EXPECT_EQ(sum.at(1), 14);
}

}  // namespace
}  // namespace spillway::hw_backend
