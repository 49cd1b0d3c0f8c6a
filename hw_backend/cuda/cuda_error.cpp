#include "hw_backend/cuda/cuda_error.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

void check(cudaError_t result, const std::string& call) {
  if (result == cudaSuccess) return;
  int device = -1;
  const bool known = cudaGetDevice(&device) == cudaSuccess;
  throw description::DeviceError(call + ": " + cudaGetErrorName(result) + ", " +
                                 cudaGetErrorString(result) +
                                 (known ? ", on CUDA device " + std::to_string(device) : ""));
}

}  // namespace spillway::hw_backend
