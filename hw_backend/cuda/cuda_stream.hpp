#pragma once

#include <cuda_runtime.h>

#include "hw_backend/cuda/cuda_error.hpp"

namespace spillway::hw_backend {

/// A stream of the calling thread's device that waits for no other.
class CudaStream {
 public:
  /// Throws  DeviceError
  CudaStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace spillway::hw_backend
