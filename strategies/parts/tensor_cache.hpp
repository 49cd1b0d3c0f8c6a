#pragma once

#include "strategies/cache_budget.hpp"
#include "strategies/job.hpp"
#include "strategies/memory/pool.hpp"
#include "strategies/parts/cached_tensor.hpp"

#include <memory>

namespace spillway::strategies {

/// One rank's cache of saved tensors, LayerPlans::moved of a plan that is cut into modules.
///   Stores     as tensors are saved, first in first out, `store_workers` at once; the GPU bytes
///   are
///              free when the write ends
///   Loads      ahead of backward, in reverse order of saving, `load_workers` at once; GPU bytes
///   are
///              held from the start of the read
///   Forwards   a tensor that is wanted while its write is queued or runs
///   Keeps      the last module, what lies behind the budget
///   Budget     from the profiled step: module times, bytes and the rate of the stores, by
///              modules_to_offload; before it there is no limit
///   Without GPUDirect   by way of two pinned buffers of 64 MiB a direction
///   Source     SSDTrain, section III and Algorithm 1; workers, buffers and the budget's formula
///   are
///              its artifact's
class TensorCache {
 public:
  TensorCache(Machine& machine, Rank rank, const Job& job);

  /// Extents and bounce buffers.
  ///   Throws  OutOfMemory
  Task<> init();

  void begin_micro_batch();
  /// A module saved `moved`, which `made` completes. What is being stored (`stores`) the cache
  /// holds as long as it needs it.
  void pack(std::uint32_t moved, const Buffer& from, Op made);
  bool stores(std::uint32_t moved) const {
    return entries_[moved].tensor.state() != CacheState::kept;
  }
  /// The backward of `module` begins: asks for what lies ahead of it.
  void prefetch(std::uint32_t module);
  /// Waits until the tensor is on the GPU.
  Task<Buffer> unpack(std::uint32_t moved);
  /// Its last module of this micro-batch is through.
  void release(std::uint32_t moved);
  /// When the module's forward began and ended, for the profiled step.
  void forward_ran(std::uint32_t module, Op first, Op last);
  /// Plans the budget after the profiled step.
  void step_ended();
  /// Waits for stores that nobody waited for.
  Task<> settle();

 private:
  struct Entry {
    CachedTensor tensor;
    std::uint64_t generation = 0;  ///< saved so often
    Buffer on_gpu, in_host;
    Stored on_drives;
    bool dropped = false;  ///< its store
    Pending<> storing, loading;
  };
  struct ModuleRun {
    Op first, last;
  };

  bool keeps(std::uint32_t moved);
  std::uint64_t of_a_block(std::uint32_t module) const;
  void request(std::uint32_t moved);
  Task<> store(std::uint32_t moved, std::uint64_t generation, Buffer from, Op made,
               Pending<> earlier);
  Task<> load(std::uint32_t moved);
  Task<> write_out(std::uint32_t moved, View from, Op made);
  Task<> read_back(std::uint32_t moved, View into);
  void note_store(const Op& op);
  void plan_budget();
  std::vector<ModuleLoad> measured_modules(double& forward_s) const;
  const MovedTensor& moved(std::uint32_t index) const { return job_.plans.moved[index]; }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  CacheKnobs knobs_;
  bool direct_;  ///< between drives and GPU memory
  std::vector<Entry> entries_;
  std::unique_ptr<BufferPool> out_, in_;  ///< bounce buffers
  Semaphore storers_, loaders_;
  std::uint64_t budget_;                  ///< bytes of a micro-batch
  std::size_t boundary_;                  ///< candidates from here on are kept
  std::vector<std::uint32_t> candidate_;  ///< by module: its number among the planner's candidates
  std::vector<ModuleRun> ran_;            ///< by module, in the profiled step
  std::uint64_t step_ = 0;
  std::uint64_t offloaded_ = 0;  ///< bytes of this micro-batch
  std::size_t next_asked_ = 0;   ///< scopes from here on were asked for
  double first_store_s_ = 0, last_store_s_ = 0;
  std::uint64_t stored_bytes_ = 0;  ///< of the profiled step
  CacheTotals totals_;              ///< of this step
};

}  // namespace spillway::strategies
