#pragma once

#include <array>
#include <map>
#include <memory>

#include "hw_backend/arithmetic/primitives.hpp"
#include "hw_backend/cuda/cublas_library.hpp"

namespace spillway::hw_backend {

/// One matrix product, or `batch` of them, that cuBLAS is asked for in one call: row-major
/// c = scale x a b + keep x c.
struct Multiplication {
  std::uint64_t rows = 0, columns = 0, inner = 0, batch = 1;
  MatrixInput a = {}, b = {};
  std::byte* c = nullptr;
  Element type = Element::fp32;  ///< of c
  std::uint64_t stride = 0, batch_stride = 0;
  float scale = 1, keep = 0;
};

/// Products by cuBLASLt, whose algorithm is chosen once for each shape and kept, so that a shape
/// has the same bits in every call, stream and run of the same GPU and library.
///   Chosen   by what cuBLASLt's heuristic says first of the shape, strides, types, whether it
///            adds, the workspace's size, and the alignment of the operands up to that of tensors:
///            it sees no address. Of split sums those in fp32, whose order is fixed
///   Device   made, used and destroyed with its device as the thread's own
class MatrixPlans {
 public:
  /// Where tensors begin at least (bytes): a better place must not choose another algorithm.
  static constexpr std::uint64_t tensor_alignment = 64;

  /// Throws  DeviceError
  MatrixPlans();
  ~MatrixPlans();
  MatrixPlans(const MatrixPlans&) = delete;

  /// Enqueues the product.
  ///   workspace  of `bytes`, the same number in each call, used by no other stream
  ///   Throws     DeviceError
  void multiply(cudaStream_t stream, const Multiplication& call, std::byte* workspace,
                std::uint64_t bytes);

 private:
  using Key = std::array<std::uint64_t, 18>;
  struct Plan;
  static Key key_of(const Multiplication& call);
  std::unique_ptr<Plan> make(const Multiplication& call, std::uint64_t workspace);

  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace spillway::hw_backend
