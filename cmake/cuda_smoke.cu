// Shows that the CUDA compiler, its host compiler and the run-time library fit together.
#include <cstdio>
#include <vector>

namespace {

__global__ void twice(int* values, int count) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) values[index] *= 2;
}

bool succeeded(const char* call, cudaError_t error) {
  if (error != cudaSuccess) std::printf("%s: %s\n", call, cudaGetErrorString(error));
  return error == cudaSuccess;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("SKIP no CUDA device\n");
    return 0;
  }
  constexpr int count = 1000;
  constexpr auto bytes = count * sizeof(int);
  std::vector<int> values(count, 21);
  int* on_device = nullptr;
  if (!succeeded("cudaMalloc", cudaMalloc(&on_device, bytes))) return 1;
  if (!succeeded("to the device",
                 cudaMemcpy(on_device, values.data(), bytes, cudaMemcpyHostToDevice))) {
    return 1;
  }
  twice<<<(count + 255) / 256, 256>>>(on_device, count);
  if (!succeeded("from the device",
                 cudaMemcpy(values.data(), on_device, bytes, cudaMemcpyDeviceToHost))) {
    return 1;
  }
  cudaFree(on_device);
  for (const int value : values) {
    if (value != 42) {
      std::printf("expected 42, got %d\n", value);
      return 1;
    }
  }
  std::printf("ok\n");
  return 0;
}
