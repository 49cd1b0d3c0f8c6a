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

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ float value_of(Activation activation, float x) {
  switch (activation) {
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::gelu:
      return 0.5f * x * (1.0f + erff(x * inverse_root_2));
    case Activation::gelu_tanh:
      return 0.5f * x * (1.0f + tanhf(root_2_over_pi * (x + cubic * x * x * x)));
    case Activation::relu_squared:
      return x > 0 ? x * x : 0.0f;
    case Activation::relu:
      break;
  }
  return x > 0 ? x : 0.0f;
}

__device__ float slope_of(Activation activation, float x) {
  switch (activation) {
    case Activation::silu: {
      const float s = sigmoid(x);
      return s * (1.0f + x * (1.0f - s));
    }
    case Activation::gelu:
      return 0.5f * (1.0f + erff(x * inverse_root_2)) + x * inverse_root_2_pi * expf(-0.5f * x * x);
    case Activation::gelu_tanh: {
      const float t = tanhf(root_2_over_pi * (x + cubic * x * x * x));
      return 0.5f * (1.0f + t) +
             0.5f * x * (1.0f - t * t) * root_2_over_pi * (1.0f + 3 * cubic * x * x);
    }
    case Activation::relu_squared:
      return x > 0 ? 2.0f * x : 0.0f;
    case Activation::relu:
      break;
  }
  return x > 0 ? 1.0f : 0.0f;
}

/// What work(first element, values of the inputs, values of the outputs) computes from fours.
template <int ins, int outs>
struct Fours {
  Four in[ins], out[outs];
};
template <int ins, int outs>
struct Operands {
  Input in[ins];
  Output out[outs];
};

/// Every thread reads its elements of all inputs before it writes: an output may be an input.
template <class Work, int ins, int outs>
__global__ void map(std::uint64_t count, Operands<ins, outs> operands, Work work) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads * 4;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 4;
       first < count; first += stride) {
    const std::uint64_t n = count - first < 4 ? count - first : 4;
    Fours<ins, outs> fours;
    for (int k = 0; k < ins; ++k)
      fours.in[k] = operands.in[k].data ? get4(operands.in[k], first, n) : Four{};
    work(first, n, fours);
    for (int k = 0; k < outs; ++k)
      if (operands.out[k].data) put4(operands.out[k], first, n, fours.out[k]);
  }
}

struct Activate {
  Activation activation;
  __device__ void operator()(std::uint64_t, std::uint64_t, Fours<1, 1>& f) const {
    for (int i = 0; i < 4; ++i) f.out[0].value[i] = value_of(activation, f.in[0].value[i]);
  }
};

struct ActivateBackward {
  Activation activation;
  __device__ void operator()(std::uint64_t, std::uint64_t, Fours<2, 1>& f) const {
    for (int i = 0; i < 4; ++i)
      f.out[0].value[i] = f.in[0].value[i] * slope_of(activation, f.in[1].value[i]);
  }
};

struct Gated {
  Activation activation;
  __device__ void operator()(std::uint64_t, std::uint64_t, Fours<2, 2>& f) const {
    for (int i = 0; i < 4; ++i) {
      f.out[0].value[i] = value_of(activation, f.in[0].value[i]);
      f.out[1].value[i] = f.out[0].value[i] * f.in[1].value[i];
    }
  }
};

/// in: y's gradient, gate, up, activated
struct GatedBackward {
  Activation activation;
  bool has_activated;
  __device__ void operator()(std::uint64_t, std::uint64_t, Fours<4, 2>& f) const {
    for (int i = 0; i < 4; ++i) {
      const float dy = f.in[0].value[i], gate = f.in[1].value[i];
      const float active = has_activated ? f.in[3].value[i] : value_of(activation, gate);
      f.out[0].value[i] = dy * f.in[2].value[i] * slope_of(activation, gate);
      f.out[1].value[i] = dy * active;
    }
  }
};

struct Add {
  __device__ void operator()(std::uint64_t, std::uint64_t, Fours<2, 1>& f) const {
    for (int i = 0; i < 4; ++i) f.out[0].value[i] = f.in[0].value[i] + f.in[1].value[i];
  }
};

struct Convert {
  __device__ void operator()(std::uint64_t, std::uint64_t, Fours<1, 1>& f) const {
    f.out[0] = f.in[0];
  }
};

struct Drop {
  Dropout dropout;
  float scale;
  std::uint8_t* mask;
  __device__ void operator()(std::uint64_t first, std::uint64_t n, Fours<2, 1>& f) const {
    const Kept kept = kept4(dropout, first);
    for (int i = 0; i < 4; ++i)
      f.out[0].value[i] = (kept.value[i] ? f.in[1].value[i] * scale : 0.0f) + f.in[0].value[i];
    for (std::uint64_t i = 0; i < n; ++i) mask[first + i] = kept.value[i] ? 1 : 0;
  }
};

struct DropBackward {
  float scale;
  const std::uint8_t* mask;
  __device__ void operator()(std::uint64_t first, std::uint64_t n, Fours<1, 1>& f) const {
    for (std::uint64_t i = 0; i < n; ++i)
      f.out[0].value[i] = mask[first + i] != 0 ? f.in[0].value[i] * scale : 0.0f;
  }
};

struct Initial {
  InitialRule rule;
  RandomStream stream;
  std::uint64_t offset;
  __device__ void operator()(std::uint64_t first, std::uint64_t n, Fours<1, 1>& f) const {
    for (std::uint64_t i = 0; i < n; ++i)
      f.out[0].value[i] = initial_value(rule, stream, offset + first + i);
  }
};

template <class Work, int ins, int outs>
void start(cudaStream_t stream, const char* name, std::uint64_t count,
           const Operands<ins, outs>& operands, const Work& work) {
  launch(stream, name, map<Work, ins, outs>, divided_up(count, 4 * block_threads), count, operands,
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

void CudaPrimitives::convert(std::uint64_t count, Input x, Output y) {
  if (x.type != y.type || y.add)
    start<on_device::Convert, 1, 1>(stream_, "convert", count, {{x}, {y}}, {});
  else if (x.data != y.data)
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
                                std::uint64_t first, std::uint64_t count, Output values) {
  start<on_device::Initial, 1, 1>(stream_, "initialize", count, {{Input()}, {values}},
                                  {rule, stream, first});
}

void CudaPrimitives::zero(std::byte* data, std::uint64_t bytes) {
  if (bytes > 0) hw_backend::check(cudaMemsetAsync(data, 0, bytes, stream_), "cudaMemsetAsync");
}

}  // namespace spillway::hw_backend
