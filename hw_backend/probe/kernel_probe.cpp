#include "hw_backend/probe/parts.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>

namespace spillway::hw_backend {

using description::BytesPerSecond;
using description::FlopsPerSecond;
using description::Seconds;

namespace {

constexpr int kernels_a_launch = 16;  // about as many as a layer's pass issues at once

/// Bytes that memory-bound kernels are measured on: ten times the largest L2 of a card (B200: 126
/// MB), at most an eighth of its memory. A host's kernels are slower than its caches are large.
std::uint64_t working_set(const Session& session, const Device& device) {
  constexpr std::uint64_t of_host = 72ull << 20, of_card = 1280ull << 20;
  if (device.shares_host()) return of_host;
  return std::clamp(session.options().device_memory / 8, of_host, of_card);
}

/// Kernels between the products of a llama's block, rows x width elements of bf16.
class BlockKernels {
 public:
  BlockKernels(Device& device, std::uint64_t working_set)
      : rows_(std::max<std::uint64_t>(64, working_set / (2 * (3 * width + 5 * wide)))),
        narrow_{{{device, bytes(width)}, {device, bytes(width)}, {device, bytes(width)}}},
        wide_{{{device, bytes(wide)},
               {device, bytes(wide)},
               {device, bytes(wide)},
               {device, bytes(wide)},
               {device, bytes(wide)}}},
        weights_{{{device, width * 2}, {device, width * 2}}},
        statistics_(device, rows_ * sizeof(float)) {}

  void fill(Primitives& device) const {
    const auto fill_one = [&](const DeviceArea& memory) {
      device.initialize({0, 1}, RandomStream{}, 0, memory.bytes() / 2,
                        {memory.data(), Element::bf16});
    };
    for (const DeviceArea& each : narrow_) fill_one(each);
    for (const DeviceArea& each : wide_) fill_one(each);
    for (const DeviceArea& each : weights_) fill_one(each);
    run(device);  // statistics, and numbers that neither grow nor vanish from here on
  }

  void run(Primitives& device) const {
    const GatedProduct gated{models::Activation::silu, rows_ * wide};
    device.norm(norm(), in(narrow_[0]), in(weights_[0]), {}, statistics(), out(narrow_[1]));
    device.gated_product(gated, in(wide_[0]), in(wide_[1]), {}, out(wide_[2]));
    device.add(rows_ * width, in(narrow_[0]), in(narrow_[1]), out(narrow_[2]));
    device.gated_product_backward(gated, in(wide_[2]), in(wide_[0]), in(wide_[1]), {},
                                  out(wide_[3]), out(wide_[4]));
    device.add(rows_ * width, in(narrow_[1]), in(narrow_[0]), out(narrow_[2]));
  }
  /// Each array once: 2 of the norm, 3 and 5 of the gate, 3 + 3 of the sums.
  double traffic() const { return static_cast<double>(8 * bytes(width) + 8 * bytes(wide)); }

  /// The sum of the weight's gradient over the rows is what this takes longer for.
  void reduce(Primitives& device) const {
    device.norm_backward(norm(), in(narrow_[2]), in(narrow_[0]), statistics(), in(weights_[0]),
                         out(narrow_[1]), out(weights_[1]), {});
  }
  double reduced() const { return static_cast<double>(3 * bytes(width)); }

 private:
  static constexpr std::uint64_t width = 2048, wide = 6144;
  std::uint64_t bytes(std::uint64_t columns) const { return rows_ * columns * 2; }
  Norm norm() const { return {NormKind::root_mean_square, 1e-5f, rows_, width}; }
  float* statistics() const { return reinterpret_cast<float*>(statistics_.data()); }
  static Input in(const DeviceArea& memory) { return {memory.data(), Element::bf16}; }
  static Output out(const DeviceArea& memory) { return {memory.data(), Element::bf16, false}; }

  std::uint64_t rows_;
  std::array<DeviceArea, 3> narrow_;
  std::array<DeviceArea, 5> wide_;
  std::array<DeviceArea, 2> weights_;
  DeviceArea statistics_;
};

void probe_updates(Session& session, DeviceLoop& loop) {
  session.begin("updates", session.interval_s() * Session::intervals);
  const std::uint64_t n = working_set(session, loop.device()) / 18;
  const DeviceArea master(loop.device(), 4 * n), momentum(loop.device(), 4 * n),
      variance(loop.device(), 4 * n), gradient(loop.device(), 2 * n), weight(loop.device(), 2 * n);
  loop.run([&](Primitives& device) {
    for (const DeviceArea* each : {&master, &momentum, &variance})
      device.initialize({1e-3f, 0}, RandomStream{}, 0, n, {each->data(), Element::fp32});
    device.initialize({0, 0.1f}, RandomStream{}, 0, n, {gradient.data(), Element::bf16});
  });
  session.out().machine.gpu.adam = description::ParamsPerSecond(session.keep(session.steady_rate(
      "gpu.adam", "fp32 states, bf16 gradient and weight, 28 B a parameter",
      Unit::params_per_second, static_cast<double>(n), repeated(loop, [&](Primitives& device) {
        device.adam({{master.data(), Element::fp32},
                     {momentum.data(), Element::fp32},
                     {variance.data(), Element::fp32},
                     {gradient.data(), Element::bf16},
                     Array{weight.data(), Element::bf16},
                     n},
                    AdamNumbers{});
      }))));
}

void probe_block(Session& session, DeviceLoop& loop) {
  session.begin("kernels between products", 2 * session.interval_s() * Session::intervals);
  description::GpuSpec& gpu = session.out().machine.gpu;
  const BlockKernels block(loop.device(), working_set(session, loop.device()));
  loop.run([&](Primitives& device) { block.fill(device); });
  gpu.memory_rate = BytesPerSecond(session.keep(session.steady_rate(
      "gpu.memory_rate", "norm, gates and sums of a llama's block, each array counted once",
      Unit::bytes_per_second, block.traffic(),
      repeated(loop, [&](Primitives& device) { block.run(device); }))));
  gpu.reduction = BytesPerSecond(session.keep(session.steady_rate(
      "gpu.reduction",
      "backward pass of a norm with its weight's gradient, each array counted once",
      Unit::bytes_per_second, block.reduced(),
      repeated(loop, [&](Primitives& device) { block.reduce(device); }))));
}

void probe_launches(Session& session, DeviceLoop& loop) {
  session.begin("launches", session.interval_s() * Session::intervals);
  const DeviceArea flag(loop.device(), sizeof(float));
  const Measurement batch = session.time("gpu.launch", "", [&] {
    loop.run([&](Primitives& device) {
      for (int i = 0; i < kernels_a_launch; ++i)
        device.set(1, reinterpret_cast<float*>(flag.data()));
    });
  });
  session.out().machine.gpu.launch = Seconds(
      session.keep({"gpu.launch",
                    fmt::format("empty kernels, {} at a time, from the loop to the device and back",
                                kernels_a_launch),
                    Unit::seconds, batch.median / kernels_a_launch, batch.least / kernels_a_launch,
                    batch.most / kernels_a_launch, batch.runs}));
}

/// Attention of one layer, forward and backward.
class LayerAttention {
 public:
  LayerAttention(Device& device, const AttentionShape& shape, Element type)
      : shape_(shape),
        type_(type),
        wide_{{{device, bytes(shape.heads)},
               {device, bytes(shape.heads)},
               {device, bytes(shape.heads)},
               {device, bytes(shape.heads)}}},
        narrow_{{{device, bytes(shape.kv_heads)},
                 {device, bytes(shape.kv_heads)},
                 {device, bytes(shape.kv_heads)},
                 {device, bytes(shape.kv_heads)}}},
        log_sum_exp_(device, tokens() * shape.heads * sizeof(float)),
        workspace_(device,
                   type == Element::fp32 ? 4 : tokens() * shape.heads * shape.head_dim * 4) {}

  void fill(Primitives& device) const {
    for (const DeviceArea* each : {&wide_[0], &wide_[2], &narrow_[0], &narrow_[1]})
      device.initialize({0, 1}, RandomStream{}, 0, each->bytes() / size_of(type_),
                        {each->data(), type_});
  }

  void run(Primitives& device) const {
    const auto in = [&](const DeviceArea& memory) { return Input{memory.data(), type_}; };
    const auto out = [&](const DeviceArea& memory) { return Output{memory.data(), type_, false}; };
    auto* const sums = reinterpret_cast<float*>(log_sum_exp_.data());
    float* const workspace =
        type_ == Element::fp32 ? nullptr : reinterpret_cast<float*>(workspace_.data());
    device.attention(shape_, {in(wide_[0]), in(narrow_[0]), in(narrow_[1]), out(wide_[1]), sums});
    device.attention_backward(
        shape_, {in(wide_[2]), in(wide_[0]), in(narrow_[0]), in(narrow_[1]), in(wide_[1]), sums,
                 out(wide_[3]), out(narrow_[2]), out(narrow_[3]), workspace});
  }
  /// As models/program/attention.cpp counts them: two products forward and twice that backward, of
  /// the scores that the mask leaves.
  double flops() const {
    const double scores = static_cast<double>(tokens() * shape_.heads) *
                          static_cast<double>(shape_.sequence) / (shape_.causal ? 2 : 1);
    return 3 * 2 * scores * static_cast<double>(shape_.head_dim + shape_.value_elements());
  }

 private:
  std::uint64_t tokens() const { return shape_.samples * shape_.sequence; }
  /// Enough for the wider of queries and values.
  std::uint64_t bytes(std::uint64_t heads) const {
    return tokens() * heads * std::max(shape_.head_dim, shape_.value_elements()) * size_of(type_);
  }

  AttentionShape shape_;
  Element type_;
  std::array<DeviceArea, 4> wide_;    ///< query, output, its gradient, query's gradient
  std::array<DeviceArea, 4> narrow_;  ///< key, value and their gradients
  DeviceArea log_sum_exp_, workspace_;
};

/// A layer of the models that a device is bought for, of one that a host can play.
AttentionShape usual_attention(bool shares_host) {
  AttentionShape shape;
  shape.samples = 1;
  shape.sequence = shares_host ? 256 : 4096;
  shape.heads = shares_host ? 8 : 32;
  shape.kv_heads = 8;
  shape.head_dim = shares_host ? 64 : 128;
  shape.causal = true;
  shape.scale = 1 / std::sqrt(static_cast<float>(shape.head_dim));
  return shape;
}

}  // namespace

void probe_attention(Session& session, DeviceLoop& loop, Element type) {
  const AttentionShape shape =
      session.options().attention.value_or(usual_attention(loop.device().shares_host()));
  const std::string what =
      fmt::format("{} x {} tokens, {} heads of {} on {}{}", shape.samples, shape.sequence,
                  shape.heads, shape.head_dim, shape.kv_heads, shape.causal ? ", causal" : "");
  const std::string name(to_string(type));
  session.begin("attention, " + name, session.interval_s() * Session::intervals);
  const LayerAttention layer(loop.device(), shape, type);
  loop.run([&](Primitives& device) { layer.fill(device); });
  session.out().machine.gpu.attention[name] = FlopsPerSecond(session.keep(session.steady_rate(
      "gpu.attention." + name, what + ", forward and backward", Unit::flops_per_second,
      layer.flops(), repeated(loop, [&](Primitives& device) { layer.run(device); }))));
}

void probe_kernels(Session& session, DeviceLoop& loop) {
  probe_updates(session, loop);
  probe_block(session, loop);
  probe_launches(session, loop);
}

}  // namespace spillway::hw_backend
