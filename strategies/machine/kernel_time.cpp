#include "strategies/machine/kernel_time.hpp"

#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace spillway::strategies {

namespace {

/// `amount / rate`; nothing takes no time, whatever the rate.
double seconds_of(double amount, double rate, const char* what) {
  if (amount == 0) return 0;
  ENSURE(rate > 0, std::string("the machine has no rate for ") + what);
  return amount / rate;
}

/// Hooks of a module run before its kernels: of operators, those that read its weights first.
bool begins_module(models::OperatorFunction function) {
  using models::OperatorFunction;
  switch (function) {
    case OperatorFunction::embedding:
    case OperatorFunction::embedding_backward:
    case OperatorFunction::norm:
    case OperatorFunction::norm_backward:
    case OperatorFunction::gated_norm:
    case OperatorFunction::gated_norm_backward:
    case OperatorFunction::product:
    case OperatorFunction::product_input_gradient:
    case OperatorFunction::tiled_feed_forward:
    case OperatorFunction::tiled_feed_forward_backward:
    case OperatorFunction::fused_loss:
    case OperatorFunction::fused_loss_backward:
      return true;
    default:
      return false;
  }
}

/// Where `value` lies in a sorted list: the entry before it, and how far it is on the way to the
/// next, by logarithms.
struct Position {
  std::size_t index = 0;
  double fraction = 0;
};
Position position_in(const std::vector<std::uint64_t>& list, double value) {
  Position at;
  while (at.index + 1 < list.size() && value >= static_cast<double>(list[at.index + 1])) ++at.index;
  const double from = static_cast<double>(list[at.index]);
  if (at.index + 1 < list.size() && value > from)
    at.fraction = std::log(value / from) / std::log(static_cast<double>(list[at.index + 1]) / from);
  return at;
}

double product_rate(KernelRate rate, const description::Scenario& scenario) {
  if (rate == KernelRate::fp8) return fp8_rate(scenario);
  const auto& compute = scenario.machine.gpu.compute;
  const auto bf16 = compute.find("bf16");
  return rate == KernelRate::bf16 && bf16 != compute.end() ? bf16->second.value()
                                                           : compute_rate(scenario);
}

double side_of(const models::GemmShape& shape) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return 0;
  return 1 / (1 / static_cast<double>(shape.m) + 1 / static_cast<double>(shape.n) +
              1 / static_cast<double>(shape.k));
}

/// Of a product whose rows are tokens.
ProductShape shape_of(const models::GemmShape& shape) {
  return {static_cast<double>(shape.m),
          2 / (1 / static_cast<double>(shape.n) + 1 / static_cast<double>(shape.k))};
}

NarrowKernel narrow_kernel(const models::NarrowProducts& products) {
  if (products.bytes.value() == 0) return {};
  const ProductShape shape = shape_of(products.gemm);
  return {products.flops.value(), static_cast<double>(products.bytes.value()),
          side_of(products.gemm), shape.tokens, shape.width};
}

/// The share of the GPU's rate that a product of that shape reaches.
double share_of(double side, ProductShape shape, const description::GpuSpec& gpu) {
  return shape.width > 0 && !gpu.products.empty() ? product_share(shape, gpu)
                                                  : product_share(side, gpu);
}

description::BytesPerSecond traffic_rate(KernelRate rate, const description::GpuSpec& gpu) {
  if (rate == KernelRate::reduction) return gpu.reduction.value_or(gpu.memory_rate);
  if (rate == KernelRate::permute) return gpu.permute.value_or(gpu.memory_rate);
  return gpu.memory_rate;
}

/// The longer of their traffic and their arithmetic.
double narrow_seconds(const NarrowKernel& narrow, const description::GpuSpec& gpu, double rate) {
  const double share = share_of(narrow.side, {narrow.tokens, narrow.width}, gpu);
  return std::max(seconds_of(narrow.bytes, gpu.memory_rate.value(), "gpu.memory_rate"),
                  seconds_of(narrow.flops, rate * share, "gpu.compute"));
}

}  // namespace

double product_side(const models::Operator& op) { return side_of(op.gemm); }

ProductShape product_shape(const models::Operator& op) {
  const models::GemmShape& shape = op.gemm;
  if (product_side(op) == 0) return {};
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
             k = static_cast<double>(shape.k);
  if (op.function == models::OperatorFunction::product_weight_gradient)
    return {k, 2 / (1 / m + 1 / n)};  // it sums over tokens
  return shape_of(shape);
}

KernelRate rate_of(const models::Operator& op) {
  using models::OperatorFunction;
  switch (op.function) {
    case OperatorFunction::attention:
    case OperatorFunction::attention_backward:
    case OperatorFunction::attention_block:
    case OperatorFunction::attention_block_backward:
      return KernelRate::attention;
    case OperatorFunction::norm_backward:
    case OperatorFunction::gated_norm_backward:
      return KernelRate::reduction;
    case OperatorFunction::scatter_experts:
    case OperatorFunction::scatter_experts_backward:
    case OperatorFunction::gather_experts:
    case OperatorFunction::gather_experts_backward:
      return KernelRate::permute;
    case OperatorFunction::quantize:
    case OperatorFunction::quantize_weights:
      return KernelRate::fp8;
    case OperatorFunction::update:
      return op.flops.value() > 0 ? KernelRate::bf16 : KernelRate::usual;
    default:
      return op.fp8 ? KernelRate::fp8 : KernelRate::usual;
  }
}

void add_shape(LoggedKernel& kernel, const models::Operator& op) {
  const ProductShape shape = product_shape(op);
  kernel.side = product_side(op);
  kernel.rate = rate_of(op);
  kernel.tokens = shape.tokens;
  kernel.width = shape.width;
  kernel.module = begins_module(op.function);
  kernel.widened = static_cast<double>(op.widened.value());
  kernel.narrow = narrow_kernel(op.narrow);
}

LoggedKernel kernel_of_pass(const models::Operator& op) {
  LoggedKernel kernel{op.name,
                      op.flops.value(),
                      static_cast<double>(op.bytes.value()),
                      0,
                      op.flops.value() > 0,
                      true,
                      false,
                      0};
  add_shape(kernel, op);
  return kernel;
}

double product_share(double side, const description::GpuSpec& gpu) {
  if (side == 0 || gpu.matrix_half == 0) return 1;
  const auto of = [&](double x) { return x / (x + gpu.matrix_half); };
  return std::min(1.0, of(side) / of(description::matrix_reference));
}

double product_share(ProductShape shape, const description::GpuSpec& gpu) {
  std::vector<std::uint64_t> tokens, widths;  // the list is sorted by tokens, then width
  for (const description::ProductRate& each : gpu.products) {
    if (tokens.empty() || each.tokens != tokens.back()) tokens.push_back(each.tokens);
    if (tokens.size() == 1) widths.push_back(each.width);
  }
  ENSURE(tokens.size() * widths.size() == gpu.products.size(),
         "gpu.products lacks a shape of its grid");
  const Position row = position_in(tokens, shape.tokens), column = position_in(widths, shape.width);
  const auto at = [&](std::size_t i, std::size_t j) {
    i = std::min(i, tokens.size() - 1);
    j = std::min(j, widths.size() - 1);
    return gpu.products[i * widths.size() + j].share;
  };
  const auto between = [&](std::size_t i) {
    return (1 - column.fraction) * at(i, column.index) + column.fraction * at(i, column.index + 1);
  };
  const double share =
      (1 - row.fraction) * between(row.index) + row.fraction * between(row.index + 1);
  // below the grid, as of a product between squares
  const auto side = [](double rows, double width) { return 1 / (1 / rows + 2 / width); };
  const double half = gpu.matrix_half, own = side(shape.tokens, shape.width);
  const double least = side(std::max(shape.tokens, static_cast<double>(tokens.front())),
                            std::max(shape.width, static_cast<double>(widths.front())));
  return share * (own / (own + half)) / (least / (least + half));
}

double kernel_seconds(const LoggedKernel& kernel, const description::Scenario& scenario) {
  const description::GpuSpec& gpu = scenario.machine.gpu;
  const bool included = !kernel.matrix && kernel.in_pass && kernel.rate != KernelRate::fp8 &&
                        gpu.elementwise == description::ElementwiseCost::included;
  double seconds = 0;
  const bool adam = scenario.training.has_plain_adam();
  if (kernel.updated > 0 && adam && gpu.adam)
    return kernel.updated / gpu.adam->value() + gpu.launch.value();
  if (!included) {
    seconds = seconds_of(kernel.bytes - kernel.widened - kernel.narrow.bytes,
                         traffic_rate(kernel.rate, gpu).value(), "gpu.memory_rate");
  }
  if (kernel.matrix && kernel.flops > 0) {
    const double share = share_of(kernel.side, {kernel.tokens, kernel.width}, gpu);
    const double products = product_rate(kernel.rate, scenario);
    const double rate =
        kernel.rate == KernelRate::attention ? attention_rate(scenario) : products * share;
    seconds =
        std::max(seconds, seconds_of(kernel.flops - kernel.narrow.flops, rate, "gpu.compute"));
    if (kernel.narrow.bytes > 0)
      seconds += narrow_seconds(kernel.narrow, gpu, products) + gpu.launch.value();
  }
  if (kernel.widened > 0)  // a kernel of its own, that no rate of whole passes was measured with
    seconds +=
        seconds_of(kernel.widened, gpu.memory_rate.value(), "gpu.memory_rate") + gpu.launch.value();
  return seconds + gpu.launch.value();
}

bool has_kernel_rates(const description::Scenario& scenario) {
  const description::GpuSpec& gpu = scenario.machine.gpu;
  if (!has_compute_rates(scenario) || compute_rate(scenario) <= 0) return false;
  if (scenario.training.precision == description::Precision::fp8 && fp8_rate(scenario) <= 0)
    return false;
  for (const KernelRate traffic : {KernelRate::usual, KernelRate::reduction, KernelRate::permute})
    if (traffic_rate(traffic, gpu).value() <= 0) return false;
  return attention_rate(scenario) > 0;
}

bool same_kernel_rates(const description::GpuSpec& one, const description::GpuSpec& other) {
  const auto numbers = [](const description::GpuSpec& gpu) {
    return std::tie(gpu.memory_rate, gpu.launch, gpu.elementwise, gpu.matrix_half, gpu.reduction,
                    gpu.permute, gpu.compute, gpu.attention, gpu.products);
  };
  return numbers(one) == numbers(other);
}

double launching_seconds(const LoggedKernel& kernel, const description::Scenario& scenario) {
  const description::HostSpec& host = scenario.machine.host;
  if (!kernel.in_pass) return 0;
  const description::WeightsPart& weights = scenario.strategy.weights;
  const bool gathers = scenario.parallel.replicas() > 1 || weights.home != description::Home::gpu;
  const bool hooked =
      kernel.module && weights.hooks && scenario.parallel.zero_stage == 3 && gathers;
  return host.launch.value() + (hooked ? host.module_hooks.value() : 0);
}

bool launches_hold_up(const models::StepProgram& program, const description::Scenario& scenario) {
  double host = 0, gpu = 0;
  for (std::uint32_t i = program.forward.first; i < program.forward.last; ++i) {
    const LoggedKernel kernel = kernel_of_pass(program.operators[i]);
    host += launching_seconds(kernel, scenario);
    gpu += kernel_seconds(kernel, scenario);
  }
  return host > 0 && host >= gpu / 2;
}

double copy_seconds(std::uint64_t bytes, bool to_gpu, bool pageable,
                    const description::MachineFile& machine) {
  description::BytesPerSecond rate = to_gpu ? machine.pcie.h2d : machine.pcie.d2h;
  if (pageable)
    rate = std::min(rate, to_gpu ? machine.pcie.pageable_h2d : machine.pcie.pageable_d2h);
  return machine.pcie.latency.value() +
         seconds_of(static_cast<double>(bytes), rate.value(), to_gpu ? "pcie.h2d" : "pcie.d2h");
}

}  // namespace spillway::strategies
