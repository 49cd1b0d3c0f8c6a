#include "strategies/parts/activations/cpu_experts.hpp"

#include "strategies/machine/cpu_kernels.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <utility>

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

/// The most that an operation of the CPU works on.
std::uint64_t most_works(const Job& job) {
  std::uint64_t most = 0;
  for (const models::Operator& operation : job.program.operators)
    most = std::max(most, operation.cpu_works.value());
  return most;
}

bool makes_again(const LayerPlan& layer) {
  for (const PassPlan* pass : {&layer.recompute, &layer.backward})
    for (const PassPlan::Segment& segment : pass->segments)
      if (is_on_cpu(segment) && segment.then->cpu_keeps.value() > 0) return true;
  return false;
}

/// Ranks of a node that have the same experts, or of each of them a part.
std::uint64_t sharers(const description::Scenario& scenario) {
  return std::min(scenario.node_ranks(), simulated_ranks(scenario) / scenario.parallel.pipeline);
}

}  // namespace

CpuExperts::CpuExperts(Machine& machine, Rank rank, const Job& job, std::size_t records)
    : machine_(machine), rank_(rank), job_(job), records_(records) {}

bool CpuExperts::any(const Job& job) { return largest_staged(job) > 0; }

void CpuExperts::plan_layers() {
  for (const LayerPlan& plan : job_.plans.layers) {
    const auto experts = std::find_if(plan.forward.segments.begin(), plan.forward.segments.end(),
                                      [](const auto& segment) { return is_on_cpu(segment); });
    if (experts == plan.forward.segments.end()) continue;
    Layer& layer = layers_[experts->then->layer];
    layer.kept = aligned(experts->then->cpu_keeps.value());
    layer.again = makes_again(plan);
    if (layer.again)
      kept_of_one_ = std::max(kept_of_one_, layer.kept);
    else
      layer.offset = std::exchange(kept_of_all_, kept_of_all_ + layer.kept);
  }
}

/// Each rank is charged an equal part of them; whose part is all knows where each lies.
Task<> CpuExperts::place_weights() {
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> places;
  for (const models::Layer& layer : job_.model.layers)
    for (const std::uint32_t weight : layer.weights) {
      if (!job_.model.weights[weight].routed) continue;
      places.emplace_back(weight, bytes);
      bytes += aligned(job_.program.tensors[weight].bytes.value());
    }
  const std::uint64_t ranks = sharers(job_.scenario);
  // what this rank's program has of them is one part of several tensor ranks'
  const std::uint64_t alike = std::max<std::uint64_t>(ranks / job_.scenario.parallel.tensor, 1);
  weights_ = machine_.allocate_now(TierId::pageable, rank_,
                                   Bytes(description::divide_up(bytes, alike)), Purpose::weights);
  if (ranks > 1) co_return;
  std::vector<Op> made;
  for (const auto& [weight, offset] : places) {
    const View view = weights_.view(offset, job_.program.tensors[weight].bytes.value());
    const ElementType type = job_.row(weight).weight.type;
    layers_.at(job_.model.weights[weight].layer)
        .weights.emplace_back(view, models::Access::read, Role::weight, type, weight);
    made.push_back(machine_.run(rank_, first_values(view, type, Role::weight, weight, 0)));
  }
  for (const Op& values : made) co_await values;
}

Task<> CpuExperts::init() {
  plan_layers();
  kept_ =
      machine_.allocate_now(TierId::pageable, rank_, Bytes(kept_of_all_ * records_ + kept_of_one_),
                            Purpose::swapped_activations);
  works_ =
      machine_.allocate_now(TierId::pageable, rank_, Bytes(most_works(job_)), Purpose::workspace);
  staging_ = machine_.allocate_now(TierId::pinned, rank_, Bytes(largest_staged(job_)),
                                   Purpose::activation_staging);
  co_await place_weights();
}

/// Those of the micro-batches under way follow each other.
View CpuExperts::kept_of(const Layer& layer, std::uint64_t micro_batch) const {
  const std::uint64_t before = layer.again ? records_ : micro_batch % records_;
  return kept_.view(before * kept_of_all_ + layer.offset, layer.kept);
}

Op CpuExperts::compute(const models::Operator& operation, const std::vector<PlannedOperand>& of,
                       const std::vector<View>& views, const StepNumbers& numbers,
                       const Op& after) {
  const Layer& layer = layers_.at(operation.layer);
  CpuKernel kernel;
  kernel.work = CpuWork::products;
  kernel.operation = &operation;
  kernel.numbers = numbers;
  kernel.flops = operation.flops.value();
  kernel.traffic = operation.bytes.value();
  kernel.elements = 1;
  std::vector<Op> arrived;
  std::vector<View> made;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const View staged = staging_.view(offset, views[i].bytes);
    offset += aligned(views[i].bytes);
    kernel.operands.emplace_back(staged, of[i].access, Role::tensor, of[i].type, of[i].tensor);
    if (of[i].access == models::Access::write)
      made.push_back(staged);
    else
      arrived.push_back(machine_.copy(rank_, staged, views[i], after));
  }
  const bool keeps = operation.cpu_keeps.value() > 0;
  kernel.operands.emplace_back(kept_of(layer, numbers.micro_batch),
                               keeps ? models::Access::write : models::Access::read_write,
                               Role::kept, ElementType::fp32, 0);
  kernel.operands.emplace_back(works_.view(0, operation.cpu_works.value()), models::Access::write,
                               Role::workspace, ElementType::fp32, 0);
  for (const BoundOperand& weight : layer.weights) kernel.operands.push_back(weight);
  Op last = machine_.run(rank_, std::move(kernel), arrived);
  std::size_t next = 0;
  for (std::size_t i = 0; i < of.size(); ++i)
    if (of[i].access == models::Access::write)
      last = machine_.copy(rank_, views[i], made[next++], last);
  return last;
}

}  // namespace spillway::strategies
