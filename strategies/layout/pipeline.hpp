#pragma once

#include "scenarios/description/training.hpp"

#include <cstdint>
#include <vector>

namespace spillway::strategies {

/// What a pipeline stage does next.
struct StageAction {
  enum class What : std::uint8_t { forward, backward, exchange };
  What what = What::forward;
  std::uint64_t micro = 0;  ///< of a pass
  /// Of an exchange with a neighbour: micro-batches whose hidden states (to the next stage, from
  /// the one before) or gradients (the other way) go and come; -1: none.
  std::int64_t sends_forward = -1, receives_forward = -1;
  std::int64_t sends_backward = -1, receives_backward = -1;
};

/// Forwards that a stage has done when its first backward begins, that one's own not counted: of
/// 1F1B min(stages - 1 - stage, micro_batches), of GPipe all.
std::uint64_t forwards_ahead(description::PipelineSchedule schedule, std::uint64_t stage,
                             std::uint64_t stages, std::uint64_t micro_batches);

/// The step of a stage. A pipeline of one stage has each backward behind its forward.
///   Exchanges  in pairs as Megatron-LM has them, so that neighbours that wait for each other meet
///   Source     PipeDream-Flush; Megatron-LM (SC'21) section 2.2; GPipe (2019), 2.3
std::vector<StageAction> stage_order(description::PipelineSchedule schedule, std::uint64_t stage,
                                     std::uint64_t stages, std::uint64_t micro_batches);

}  // namespace spillway::strategies
