#include "hw_backend/cpu/isa.hpp"

#include <unistd.h>

#include "hw_backend/cpu/kernels.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

bool runs(Isa isa) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (isa == Isa::avx2) return avx2;
  if (isa == Isa::avx512) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return isa == Isa::portable;
}

const Kernels* built(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return avx512_kernels();
    case Isa::avx2:
      return avx2_kernels();
    case Isa::portable:
      break;
  }
  return portable_kernels();
}

}  // namespace

std::string_view to_string(Isa isa) {
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "portable";
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (runs(isa) && built(isa) != nullptr) found.push_back(isa);
  }
  return found;
}

Isa best_isa() {
  static const Isa best = available_isas().back();
  return best;
}

const Kernels& kernels(Isa isa) {
  const Kernels* const table = built(isa);
  ENSURE(table != nullptr && runs(isa), "kernels of an instruction set that is not here");
  return *table;
}

std::size_t streamed_from() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
  static const long cache = 0;
#endif
  return 4 * (cache > 0 ? static_cast<std::size_t>(cache) : std::size_t(1) << 20);
}

}  // namespace spillway::hw_backend
