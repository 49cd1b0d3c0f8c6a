#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

struct States {
  Output master, momentum, variance;
  Input gradient;
  Output weight;  ///< no data: there is none
  std::uint64_t n;
};

__device__ Raw8 raw8_of(const Output& y, std::uint64_t first, std::uint64_t count) {
  return raw8(y.data, y.type, first, count);
}

// The functions round to nearest and are never fused: that is the order in optimizer_step.hpp.
__device__ float sum(float a, float b) { return __fadd_rn(a, b); }
__device__ float difference(float a, float b) { return __fsub_rn(a, b); }
__device__ float times(float a, float b) { return __fmul_rn(a, b); }

/// Masters, momenta and variances before become those after.
__device__ void adam_step(const AdamScalars& s, Eight& master, Eight& momentum, Eight& variance,
                          const Eight& gradient) {
  for (int i = 0; i < 8; ++i) {
    const float g = times(gradient.value[i], s.inverse_scale);
    const float m = sum(times(s.beta1, momentum.value[i]), times(s.rest1, g));
    const float v = sum(times(s.beta2, variance.value[i]), times(s.rest2, times(g, g)));
    const float d = sum(times(__fsqrt_rn(v), s.inverse_root_correction2), s.epsilon);
    const float w = difference(times(s.keep, master.value[i]), times(s.step, __fdiv_rn(m, d)));
    momentum.value[i] = with_canonical_nan(m);
    variance.value[i] = with_canonical_nan(v);
    master.value[i] = with_canonical_nan(w);
  }
}

__global__ void adam(States a, AdamScalars s) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 8;
       first < a.n; first += stride) {
    const std::uint64_t count = a.n - first < 8 ? a.n - first : 8;
    const Raw8 raw_master = raw8_of(a.master, first, count);
    const Raw8 raw_momentum = raw8_of(a.momentum, first, count);
    const Raw8 raw_variance = raw8_of(a.variance, first, count);
    const Raw8 raw_gradient = raw8(a.gradient, first, count);
    Eight master = widened8(a.master.type, raw_master);
    Eight momentum = widened8(a.momentum.type, raw_momentum);
    Eight variance = widened8(a.variance.type, raw_variance);
    adam_step(s, master, momentum, variance, widened8(a.gradient.type, raw_gradient));
    put8(a.momentum, first, count, momentum);
    put8(a.variance, first, count, variance);
    put8(a.master, first, count, master);
    if (a.weight.data) put8(a.weight, first, count, master);
  }
}

struct PackedStates {
  Output master;
  PackedState momentum, variance;
  Input gradient;
  Output weight;  ///< no data: there is none
  std::uint64_t n;
};

/// Threads that have the eights of one block of packed numbers.
constexpr unsigned packed_threads = PackedState::block / 8;

/// The largest of what the threads of each block of packed numbers bring.
__device__ float largest_of_packed(float value, float* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  const unsigned first = threadIdx.x / packed_threads * packed_threads;
  float largest = 0;
  for (unsigned i = first; i < first + packed_threads; ++i)
    largest = packed_states::larger(largest, shared[i]);
  __syncthreads();
  return largest;
}

/// A thread's eight numbers of the states, renewed but not yet packed.
struct Renewed {
  Eight momentum, variance;
  float largest_momentum, largest_variance;
};

__device__ Renewed renewed(const PackedStates& a, const AdamScalars& s, std::uint64_t first,
                           std::uint64_t count) {
  Renewed next = {};
  const Eight gradient = get8(a.gradient, first, count);
  const std::uint64_t block = first / PackedState::block;
  const float of_momentum = a.momentum.scale(block), of_variance = a.variance.scale(block);
  SPILLWAY_UNROLL
  for (unsigned i = 0; i < 8; ++i) {
    if (i >= count) continue;
    const float g = times(gradient.value[i], s.inverse_scale);
    const float m = packed_number(a.momentum, first + i, of_momentum);
    const float v = packed_number(a.variance, first + i, of_variance);
    next.momentum.value[i] = sum(times(s.beta1, m), times(s.rest1, g));
    next.variance.value[i] = sum(times(s.beta2, v), times(s.rest2, times(g, g)));
    next.largest_momentum = packed_states::larger(next.largest_momentum, next.momentum.value[i]);
    next.largest_variance = packed_states::larger(next.largest_variance, next.variance.value[i]);
  }
  return next;
}

/// Masters of a thread's eight numbers, and their states packed again.
__device__ void put_renewed(const PackedStates& a, const AdamScalars& s, std::uint64_t first,
                            std::uint64_t count, const Renewed& next) {
  Eight master = widened8(a.master.type, raw8_of(a.master, first, count));
  SPILLWAY_UNROLL
  for (unsigned i = 0; i < 8; ++i) {
    if (i >= count) continue;
    const float m = next.momentum.value[i], v = next.variance.value[i];
    const float d = sum(times(__fsqrt_rn(v), s.inverse_root_correction2), s.epsilon);
    master.value[i] = with_canonical_nan(
        difference(times(s.keep, master.value[i]), times(s.step, __fdiv_rn(m, d))));
    pack_number(a.momentum, first + i, m, next.largest_momentum);
    pack_number(a.variance, first + i, v, next.largest_variance);
  }
  put8(a.master, first, count, master);
  if (a.weight.data) put8(a.weight, first, count, master);
  if (first % PackedState::block == 0) {
    a.momentum.set_scale(first / PackedState::block, next.largest_momentum);
    a.variance.set_scale(first / PackedState::block, next.largest_variance);
  }
}

__global__ void adam_in_8_bits(PackedStates a, AdamScalars s) {
  __shared__ float shared[block_threads];
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * block_elements; base < a.n;
       base += std::uint64_t{gridDim.x} * block_elements) {
    const std::uint64_t first = base + threadIdx.x * 8;
    const std::uint64_t count = first >= a.n ? 0 : a.n - first < 8 ? a.n - first : 8;
    Renewed next = {};
    if (count > 0) next = renewed(a, s, first, count);
    next.largest_momentum = largest_of_packed(next.largest_momentum, shared);
    next.largest_variance = largest_of_packed(next.largest_variance, shared);
    if (count > 0) put_renewed(a, s, first, count, next);
  }
}

__device__ Eight eight_of(const Output& y, std::uint64_t first, std::uint64_t count) {
  return widened8(y.type, raw8_of(y, first, count));
}

/// One line of `adam_step`. Of the arrays those that it does not use have no data.
__device__ float adam_line(AdamPart part, const AdamScalars& s, float into, float one,
                           float other) {
  switch (part) {
    case AdamPart::momentum:
      return sum(times(s.beta1, into), times(s.rest1, times(one, s.inverse_scale)));
    case AdamPart::decay:
      return times(s.beta2, into);
    case AdamPart::variance: {
      const float g = times(one, s.inverse_scale);
      return sum(into, times(s.rest2, times(g, g)));
    }
    case AdamPart::root:
      return __fsqrt_rn(one);
    case AdamPart::correct:
      return times(into, s.inverse_root_correction2);
    case AdamPart::shift:
      return sum(into, s.epsilon);
    case AdamPart::apply:
      return difference(times(s.keep, into), times(s.step, __fdiv_rn(one, other)));
  }
  return 0;
}

/// into = the line of `into`, `one` and `other`; `weight` the same, rounded to its type.
__global__ void adam_part(AdamPart part, Output into, Input one, Input other, Output weight,
                          std::uint64_t n, AdamScalars s) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 8;
       first < n; first += stride) {
    const std::uint64_t count = n - first < 8 ? n - first : 8;
    // a root begins the denominator: there is nothing to read yet
    Eight value = part == AdamPart::root ? get8(one, first, count) : eight_of(into, first, count);
    Eight a = value, b = value;
    if (one.data) a = get8(one, first, count);
    if (other.data) b = get8(other, first, count);
    for (int i = 0; i < 8; ++i)
      value.value[i] =
          with_canonical_nan(adam_line(part, s, value.value[i], a.value[i], b.value[i]));
    put8(into, first, count, value);
    if (weight.data) put8(weight, first, count, value);
  }
}

__global__ void sgd(States a, SgdScalars s) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 8;
       first < a.n; first += stride) {
    const std::uint64_t count = a.n - first < 8 ? a.n - first : 8;
    const Raw8 raw_master = raw8_of(a.master, first, count);
    const Raw8 raw_gradient = raw8(a.gradient, first, count);
    Eight master = widened8(a.master.type, raw_master);
    const Eight gradient = widened8(a.gradient.type, raw_gradient);
    for (int i = 0; i < 8; ++i) {
      const float g = times(gradient.value[i], s.inverse_scale);
      master.value[i] =
          with_canonical_nan(difference(times(s.keep, master.value[i]), times(s.step, g)));
    }
    put8(a.master, first, count, master);
    if (a.weight.data) put8(a.weight, first, count, master);
  }
}

__device__ float direction(const MomentumScalars& s, float momentum, float next, float gradient) {
  if (s.rule == MomentumRule::sgd) return next;
  const float c = sum(times(s.blend, momentum), times(s.other, gradient));
  return c > 0 ? 1.0f : c < 0 ? -1.0f : c;
}

__global__ void momentum_step(States a, MomentumScalars s) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 8;
       first < a.n; first += stride) {
    const std::uint64_t count = a.n - first < 8 ? a.n - first : 8;
    Eight master = eight_of(a.master, first, count);
    Eight momentum = eight_of(a.momentum, first, count);
    const Eight gradient = widened8(a.gradient.type, raw8(a.gradient, first, count));
    for (int i = 0; i < 8; ++i) {
      const float g = times(gradient.value[i], s.inverse_scale);
      const float m = sum(times(s.beta, momentum.value[i]), times(s.rest, g));
      const float u = direction(s, momentum.value[i], m, g);
      master.value[i] =
          with_canonical_nan(difference(times(s.keep, master.value[i]), times(s.step, u)));
      momentum.value[i] = with_canonical_nan(m);
    }
    put8(a.momentum, first, count, momentum);
    put8(a.master, first, count, master);
    if (a.weight.data) put8(a.weight, first, count, master);
  }
}

/// Whoever finds one writes the same 1.
__global__ void find_overflow(std::uint64_t count, Input values, float* found) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 8;
       first < count; first += stride) {
    const Eight eight = get8(values, first, count - first < 8 ? count - first : 8);
    bool any = false;
    for (int i = 0; i < 8; ++i) any |= (bits_of(eight.value[i]) & 0x7F800000u) == 0x7F800000u;
    if (any) *found = 1.0f;
  }
}

__global__ void set(float value, float* into) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *into = value;
}

Output output(const Array& array) { return {array.data, array.type, false}; }

}  // namespace

}  // namespace on_device

void CudaPrimitives::adam(const AdamArrays& arrays, const AdamNumbers& numbers) {
  on_device::States states = {on_device::output(arrays.master),
                              on_device::output(arrays.momentum),
                              on_device::output(arrays.variance),
                              arrays.gradient,
                              Output(),
                              arrays.n};
  if (arrays.weight) states.weight = on_device::output(*arrays.weight);
  launch(stream_, "adam", on_device::adam, divided_up(arrays.n, on_device::block_elements), states,
         scalars(numbers));
}

void CudaPrimitives::adam_in_8_bits(const PackedAdamArrays& arrays, const AdamNumbers& numbers) {
  on_device::PackedStates states = {on_device::output(arrays.master),
                                    arrays.momentum,
                                    arrays.variance,
                                    arrays.gradient,
                                    Output(),
                                    arrays.n};
  if (arrays.weight) states.weight = on_device::output(*arrays.weight);
  launch(stream_, "adam in 8 bits", on_device::adam_in_8_bits,
         divided_up(arrays.n, on_device::block_elements), states, scalars(numbers));
}

void CudaPrimitives::adam_part(AdamPart part, const AdamPartArrays& arrays,
                               const AdamNumbers& numbers) {
  Array into = arrays.denominator;
  Input one, other;
  switch (part) {
    case AdamPart::momentum:
      into = arrays.momentum;
      one = arrays.gradient;
      break;
    case AdamPart::decay:
      into = arrays.variance;
      break;
    case AdamPart::variance:
      into = arrays.variance;
      one = arrays.gradient;
      break;
    case AdamPart::root:
      one = arrays.variance;
      break;
    case AdamPart::correct:
    case AdamPart::shift:
      break;
    case AdamPart::apply:
      into = arrays.master;
      one = arrays.momentum;
      other = arrays.denominator;
      break;
  }
  launch(stream_, "adam part", on_device::adam_part,
         divided_up(arrays.n, on_device::block_elements), part, on_device::output(into), one, other,
         arrays.weight ? on_device::output(*arrays.weight) : Output(), arrays.n, scalars(numbers));
}

void CudaPrimitives::sgd(const SgdArrays& arrays, const SgdNumbers& numbers) {
  on_device::States states = {
      on_device::output(arrays.master), Output(), Output(), arrays.gradient, Output(), arrays.n};
  if (arrays.weight) states.weight = on_device::output(*arrays.weight);
  launch(stream_, "sgd", on_device::sgd, divided_up(arrays.n, on_device::block_elements), states,
         scalars(numbers));
}

void CudaPrimitives::momentum_step(const MomentumArrays& arrays, const MomentumNumbers& numbers) {
  on_device::States states = {on_device::output(arrays.master),
                              on_device::output(arrays.momentum),
                              Output(),
                              arrays.gradient,
                              Output(),
                              arrays.n};
  if (arrays.weight) states.weight = on_device::output(*arrays.weight);
  launch(stream_, "momentum step", on_device::momentum_step,
         divided_up(arrays.n, on_device::block_elements), states, scalars(numbers));
}

void CudaPrimitives::check(std::uint64_t count, Input values, float* found) {
  set(0, found);
  launch(stream_, "check", on_device::find_overflow, divided_up(count, on_device::block_elements),
         count, values, found);
}

void CudaPrimitives::set(float value, float* into) {
  launch(stream_, "set", on_device::set, 1, value, into);
}

}  // namespace spillway::hw_backend
