#include "tests/hw_backend/cuda/session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace spillway::hw_backend {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& work) {
  const auto began = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// The best of a few.
double best_of(int times, const std::function<void()>& work) {
  double best = 1e30;
  for (int i = 0; i < times; ++i) best = std::min(best, seconds(work));
  return best;
}

std::string in_digits(double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f %s", value, unit);
  return text;
}

constexpr std::uint64_t copied = std::uint64_t{256} << 20;

/// Host memory that the device knows.
struct Pinned {
  explicit Pinned(Device& of) : device(of), memory(copied) {
    device.pin(memory.data(), memory.size());
  }
  ~Pinned() { device.unpin(memory.data()); }
  Pinned(const Pinned&) = delete;
  Device& device;
  std::vector<std::byte> memory;
};

double copy_rate(Device& device, Stream stream, std::byte* into, const std::byte* from) {
  const double took = best_of(4, [&] {
    wait_for([&](Done done) { device.copy(stream, 0, into, from, copied, std::move(done)); });
  });
  return static_cast<double>(copied) / took / 1e9;
}

/// Pinned copies must leave pageable ones behind, and both ways at once each way alone.
void copy_rates(Device& device, Report& report) {
  Pinned in(device), out(device);
  std::vector<std::byte> pageable(copied);
  DeviceBytes one(device, copied), other(device, copied);
  const double up = copy_rate(device, Stream::to_device, one.data(), in.memory.data());
  const double down = copy_rate(device, Stream::to_host, out.memory.data(), other.data());
  const double slow_up = copy_rate(device, Stream::to_device, one.data(), pageable.data());
  const double slow_down = copy_rate(device, Stream::to_host, pageable.data(), other.data());
  const double both = best_of(4, [&] {
    wait_for([&](Done done) {
      auto left = std::make_shared<std::atomic<int>>(2);
      const Done one_less = [left, done](const JobEnd& end) {
        if (--*left == 0) done(end);
      };
      device.copy(Stream::to_device, 0, one.data(), in.memory.data(), copied, one_less);
      device.copy(Stream::to_host, 0, out.memory.data(), other.data(), copied, one_less);
    });
  });
  const double each = static_cast<double>(copied) / both / 1e9;
  report.notes = {"pinned to the device " + in_digits(up, "GB/s"),
                  "pinned to the host " + in_digits(down, "GB/s"),
                  "pageable to the device " + in_digits(slow_up, "GB/s"),
                  "pageable to the host " + in_digits(slow_down, "GB/s"),
                  "both ways at once, each " + in_digits(each, "GB/s")};
  // What the card could have is not what a virtual machine or a far socket gives it.
  if (const char* const link = std::getenv("GPU_CHECKS_LINK_MOST_GBPS"))
    report.notes.push_back("the card's link at its best " + std::string(link) + " GB/s raw");
  // of a link's raw rate packets take a fifth at most
  if (const char* const link = std::getenv("GPU_CHECKS_LINK_GBPS"))
    report.expect(std::min(up, down) > 0.75 * std::strtod(link, nullptr),
                  "pinned copies are far from the link's rate");
  report.expect(up > 0.9 * slow_up && down > 0.9 * slow_down, "pinned copies are the slower ones");
  report.expect(each > 0.6 * std::min(up, down), "copies of two directions wait for each other");
}

/// A copy and a product, together in less time than one after the other.
void overlap(Device& device, Report& report) {
  constexpr std::uint64_t n = 4096;
  Pinned host(device);
  DeviceBytes there(device, copied);
  Operand a(device, n * n, Element::fp16, 1), b(device, n * n, Element::fp16, 2);
  Operand c(device, n * n, Element::fp16, 3);
  const auto products = [&](int times) {
    return [&, times](Primitives& p) {
      Product product{n, n, n};
      product.a = {a.in(Side::device), n};
      product.b = {b.in(Side::device), n};
      product.c = {c.out(Side::device), n};
      for (int i = 0; i < times; ++i) p.product(product);
    };
  };
  run_on(device, products(2));
  const double one = best_of(3, [&] { run_on(device, products(8)); }) / 8;
  const double copy =
      best_of(3, [&] { copy_now(device, there.data(), host.memory.data(), copied); });
  const int times = std::max(1, static_cast<int>(copy / one));
  const double compute = best_of(3, [&] { run_on(device, products(times)); });
  const double together = best_of(3, [&] {
    wait_for([&](Done done) {
      auto left = std::make_shared<std::atomic<int>>(2);
      const Done one_less = [left, done](const JobEnd& end) {
        if (--*left == 0) done(end);
      };
      device.run(Stream::compute, 0, products(times), one_less);
      device.copy(Stream::to_device, 0, there.data(), host.memory.data(), copied, one_less);
    });
  });
  report.notes = {"products " + in_digits(2e-12 * n * n * n / one, "TFLOPS of fp16"),
                  "products alone " + in_digits(1e3 * compute, "ms"),
                  "copy alone " + in_digits(1e3 * copy, "ms"),
                  "together " + in_digits(1e3 * together, "ms")};
  report.expect(together < 0.75 * (compute + copy), "a copy waits for products, or they for it");
}

double kernel_rate(Device& device, std::uint64_t bytes,
                   const std::function<void(Primitives&)>& work) {
  run_on(device, work);
  const double took = best_of(3, [&] {
    run_on(device, [&](Primitives& p) {
      for (int i = 0; i < 10; ++i) work(p);
    });
  });
  return 10 * static_cast<double>(bytes) / took / 1e9;
}

/// Device to device, read and written, in GB/s: what no kernel that reads and writes can beat.
double copy_on_device(Device& device, std::uint64_t bytes) {
  DeviceBytes from(device, bytes), into(device, bytes);
  run_on(device, [&](Primitives& p) { p.zero(from.data(), bytes); });
  constexpr int copies = 10;
  const double took = best_of(3, [&] {
    wait_for([&](Done done) {
      for (int i = 1; i < copies; ++i)
        device.copy(Stream::compute, 0, into.data(), from.data(), bytes, [](const auto&) {});
      device.copy(Stream::compute, 0, into.data(), from.data(), bytes, std::move(done));
    });
  });
  return 2 * copies * static_cast<double>(bytes) / took / 1e9;
}

/// Notes what a kernel moves a second, each array once, and expects a share of a copy's rate.
/// Kernels that read something twice have a smaller share.
void expect_rate(Report& report, const char* name, double rate, double copy, double share) {
  char text[96];
  std::snprintf(text, sizeof text, "%s %.1f GB/s, %.0f %% of a copy, at least %.0f %%", name, rate,
                100 * rate / copy, 100 * share);
  report.notes.push_back(text);
  report.expect(rate > share * copy, std::string(name) + " is far from the memory's rate");
}

constexpr std::uint64_t rated = std::uint64_t{1} << 26, rated_width = 4096;

void rate_updates(Device& device, Report& report, double copy) {
  constexpr std::uint64_t n = rated;
  DeviceBytes states(device, 12 * n), halves(device, 4 * n);
  const Output master{states.data(), Element::fp32, false};
  const Output weight{halves.data(), Element::bf16, false};
  run_on(device, [&](Primitives& p) {
    p.zero(states.data(), 12 * n);
    p.zero(halves.data(), 4 * n);
  });
  AdamArrays arrays;
  arrays.master = {states.data(), Element::fp32};
  arrays.momentum = {states.data() + 4 * n, Element::fp32};
  arrays.variance = {states.data() + 8 * n, Element::fp32};
  arrays.gradient = {halves.data() + 2 * n, Element::bf16};
  arrays.weight = Array{halves.data(), Element::bf16};
  arrays.n = n;
  const double adam = kernel_rate(device, 28 * n, [&](Primitives& p) { p.adam(arrays, {}); });
  const double convert =
      kernel_rate(device, 6 * n, [&](Primitives& p) { p.convert(n, master.read(), weight); });
  expect_rate(report, "Adam", adam, copy, 0.7);
  expect_rate(report, "conversion", convert, copy, 0.7);
}

void rate_rows(Device& device, Report& report, double copy) {
  constexpr std::uint64_t n = rated, width = rated_width, rows = n / width;
  constexpr Side side = Side::device;
  DeviceBytes memory(device, 6 * n);
  run_on(device, [&](Primitives& p) { p.zero(memory.data(), 6 * n); });
  const Output x{memory.data(), Element::bf16, false};
  const Output y{memory.data() + 2 * n, Element::bf16, false};
  const Output z{memory.data() + 4 * n, Element::bf16, false};
  Operand scale(device, width, Element::bf16, 1), sums(device, rows, Element::fp32, 2);
  Operand gradient(device, width, Element::bf16, 3);
  const Norm norm{NormKind::root_mean_square, 1e-5f, rows, width};
  const double norms = kernel_rate(device, 4 * n, [&](Primitives& p) {
    p.norm(norm, x.read(), scale.in(side), Input(), sums.as<float>(side), y);
  });
  const double back = kernel_rate(device, 6 * n, [&](Primitives& p) {
    p.norm_backward(norm, y.read(), x.read(), sums.as<float>(side), scale.in(side), z,
                    gradient.out(side), Output());
  });
  const double over_rows = kernel_rate(
      device, 2 * n, [&](Primitives& p) { p.sum_rows(rows, width, x.read(), gradient.out(side)); });
  const GatedProduct gate{models::Activation::silu, n};
  const double gates = kernel_rate(device, 6 * n, [&](Primitives& p) {
    p.gated_product(gate, x.read(), y.read(), Output(), z);
  });
  const Rotation rotation{rows, 4096, width / 128, 128, 10000, false};
  const double turns = kernel_rate(device, 4 * n, [&](Primitives& p) { p.rotate(rotation, x); });
  expect_rate(report, "norm", norms, copy, 0.7);
  expect_rate(report, "norm backward", back, copy, 0.4);  // reads both inputs twice
  expect_rate(report, "sum over rows", over_rows, copy, 0.7);
  expect_rate(report, "gated product", gates, copy, 0.7);
  expect_rate(report, "rotation", turns, copy, 0.5);  // of each head but an eighth of a line
}

/// What kernels move a second, beside a copy of the device's memory in the same run.
void kernel_rates(Device& device, Report& report) {
  const double copy = copy_on_device(device, std::uint64_t{1} << 30);
  report.notes = {"copy within the device " + in_digits(copy, "GB/s")};
  rate_updates(device, report, copy);
  rate_rows(device, report, copy);
}

/// TFLOPS of bf16 products with 4096 rows, columns and inner elements.
double product_rate(Device& device) {
  constexpr std::uint64_t n = 4096;
  Operand a(device, n * n, Element::bf16, 1), b(device, n * n, Element::bf16, 2);
  Operand c(device, n * n, Element::bf16, 3);
  const auto products = [&](Primitives& p) {
    Product product{n, n, n};
    product.a = {a.in(Side::device), n};
    product.b = {b.in(Side::device), n};
    product.c = {c.out(Side::device), n};
    for (int i = 0; i < 16; ++i) p.product(product);
  };
  run_on(device, products);
  return 16 * 2e-12 * n * n * n / best_of(3, [&] { run_on(device, products); });
}

/// Attention of a 7B model's layer, forward and backward, beside products of the same run. Its
/// scores go by way of memory: a third of the products' rate is much, a tenth is too little.
void attention_rates(Device& device, Report& report) {
  constexpr std::uint64_t sequence = 4096, heads = 32, dim = 128, n = sequence * heads * dim;
  AttentionShape shape{1, sequence, heads, heads, dim, true, 0.088388f, {}};
  Operand q(device, n, Element::bf16, 1), k(device, n, Element::bf16, 2);
  Operand v(device, n, Element::bf16, 3), o(device, n, Element::bf16, 4);
  Operand dq(device, n, Element::bf16, 5), dk(device, n, Element::bf16, 6);
  Operand dv(device, n, Element::bf16, 7), sums(device, sequence * heads, Element::fp32, 8);
  constexpr Side side = Side::device;
  constexpr int times = 8;  // in one round trip to the device and back
  const auto forward = [&](Primitives& p) {
    for (int i = 0; i < times; ++i)
      p.attention(shape, {q.in(side), k.in(side), v.in(side), o.out(side), sums.as<float>(side)});
  };
  const auto backward = [&](Primitives& p) {
    for (int i = 0; i < times; ++i)
      p.attention_backward(
          shape, {v.in(side), q.in(side), k.in(side), v.in(side), o.in(side), sums.as<float>(side),
                  dq.out(side), dk.out(side), dv.out(side), nullptr});
  };
  run_on(device, forward);
  run_on(device, backward);
  const double there = best_of(3, [&] { run_on(device, forward); }) / times;
  const double back = best_of(3, [&] { run_on(device, backward); }) / times;
  constexpr double work = 2e-12 * sequence * sequence * heads * dim;  // of half the scores
  const double products = product_rate(device);
  report.notes = {
      "forward " + in_digits(1e3 * there, "ms") + ", " + in_digits(work / there, "TFLOPS"),
      "backward " + in_digits(1e3 * back, "ms") + ", " + in_digits(2 * work / back, "TFLOPS"),
      "products " + in_digits(products, "TFLOPS of bf16")};
  report.expect(work / there > 0.1 * products, "attention is far from the products' rate");
  report.expect(2 * work / back > 0.1 * products, "attention backward is far from it, too");
}

}  // namespace

std::span<const Check> rate_checks() {
  static constexpr Check checks[] = {
      {"CopiesReachTheLinksRate", copy_rates, true},
      {"CopiesAndProductsOverlap", overlap, true},
      {"KernelsReachTheMemorysRate", kernel_rates, true},
      {"AttentionOfASevenBillionModel", attention_rates, true},
  };
  return checks;
}

}  // namespace spillway::hw_backend
