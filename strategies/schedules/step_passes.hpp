#pragma once

#include "strategies/layout/pipeline.hpp"
#include "strategies/schedules/layer_passes.hpp"
#include "strategies/schedules/step_phases.hpp"

namespace spillway::strategies {

/// The passes of one rank's step, each its micro-batch's, in the order of `parallel.schedule`: of a
/// pipeline each stage its layers, with hand-overs in between or beside them; without stages
/// forward and backward in turn.
///   for (passes.begin_step(); passes.next();) co_await passes.run();
class StepPasses {
 public:
  explicit StepPasses(StreamingRank& parts);

  void begin_step();
  /// Goes on to the next pass or hand-over, and enters its phase.  Result  false: the step has none
  bool next();
  /// It is a backward; the one that completes the step's gradients.
  bool is_backward() const { return action().what == StageAction::What::backward; }
  bool completes_gradients() const;
  Task<> run();
  /// Of the micro-batch that ran last.
  const StepNumbers& numbers() const { return numbers_; }

 private:
  const StageAction& action() const { return actions_[at_]; }
  const StageAction* pass_behind() const;
  bool splits() const;
  MicroBatch micro_batch(Made made) const;
  Task<> back();
  Task<> weights();
  Task<> end_micro_batch();

  StreamingRank& parts_;
  LayerPasses layers_;
  StepPhases phases_;
  std::vector<StageAction> actions_;
  std::size_t at_ = 0;
  bool begun_ = false;
  bool backward_follows_ = false;  ///< with nothing in between, the micro-batch's own
  StepNumbers numbers_;
};

}  // namespace spillway::strategies
