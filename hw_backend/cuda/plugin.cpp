#include "hw_backend/cuda/plugin.hpp"

#include "hw_backend/cuda/cuda_device.hpp"
#include "hw_backend/cuda/cuda_error.hpp"

using spillway::hw_backend::check;

int spillway_cuda_count() { return spillway::hw_backend::count_cuda_devices(); }

spillway::hw_backend::Device* spillway_cuda_make(int ordinal) {
  return new spillway::hw_backend::CudaDevice(ordinal);
}

void spillway_cuda_memory(int ordinal, std::uint64_t* total, std::uint64_t* available) {
  spillway_cuda_use(ordinal);
  std::size_t all = 0, unused = 0;
  check(cudaMemGetInfo(&unused, &all), "cudaMemGetInfo");
  *total = all;
  *available = unused;
}

void spillway_cuda_use(int ordinal) { check(cudaSetDevice(ordinal), "cudaSetDevice"); }
