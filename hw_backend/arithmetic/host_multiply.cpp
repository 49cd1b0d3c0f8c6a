#include "hw_backend/arithmetic/host_multiply.hpp"

namespace spillway::hw_backend {

namespace {

// best_isa asks for what conversions need; products also multiply and add in one.
bool has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

}  // namespace

MultiplyKernel* multiply_kernel(Isa isa) {
  if (isa > best_isa()) isa = best_isa();
  MultiplyKernel* kernel = nullptr;
  if (isa == Isa::avx512 && has_fma()) kernel = avx512_multiply();
  if (isa == Isa::avx2 && has_fma()) kernel = avx2_multiply();
  return kernel ? kernel : portable_multiply();
}

}  // namespace spillway::hw_backend
