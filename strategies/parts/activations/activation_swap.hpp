#pragma once

#include "strategies/coroutines/sync.hpp"
#include "strategies/layout/job.hpp"
#include "strategies/machine/pool.hpp"

#include <deque>
#include <memory>

namespace spillway::strategies {

/// One rank's tensors on their way out of the GPU, outside it, and on their way back: those of
/// LayerPlans::moved.
///   host   a copy into pinned memory of its own; the GPU bytes are free when it ends
///   ssd    an extent of its own on the rank's drives. io_engine gds: straight from GPU memory;
///          else by way of pinned staging buffers, which a tensor holds until it is written (read:
///          until it is copied)
///   Source  LoHan, section IV (activations to host first, then to SSD); SSDTrain, section III
class ActivationSwap {
 public:
  ActivationSwap(Machine& machine, Rank rank, const Job& job);

  /// Staging buffers and extents.
  ///   Throws  OutOfMemory
  Task<> init();

  /// Moves `moved` out of `from` after `made`; the bytes are free when that and all other
  /// operations with the buffer are done.
  ///   Throws  OutOfMemory of host memory
  void leave(std::uint32_t moved, Buffer from, Op made);
  /// Begins to bring it back.
  void call_back(std::uint32_t moved, const View& into);
  /// Waits until its way back is free; after the Op it is there.
  Task<Op> arrival(std::uint32_t moved);
  /// Waits until the oldest of those that leave has given up its GPU bytes.
  ///   Result  false: none is leaving
  Task<bool> one_leaves();
  /// Waits for what is still being moved.
  Task<> settle();

 private:
  Task<> write_out(std::uint32_t moved, Buffer from, Op made);
  Task<Op> read_back(std::uint32_t moved, View into);
  Fate fate(std::uint32_t moved) const { return job_.plans.moved[moved].fate; }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  bool direct_;      ///< between drives and GPU memory
  Purpose purpose_;  ///< of host memory
  std::unique_ptr<BufferPool> staging_;
  std::vector<Buffer> in_host_;  ///< by moved tensor, as all below
  std::vector<Stored> on_drives_;
  std::vector<Op> left_;             ///< the copy or write that took it out
  std::vector<Op> back_;             ///< the copy or read that brings it back
  std::vector<Op> off_gpu_;          ///< the copy or write that reads its GPU bytes
  Op last_read_;                     ///< straight into GPU memory: those of a plan are a queue
  std::deque<std::uint32_t> going_;  ///< moved tensors in the order in which they leave
  std::vector<Pending<>> leaving_;   ///< by way of staging; joined by settle alone
  /// `left_` and `off_gpu_` are there. Two wait for a tensor that is called back before it has
  /// left: who needs its room, and who brings it back.
  std::deque<Event> sent_;
  std::vector<Pending<Op>> returning_;
};

}  // namespace spillway::strategies
