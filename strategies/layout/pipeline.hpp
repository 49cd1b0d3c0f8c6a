#pragma once

#include "scenarios/description/training.hpp"

#include <cstdint>
#include <vector>

namespace spillway::strategies {

/// What a pipeline stage does next.
///   forward, backward  a pass over the layers of a piece
///   weights            of a backward that is split: the gradients of weights, which it left out
///   exchange           waits for what goes to a neighbour and what comes from there
///   offer              says where the input of a pass will lie, so that it may come
///   arrival            waits for it
///   send               sends the output of a pass, which is on its way while others run
struct StageAction {
  enum class What : std::uint8_t { forward, backward, weights, exchange, offer, arrival, send };
  What what = What::forward;
  std::uint64_t micro = 0;  ///< of a pass
  std::uint64_t piece = 0;  ///< of those that the stage has
  bool back = false;        ///< of an offer, an arrival, a sending: of a backward
  /// Of an exchange with a neighbour: micro-batches whose hidden states (to the next stage, from
  /// the one before) or gradients (the other way) go and come; -1: none.
  std::int64_t sends_forward = -1, receives_forward = -1;
  std::int64_t sends_backward = -1, receives_backward = -1;

  bool is_pass() const {
    return what == What::forward || what == What::backward || what == What::weights;
  }
};

/// A stage of a pipeline whose steps are to be put in order.
struct StagePlace {
  description::PipelineSchedule schedule = description::PipelineSchedule::one_forward_one_backward;
  std::uint64_t stage = 0, stages = 1, micro_batches = 1;
  std::uint64_t pieces = 1;  ///< of the model on each stage; more than one: `interleaved`
};

/// Forwards, each of a piece, that a stage has done when its first backward begins, the one just
/// before that not counted: of 1F1B and ZB-H1 min(stages - 1 - stage, micro_batches), of GPipe all,
/// sequential none, interleaved 2 (stages - 1 - stage) + (pieces - 1) stages, at most all.
///   Source  Megatron-LM, core/pipeline_parallel/schedules.py, num_warmup_microbatches
std::uint64_t forwards_ahead(const StagePlace& at);

/// Micro-batches of which a stage holds something at once: from the offer of the first forward's
/// input to the end of the last pass.
std::uint64_t micro_batches_under_way(const StagePlace& at);

/// The step of a stage. A pipeline of one stage has each backward behind its forward.
///   Exchanges    1F1B, GPipe and sequential: in pairs as Megatron-LM has them, so that neighbours
///                that wait for each other meet
///   Interleaved  `stages` forwards of a piece in a row, then as many of the next, backwards the
///                other way round; inputs come a pass ahead, as with Megatron-LM's
///                overlap_p2p_comm, which is its default here. `stages` divide the micro-batches
///   Zero bubble  ZB-H1: stage i computes the gradients of weights i micro-batches behind those of
///                what comes in, so that all stages hold `stages` micro-batches
///   Source       PipeDream-Flush; Megatron-LM (SC'21) section 2.2; GPipe (2019), 2.3; Zero Bubble
///                Pipeline Parallelism (ICLR 2024), 2.2
std::vector<StageAction> stage_order(const StagePlace& at);

}  // namespace spillway::strategies
