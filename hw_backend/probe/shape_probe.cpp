#include "hw_backend/probe/layer_products.hpp"
#include "hw_backend/probe/parts.hpp"

#include <fmt/format.h>

namespace spillway::hw_backend {

namespace {

/// Rows and widths whose products with each other are measured.
struct Grid {
  std::vector<std::uint64_t> rows, widths;
};
Grid grid_of(bool shares_host) {
  if (shares_host) return {{32, 128, 512}, {128, 512, 1024}};
  return {{256, 1024, 4096, 16384}, {512, 1024, 2048, 4096, 8192}};
}

}  // namespace

double shapes_seconds(const ProbeOptions& options) {
  constexpr double most = 20;  // of either grid
  return options.products.empty() ? most * Session::intervals * (options.quick ? 0.02 : 0.12) : 0;
}

void probe_shapes(Session& session, DeviceLoop& loop) {
  if (!session.options().products.empty()) return;
  constexpr Element type = Element::bf16;
  description::GpuSpec& gpu = session.out().machine.gpu;
  const double compute = gpu.compute.at("bf16").value();
  const Grid grid = grid_of(loop.device().shares_host());
  for (const std::uint64_t rows : grid.rows)
    for (const std::uint64_t width : grid.widths) {
      session.begin(fmt::format("product of {} rows, {} wide", rows, width),
                    session.interval_s() * Session::intervals);
      const LayerProducts layer(loop.device(), {rows, width, width}, type);
      loop.run([&](Primitives& device) { layer.fill(device); });
      const double share = session.keep(session.steady_rate(
          fmt::format("gpu.products.{}x{}", rows, width),
          "forward and backward in bf16, over gpu.compute.bf16", Unit::share,
          layer.flops() / compute, repeated(loop, [&](Primitives& device) { layer.run(device); })));
      gpu.products.push_back({rows, width, share});
    }
}

}  // namespace spillway::hw_backend
