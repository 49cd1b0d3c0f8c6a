#include "hw_backend/cuda/matrix_plans.hpp"

#include <string>
#include <type_traits>

#include "hw_backend/cuda/scratch.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

cudaDataType_t cuda_type(Element type) {
  return type == Element::fp32 ? CUDA_R_32F : type == Element::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

cublasOperation_t operation_of(const MatrixInput& matrix) {
  return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// Of an address, in bytes, up to that of tensors.
std::uint64_t alignment_of(const std::byte* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data) | MatrixPlans::tensor_alignment;
  return address & ~(address - 1);
}

/// A matrix of column-major storage [rows, columns], as it lies there.
Owned<cublasLtMatrixLayout_t> layout(Element type, std::uint64_t rows, std::uint64_t columns,
                                     std::uint64_t stride, std::uint64_t batch,
                                     std::uint64_t batch_stride) {
  const CublasLibrary& library = cublas_library();
  cublasLtMatrixLayout_t made = nullptr;
  check(
      library.make_layout(&made, cuda_type(type), rows, columns, static_cast<std::int64_t>(stride)),
      "cublasLtMatrixLayoutCreate");
  Owned<cublasLtMatrixLayout_t> owned(made, library.end_layout);
  const auto count = static_cast<std::int32_t>(batch);
  const auto offset = static_cast<std::int64_t>(batch_stride);
  check(library.set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
        "cublasLtMatrixLayoutSetAttribute");
  check(
      library.set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset),
      "cublasLtMatrixLayoutSetAttribute");
  return owned;
}

/// op(matrix) of the call is [rows, columns] in row-major storage, so its transpose lies there.
Owned<cublasLtMatrixLayout_t> layout_of(const MatrixInput& matrix, std::uint64_t rows,
                                        std::uint64_t columns, std::uint64_t batch) {
  return layout(matrix.values.type, matrix.transposed ? rows : columns,
                matrix.transposed ? columns : rows, matrix.stride, batch, matrix.batch_stride);
}

Owned<cublasLtMatmulDesc_t> description_of(const Multiplication& call) {
  const CublasLibrary& library = cublas_library();
  cublasLtMatmulDesc_t made = nullptr;
  check(library.make_description(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  Owned<cublasLtMatmulDesc_t> owned(made, library.end_description);
  const std::int32_t first = operation_of(call.b), second = operation_of(call.a);
  check(library.set_description(made, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first),
        "cublasLtMatmulDescSetAttribute");
  check(library.set_description(made, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second),
        "cublasLtMatmulDescSetAttribute");
  return owned;
}

/// What the heuristic may know beyond the shape.
Owned<cublasLtMatmulPreference_t> preference_of(const Multiplication& call,
                                                std::uint64_t workspace) {
  const CublasLibrary& library = cublas_library();
  cublasLtMatmulPreference_t made = nullptr;
  check(library.make_preference(&made), "cublasLtMatmulPreferenceCreate");
  Owned<cublasLtMatmulPreference_t> owned(made, library.end_preference);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
    check(library.set_preference(made, what, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  const std::uint32_t sums =
      CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, sums);
  const auto a = static_cast<std::uint32_t>(alignment_of(call.b.values.data));
  const auto b = static_cast<std::uint32_t>(alignment_of(call.a.values.data));
  const auto c = static_cast<std::uint32_t>(alignment_of(call.c));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
  return owned;
}

std::string in_words(const Multiplication& call) {
  return std::to_string(call.rows) + " x " + std::to_string(call.columns) + " x " +
         std::to_string(call.inner) + " of " + std::string(to_string(call.a.values.type));
}

}  // namespace

struct MatrixPlans::Plan {
  Owned<cublasLtMatmulDesc_t> description;
  Owned<cublasLtMatrixLayout_t> first, second, result;
  cublasLtMatmulAlgo_t algorithm = {};
};

MatrixPlans::MatrixPlans() { check(cublas_library().create(&handle_), "cublasLtCreate"); }

MatrixPlans::~MatrixPlans() {
  plans_.clear();
  cublas_library().destroy(handle_);
}

MatrixPlans::Key MatrixPlans::key_of(const Multiplication& m) {
  return {m.rows,
          m.columns,
          m.inner,
          m.batch,
          static_cast<std::uint64_t>(m.a.values.type),
          static_cast<std::uint64_t>(m.type),
          m.a.transposed,
          m.a.stride,
          m.a.batch_stride,
          m.b.transposed,
          m.b.stride,
          m.b.batch_stride,
          m.stride,
          m.batch_stride,
          m.keep != 0,
          alignment_of(m.a.values.data),
          alignment_of(m.b.values.data),
          alignment_of(m.c)};
}

// A row-major matrix is the transpose of a column-major one: c^T = b^T a^T.
std::unique_ptr<MatrixPlans::Plan> MatrixPlans::make(const Multiplication& m,
                                                     std::uint64_t workspace) {
  auto plan = std::make_unique<Plan>(
      Plan{description_of(m),
           layout_of(m.b, m.inner, m.columns, m.batch),
           layout_of(m.a, m.rows, m.inner, m.batch),
           layout(m.type, m.columns, m.rows, m.stride, m.batch, m.batch_stride),
           {}});
  const Owned<cublasLtMatmulPreference_t> preference = preference_of(m, workspace);
  cublasLtMatmulHeuristicResult_t best = {};
  int found = 0;
  const std::string call = "cublasLtMatmulAlgoGetHeuristic, " + in_words(m);
  check(cublas_library().choose(handle_, plan->description.get(), plan->first.get(),
                                plan->second.get(), plan->result.get(), plan->result.get(),
                                preference.get(), 1, &best, &found),
        call);
  check(found == 1 ? best.state : CUBLAS_STATUS_NOT_SUPPORTED, call);
  plan->algorithm = best.algo;
  return plan;
}

void MatrixPlans::multiply(cudaStream_t stream, const Multiplication& m, std::byte* workspace,
                           std::uint64_t bytes) {
  ENSURE(m.a.values.type == m.b.values.type, "the matrices of a product have two element types");
  std::unique_ptr<Plan>& plan = plans_[key_of(m)];
  if (!plan) plan = make(m, bytes);
  if (DryRun::here()) return;
  const cublasStatus_t result = cublas_library().multiply(
      handle_, plan->description.get(), &m.scale, m.b.values.data, plan->first.get(),
      m.a.values.data, plan->second.get(), &m.keep, m.c, plan->result.get(), m.c,
      plan->result.get(), &plan->algorithm, workspace, bytes, stream);
  if (result != CUBLAS_STATUS_SUCCESS) check(result, "cublasLtMatmul, " + in_words(m));
}

}  // namespace spillway::hw_backend
