#pragma once

#include <cublasLt.h>

#include <string>

namespace spillway::hw_backend {

/// The functions of cuBLASLt that products use, out of the library that this machine has.
struct CublasLibrary {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) make_description = nullptr;
  decltype(&cublasLtMatmulDescDestroy) end_description = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_description = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) make_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) end_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) make_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) end_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
  decltype(&cublasLtGetStatusName) name_of = nullptr;
};

/// Opened by the first call: libcublasLt.so of the toolkit's major version, along the linker's
/// path, then in $CUDA_HOME and /usr/local/cuda.
///   Throws  DeviceError: none there, with what to install
const CublasLibrary& cublas_library();

/// Nothing, or a DeviceError: "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED".
void check(cublasStatus_t result, const std::string& call);

}  // namespace spillway::hw_backend
