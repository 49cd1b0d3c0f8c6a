#include "strategies/parts/weights/chosen_experts.hpp"

#include "models/program/expert_choice.hpp"

#include <algorithm>

namespace spillway::strategies {

ChosenExperts::ChosenExperts(const Job& job) : job_(job) {
  const description::Training& training = job.scenario.training;
  if (!job.scenario.strategy.weights.experts_alone() || training.lora.dora ||
      training.experts != description::ExpertLayout::separate)
    return;
  for (std::uint32_t weight = 0; weight < job.model.weights.size() && !any_; ++weight) {
    const models::WeightTensor& tensor = job.model.weights[weight];
    any_ = tensor.routed && job.holds(weight) && job.row(weight).shards.weight_ways() == 1;
  }
}

void ChosenExperts::set_micro_batch(std::optional<std::uint64_t> micro_batch) {
  if (micro_batch != micro_batch_) copies_.clear();
  micro_batch_ = micro_batch;
}

bool ChosenExperts::needs(std::uint32_t weight) {
  const models::WeightTensor& tensor = job_.model.weights[weight];
  if (!any_ || !micro_batch_ || !tensor.routed) return true;
  std::vector<std::uint64_t>& copies = copies_[tensor.layer];
  if (copies.empty())
    copies = models::copies_of_experts(job_.model.architecture, job_.program.workload, tensor.layer,
                                       *micro_batch_);
  return copies[tensor.expert] > 0;
}

std::size_t ChosenExperts::stand_in(const LayerPlan& plan, std::uint32_t weight) {
  const models::WeightTensor& tensor = job_.model.weights[weight];
  const auto found =
      std::find_if(plan.weights.begin(), plan.weights.end(), [&](const LayerWeight& other) {
        const models::WeightTensor& one = job_.model.weights[other.weight];
        return one.routed && one.kind == tensor.kind && one.layer == tensor.layer &&
               job_.elements(other.weight) == job_.elements(weight) && needs(other.weight);
      });
  ENSURE(found != plan.weights.end(), "a layer of whose experts none is chosen");
  return static_cast<std::size_t>(found - plan.weights.begin());
}

}  // namespace spillway::strategies
