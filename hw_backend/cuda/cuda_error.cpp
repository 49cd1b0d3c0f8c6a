#include "hw_backend/cuda/cuda_error.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

std::string in_words(cudaError_t result) {
  return std::string(cudaGetErrorName(result)) + ", " + cudaGetErrorString(result);
}

void check(cudaError_t result, const std::string& call) {
  if (result == cudaSuccess) return;
  int device = -1;
  const bool known = cudaGetDevice(&device) == cudaSuccess;
  throw description::DeviceError(call + ": " + in_words(result) +
                                 (known ? ", on CUDA device " + std::to_string(device) : ""));
}

}  // namespace spillway::hw_backend
