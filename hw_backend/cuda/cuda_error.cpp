#include "hw_backend/cuda/cuda_error.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

void check(cudaError_t result, const std::string& call) {
  if (result == cudaSuccess) return;
  int device = -1;
  const bool known = cudaGetDevice(&device) == cudaSuccess;
  throw description::DeviceError(call + ": " + cudaGetErrorName(result) + ", " +
                                 cudaGetErrorString(result) + ", on CUDA device " +
                                 (known ? std::to_string(device) : "unknown"));
}

}  // namespace spillway::hw_backend
