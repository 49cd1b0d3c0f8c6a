#include "hw_backend/probe/layer_products.hpp"
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

constexpr std::uint64_t copied = std::uint64_t{64} << 20;  // beyond any cache
constexpr std::uint64_t small_copy = 4096;
constexpr std::array types{Element::fp32, Element::fp16, Element::bf16};

std::string to_string(const ProductShape& shape) {
  return fmt::format("{} x {} x {}", shape.rows, shape.columns, shape.inner);
}

/// Shapes of the models that a device is bought for: a host's cores take seconds for one of an
/// accelerator's, and an accelerator is no faster than its launches on one of theirs.
std::vector<ProductShape> usual_products(bool shares_host) {
  if (!shares_host)
    return {{4096, 4096, 4096}, {4096, 14336, 4096}, {4096, 4096, 14336}, {16384, 8192, 8192}};
  return {{128, 512, 512},  {128, 256, 512},   {128, 1536, 512}, {128, 512, 1536},
          {128, 2048, 512}, {512, 1024, 1024}, {512, 2048, 2048}};
}

/// gpu.compute of one type: all products' work over all their time.
void probe_products(Session& session, DeviceLoop& loop, const std::vector<ProductShape>& products,
                    Element type) {
  double flops = 0, median_s = 0, least_s = 0, most_s = 0;
  for (const ProductShape& shape : products) {
    session.begin(fmt::format("products {}, {}", to_string(shape), to_string(type)),
                  session.interval_s() * Session::intervals);
    const LayerProducts layer(loop.device(), shape, type);
    loop.run([&](Primitives& device) { layer.fill(device); });
    const Measurement rate = session.steady_rate(
        fmt::format("product {} {}", to_string(type), to_string(shape)),
        "forward product and both of the backward pass", Unit::flops_per_second, layer.flops(),
        repeated(loop, [&](Primitives& device) { layer.run(device); }));
    session.out().products.push_back({shape, type, rate});
    const double work = layer.flops() * static_cast<double>(shape.times);
    flops += work;
    median_s += work / rate.median;
    least_s += work / rate.most;
    most_s += work / rate.least;
  }
  const std::string name(to_string(type));
  session.out().machine.gpu.compute[name] = FlopsPerSecond(session.keep(
      {"gpu.compute." + name,
       fmt::format("work of {} products over their time, forward and backward", products.size()),
       Unit::flops_per_second, flops / median_s, flops / most_s, flops / least_s,
       Session::intervals}));
}

void probe_copies(Session& session, DeviceLoop& loop, IoEngine& engine) {
  session.begin("copies between host and device", 6 * session.interval_s() * Session::intervals);
  description::PcieSpec& pcie = session.out().machine.pcie;
  Device& device = loop.device();
  const DeviceArea there(device, copied), there_too(device, copied);
  const PinnedMemory pinned(copied, &device, &engine), pinned_too(copied, &device, &engine);
  MemoryBudget budget;
  HostMemory pageable_memory(budget, false);
  std::byte* const pageable = pageable_memory.take(copied);
  const auto rate = [&](const char* path, Stream stream, std::byte* into, const std::byte* from) {
    return BytesPerSecond(session.keep(session.steady_rate(
        path, fmt::format("copies of {} MiB", copied >> 20), Unit::bytes_per_second,
        static_cast<double>(copied), [&, stream, into, from](unsigned times) {
          loop.copy(stream, into, from, copied, times);
        })));
  };
  pcie.h2d = rate("pcie.h2d", Stream::to_device, there.data(), pinned.data());
  pcie.d2h = rate("pcie.d2h", Stream::to_host, pinned.data(), there.data());
  pcie.pageable_h2d = rate("pcie.pageable_h2d", Stream::to_device, there.data(), pageable);
  pcie.pageable_d2h = rate("pcie.pageable_d2h", Stream::to_host, pageable, there.data());
  pageable_memory.give_back(pageable, copied);
  session.out().measurements.push_back(session.steady_rate(
      "pcie both ways at once", "copies each way together, bytes of both", Unit::bytes_per_second,
      2.0 * static_cast<double>(copied), [&](unsigned times) {
        loop.copy_both(there.data(), pinned.data(), pinned_too.data(), there_too.data(), copied,
                       times);
      }));
  pcie.latency = Seconds(session.keep(session.time(
      "pcie.latency", "copies of 4 KiB, from the loop to the device and back",
      [&] { loop.copy(Stream::to_device, there.data(), pinned.data(), small_copy); })));
}

void probe_peers(Session& session, DeviceLoop& loop, Device* peer) {
  if (!peer) return;
  session.begin("copies between devices", session.interval_s() * Session::intervals);
  const DeviceArea here(loop.device(), copied), there(*peer, copied);
  session.out().machine.gpu.peer_rate = BytesPerSecond(session.keep(session.steady_rate(
      "gpu.peer_rate", fmt::format("copies of {} MiB to another device", copied >> 20),
      Unit::bytes_per_second, static_cast<double>(copied), [&](unsigned times) {
        loop.copy(Stream::peers, there.data(), here.data(), copied, times);
      })));
}

}  // namespace

std::optional<AttentionShape> attention_of(const models::Model& model,
                                           const models::StepProgram& program) {
  const models::Architecture& a = model.architecture;
  const models::Workload& w = program.workload;
  const auto found = std::find_if(program.operators.begin(), program.operators.end(),
                                  [](const models::Operator& op) {
                                    return op.function == models::OperatorFunction::attention;
                                  });
  const bool whole = a.heads % w.tensor == 0 && a.kv_heads % w.tensor == 0;
  if (found == program.operators.end() || w.attention != models::Attention::flash || !whole ||
      a.head_dim == 0 || a.kv_heads < w.tensor || a.heads % a.kv_heads != 0)
    return std::nullopt;
  AttentionShape shape;
  shape.samples = w.micro_batch;
  shape.sequence = w.sequence;
  shape.heads = a.heads / w.tensor;
  shape.kv_heads = a.kv_heads / w.tensor;
  shape.head_dim = a.head_dim;
  shape.value_dim = a.value_dim;
  shape.causal = found->causal;
  shape.scale = 1 / std::sqrt(static_cast<float>(a.head_dim));
  return shape;
}

std::vector<ProductShape> products_of(const models::StepProgram& program) {
  std::vector<ProductShape> shapes;
  for (const models::LayerSpan& layer : program.layers)
    for (std::uint32_t i = layer.forward.first; i < layer.forward.last; ++i) {
      const models::Operator& op = program.operators[i];
      if (op.gemm.m == 0) continue;
      ProductShape shape{op.gemm.m, op.gemm.n, op.gemm.k, op.gemm.batch};
      const auto same = std::find_if(shapes.begin(), shapes.end(), [&](const ProductShape& known) {
        return known.rows == shape.rows && known.columns == shape.columns &&
               known.inner == shape.inner;
      });
      if (same == shapes.end())
        shapes.push_back(shape);
      else
        same->times += shape.times;
    }
  return shapes;
}

double device_seconds(const ProbeOptions& options) {
  const std::size_t products = options.products.empty() ? 7 : options.products.size();
  const double rates = static_cast<double>(types.size() * (products + 1)) + 11;
  return rates * Session::intervals * (options.quick ? 0.02 : 0.12) + shapes_seconds(options);
}

void probe_device(Session& session, Device& device, Device* peer, IoEngine& engine) {
  DeviceLoop loop(device, engine);
  session.out().device = device.name();
  std::vector<ProductShape> products = session.options().products;
  if (products.empty()) products = usual_products(device.shares_host());
  for (const Element type : types) probe_products(session, loop, products, type);
  probe_shapes(session, loop);
  for (const Element type : types) probe_attention(session, loop, type);
  probe_kernels(session, loop);
  probe_copies(session, loop, engine);
  probe_peers(session, loop, peer);
}

}  // namespace spillway::hw_backend
