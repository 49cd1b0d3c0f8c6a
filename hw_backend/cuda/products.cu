#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace on_device {

namespace {

__global__ void store_matrices(Input from, std::uint64_t rows, std::uint64_t columns,
                               std::uint64_t batch, MatrixOutput into) {
  const std::uint64_t fours = (columns + 3) / 4;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       at < batch * rows * fours; at += threads) {
    const std::uint64_t column = at % fours * 4, row = at / fours % rows,
                        matrix = at / fours / rows;
    const std::uint64_t count = columns - column < 4 ? columns - column : 4;
    const Vec4 values = get4(from, (matrix * rows + row) * columns + column, count);
    put4(into.values, matrix * into.batch_stride + row * into.stride + column, count, values);
  }
}

__global__ void add_bias(std::uint64_t rows, std::uint64_t width, Input bias, Output y) {
  const std::uint64_t fours = (width + 3) / 4;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       at < rows * fours; at += threads) {
    const std::uint64_t column = at % fours * 4, first = at / fours * width + column;
    const std::uint64_t count = width - column < 4 ? width - column : 4;
    Vec4 values = get4(y.data, y.type, first, count);
    const Vec4 more = get4(bias, column, count);
    for (int i = 0; i < 4; ++i) values.value[i] += more.value[i];
    put4(y, first, count, values);
  }
}

}  // namespace

}  // namespace on_device

namespace {

// Of c: a tile of 8 Mi elements is enough for all of a device's processors, and in fp32 32 MiB.
constexpr std::uint64_t most_tile_rows = 4096, most_tile_elements = 8u << 20;
constexpr std::uint64_t workspace_bytes = 32u << 20;
// What attention takes at most of sequences that need no more, 16 B for each of 64 Ki tokens, and
// the angles of 64 Ki positions.
constexpr std::uint64_t usual_attention_bytes = 48u << 20, usual_rows_bytes = 1u << 20;
constexpr std::uint64_t usual_turns_bytes = 1u << 20;

std::byte* moved(std::byte* data, Element type, std::uint64_t elements) {
  return data + elements * size_of(type);
}

MatrixInput moved(MatrixInput matrix, std::uint64_t batch, std::uint64_t row,
                  std::uint64_t column) {
  const std::uint64_t first = matrix.transposed ? column : row;
  const std::uint64_t second = matrix.transposed ? row : column;
  const std::uint64_t elements = batch * matrix.batch_stride + first * matrix.stride + second;
  matrix.values.data += elements * size_of(matrix.values.type);
  return matrix;
}

}  // namespace

void CudaPrimitives::reserve() {
  workspace_.take(workspace_bytes);
  sums_.take(most_tile_elements * sizeof(float));
  attention_.take(usual_attention_bytes);
  rows_.take(usual_rows_bytes);
  turns_.take(usual_turns_bytes);
}

void CudaPrimitives::reserve_for(const std::function<void(Primitives&)>& work) {
  {
    const DryRun dry;
    work(*this);
  }
  for (Scratch* each : {&workspace_, &sums_, &attention_, &rows_, &turns_}) each->take_noted();
}

void CudaPrimitives::multiply(const Multiplication& call) {
  plans_.multiply(stream_, call, workspace_.take(workspace_bytes), workspace_bytes);
}

void CudaPrimitives::product_tile(const Product& p) {
  const Output& c = p.c.values;
  Multiplication m{p.rows, p.columns, p.inner, p.batch, p.a, p.b, c.data, c.type};
  m.stride = p.c.stride;
  m.batch_stride = p.c.batch_stride;
  m.scale = p.scale;
  if (!c.add) return multiply(m);
  m.c = sums_.take(most_tile_elements * sizeof(float));
  m.stride = p.columns;
  m.batch_stride = p.rows * p.columns;
  multiply(m);
  store_matrices(stream_, {m.c, m.type}, p.rows, p.columns, p.batch, p.c);
}

// Tiles are the same whether the product adds or not: their bits must be, too.
void CudaPrimitives::product(const Product& p) {
  if (p.rows == 0 || p.columns == 0 || p.batch == 0) return;
  ENSURE(p.inner > 0, "a product over nothing");
  const std::uint64_t rows = std::min(p.rows, most_tile_rows);
  const std::uint64_t columns = std::min(p.columns, most_tile_elements / rows);
  const bool in_one = rows == p.rows && columns == p.columns;
  const std::uint64_t batch = in_one ? std::min(p.batch, most_tile_elements / (rows * columns)) : 1;
  for (std::uint64_t matrix = 0; matrix < p.batch; matrix += batch)
    for (std::uint64_t row = 0; row < p.rows; row += rows)
      for (std::uint64_t column = 0; column < p.columns; column += columns) {
        Product tile = p;
        tile.rows = std::min(rows, p.rows - row);
        tile.columns = std::min(columns, p.columns - column);
        tile.batch = std::min(batch, p.batch - matrix);
        tile.a = moved(p.a, matrix, row, 0);
        tile.b = moved(p.b, matrix, 0, column);
        tile.c.values.data = moved(p.c.values.data, p.c.values.type,
                                   matrix * p.c.batch_stride + row * p.c.stride + column);
        product_tile(tile);
      }
}

void store_matrices(cudaStream_t stream, Input from, std::uint64_t rows, std::uint64_t columns,
                    std::uint64_t batch, const MatrixOutput& into) {
  const std::uint64_t fours = batch * rows * divided_up(columns, 4);
  launch(stream, "store_matrices", on_device::store_matrices, divided_up(fours, block_threads),
         from, rows, columns, batch, into);
}

void CudaPrimitives::add_bias(std::uint64_t rows, std::uint64_t width, Input bias, Output y) {
  y.add = false;
  launch(stream_, "add_bias", on_device::add_bias,
         divided_up(rows * divided_up(width, 4), block_threads), rows, width, bias, y);
}

}  // namespace spillway::hw_backend
