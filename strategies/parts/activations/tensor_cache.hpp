#pragma once

#include "strategies/layout/job.hpp"
#include "strategies/machine/pool.hpp"
#include "strategies/parts/activations/cached_tensor.hpp"
#include "strategies/planner/saved/cache_budget.hpp"

#include <memory>

namespace spillway::strategies {

/// One rank's cache of saved tensors, LayerPlans::moved of a plan that is cut into modules.
///   Stores     as tensors are saved, first in first out, `store_workers` at once; the GPU bytes
///              are free when the write ends
///   Loads      ahead of backward, in reverse order of saving, `load_workers` at once; GPU bytes
///              are held from the start of the read
///   Forwards   a tensor that is wanted while its write is queued or runs
///   Keeps      the last module, where its backward follows at once; what lies behind the budget
///   Records    one for each piece of each micro-batch under way: 1F1B has several micro-batches
///   Budget     from the profiled step: module times, bytes and the rate of the stores, by
///              modules_to_offload; before it what was decided (Decided::cached_modules)
///   Without GPUDirect   by way of two pinned buffers of 64 MiB a direction
///   Source     SSDTrain, section III and Algorithm 1; workers, buffers and the budget's formula
///              are its artifact's
class TensorCache {
 public:
  /// `records`: of micro-batches under way at once, of each those of its pieces in a row.
  TensorCache(Machine& machine, Rank rank, const Job& job, std::size_t records);

  /// Extents and bounce buffers.
  ///   Throws  OutOfMemory
  Task<> init();

  /// What follows is about the micro-batch of this record.
  void use(std::size_t record) { now_ = record; }
  /// LayerPlans::scopes of the piece's layers.
  models::Span scopes(const LayerPiece& piece) const;
  /// Its forward begins.
  ///   backward_follows  with nothing in between
  void begin_micro_batch(bool backward_follows);
  /// Its backward is next: asks for what the last module saved.
  void prefetch_last(std::size_t record);
  /// A module saved `moved`, which `made` completes. What is being stored (`stores`) the cache
  /// holds as long as it needs it.
  void pack(std::uint32_t moved, const Buffer& from, Op made);
  bool stores(std::uint32_t moved) const {
    return records_[now_].entries[moved].tensor.state() != CacheState::kept;
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
  /// Of one micro-batch under way.
  struct Record {
    std::vector<Entry> entries;    ///< parallel to LayerPlans::moved
    std::uint64_t offloaded = 0;   ///< bytes
    std::size_t first_scope = 0;   ///< of its piece
    std::size_t next_asked = 0;    ///< scopes from here on were asked for
    bool backward_follows = true;  ///< its forward
  };
  /// A tensor of a micro-batch.
  struct EntryIndex {
    std::size_t record;
    std::uint32_t moved;
  };

  const LayerPiece& piece_of(std::size_t record) const {
    return job_.plans.pieces[record % job_.plans.pieces.size()];
  }
  std::uint64_t offloaded() const;
  bool keeps(std::uint32_t moved);
  std::uint64_t of_a_block(std::uint32_t module) const;
  Entry& entry(EntryIndex at) { return records_[at.record].entries[at.moved]; }
  EntryIndex here(std::uint32_t moved) const { return {now_, moved}; }
  void request(EntryIndex at);
  Task<> store(EntryIndex at, std::uint64_t generation, Buffer from, Op made, Pending<> earlier);
  Task<> load(EntryIndex at);
  Task<> write_out(EntryIndex at, View from, Op made);
  Task<> read_back(EntryIndex at, View into);
  void note_store(const Op& op);
  void plan_budget();
  std::vector<ModuleLoad> measured_modules(double& forward_s) const;
  const MovedTensor& moved(std::uint32_t index) const { return job_.plans.moved[index]; }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  CacheKnobs knobs_;
  bool direct_;  ///< between drives and GPU memory
  std::vector<Record> records_;
  std::size_t now_ = 0;                   ///< record in use
  std::unique_ptr<BufferPool> out_, in_;  ///< bounce buffers
  Semaphore storers_, loaders_;
  std::uint64_t budget_;                  ///< bytes of a micro-batch
  std::size_t boundary_;                  ///< candidates from here on are kept
  std::size_t stored_modules_ = 0;        ///< candidates up to the last that this step stores
  std::vector<std::uint32_t> candidate_;  ///< by module: its number among the planner's candidates
  std::vector<ModuleRun> ran_;            ///< by module, in the profiled step
  std::uint64_t step_ = 0;
  double first_store_s_ = 0, last_store_s_ = 0;
  std::uint64_t stored_bytes_ = 0;  ///< of the profiled step
  CacheTotals totals_;              ///< of this step
};

}  // namespace spillway::strategies
