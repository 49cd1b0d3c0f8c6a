#include "strategies/parts/update/gradient_sink.hpp"

#include "strategies/layout/landing.hpp"
#include "strategies/machine/setup.hpp"

namespace spillway::strategies {

Op sum_over_ranks(Machine& machine, Rank rank, const Job& job, std::uint32_t weight,
                  const View& whole, const NumberFormat& format, const After& after) {
  const Group group = job.reduce_group(rank, weight);
  if (!scatters_gradients(job.scenario))
    return machine.collective(rank, group, Collective::all_reduce, whole, whole, after,
                              format.type);
  const std::uint64_t ways = job.row(weight).shards.state_ways();
  const std::uint64_t share = format.bytes(job.share(weight, ways));
  return machine.collective(rank, group, Collective::reduce_scatter, whole.part(0, ways * share),
                            whole.part(job.member(rank, weight) * share, share), after,
                            format.type);
}

Op sum_over_tensor_ranks(Machine& machine, Rank rank, const Job& job, std::uint32_t weight,
                         const View& whole, const NumberFormat& format, const Op& after) {
  if (!job.partial(weight)) return after;
  return machine.collective(rank, tensor_group(job.scenario, rank), Collective::all_reduce, whole,
                            whole, after, format.type, {}, true);
}

GradientKernels::GradientKernels(Machine& machine, Rank rank, const Job& job)
    : machine_(machine),
      rank_(rank),
      stream_(job.scenario.strategy.gradients.overlap ? GpuStream::side : GpuStream::compute) {}

GpuKernel GradientKernels::kernel(std::string_view name, GpuWork work, TypedView into,
                                  std::vector<TypedView> from) {
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
  return kernel;
}

Op GradientKernels::run(const GpuKernel& kernel, const After& after) {
  return machine_.run(rank_, std::span<const GpuKernel>(&kernel, 1), after, stream_);
}

Op GradientKernels::run(std::string_view name, GpuWork work, TypedView into,
                        std::vector<TypedView> from, const After& after) {
  return run(kernel(name, work, std::move(into), std::move(from)), after);
}

SumFormat::SumFormat(const Job& job) {
  const description::GradientsPart& part = job.scenario.strategy.gradients;
  wide_ = part.accumulation == description::Width::fp32 &&
          part.policy != description::GradientPolicy::host_fp16 &&
          part.policy != description::GradientPolicy::ssd_fp16;
}

NumberFormat SumFormat::of(const TensorRow& row) const {
  return wide_ ? fp32_numbers : row.gradient_format();
}

bool SumFormat::widens(const TensorTable& tensors) const {
  return std::any_of(tensors.rows().begin(), tensors.rows().end(), [this](const TensorRow& row) {
    return row.trainable() && of(row) != row.gradient_format();
  });
}

ElementType SumFormat::of_all(const TensorTable& tensors) const {
  std::optional<ElementType> type;
  for (const TensorRow& row : tensors.rows()) {
    if (!row.trainable()) continue;
    ENSURE(!type || *type == of(row).type, "gradients of several types as one array");
    type = of(row).type;
  }
  return type.value_or(ElementType::fp32);
}

}  // namespace spillway::strategies
