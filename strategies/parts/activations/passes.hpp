#pragma once

#include "strategies/layout/layer_plan.hpp"
#include "strategies/machine/machine.hpp"
#include "strategies/parts/activations/cpu_experts.hpp"
#include "strategies/parts/weights/weights.hpp"

namespace spillway::strategies {

/// Where the areas of a layer's plan lie at the moment.
struct LayerOperands {
  const GatheredWeights* weights = nullptr;
  const std::vector<View>* gradients = nullptr;  ///< parallel to LayerPlan::weights
  const std::vector<bool>* fresh = nullptr;      ///< parallel to gradients: no sum to add to
  const std::vector<Buffer>* saved = nullptr;    ///< parallel to LayerPlan::saved
  /// Parallel to `saved`: what brings it back; an Op is dropped when a kernel waits for it.
  std::vector<Op>* arrivals = nullptr;
  View transient, logits, scratch;
  const std::vector<Buffer>* hidden = nullptr;  ///< by index into LayerPlans::hidden
  StepNumbers numbers{};
};

/// A pass that was issued.
struct IssuedPass {
  Op first, last;
  std::vector<Op> segments;  ///< parallel to PassPlan::segments
};

/// Whom a rank's passes wait for between kernels.
struct Meetings {
  Group tensor, expert, context;  ///< its tensor-, expert- and context-parallel groups
  CpuExperts* cpu = nullptr;      ///< null: the CPU has no experts
  std::span<const std::uint64_t> to_experts = {};  ///< StepProgram::to_expert_ranks
};

/// Issues one pass of a layer on the rank's compute stream, a segment at a time: kernels in order,
/// cut by what is no kernel: all-reduces, all-to-alls, work of the CPU.
///   after          what the first kernel waits for, beside the layer's weights; a kernel that uses
///                  a saved tensor waits for its arrival too
///   Beside         what ranks pass on in a ring goes on beside the kernels up to the next that is
///                  passed on; those behind that wait for it
///   as_they_come   kernels wait for their own weights' copies only, but all of them for the
///                  layer's storage reads (weights.overlap false); else the first kernel waits for
///                  the whole layer
class PassIssuer {
 public:
  PassIssuer(Machine& machine, Rank rank, const Meetings& meetings, const PassPlan& pass,
             const LayerOperands& operands, std::vector<Op> after, bool as_they_come);

  /// The next segment; there is one.
  ///   Result  its last operation
  Op next();
  /// What was issued; waits for `after` where there are no kernels.
  IssuedPass finish();

 private:
  void flush();
  bool made_already(const PlannedKernel& planned) const;
  void add(const PlannedKernel& planned);
  Op meet(const PassPlan::Segment& segment);
  void pass_on(const PassPlan::Segment& segment);

  Machine& machine_;
  Rank rank_;
  Meetings meetings_;
  const PassPlan& pass_;
  LayerOperands operands_;
  bool as_they_come_;
  std::vector<Op> after_;
  std::vector<Op> beside_, earlier_;     ///< passed on behind the kernels issued last; before them
  std::vector<bool> awaited_, written_;  ///< by the layer's weights
  std::vector<GpuKernel> kernels_;
  IssuedPass issued_;
};

/// Issues passes of one rank's layers.
class Passes {
 public:
  /// `as_they_come`: see PassIssuer.
  Passes(Machine& machine, Rank rank, const Meetings& meetings, bool as_they_come)
      : machine_(machine), rank_(rank), meetings_(meetings), as_they_come_(as_they_come) {}

  PassIssuer begin(const PassPlan& pass, const LayerOperands& operands,
                   std::vector<Op> after) const;
  /// The whole pass at once.
  IssuedPass issue(const PassPlan& pass, const LayerOperands& operands,
                   std::vector<Op> after) const;

 private:
  Machine& machine_;
  Rank rank_;
  Meetings meetings_;
  bool as_they_come_;
};

}  // namespace spillway::strategies
