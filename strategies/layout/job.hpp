#pragma once

#include "models/program/stages.hpp"
#include "reports/result/result.hpp"
#include "strategies/layout/decision.hpp"
#include "strategies/layout/handovers.hpp"
#include "strategies/layout/layer_plan.hpp"
#include "strategies/layout/subgroups.hpp"
#include "strategies/layout/tensor_table.hpp"
#include "strategies/machine/machine.hpp"

#include <deque>
#include <memory>

namespace spillway::strategies {

/// Counts the steps of a run and lets all ranks begin each one together. Updates that no step waits
/// for keep time of their own, of many steps: two steps that are alike say nothing about the next,
/// and where time is exact at least ten are measured; those that never repeat, by whole cycles. One
/// step alone is measured only if it met no full cache of a drive, which the next may find emptier;
/// the first two find it so in any case (Machine::met_full_cache).
/// On a machine that folds micro-batches each step runs a few of them, and looks whether those in
/// its middle are equal and stand for the others; where they are not, the run ends.
class Steps {
 public:
  Steps(Machine& machine, const description::Scenario& scenario);

  /// Waits for all ranks; false when the run has its steady, measured steps.
  Task<bool> next();
  /// That each step runs.
  std::uint64_t micro_batches() const;
  /// A rank is through with one.
  void micro_batch_ended();
  bool steady() const { return steady_; }
  /// Index into Recorder::steps() of the first measured step.
  std::size_t first_measured() const { return first_measured_; }
  /// A system that needs more warm-up (profiling, cache order) than the scenario asks for says so
  /// before the first step.
  void at_least_warmup(std::uint64_t steps);
  /// Says, before the first step, that steps repeat every `steps`, or a multiple of it: so many are
  /// measured.
  void period(std::uint64_t steps);

 private:
  void add_left_out();
  bool go_on();
  bool repeats();
  std::size_t start_of_whole_cycles() const;

  Machine& machine_;
  Barrier barrier_;
  std::uint64_t ranks_, warmup_, measured_;
  double alike_;  ///< share by which steps that repeat may differ
  std::uint64_t period_ = 1;
  std::uint64_t begun_ = 0;  ///< steps begun, the set-up counted as step 0
  std::uint64_t arrived_ = 0;
  std::uint64_t micro_batches_;            ///< of a step
  std::uint64_t micro_batches_ended_ = 0;  ///< of all ranks
  std::size_t first_measured_ = 0;
  bool more_ = true;
  bool steady_ = true;
  bool in_cycles_ = false;  ///< of updates that no step waits for
};

/// What one rank's cache of activations did in a step, bytes.
struct CacheTotals {
  std::uint64_t packed = 0;     ///< saved, and large enough
  std::uint64_t kept = 0;       ///< ... and not stored
  std::uint64_t offloaded = 0;  ///< ... and stored
  std::uint64_t forwarded = 0;  ///< of those, taken from memory while the write was under way
  std::uint64_t dropped = 0;    ///< of those, not written after all
  std::uint64_t loaded = 0;
  std::size_t candidates = 0, offloaded_modules = 0;
  double write_bytes_per_s = 0;  ///< that the budget was planned with; 0: it was not
};

/// What the ranks of a node share while they run.
struct NodeShared {
  /// `optimizer.lanes` of each storage, one without; made when the run starts.
  NodeShared(Machine& machine, const description::Scenario& scenario);

  std::deque<Semaphore> lanes;  ///< by storage, then by stripe
  /// What each rank's optimizer says of its last step.
  std::vector<result::OptimizerStates> states;
  std::vector<result::Checkpoint> checkpoints;
  std::vector<CacheTotals> caches;  ///< empty without a cache of activations
  std::vector<Delays> delays;       ///< by rank, where no step waits for updates; else empty
  Handovers handovers;              ///< between pipeline stages
  nlohmann::json plan;  ///< what planners decided, all ranks together; null: nothing was planned
};

/// What all ranks of a run share, or all ranks of a pipeline stage: the scenario and what follows
/// from it. Outlives the run.
struct Job {
  const description::Scenario& scenario;
  const models::Model& model;  ///< of a stage: its layers, and all weights, of which it holds some
  const models::StepProgram& program;
  TensorTable tensors;
  ActivationPlan activations;
  LayerPlans plans;                 ///< parallel to model.layers
  std::vector<Subgroup> subgroups;  ///< of one rank, in the order of `optimizer.grouping`
  /// By rank, as Decided has them; null: no cache plans its budget.
  const std::vector<std::size_t>* cached_modules = nullptr;
  /// By rank: a training whose delays this one repeats.
  const std::vector<Delays>* replay = nullptr;
  Steps* steps = nullptr;
  NodeShared* shared = nullptr;
  /// By rank, of a system that plans whole steps; else null.
  const std::vector<RankPlan>* ranks = nullptr;

  /// Of what was decided, which outlives it.
  explicit Job(const Decision& decision);
  /// Of one of its pipeline stages (Prepared::stages), numbered from 0.
  Job(const Decision& decision, std::size_t stage);
  /// Of what a decision is made from: what `prepared` holds is not cut into stages.
  Job(const description::Scenario& scenario, const Prepared& prepared, TensorTable tensors,
      const ActivationPlan& fates);
  /// Of one that runs: some of its rows (TensorTable::owned), for who updates them. No layer is
  /// laid out.
  Job(const Job& whole, TensorTable rows);

  /// Null where ranks run the whole model, or plans of it.
  const models::PipelineStage* stage = nullptr;
  const TensorRow& row(std::uint32_t weight) const { return tensors.row(weight); }
  /// Of the first member: what states all of them have, and in which formats.
  const TensorRow& row(const Subgroup& group) const {
    return tensors.row(group.members.front().weight);
  }
  /// False for a weight of other stages.
  bool holds(std::uint32_t weight) const { return elements(weight) > 0; }
  /// It is held, and changes.
  bool trains(std::uint32_t weight) const { return holds(weight) && row(weight).trainable(); }
  /// The tensor ranks, each of which has the weight whole, have a part of its gradient each.
  bool partial(std::uint32_t weight) const {
    return program.tensors[model.weights.size() + weight].partial;
  }
  /// Elements of weight `index` on one tensor-parallel rank; 0 where it is not held.
  std::uint64_t elements(std::uint32_t index) const { return row(index).elements; }
  /// Elements that one of `ways` ranks holds (see share_of).
  std::uint64_t share(std::uint32_t index, std::uint64_t ways) const {
    return row(index).share(ways);
  }
  /// The place of one of the simulated node's ranks in its data-parallel group. That node is the
  /// first, so its members are.
  std::uint64_t member(Rank rank) const {
    return rank.index / scenario.parallel.tensor % scenario.parallel.replicas();
  }
  /// The same in the group over which `weight` is spread.
  std::uint64_t member(Rank rank, std::uint32_t weight) const {
    return of_experts(weight) ? member(rank) / scenario.parallel.expert : member(rank);
  }
  /// The ranks that train `weight` on different samples, which gather it and reduce its gradient:
  /// a group for each.
  Group gather_group(Rank rank, std::uint32_t weight) const;
  Group reduce_group(Rank rank, std::uint32_t weight) const;
  /// Of the tensors of the step program that are no weight's.
  ElementType activation_type() const { return kernel_type(program.workload.precision); }

 private:
  Job(const description::Scenario& scenario, const models::Model& model,
      const models::StepProgram& program, TensorTable tensors, const ActivationPlan& fates,
      const models::PipelineStage* of);
  void take(const Decided& decided);
  void lay_out();
  bool of_experts(std::uint32_t weight) const {
    return row(weight).shards.group == ShardGroup::expert_data;
  }
};

/// One for all ranks of what was decided, which outlives it, or one for the ranks of each pipeline
/// stage.
std::deque<Job> jobs_of(const Decision& decision);
/// That of `rank` among those of `ranks`, all that are simulated.
inline const Job& job_of(const std::deque<Job>& jobs, Rank rank, std::uint32_t ranks) {
  return jobs[rank.index * jobs.size() / ranks];
}

}  // namespace spillway::strategies
