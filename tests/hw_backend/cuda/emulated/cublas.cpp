#include "hw_backend/cpu/element.hpp"
#include "hw_backend/cuda/cublas_library.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <vector>

struct EmulatedLt {};
struct EmulatedLayout {
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t rows = 0, columns = 0, ld = 0, stride = 0;
  std::int32_t batch = 1;
};
struct EmulatedMatmul {
  std::int32_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
};
struct EmulatedPreference {
  std::uint64_t workspace = 0;
  std::uint32_t sums = 7, alignments[4] = {256, 256, 256, 256};
};

namespace {

using spillway::hw_backend::Array;
using spillway::hw_backend::ConstArray;
using spillway::hw_backend::Element;

Element element_of(cudaDataType_t type) {
  return type == CUDA_R_32F ? Element::fp32 : type == CUDA_R_16F ? Element::fp16 : Element::bf16;
}

ConstArray array(const void* data, cudaDataType_t type) {
  return {static_cast<const std::byte*>(data), element_of(type)};
}

/// Matrix `index` of a batch as op(matrix) [rows, columns], column after column.
std::vector<float> dense(const void* data, const EmulatedLayout& layout, std::int32_t operation,
                         std::int64_t index) {
  const bool turned = operation == CUBLAS_OP_T;
  const std::int64_t rows = turned ? layout.columns : layout.rows;
  const std::int64_t columns = turned ? layout.rows : layout.columns;
  const ConstArray from = array(data, layout.type);
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row)
      values[static_cast<std::size_t>(row + column * rows)] = load(
          from,
          static_cast<std::size_t>(index * layout.stride +
                                   (turned ? column + row * layout.ld : row + column * layout.ld)));
  return values;
}

void add_scaled(float* sums, const float* column, float scale, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) sums[row] += column[row] * scale;
}

cublasStatus_t begin_call() {
  return emulated::begin_call() == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                               : CUBLAS_STATUS_EXECUTION_FAILED;
}

/// What cuBLASLt would say of operands that do not fit.
bool fits(const EmulatedMatmul& call, const EmulatedLayout& a, const EmulatedLayout& b,
          const EmulatedLayout& c) {
  const std::int64_t m = call.a == CUBLAS_OP_N ? a.rows : a.columns;
  const std::int64_t k = call.a == CUBLAS_OP_N ? a.columns : a.rows;
  const std::int64_t other_k = call.b == CUBLAS_OP_N ? b.rows : b.columns;
  const std::int64_t n = call.b == CUBLAS_OP_N ? b.columns : b.rows;
  for (const EmulatedLayout* each : {&a, &b, &c})
    if (each->ld < each->rows || each->rows < 1 || each->columns < 1 || each->batch != c.batch)
      return false;
  return m == c.rows && n == c.columns && k == other_k && a.type == b.type &&
         (c.type == a.type || c.type == CUDA_R_32F) && (c.batch == 1 || c.stride > 0);
}

/// c = scale x a b + keep x c of one matrix; `parts` sums, one after the other through the terms.
void multiply(const std::vector<float>& a, const std::vector<float>& b, Array c,
              const EmulatedLayout& layout, std::int64_t index, std::int64_t parts, float scale,
              float keep) {
  const std::int64_t m = layout.rows, k = static_cast<std::int64_t>(a.size()) / m;
  std::vector<float> sums(static_cast<std::size_t>(m * parts));
  for (std::int64_t column = 0; column < layout.columns; ++column) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::int64_t i = 0; i < k; ++i)
      add_scaled(sums.data() + i % parts * m, a.data() + i * m,
                 b[static_cast<std::size_t>(i + column * k)], m);
    for (std::int64_t part = 1; part < parts; ++part)
      add_scaled(sums.data(), sums.data() + part * m, 1, m);
    for (std::int64_t row = 0; row < m; ++row) {
      const auto at = static_cast<std::size_t>(index * layout.stride + row + column * layout.ld);
      const float before = keep == 0 ? 0 : keep * load(c, at);
      store(c, at, scale * sums[static_cast<std::size_t>(row)] + before);
    }
  }
}

/// What one call makes and another one ends.
template <class Value>
cublasStatus_t make(Value** into, Value value = {}) {
  *into = new Value(value);
  return CUBLAS_STATUS_SUCCESS;
}
template <class Value>
cublasStatus_t end(Value* made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Value>
cublasStatus_t set(Value& into, const void* value, std::size_t bytes) {
  if (bytes != sizeof into) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&into, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (const cublasStatus_t fault = begin_call()) return fault;
  return make(handle);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  end(handle);
  return begin_call();
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "";
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t ld) {
  return make(layout, EmulatedLayout{type, static_cast<std::int64_t>(rows),
                                     static_cast<std::int64_t>(columns), ld});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return end(layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t what,
                                                const void* value, std::size_t bytes) {
  return what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? set(layout->batch, value, bytes)
                                                    : set(layout->stride, value, bytes);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t,
                                        cudaDataType_t scale) {
  if (scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  return make(description);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return end(description);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void* value, std::size_t bytes) {
  return set(what == CUBLASLT_MATMUL_DESC_TRANSA ? description->a : description->b, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return make(preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return end(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void* value, std::size_t bytes) {
  if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return set(preference->workspace, value, bytes);
  if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    return set(preference->sums, value, bytes);
  return set(preference->alignments[what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
             bytes);
}

/// An algorithm is in how many parts it sums, and the alignment that it needs of a, b and d.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a_layout,
    cublasLtMatrixLayout_t b_layout, cublasLtMatrixLayout_t c_layout, cublasLtMatrixLayout_t,
    cublasLtMatmulPreference_t preference, int asked, cublasLtMatmulHeuristicResult_t* results,
    int* found) {
  if (const cublasStatus_t fault = begin_call()) return fault;
  if (asked < 1 || preference->workspace == 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (!fits(*description, *a_layout, *b_layout, *c_layout)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *found = 1;
  *results = {};
  const std::uint32_t* const given = preference->alignments;
  const std::uint32_t least = std::min({given[0], given[1], given[2], given[3]});
  results->algo.data[0] = least >= 128 ? 4 : least >= 16 ? 3 : 2;
  for (int i = 0; i < 3; ++i) results->algo.data[1 + i] = given[i];
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t,
                              cudaStream_t stream) {
  const auto misplaced = [&](const void* data, int which) {
    return reinterpret_cast<std::uintptr_t>(data) % algorithm->data[which] != 0;
  };
  if (!algorithm || !workspace || c != d || misplaced(a, 1) || misplaced(b, 2) || misplaced(d, 3) ||
      !fits(*description, *a_layout, *b_layout, *d_layout))
    return CUBLAS_STATUS_INVALID_VALUE;
  const float scale = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  const Array into{static_cast<std::byte*>(d), element_of(d_layout->type)};
  const auto parts = static_cast<std::int64_t>(algorithm->data[0]);
  const cudaError_t enqueued = enqueue_emulated(
      stream, [=, call = *description, left = *a_layout, right = *b_layout, out = *d_layout] {
        for (std::int64_t matrix = 0; matrix < out.batch; ++matrix)
          multiply(dense(a, left, call.a, matrix), dense(b, right, call.b, matrix), into, out,
                   matrix, parts, scale, keep);
      });
  return enqueued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

namespace spillway::hw_backend {

const CublasLibrary& cublas_library() {
  static const CublasLibrary emulated_library = [] {
    CublasLibrary found;
    found.create = cublasLtCreate;
    found.destroy = cublasLtDestroy;
    found.make_description = cublasLtMatmulDescCreate;
    found.end_description = cublasLtMatmulDescDestroy;
    found.set_description = cublasLtMatmulDescSetAttribute;
    found.make_layout = cublasLtMatrixLayoutCreate;
    found.end_layout = cublasLtMatrixLayoutDestroy;
    found.set_layout = cublasLtMatrixLayoutSetAttribute;
    found.make_preference = cublasLtMatmulPreferenceCreate;
    found.end_preference = cublasLtMatmulPreferenceDestroy;
    found.set_preference = cublasLtMatmulPreferenceSetAttribute;
    found.choose = cublasLtMatmulAlgoGetHeuristic;
    found.multiply = cublasLtMatmul;
    found.name_of = cublasLtGetStatusName;
    return found;
  }();
  return emulated_library;
}

void check(cublasStatus_t result, const std::string& call) {
  if (result != CUBLAS_STATUS_SUCCESS)
    throw description::DeviceError(call + ": " + cublasLtGetStatusName(result));
}

}  // namespace spillway::hw_backend
