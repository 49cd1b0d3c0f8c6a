#include "hw_backend/arithmetic/host_map.hpp"

#include <cmath>

namespace spillway::hw_backend {

namespace {

using models::Activation;

constexpr float inverse_root_2 = 0.70710678f;
constexpr float inverse_root_2_pi = 0.39894228f;
constexpr float root_2_over_pi = 0.79788456f;
constexpr float cubic = 0.044715f;

float value_of(Activation activation, float x) {
  switch (activation) {
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::gelu:
      return 0.5f * x * (1.0f + std::erf(x * inverse_root_2));
    case Activation::gelu_tanh:
      return 0.5f * x * (1.0f + std::tanh(root_2_over_pi * (x + cubic * x * x * x)));
    case Activation::relu_squared:
      return x > 0 ? x * x : 0.0f;
    case Activation::relu:
      break;
  }
  return x > 0 ? x : 0.0f;
}

float derivative_of(Activation activation, float x) {
  switch (activation) {
    case Activation::silu: {
      const float s = sigmoid(x);
      return s * (1.0f + x * (1.0f - s));
    }
    case Activation::gelu:
      return 0.5f * (1.0f + std::erf(x * inverse_root_2)) +
             x * inverse_root_2_pi * std::exp(-0.5f * x * x);
    case Activation::gelu_tanh: {
      const float t = std::tanh(root_2_over_pi * (x + cubic * x * x * x));
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

}  // namespace

void HostPrimitives::activate(Activation activation, std::uint64_t count, Input x, Output y) {
  map<1, 1>(count, {x}, {y}, [&](std::uint64_t, std::size_t n, const auto& in, const auto& out) {
    for (std::size_t i = 0; i < n; ++i) out[0][i] = value_of(activation, in[0][i]);
  });
}

void HostPrimitives::activate_backward(Activation activation, std::uint64_t count, Input y_gradient,
                                       Input x, Output x_gradient) {
  map<2, 1>(count, {y_gradient, x}, {x_gradient},
            [&](std::uint64_t, std::size_t n, const auto& in, const auto& out) {
              for (std::size_t i = 0; i < n; ++i)
                out[0][i] = in[0][i] * derivative_of(activation, in[1][i]);
            });
}

void HostPrimitives::gated_product(const GatedProduct& call, Input gate, Input up, Output activated,
                                   Output y) {
  map<2, 2>(call.count, {gate, up}, {activated, y},
            [&](std::uint64_t, std::size_t n, const auto& in, const auto& out) {
              for (std::size_t i = 0; i < n; ++i) {
                out[0][i] = value_of(call.activation, in[0][i]);
                out[1][i] = out[0][i] * in[1][i];
              }
            });
}

void HostPrimitives::gated_product_backward(const GatedProduct& call, Input y_gradient, Input gate,
                                            Input up, Input activated, Output gate_gradient,
                                            Output up_gradient) {
  map<4, 2>(call.count, {y_gradient, gate, up, activated}, {gate_gradient, up_gradient},
            [&](std::uint64_t, std::size_t n, const auto& in, const auto& out) {
              for (std::size_t i = 0; i < n; ++i) {
                const float active = in[3] ? in[3][i] : value_of(call.activation, in[1][i]);
                out[0][i] = in[0][i] * in[2][i] * derivative_of(call.activation, in[1][i]);
                out[1][i] = in[0][i] * active;
              }
            });
}

void HostPrimitives::add(std::uint64_t count, Input a, Input b, Output y) {
  map<2, 1>(count, {a, b}, {y}, [&](std::uint64_t, std::size_t n, const auto& in, const auto& out) {
    for (std::size_t i = 0; i < n; ++i) out[0][i] = in[0][i] + in[1][i];
  });
}

void HostPrimitives::scale(const Scaling& by, std::uint64_t count, Input x, Output y) {
  const float divisor = by.divisor ? std::max(*by.divisor, by.least) : 1;
  map<1, 1>(count, {x}, {y}, [&](std::uint64_t, std::size_t n, const auto& in, const auto& out) {
    for (std::size_t i = 0; i < n; ++i) out[0][i] = in[0][i] * by.factor / divisor;
  });
}

void HostPrimitives::convert(std::uint64_t count, Input x, Output y) {
  map<1, 1>(count, {x}, {y}, [&](std::uint64_t, std::size_t n, const auto& in, const auto& out) {
    std::copy_n(in[0], n, out[0]);
  });
}

void HostPrimitives::drop(const Dropout& dropout, std::uint64_t count, Input x, Input f,
                          std::uint8_t* mask, Output y) {
  const float scale = dropout.scale();
  const std::uint32_t threshold = dropout.threshold();
  map<2, 1>(count, {x, f}, {y},
            [&](std::uint64_t first, std::size_t n, const auto& in, const auto& out) {
              Words words{};
              for (std::size_t i = 0; i < n; ++i) {
                const std::uint64_t element = dropout.first + first + i;
                if (i == 0 || element % 4 == 0) words = random_words(dropout.stream, element / 4);
                const bool kept = words.word[element % 4] >= threshold;
                mask[first + i] = kept ? 1 : 0;
                out[0][i] = (kept ? in[1][i] * scale : 0.0f) + (in[0] ? in[0][i] : 0.0f);
              }
            });
}

void HostPrimitives::drop_backward(const Dropout& dropout, std::uint64_t count, Input y_gradient,
                                   const std::uint8_t* mask, Output x_gradient) {
  const float scale = dropout.scale();
  map<1, 1>(count, {y_gradient}, {x_gradient},
            [&](std::uint64_t first, std::size_t n, const auto& in, const auto& out) {
              for (std::size_t i = 0; i < n; ++i)
                out[0][i] = mask[first + i] != 0 ? in[0][i] * scale : 0.0f;
            });
}

void HostPrimitives::initialize(const InitialRule& rule, const RandomStream& stream,
                                const WeightSlice& slice, std::uint64_t first, std::uint64_t count,
                                Output values) {
  map<0, 1>(count, {}, {values},
            [&](std::uint64_t from, std::size_t n, const auto&, const auto& out) {
              InitialValues initial(rule, stream);
              for (std::size_t i = 0; i < n; ++i)
                out[0][i] = initial.of(slice.in_whole(first + from + i));
            });
}

void HostPrimitives::initialize_packed(const InitialRule& rule, const RandomStream& stream,
                                       const WeightSlice& slice, std::uint64_t first,
                                       const Packing& packing, std::byte* packed) {
  for (std::uint64_t part = 0; part < packing.parts(); ++part)
    pack_initial_part(rule, stream, slice, first, packing, part, packed);
}

void HostPrimitives::unpack(const Packing& packing, const std::byte* packed, std::uint64_t count,
                            Output y) {
  map<0, 1>(count, {}, {y}, [&](std::uint64_t from, std::size_t n, const auto&, const auto& out) {
    unpack_some(packing, packed, from, n, out[0]);
  });
}

}  // namespace spillway::hw_backend
