#if defined(__AVX2__) && defined(__FMA__)
#define Eigen EigenAvx2
#include "hw_backend/arithmetic/host_multiply_eigen.hpp"

namespace spillway::hw_backend {

MultiplyKernel* avx2_multiply() { return multiply_here; }

}  // namespace spillway::hw_backend

#else
#include "hw_backend/arithmetic/host_multiply.hpp"

namespace spillway::hw_backend {

MultiplyKernel* avx2_multiply() { return nullptr; }

}  // namespace spillway::hw_backend

#endif
