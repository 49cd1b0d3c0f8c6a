#include "strategies/parts/activations/cpu_experts.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

std::uint64_t aligned(std::uint64_t bytes) {
  return description::divide_up(bytes, share_alignment) * share_alignment;
}

std::uint64_t staged_bytes(const std::vector<PlannedOperand>& operands) {
  std::uint64_t bytes = 0;
  for (const PlannedOperand& operand : operands) bytes += aligned(operand.bytes);
  return bytes;
}

bool is_on_cpu(const PassPlan::Segment& segment) {
  return segment.then && segment.then->kind == models::OperatorKind::on_cpu;
}

/// The most that an operation of the CPU reads and writes; 0: it has none.
std::uint64_t largest_staged(const Job& job) {
  std::uint64_t most = 0;
  for (const LayerPlan& layer : job.plans.layers)
    for (const PassPlan* pass : {&layer.forward, &layer.recompute, &layer.backward})
      for (const PassPlan::Segment& segment : pass->segments)
        if (is_on_cpu(segment)) most = std::max(most, staged_bytes(segment.of));
  return most;
}

/// What the CPU keeps for the way back: of each layer and micro-batch under way, or of one layer at
/// a time where layers run again.
std::uint64_t kept_bytes(const Job& job, std::uint64_t micro_batches) {
  std::uint64_t all = 0, one = 0;
  for (const LayerPlan& layer : job.plans.layers) {
    std::uint64_t kept = 0;
    bool again = false;
    for (const PassPlan::Segment& segment : layer.forward.segments)
      if (is_on_cpu(segment)) kept += segment.then->cpu_keeps.value();
    for (const PassPlan* pass : {&layer.recompute, &layer.backward})
      for (const PassPlan::Segment& segment : pass->segments)
        again = again || (is_on_cpu(segment) && segment.then->cpu_keeps.value() > 0);
    if (again)
      one = std::max(one, kept);
    else
      all += kept;
  }
  return all * micro_batches + one;
}

/// Of the job's layers.
std::uint64_t expert_bytes(const Job& job) {
  std::uint64_t bytes = 0;
  for (const models::Layer& layer : job.model.layers)
    for (const std::uint32_t weight : layer.weights)
      if (job.model.weights[weight].routed) bytes += job.program.tensors[weight].bytes.value();
  return bytes;
}

}  // namespace

CpuExperts::CpuExperts(Machine& machine, Rank rank, const Job& job, std::size_t records)
    : machine_(machine), rank_(rank), job_(job), records_(records) {}

bool CpuExperts::any(const Job& job) { return largest_staged(job) > 0; }

void CpuExperts::init() {
  const std::uint64_t sharers = job_.scenario.node_ranks() / job_.scenario.parallel.pipeline;
  const std::uint64_t part =
      description::divide_up(expert_bytes(job_), std::max<std::uint64_t>(sharers, 1));
  weights_ = machine_.allocate_now(TierId::pageable, rank_, Bytes(part), Purpose::weights);
  kept_ = machine_.allocate_now(TierId::pageable, rank_, Bytes(kept_bytes(job_, records_)),
                                Purpose::swapped_activations);
  staging_ = machine_.allocate_now(TierId::pinned, rank_, Bytes(largest_staged(job_)),
                                   Purpose::activation_staging);
}

Op CpuExperts::compute(const models::Operator& operation, const std::vector<PlannedOperand>& of,
                       const std::vector<View>& views, const Op& after) {
  CpuKernel kernel;
  kernel.work = CpuWork::products;
  kernel.flops = operation.flops.value();
  kernel.traffic = operation.bytes.value();
  kernel.elements = 1;
  std::vector<Op> arrived;
  std::vector<View> made;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const View staged = staging_.view(offset, views[i].bytes);
    offset += aligned(views[i].bytes);
    kernel.operands.emplace_back(staged, of[i].access);
    if (of[i].access == models::Access::write)
      made.push_back(staged);
    else
      arrived.push_back(machine_.copy(rank_, staged, views[i], after));
  }
  Op last = machine_.run(rank_, std::move(kernel), arrived);
  std::size_t next = 0;
  for (std::size_t i = 0; i < of.size(); ++i)
    if (of[i].access == models::Access::write)
      last = machine_.copy(rank_, views[i], made[next++], last);
  return last;
}

}  // namespace spillway::strategies
