#include "strategies/parts/update/gradient_norm.hpp"

#include "strategies/machine/gpu_kernels.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>

namespace spillway::strategies {

using models::Access;

GradientNorm::GradientNorm(Machine& machine, Rank rank, const Job& job)
    : machine_(machine), rank_(rank), job_(job) {}

Task<> GradientNorm::init() {
  const auto place = [this](std::uint64_t sums) {
    return machine_.allocate_now(TierId::gpu, rank_, Bytes(sums * square_sum_bytes),
                                 Purpose::workspace);
  };
  sums_ = place(job_.model.weights.size());
  total_ = place(1);
  norm_ = place(1);
  const GpuKernel cleared =
      first_values_on_gpu({{sums_.view(), Access::write, Role::gradient, ElementType::fp32, 0}}, 0);
  co_await machine_.run(rank_, std::span<const GpuKernel>(&cleared, 1));
}

/// A weight that tensor ranks do not cut is the same on all of them, and one whose states ZeRO does
/// not share on all of its group; of one that several pipeline stages hold the first has it.
bool GradientNorm::counts(std::uint32_t weight) const {
  if (!job_.trains(weight)) return false;
  const std::uint64_t tensor = rank_.index % job_.scenario.parallel.tensor;
  if (tensor > 0 && job_.model.weights[weight].cut == models::Cut::none) return false;
  if (job_.row(weight).shards.state_ways() == 1 && job_.member(rank_, weight) > 0) return false;
  if (!job_.stage) return true;
  const std::uint64_t stage =
      rank_.index / (simulated_ranks(job_.scenario) / job_.scenario.parallel.pipeline);
  return std::none_of(job_.stage->tied.begin(), job_.stage->tied.end(), [&](const auto& tied) {
    return tied.weight == weight && tied.stages.front() != stage;
  });
}

void GradientNorm::leave(GpuKernel& kernel, std::uint32_t weight) const {
  if (counts(weight))
    kernel.operands.emplace_back(sums_.view(square_sum_bytes * weight, square_sum_bytes),
                                 Access::write, Role::squares, ElementType::fp32, weight);
}

Task<StepNumbers> GradientNorm::clipped(StepNumbers numbers) const {
  GpuKernel add;
  add.name = "gradient norm";
  add.work = GpuWork::add_norms;
  add.bytes = static_cast<double>(sums_.view().bytes + square_sum_bytes);
  add.operands.emplace_back(sums_.view(), Access::read, Role::input, ElementType::fp32, 0);
  add.operands.emplace_back(total_.view(), Access::write, Role::squares, ElementType::fp32, 0);
  Op summed = machine_.run(rank_, std::span<const GpuKernel>(&add, 1));
  const Group world = machine_.topology().world();
  if (machine_.topology().size(world) > 1)
    summed = machine_.collective(rank_, world, Collective::all_reduce, total_.view(), total_.view(),
                                 summed);
  GpuKernel root;
  root.name = "gradient norm";
  root.work = GpuWork::root;
  root.bytes = static_cast<double>(2 * square_sum_bytes);
  root.operands.emplace_back(total_.view(), Access::read, Role::input, ElementType::fp32, 0);
  root.operands.emplace_back(norm_.view(), Access::write, Role::output, ElementType::fp32, 0);
  const Op known = machine_.run(rank_, std::span<const GpuKernel>(&root, 1), summed);
  co_await known;
  // gradients are still as kernels made them: scaled, and of several summed
  const double norm =
      static_cast<double>(machine_.number(norm_.view())) * double{numbers.inverse_scale};
  const double factor = job_.scenario.training.gradient_clipping / (norm + 1e-6);
  if (factor < 1) numbers.inverse_scale = static_cast<float>(numbers.inverse_scale * factor);
  co_return numbers;
}

}  // namespace spillway::strategies
