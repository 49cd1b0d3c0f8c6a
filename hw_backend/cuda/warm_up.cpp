#include "hw_backend/cuda/warm_up.hpp"

namespace spillway::hw_backend {

namespace {

constexpr std::uint64_t tokens = 8, heads = 1, head_dim = 16, width = heads * head_dim;

/// Tensors of bf16, one behind the other, each at a multiple of 256 bytes.
class WarmUpMemory {
 public:
  explicit WarmUpMemory(std::byte* memory) : at_(memory) {}
  std::byte* take(std::uint64_t bytes) {
    std::byte* const taken = at_;
    at_ += (bytes + 255) / 256 * 256;
    return taken;
  }
  Output tensor(std::uint64_t elements) { return {take(elements * 2), Element::bf16, false}; }

 private:
  std::byte* at_;
};

Input input(const Output& tensor) { return {tensor.data, tensor.type}; }

void one_product(Primitives& device, WarmUpMemory& memory) {
  Product p{width, width, width};
  p.a = {input(memory.tensor(width * width)), width};
  p.b = {input(memory.tensor(width * width)), width, true};
  p.c = {memory.tensor(width * width), width};
  device.product(p);
  p.c.values.add = true;
  device.product(p);
}

void one_attention(Primitives& device, WarmUpMemory& memory) {
  AttentionShape shape;
  shape.samples = 1;
  shape.sequence = tokens;
  shape.heads = shape.kv_heads = heads;
  shape.head_dim = head_dim;
  shape.causal = true;
  const auto tensor = [&] { return memory.tensor(tokens * width); };
  AttentionForward forward;
  forward.query = input(tensor());
  forward.key = input(tensor());
  forward.value = input(tensor());
  forward.output = tensor();
  forward.log_sum_exp = reinterpret_cast<float*>(memory.take(tokens * heads * sizeof(float)));
  device.attention(shape, forward);
  AttentionBackward backward;
  backward.output_gradient = input(tensor());
  backward.query = forward.query;
  backward.key = forward.key;
  backward.value = forward.value;
  backward.output = input(forward.output);
  backward.log_sum_exp = forward.log_sum_exp;
  backward.query_gradient = tensor();
  backward.key_gradient = tensor();
  backward.value_gradient = tensor();
  backward.workspace = reinterpret_cast<float*>(memory.take(tokens * width * sizeof(float)));
  device.attention_backward(shape, backward);
}

void one_norm(Primitives& device, WarmUpMemory& memory) {
  const auto tensor = [&] { return memory.tensor(tokens * width); };
  const Output x = tensor(), y = tensor(), weight = memory.tensor(width),
               bias = memory.tensor(width);
  auto* const statistics = reinterpret_cast<float*>(memory.take(2 * tokens * sizeof(float)));
  for (const NormKind kind : {NormKind::layer, NormKind::root_mean_square}) {
    const Norm norm{kind, 1e-5f, tokens, width};
    const bool layer = kind == NormKind::layer;
    device.norm(norm, input(x), input(weight), layer ? input(bias) : Input{}, statistics, y);
    device.norm_backward(norm, input(y), input(x), statistics, input(weight), tensor(),
                         memory.tensor(width), layer ? memory.tensor(width) : Output{});
  }
}

}  // namespace

void warm_up(Primitives& device, std::byte* memory) {
  device.zero(memory, warm_up_bytes);
  WarmUpMemory pieces(memory);
  one_product(device, pieces);
  one_attention(device, pieces);
  one_norm(device, pieces);
}

}  // namespace spillway::hw_backend
