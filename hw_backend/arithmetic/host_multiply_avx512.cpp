#if defined(__AVX512F__)
#define Eigen EigenAvx512
#include "hw_backend/arithmetic/host_multiply_eigen.hpp"

namespace spillway::hw_backend {

MultiplyKernel* avx512_multiply() { return multiply_here; }

}  // namespace spillway::hw_backend

#else
#include "hw_backend/arithmetic/host_multiply.hpp"

namespace spillway::hw_backend {

MultiplyKernel* avx512_multiply() { return nullptr; }

}  // namespace spillway::hw_backend

#endif
