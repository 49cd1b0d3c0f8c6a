#pragma once

#include <cublas_v2.h>

#include <string>

namespace spillway::hw_backend {

/// The functions of cuBLAS that products use, out of the library that this machine has.
struct CublasLibrary {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  decltype(&cublasGemmStridedBatchedEx_64) multiply = nullptr;
  decltype(&cublasGetStatusName) name_of = nullptr;
};

/// Opened by the first call: libcublas.so of the toolkit's major version, along the linker's path,
/// then in $CUDA_HOME and /usr/local/cuda.
///   Throws  DeviceError: none there, with what to install
const CublasLibrary& cublas_library();

/// Nothing, or a DeviceError: "cublasGemmStridedBatchedEx: CUBLAS_STATUS_NOT_SUPPORTED".
void check(cublasStatus_t result, const std::string& call);

}  // namespace spillway::hw_backend
