#include "hw_backend/arithmetic/host_primitives.hpp"
#include "strategies/machine/kernel.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <numeric>
#include <vector>

/// Columns that are chosen and packed by shares of a matrix, against a loop over the whole of it.
namespace spillway::hw_backend::columns_test {
namespace {

constexpr std::uint64_t rows = 7, width = 10;

/// Whole numbers, whose sums are exact in any order.
std::vector<float> matrix() {
  std::vector<float> values(rows * width);
  for (std::uint64_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 37 + 11) % 101) * (i % 3 == 0 ? -1.0f : 1.0f);
  return values;
}

std::vector<float> sums_of(const std::vector<float>& values) {
  std::vector<float> sums(width);
  for (std::uint64_t i = 0; i < values.size(); ++i) sums[i % width] += std::abs(values[i]);
  return sums;
}

/// The shares of a matrix that `ways` ranks hold, the last one padded by what must be ignored.
struct Shared {
  std::uint64_t ways, share, chosen, stride;
  std::vector<float> values = matrix();
  std::vector<std::uint32_t> indices = std::vector<std::uint32_t>(chosen);

  Shared(std::uint64_t of, std::uint64_t columns)
      : ways(of),
        share((rows * width + of - 1) / of),
        chosen(columns),
        stride(strategies::PackedColumns{rows, width, columns, share}.room() + 1) {
    values.resize(ways * share, 1000);
  }
  ChosenColumns all() const {
    return {rows, width, chosen, indices.data(), 0, share, ways, stride};
  }
  ChosenColumns of(std::uint64_t rank) const {
    return {rows, width, chosen, indices.data(), rank * share, share, 1, stride};
  }
};

template <class T>
Input input(const std::vector<T>& from, std::uint64_t first = 0) {
  return {reinterpret_cast<const std::byte*>(from.data() + first), Element::fp32};
}
Output output(std::vector<float>& into, std::uint64_t first = 0) {
  return {reinterpret_cast<std::byte*>(into.data() + first), Element::fp32};
}

class Columns : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  HostPrimitives primitives_;
};

TEST_P(Columns, OfSharesAddUpToThoseOfTheWhole) {
  const Shared shared(GetParam(), 3);
  std::vector<float> all(width);
  for (std::uint64_t rank = 0; rank < shared.ways; ++rank) {
    std::vector<float> sums(width, 5);
    primitives_.sum_columns(shared.of(rank), input(shared.values, rank * shared.share),
                            sums.data());
    for (std::uint64_t i = 0; i < width; ++i) all[i] += sums[i];
  }
  EXPECT_EQ(all, sums_of(matrix()));
}

TEST_P(Columns, AreThoseWithTheLargestSums) {
  Shared shared(GetParam(), 4);
  const std::vector<float> sums = sums_of(matrix());
  primitives_.choose_columns(shared.all(), sums.data(), shared.indices.data());
  for (const std::uint32_t chosen : shared.indices)
    EXPECT_LE(
        std::count_if(sums.begin(), sums.end(), [&](float sum) { return sum > sums[chosen]; }), 3);
  EXPECT_TRUE(std::is_sorted(shared.indices.begin(), shared.indices.end(),
                             [&](auto one, auto other) { return sums[one] > sums[other]; }));
}

// What ranks take out of their shares is together what is taken out of the whole, and holds each
// number of the columns once.
TEST_P(Columns, AreTakenAlikeOutOfSharesAndTheWhole) {
  for (const std::uint64_t count : {std::uint64_t{3}, width}) {
    Shared shared(GetParam(), count);
    std::iota(shared.indices.begin(), shared.indices.end(), 2u);
    if (count == width) std::iota(shared.indices.begin(), shared.indices.end(), 0u);
    std::vector<float> whole(shared.ways * shared.stride, 7), parts(whole.size(), 7);
    primitives_.take_columns(shared.all(), input(shared.values), output(whole));
    for (std::uint64_t rank = 0; rank < shared.ways; ++rank)
      primitives_.take_columns(shared.of(rank), input(shared.values, rank * shared.share),
                               output(parts, rank * shared.stride));
    EXPECT_EQ(whole, parts);
    std::vector<float> expected, found = whole;
    for (std::uint64_t row = 0; row < rows; ++row)
      for (const std::uint32_t column : shared.indices)
        expected.push_back(matrix()[row * width + column]);
    expected.resize(found.size());
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
  }
}

TEST_P(Columns, AreAllThatIsPutBack) {
  Shared shared(GetParam(), 3);
  shared.indices = {8, 0, 5};
  std::vector<float> packed(shared.ways * shared.stride), into(shared.values.size(), -1);
  primitives_.take_columns(shared.all(), input(shared.values), output(packed));
  primitives_.put_columns(shared.all(), input(packed), output(into));
  for (std::uint64_t i = 0; i < into.size(); ++i) {
    const std::uint64_t column = i % width;
    const bool chosen = i < rows * width && (column == 8 || column == 0 || column == 5);
    EXPECT_EQ(into[i], chosen ? shared.values[i] : -1) << i;
  }
}

// Seven rows are cut within a row by 2, 3 and 4 ranks; the last of 9 has padding alone behind it.
INSTANTIATE_TEST_SUITE_P(Of, Columns, ::testing::Values(1, 2, 3, 4, 9));

}  // namespace
}  // namespace spillway::hw_backend::columns_test
