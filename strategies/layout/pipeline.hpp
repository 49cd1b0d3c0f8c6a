#pragma once

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

/// One forward, one backward: min(stages - 1 - stage, micro_batches) forwards first.
///   Exchanges  in pairs as Megatron-LM has them, so that neighbours that wait for each other meet
///   Source     PipeDream-Flush; Megatron-LM (SC'21) section 2.2
std::vector<StageAction> one_forward_one_backward(std::uint64_t stage, std::uint64_t stages,
                                                  std::uint64_t micro_batches);

}  // namespace spillway::strategies
