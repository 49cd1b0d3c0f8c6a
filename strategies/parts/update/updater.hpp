#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// Who updates weights with the gradients that steps make: at the end of a step, while its last
/// backward goes on, beside the next step, or beside all of them. A schedule says what it is at; an
/// updater does what there is to do then.
class Updater {
 public:
  virtual ~Updater() = default;

  /// What it updates with: states, buffers, extents.
  ///   Throws  OutOfMemory
  virtual Task<> init() = 0;
  /// The backward of a micro-batch begins.
  ///   completes  it is the one that completes the step's gradients
  virtual void before_backward(const StepNumbers& /*of the micro-batch*/, bool /*completes*/) {}
  /// It has ended: its gradients have come, or are on their way where an update takes them.
  virtual void after_backward(const StepNumbers& /*of the micro-batch*/) {}
  /// The step's passes are over.  Returns when the next step may begin
  virtual Task<> update(const StepNumbers&) { co_return; }
  /// The same of a step with an overflow: what was updated already becomes what it was before.
  virtual Task<> take_back() { co_return; }
  /// What an update beside the step made of the weights, which the step did not see: the next one
  /// does. Nothing where an update ends with its step.
  virtual Task<> publish() { co_return; }
  /// The last step is over: ends what goes on beside steps.
  virtual Task<> stop() { co_return; }
  /// Behind `stop`: every master is read once more, for a checkpoint.
  virtual Task<> checkpoint() = 0;
};

}  // namespace spillway::strategies
