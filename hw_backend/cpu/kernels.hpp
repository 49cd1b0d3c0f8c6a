#pragma once

#include <cstddef>

#include "hw_backend/cpu/element.hpp"
#include "hw_backend/cpu/isa.hpp"
#include "hw_backend/cpu/optimizer_step.hpp"

namespace spillway::hw_backend {

/// The elements [first, last) of a kernel's arrays. `streamed`: what is written and not read goes
/// past the caches.
struct Range {
  std::size_t first = 0, last = 0;
  bool streamed = false;
};

/// Temporaries of the chained check.
struct ChainedCheck {
  ConstArray values;
  std::size_t n = 0;
  std::byte* absolute = nullptr;
  std::byte* matches = nullptr;
};

/// One thread's kernels of one instruction set.
struct Kernels {
  void (*adam)(const AdamArrays&, const AdamScalars&, Range);
  void (*sgd)(const SgdArrays&, const SgdScalars&, Range);
  void (*convert)(Array into, ConstArray from, Range);
  void (*add)(Array into, ConstArray a, ConstArray b, Range);
  void (*copy)(std::byte* into, const std::byte* from, std::size_t bytes);  ///< past the caches
  bool (*has_overflow)(ConstArray, Range);
  bool (*check_chained)(const ChainedCheck&);
};

/// Those of `isa`, which must be one of available_isas().
const Kernels& kernels(Isa isa);

/// Those of one instruction set; null when this build has none for it.
const Kernels* portable_kernels();
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();

/// Bytes from which on a result is written past the caches: four times a core's own, where whoever
/// reads it next would hardly find it. The last cache does not count: it is shared, and virtual
/// machines report one that they do not have.
std::size_t streamed_from();

}  // namespace spillway::hw_backend
