#include "strategies/machine/kernel_time.hpp"

#include "strategies/machine/setup.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

/// `amount / rate`; nothing takes no time, whatever the rate.
double seconds_of(double amount, double rate, const char* what) {
  if (amount == 0) return 0;
  ENSURE(rate > 0, std::string("the machine has no rate for ") + what);
  return amount / rate;
}

}  // namespace

double product_side(const models::Operator& op) {
  const models::GemmShape& shape = op.gemm;
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return 0;
  return 1 / (1 / static_cast<double>(shape.m) + 1 / static_cast<double>(shape.n) +
              1 / static_cast<double>(shape.k));
}

KernelRate rate_of(const models::Operator& op) {
  using models::OperatorFunction;
  switch (op.function) {
    case OperatorFunction::attention:
    case OperatorFunction::attention_backward:
      return KernelRate::attention;
    case OperatorFunction::norm_backward:
    case OperatorFunction::gated_norm_backward:
      return KernelRate::reduction;
    default:
      return KernelRate::usual;
  }
}

LoggedKernel kernel_of_pass(const models::Operator& op) {
  const bool products = op.flops.value() > 0;
  return {op.name,
          op.flops.value(),
          static_cast<double>(op.bytes.value()),
          0,
          products,
          true,
          false,
          0,
          product_side(op),
          rate_of(op),
          static_cast<double>(op.widened.value())};
}

double product_share(double side, const description::GpuSpec& gpu) {
  if (side == 0 || gpu.matrix_half == 0) return 1;
  const auto of = [&](double x) { return x / (x + gpu.matrix_half); };
  return std::min(1.0, of(side) / of(description::matrix_reference));
}

double kernel_seconds(const LoggedKernel& kernel, const description::Scenario& scenario) {
  const description::GpuSpec& gpu = scenario.machine.gpu;
  const bool included =
      !kernel.matrix && kernel.in_pass && gpu.elementwise == description::ElementwiseCost::included;
  double seconds = 0;
  const bool adam = scenario.training.has_plain_adam();
  if (kernel.updated > 0 && adam && gpu.adam)
    return kernel.updated / gpu.adam->value() + gpu.launch.value();
  if (!included) {
    const bool reduces = kernel.rate == KernelRate::reduction && gpu.reduction;
    seconds = seconds_of(kernel.bytes - kernel.widened,
                         (reduces ? *gpu.reduction : gpu.memory_rate).value(), "gpu.memory_rate");
  }
  if (kernel.matrix && kernel.flops > 0) {
    const double rate = kernel.rate == KernelRate::attention
                            ? attention_rate(scenario)
                            : compute_rate(scenario) * product_share(kernel.side, gpu);
    seconds = std::max(seconds, seconds_of(kernel.flops, rate, "gpu.compute"));
  }
  if (kernel.widened > 0)  // a kernel of its own, that no rate of whole passes was measured with
    seconds +=
        seconds_of(kernel.widened, gpu.memory_rate.value(), "gpu.memory_rate") + gpu.launch.value();
  return seconds + gpu.launch.value();
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
