#pragma once

#include "scenarios/description/scenario.hpp"

namespace spillway::strategies {

/// What decides the bits of a training beside model, seed and device: entries of the catalogue with
/// equal numerics give equal masters.
struct Numerics {
  description::Precision precision = description::Precision::bf16_mixed;
  description::StateWidth states = description::StateWidth::fp32;
  description::Method method = description::Method::full;
  description::Lora lora{};
  std::vector<std::string> frozen{};
  std::uint64_t data = 1, context = 1, tensor = 1;
  bool sequence_parallel = false;  ///< tensor ranks add up gradients of norms
  bool context_in_ring = false;    ///< attention adds up block by block, as they come
  std::uint64_t expert = 1;  ///< ranks whose tokens an expert's gradient is summed over in kernels
  bool experts_on_cpu = false;  ///< which multiplies in its own order
  std::uint64_t micro_batches = 1;
  /// Type in which micro-batches add up; equal to the kernels' where there is one only.
  description::ElementType sum = description::ElementType::fp32;
  /// Products add to gradients in fp32, and never write them narrower (products_widen).
  bool products_widen = false;
  bool reduces_each =
      false;  ///< ranks' gradients are added after each micro-batch, not once a step
  bool sums_in_kernels = false;  ///< a micro-batch has no gradient that is rounded by itself
  /// The same of experts that ranks share: of one whose gradient no ranks reduce, in every stage of
  /// ZeRO.
  bool experts_sum_in_kernels = false;
  bool skips = false;           ///< a step with an overflow changes nothing
  double largest_norm = 0;      ///< of all gradients, which are clipped to it; 0: they are not
  std::uint64_t staleness = 0;  ///< steps that an update comes late, or `any_staleness`
  /// Of each matrix's columns, which each micro-batch updates in 16 bits beside.
  double selected_share = 0;
  bool waits = true;  ///< false: what is written may be half updated; no two runs agree
  /// Pipeline stages of which several hold a weight, and add its gradients once a step; 1: none do.
  std::uint64_t stages = 1;
  /// Blocks run again in backward, with weights that an update at any time may have renewed.
  bool recomputes = false;
  /// All micro-batches have gone through a layer before one goes through the next, where several
  /// layers share weights and so their sums.
  bool by_layer = false;

  bool operator==(const Numerics&) const = default;
};

/// Those of the scenario's system. Where it plans per tensor, kernels add micro-batches where the
/// gradients lie.
Numerics numerics_of(const description::Scenario& scenario);

/// What is to be known of a training's numbers before its result is taken for that of other code.
std::vector<std::string> notes_on_numbers(const description::Scenario& scenario);

/// What trains for real may overflow, and a step that does has to be taken back.
///   Throws  ScenarioError: nobody keeps what was there before
void require_old_values(const description::Scenario& scenario);

/// The same training by `resident`, everything in GPU memory, with the numerics of `scenario`: what
/// it must end with, bit for bit.
///   Throws  ScenarioError where nothing else trains so (optimizer.wait false, or roll_back with
///           overflow_check chained)
description::Scenario reference_of(const description::Scenario& scenario);

}  // namespace spillway::strategies
