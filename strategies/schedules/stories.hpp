#pragma once

#include "strategies/layout/job.hpp"

/// One rank of a system, set-up and all steps: what happens when, over the parts that the scenario
/// chose. A Task each, which runs until the steps are over.
namespace spillway::strategies {

/// The schedule of DeepSpeed's ZeRO with or without offloading: layers stream by, forward and
/// backward; the update follows, or, one step late, runs beside the next step.
///   Source   ZeRO-Infinity (SC'21) section 6; ZeRO-Offload (ATC'21) section 5.2, one-step delay
Task<> layer_by_layer(Machine& machine, Rank rank, const Job& job);

/// The CPU updates while the last backward goes on; the step ends with what is left of it, or,
/// where an overflow was found (optimizer.roll_back), with taking back what was updated.
///   Source   LoHan, active gradient offloading; SuperOffload (arXiv 2509.21271), speculation
Task<> active_gradients(Machine& machine, Rank rank, const Job& job);

/// All micro-batches of a step go through a layer together, forward and backward; the update
/// follows, or a part of it goes on in the next step's forward, whose layers wait for their own.
///   Source   GreedySnake (arXiv 2512.17570)
Task<> micro_batches_by_layer(Machine& machine, Rank rank, const Job& job);

/// Steps are passes only; an update that none of them waits for runs beside them all. On the GPU it
/// is repeated as a recorded training did it: what results of a real one are compared to.
///   Source   Angel-PTM (VLDB'23), lock-free update
Task<> loose_updates(Machine& machine, Rank rank, const Job& job);

/// A planner has decided per tensor: each is in a GPU buffer of its own or away, and kernels run
/// one by one with their operands on the GPU, 1F1B over pipeline stages. A plan without
/// destinations moves nothing, which is what others are compared with.
///   Throws   OutOfMemory naming tier and largest operand of a kernel that no plan can run
///   Source   TeraIO, sections 3 and 4; G10 (MICRO'23)
Task<> tensor_by_tensor(Machine& machine, Rank rank, const Job& job);

}  // namespace spillway::strategies
