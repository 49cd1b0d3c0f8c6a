#include "hw_backend/arithmetic/host_multiply.hpp"

#define Eigen EigenPortable
#include "hw_backend/arithmetic/host_multiply_eigen.hpp"

namespace spillway::hw_backend {

MultiplyKernel* portable_multiply() { return multiply_here; }

}  // namespace spillway::hw_backend
