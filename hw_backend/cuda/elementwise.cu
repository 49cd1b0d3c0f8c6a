#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

using models::Activation;

constexpr float inverse_root_2 = 0.70710678f;
constexpr float inverse_root_2_pi = 0.39894228f;
constexpr float root_2_over_pi = 0.79788456f;
constexpr float cubic = 0.044715f;

template <Activation activation>
__device__ float value_of(float x) {
  if constexpr (activation == Activation::silu) return x * sigmoid(x);
  if constexpr (activation == Activation::gelu) return 0.5f * x * (1.0f + erff(x * inverse_root_2));
  if constexpr (activation == Activation::gelu_tanh)
    return 0.5f * x * (1.0f + tanhf(root_2_over_pi * (x + cubic * x * x * x)));
  if constexpr (activation == Activation::relu_squared) return x > 0 ? x * x : 0.0f;
  return x > 0 ? x : 0.0f;
}

template <Activation activation>
__device__ float derivative_of(float x) {
  if constexpr (activation == Activation::silu) {
    const float s = sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
  }
  if constexpr (activation == Activation::gelu)
    return 0.5f * (1.0f + erff(x * inverse_root_2)) + x * inverse_root_2_pi * expf(-0.5f * x * x);
  if constexpr (activation == Activation::gelu_tanh) {
    const float t = tanhf(root_2_over_pi * (x + cubic * x * x * x));
    return 0.5f * (1.0f + t) +
           0.5f * x * (1.0f - t * t) * root_2_over_pi * (1.0f + 3 * cubic * x * x);
  }
  if constexpr (activation == Activation::relu_squared) return x > 0 ? 2.0f * x : 0.0f;
  return x > 0 ? 1.0f : 0.0f;
}

template <Activation of>
struct Known {
  static constexpr Activation activation = of;
};

/// Calls work(Known<activation>): asked once for a thread's elements, not for each of them.
template <class Work>
__device__ void with(Activation activation, const Work& work) {
  switch (activation) {
    case Activation::silu:
      return work(Known<Activation::silu>());
    case Activation::gelu:
      return work(Known<Activation::gelu>());
    case Activation::gelu_tanh:
      return work(Known<Activation::gelu_tanh>());
    case Activation::relu_squared:
      return work(Known<Activation::relu_squared>());
    case Activation::relu:
      return work(Known<Activation::relu>());
  }
}

/// What work(first element, count, values of the inputs and outputs) computes from eights.
template <int ins, int outs>
struct Eights {
  Eight in[ins], out[outs];
};
template <int ins, int outs>
struct Operands {
  Input in[ins];
  Output out[outs];
};

/// Every thread reads its elements of all inputs before it writes: an output may be an input.
template <class Work, int ins, int outs>
__global__ void map(std::uint64_t count, Operands<ins, outs> operands, Work work) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 8;
       first < count; first += stride) {
    const std::uint64_t n = count - first < 8 ? count - first : 8;
    Eights<ins, outs> eights;
    Raw8 raw[ins];
    SPILLWAY_UNROLL
    for (int k = 0; k < ins; ++k)
      raw[k] = operands.in[k].data ? raw8(operands.in[k], first, n) : Raw8{};
    SPILLWAY_UNROLL
    for (int k = 0; k < ins; ++k) eights.in[k] = widened8(operands.in[k].type, raw[k]);
    work(first, n, eights);
    SPILLWAY_UNROLL
    for (int k = 0; k < outs; ++k)
      if (operands.out[k].data) put8(operands.out[k], first, n, eights.out[k]);
  }
}

struct Activate {
  Activation activation;
  __device__ void operator()(std::uint64_t, std::uint64_t, Eights<1, 1>& f) const {
    with(activation, [&f](auto known) {
      SPILLWAY_UNROLL
      for (int i = 0; i < 8; ++i)
        f.out[0].value[i] = value_of<decltype(known)::activation>(f.in[0].value[i]);
    });
  }
};

struct ActivateBackward {
  Activation activation;
  __device__ void operator()(std::uint64_t, std::uint64_t, Eights<2, 1>& f) const {
    with(activation, [&f](auto known) {
      SPILLWAY_UNROLL
      for (int i = 0; i < 8; ++i)
        f.out[0].value[i] =
            f.in[0].value[i] * derivative_of<decltype(known)::activation>(f.in[1].value[i]);
    });
  }
};

struct Gated {
  Activation activation;
  __device__ void operator()(std::uint64_t, std::uint64_t, Eights<2, 2>& f) const {
    with(activation, [&f](auto known) {
      SPILLWAY_UNROLL
      for (int i = 0; i < 8; ++i) {
        f.out[0].value[i] = value_of<decltype(known)::activation>(f.in[0].value[i]);
        f.out[1].value[i] = f.out[0].value[i] * f.in[1].value[i];
      }
    });
  }
};

/// in: y's gradient, gate, up, activated
struct GatedBackward {
  Activation activation;
  bool has_activated;
  __device__ void operator()(std::uint64_t, std::uint64_t, Eights<4, 2>& f) const {
    with(activation, [&f, has = has_activated](auto known) {
      constexpr Activation of = decltype(known)::activation;
      SPILLWAY_UNROLL
      for (int i = 0; i < 8; ++i) {
        const float dy = f.in[0].value[i], gate = f.in[1].value[i];
        const float active = has ? f.in[3].value[i] : value_of<of>(gate);
        f.out[0].value[i] = dy * f.in[2].value[i] * derivative_of<of>(gate);
        f.out[1].value[i] = dy * active;
      }
    });
  }
};

struct Add {
  __device__ void operator()(std::uint64_t, std::uint64_t, Eights<2, 1>& f) const {
    SPILLWAY_UNROLL
    for (int i = 0; i < 8; ++i) f.out[0].value[i] = f.in[0].value[i] + f.in[1].value[i];
  }
};

struct Convert {
  __device__ void operator()(std::uint64_t, std::uint64_t, Eights<1, 1>& f) const {
    f.out[0] = f.in[0];
  }
};

/// Eight elements of a mask, as they lie: a byte each.
union MaskBytes {
  uint2 all;
  std::uint8_t byte[8];
};

__device__ void put_mask(std::uint8_t* mask, std::uint64_t n, const Kept8& kept) {
  MaskBytes bytes = {};
  SPILLWAY_UNROLL
  for (int i = 0; i < 8; ++i) bytes.byte[i] = kept.value[i] ? 1 : 0;
  if (n >= 8 && aligned_to(mask, 8))
    *reinterpret_cast<uint2*>(mask) = bytes.all;
  else
    for (std::uint64_t i = 0; i < n; ++i) mask[i] = bytes.byte[i];
}

__device__ MaskBytes get_mask(const std::uint8_t* mask, std::uint64_t n) {
  MaskBytes bytes = {};
  if (n >= 8 && aligned_to(mask, 8))
    bytes.all = *reinterpret_cast<const uint2*>(mask);
  else
    SPILLWAY_UNROLL
  for (unsigned i = 0; i < 8 && i < n; ++i) bytes.byte[i] = mask[i];
  return bytes;
}

struct Drop {
  Dropout dropout;
  float scale;
  std::uint8_t* mask;
  __device__ void operator()(std::uint64_t first, std::uint64_t n, Eights<2, 1>& f) const {
    const Kept8 kept = kept8(dropout, first);
    SPILLWAY_UNROLL
    for (int i = 0; i < 8; ++i)
      f.out[0].value[i] = (kept.value[i] ? f.in[1].value[i] * scale : 0.0f) + f.in[0].value[i];
    put_mask(mask + first, n, kept);
  }
};

struct DropBackward {
  float scale;
  const std::uint8_t* mask;
  __device__ void operator()(std::uint64_t first, std::uint64_t n, Eights<1, 1>& f) const {
    const MaskBytes kept = get_mask(mask + first, n);
    SPILLWAY_UNROLL
    for (int i = 0; i < 8; ++i)
      f.out[0].value[i] = kept.byte[i] != 0 ? f.in[0].value[i] * scale : 0.0f;
  }
};

struct Initial {
  InitialRule rule;
  RandomStream stream;
  WeightSlice slice;
  std::uint64_t offset;
  __device__ void operator()(std::uint64_t first, std::uint64_t n, Eights<1, 1>& f) const {
    for (std::uint64_t i = 0; i < n; ++i)
      f.out[0].value[i] = initial_value(rule, stream, slice.in_whole(offset + first + i));
  }
};

struct Scale {
  Scaling by;
  __device__ void operator()(std::uint64_t, std::uint64_t, Eights<1, 1>& f) const {
    const float divisor = by.divisor ? (*by.divisor > by.least ? *by.divisor : by.least) : 1.0f;
    SPILLWAY_UNROLL
    for (int i = 0; i < 8; ++i) f.out[0].value[i] = f.in[0].value[i] * by.factor / divisor;
  }
};

struct Unpack {
  Packing packing;
  const std::byte* packed;
  __device__ void operator()(std::uint64_t first, std::uint64_t n, Eights<1, 1>& f) const {
    std::uint64_t block = first / packing.block, end = (block + 1) * packing.block;
    float scale = packing::scale_of(packing, packed, block);
    SPILLWAY_UNROLL
    for (unsigned i = 0; i < 8; ++i) {
      if (i >= n) continue;
      if (first + i == end) {
        scale = packing::scale_of(packing, packed, ++block);
        end += packing.block;
      }
      f.out[0].value[i] = packing::number_at(packing, packed, first + i, scale);
    }
  }
};

/// A thread packs a part: once a run.
__global__ void pack(InitialRule rule, RandomStream stream, WeightSlice slice, std::uint64_t first,
                     Packing packing, std::byte* packed) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t part = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       part < packing.parts(); part += stride)
    pack_initial_part(rule, stream, slice, first, packing, part, packed);
}

template <class Work, int ins, int outs>
void start(cudaStream_t stream, const char* name, std::uint64_t count,
           const Operands<ins, outs>& operands, const Work& work) {
  launch(stream, name, map<Work, ins, outs>, divided_up(count, block_elements), count, operands,
         work);
}

}  // namespace

}  // namespace on_device

using on_device::start;

void CudaPrimitives::activate(models::Activation activation, std::uint64_t count, Input x,
                              Output y) {
  start<on_device::Activate, 1, 1>(stream_, "activate", count, {{x}, {y}}, {activation});
}

void CudaPrimitives::activate_backward(models::Activation activation, std::uint64_t count,
                                       Input y_gradient, Input x, Output x_gradient) {
  start<on_device::ActivateBackward, 2, 1>(stream_, "activate_backward", count,
                                           {{y_gradient, x}, {x_gradient}}, {activation});
}

void CudaPrimitives::gated_product(const GatedProduct& call, Input gate, Input up, Output activated,
                                   Output y) {
  start<on_device::Gated, 2, 2>(stream_, "gated_product", call.count, {{gate, up}, {activated, y}},
                                {call.activation});
}

void CudaPrimitives::gated_product_backward(const GatedProduct& call, Input y_gradient, Input gate,
                                            Input up, Input activated, Output gate_gradient,
                                            Output up_gradient) {
  start<on_device::GatedBackward, 4, 2>(
      stream_, "gated_product_backward", call.count,
      {{y_gradient, gate, up, activated}, {gate_gradient, up_gradient}},
      {call.activation, activated.data != nullptr});
}

void CudaPrimitives::add(std::uint64_t count, Input a, Input b, Output y) {
  start<on_device::Add, 2, 1>(stream_, "add", count, {{a, b}, {y}}, {});
}

void CudaPrimitives::scale(const Scaling& by, std::uint64_t count, Input x, Output y) {
  start<on_device::Scale, 1, 1>(stream_, "scale", count, {{x}, {y}}, {by});
}

void CudaPrimitives::convert(std::uint64_t count, Input x, Output y) {
  if (x.type != y.type || y.add)
    start<on_device::Convert, 1, 1>(stream_, "convert", count, {{x}, {y}}, {});
  else if (x.data != y.data && !DryRun::here())
    hw_backend::check(
        cudaMemcpyAsync(y.data, x.data, count * size_of(y.type), cudaMemcpyDefault, stream_),
        "cudaMemcpyAsync");
}

void CudaPrimitives::drop(const Dropout& dropout, std::uint64_t count, Input x, Input f,
                          std::uint8_t* mask, Output y) {
  start<on_device::Drop, 2, 1>(stream_, "drop", count, {{x, f}, {y}},
                               {dropout, dropout.scale(), mask});
}

void CudaPrimitives::drop_backward(const Dropout& dropout, std::uint64_t count, Input y_gradient,
                                   const std::uint8_t* mask, Output x_gradient) {
  start<on_device::DropBackward, 1, 1>(stream_, "drop_backward", count,
                                       {{y_gradient}, {x_gradient}}, {dropout.scale(), mask});
}

void CudaPrimitives::initialize(const InitialRule& rule, const RandomStream& stream,
                                const WeightSlice& slice, std::uint64_t first, std::uint64_t count,
                                Output values) {
  start<on_device::Initial, 1, 1>(stream_, "initialize", count, {{Input()}, {values}},
                                  {rule, stream, slice, first});
}

void CudaPrimitives::initialize_packed(const InitialRule& rule, const RandomStream& stream,
                                       const WeightSlice& slice, std::uint64_t first,
                                       const Packing& packing, std::byte* packed) {
  launch(stream_, "initialize_packed", on_device::pack, divided_up(packing.parts(), block_threads),
         rule, stream, slice, first, packing, packed);
}

void CudaPrimitives::unpack(const Packing& packing, const std::byte* packed, std::uint64_t count,
                            Output y) {
  start<on_device::Unpack, 1, 1>(stream_, "unpack", count, {{Input()}, {y}}, {packing, packed});
}

void CudaPrimitives::zero(std::byte* data, std::uint64_t bytes) {
  if (bytes == 0 || DryRun::here()) return;
  hw_backend::check(cudaMemsetAsync(data, 0, bytes, stream_), "cudaMemsetAsync");
}

}  // namespace spillway::hw_backend
