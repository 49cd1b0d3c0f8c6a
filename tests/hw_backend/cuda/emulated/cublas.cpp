#include "tests/hw_backend/cuda/emulated/cublas_v2.h"

#include "hw_backend/cpu/element.hpp"
#include "hw_backend/cuda/cublas_library.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <vector>

namespace {

using spillway::hw_backend::Array;
using spillway::hw_backend::ConstArray;
using spillway::hw_backend::Element;

Element element_of(cudaDataType type) {
  return type == CUDA_R_32F ? Element::fp32 : type == CUDA_R_16F ? Element::fp16 : Element::bf16;
}

ConstArray array(const void* data, cudaDataType type) {
  return {static_cast<const std::byte*>(data), element_of(type)};
}

/// Of element (row, column) of op(matrix) in column-major storage.
std::size_t place(cublasOperation_t operation, std::int64_t row, std::int64_t column,
                  std::int64_t ld) {
  return static_cast<std::size_t>(operation == CUBLAS_OP_N ? row + column * ld : column + row * ld);
}

/// op(matrix) [rows, columns], column after column.
std::vector<double> dense(ConstArray matrix, long long first, cublasOperation_t operation,
                          std::int64_t rows, std::int64_t columns, std::int64_t ld) {
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row)
      values[static_cast<std::size_t>(row + column * rows)] =
          double{load(matrix, static_cast<std::size_t>(first) + place(operation, row, column, ld))};
  return values;
}

void add_scaled(double* sums, const double* column, double scale, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) sums[row] += column[row] * scale;
}

}  // namespace

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};

namespace {
cublasStatus_t begin_call() {
  return emulated::begin_call() == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                               : CUBLAS_STATUS_EXECUTION_FAILED;
}
}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (const cublasStatus_t fault = begin_call()) return fault;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return begin_call();
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  handle->workspace = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t) {
  handle->workspace = workspace;
  return reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0 ? CUBLAS_STATUS_SUCCESS
                                                                : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
  return "";
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t a_operation, cublasOperation_t b_operation,
    std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
    cudaDataType a_type, std::int64_t lda, long long a_stride, const void* b, cudaDataType b_type,
    std::int64_t ldb, long long b_stride, const void* beta, void* c, cudaDataType c_type,
    std::int64_t ldc, long long c_stride, std::int64_t batch, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm) {
  const bool fits = lda >= (a_operation == CUBLAS_OP_N ? m : k) &&
                    ldb >= (b_operation == CUBLAS_OP_N ? k : n) && ldc >= m;
  const bool types = a_type == b_type && (c_type == a_type || c_type == CUDA_R_32F);
  if (!fits || !types || m < 1 || n < 1 || k < 1 || batch < 1 || !handle->workspace ||
      compute != CUBLAS_COMPUTE_32F || algorithm != CUBLAS_GEMM_DEFAULT ||
      (batch > 1 && c_stride == 0))
    return CUBLAS_STATUS_INVALID_VALUE;
  const double scale = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  const Array into{static_cast<std::byte*>(c), element_of(c_type)};
  const cudaError_t enqueued = enqueue_emulated(handle->stream, [=] {
    for (std::int64_t matrix = 0; matrix < batch; ++matrix) {
      const std::vector<double> left =
          dense(array(a, a_type), matrix * a_stride, a_operation, m, k, lda);
      const std::vector<double> right =
          dense(array(b, b_type), matrix * b_stride, b_operation, k, n, ldb);
      std::vector<double> sums(static_cast<std::size_t>(m));
      for (std::int64_t column = 0; column < n; ++column) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t i = 0; i < k; ++i)
          add_scaled(sums.data(), left.data() + i * m,
                     right[static_cast<std::size_t>(i + column * k)], m);
        for (std::int64_t row = 0; row < m; ++row) {
          const auto at = static_cast<std::size_t>(matrix * c_stride + row + column * ldc);
          const double before = keep == 0 ? 0 : keep * double{load(into, at)};
          store(into, at, static_cast<float>(scale * sums[static_cast<std::size_t>(row)] + before));
        }
      }
    }
  });
  return enqueued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

namespace spillway::hw_backend {

const CublasLibrary& cublas_library() {
  static const CublasLibrary emulated_library = [] {
    CublasLibrary found;
    found.create = cublasCreate_v2;
    found.destroy = cublasDestroy_v2;
    found.set_stream = cublasSetStream_v2;
    found.set_workspace = cublasSetWorkspace_v2;
    found.set_math_mode = cublasSetMathMode;
    found.multiply = cublasGemmStridedBatchedEx_64;
    found.name_of = cublasGetStatusName;
    return found;
  }();
  return emulated_library;
}

void check(cublasStatus_t result, const std::string& call) {
  if (result != CUBLAS_STATUS_SUCCESS)
    throw description::DeviceError(call + ": " + cublasGetStatusName(result));
}

}  // namespace spillway::hw_backend
