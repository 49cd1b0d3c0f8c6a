#include "hw_backend/arithmetic/host_primitives.hpp"
#include "hw_backend/cpu/matrix_units.hpp"
#include "hw_backend/probe/parts.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::hw_backend {

using description::FlopsPerSecond;

namespace {

/// Of an expert that a few hundred tokens go to. A thread has a product of its own, as an expert
/// that the CPU multiplies by has.
constexpr std::uint64_t rows = 256, columns = 512, inner = 1024;
constexpr double flops_of_one = 2.0 * static_cast<double>(rows * columns * inner);

/// What each thread multiplies, with a place for each matrix in fp32.
class Matrices {
 public:
  explicit Matrices(std::size_t threads) : threads_(threads) {
    memory_ = std::vector<float>(threads * of_a_thread + line, 0.01f);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    first_ = memory_.data() + (64 - address % 64) % 64 / sizeof(float);
  }
  /// Ordinary numbers.
  void fill(Element type) {
    if (type == Element::fp32) return std::fill(memory_.begin(), memory_.end(), 0.01f);
    auto* const narrow = reinterpret_cast<std::uint16_t*>(memory_.data());
    const float value = 0.01f;
    for (std::size_t i = 0; i < 2 * memory_.size(); ++i)
      store({reinterpret_cast<std::byte*>(narrow), type}, i, value);
  }
  std::byte* a(std::size_t thread) const { return at(thread, 0); }
  std::byte* b(std::size_t thread) const { return at(thread, rows * inner); }
  std::byte* c(std::size_t thread) const { return at(thread, rows * inner + inner * columns); }
  std::size_t threads() const { return threads_; }

 private:
  static constexpr std::size_t line = 16;
  static constexpr std::size_t of_a_thread = rows * inner + inner * columns + rows * columns;

  std::byte* at(std::size_t thread, std::size_t first) const {
    return reinterpret_cast<std::byte*>(first_ + thread * of_a_thread + first);
  }

  std::size_t threads_;
  std::vector<float> memory_;
  float* first_ = nullptr;
};

/// As experts of a run for real: its kernel, which widens what it reads, on every thread.
///   Source  hw_backend/arithmetic/cpu_experts.cpp
void probe_products_of(Session& session, const Matrices& matrices, Team& team, Element type,
                       const std::string& name) {
  const double rate = session.keep(session.rate(
      "host.compute." + name,
      fmt::format("products of {}x{} by {}x{}, one a thread, by the kernel of runs here, {} "
                  "threads",
                  rows, inner, inner, columns, team.threads()),
      Unit::flops_per_second, [&] {
        team.run(matrices.threads(), [&](std::size_t thread) {
          thread_local HostPrimitives primitives;
          Product product{rows, columns, inner};
          product.a = {{matrices.a(thread), type}, inner};
          product.b = {{matrices.b(thread), type}, columns};
          product.c = {{matrices.c(thread), type}, columns};
          primitives.product(product);
        });
        return flops_of_one * static_cast<double>(matrices.threads());
      }));
  session.out().machine.host.compute[name] = FlopsPerSecond(rate);
}

/// Beside the machine file: what code that uses them reaches, and runs here do not.
void probe_unit(Session& session, const Matrices& matrices, Team& team, MatrixUnit unit) {
  session.out().measurements.push_back(session.rate(
      fmt::format("bf16 by {}, which no run uses", to_string(unit)),
      fmt::format("products of {}x{} by {}x{}, one a thread, {} threads", rows, inner, inner,
                  columns, team.threads()),
      Unit::flops_per_second, [&] {
        team.run(matrices.threads(), [&](std::size_t thread) {
          multiply(unit, {reinterpret_cast<const std::uint16_t*>(matrices.a(thread)),
                          reinterpret_cast<const std::uint16_t*>(matrices.b(thread)),
                          reinterpret_cast<float*>(matrices.c(thread)), rows, columns, inner});
        });
        return flops_of_one * static_cast<double>(matrices.threads());
      }));
}

}  // namespace

double products_seconds(const ProbeOptions& options) {
  const auto units = static_cast<double>(available_matrix_units().size());
  return (3 + units) * Session::intervals * (options.quick ? 0.02 : 0.12);
}

void probe_products(Session& session) {
  session.begin("matrix products of the cores", products_seconds(session.options()));
  Team team;
  Matrices matrices(team.threads());
  for (const auto& [type, name] :
       {std::pair{Element::fp32, "fp32"}, {Element::fp16, "fp16"}, {Element::bf16, "bf16"}}) {
    matrices.fill(type);
    probe_products_of(session, matrices, team, type, name);
  }
  for (const MatrixUnit unit : available_matrix_units())  // of what is bf16 now
    probe_unit(session, matrices, team, unit);
}

}  // namespace spillway::hw_backend
