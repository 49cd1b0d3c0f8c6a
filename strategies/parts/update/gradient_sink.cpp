#include "strategies/parts/update/gradient_sink.hpp"

namespace spillway::strategies {

GradientKernels::GradientKernels(Machine& machine, Rank rank, const Job& job)
    : machine_(machine),
      rank_(rank),
      stream_(job.scenario.strategy.gradients.overlap ? GpuStream::side : GpuStream::compute) {}

Op GradientKernels::run(std::string_view name, GpuWork work, TypedView into,
                        std::vector<TypedView> from, const After& after) {
  GpuKernel kernel;
  kernel.name = name;
  kernel.work = work;
  kernel.bytes = static_cast<double>(into.view.bytes);
  for (TypedView& source : from) {
    kernel.bytes += static_cast<double>(source.view.bytes);
    kernel.operands.emplace_back(std::move(source.view), models::Access::read, Role::input,
                                 source.type, 0);
  }
  kernel.operands.emplace_back(std::move(into.view), models::Access::write, Role::output, into.type,
                               0);
  return machine_.run(rank_, std::span<const GpuKernel>(&kernel, 1), after, stream_);
}

std::uint64_t sum_width(const Job& job) {
  const bool wide = job.scenario.strategy.gradients.accumulation == description::Width::fp32;
  return job.weight_bytes == 4 || wide ? 4 : 2;
}

}  // namespace spillway::strategies
