#pragma once

#include "strategies/coroutines/sync.hpp"
#include "strategies/machine/recorder.hpp"
#include "strategies/machine/request_queues.hpp"
#include "strategies/machine/topology.hpp"
#include "strategies/memory/block_cache.hpp"
#include "strategies/memory/ledger.hpp"
#include "strategies/memory/rounding.hpp"

#include <memory>
#include <optional>

namespace spillway::strategies {

/// A request that its tier cannot give.
class OutOfMemory : public std::runtime_error {
 public:
  explicit OutOfMemory(result::Infeasible request);
  OutOfMemory(result::Infeasible request, const std::string& why);
  const result::Infeasible& request() const { return request_; }

 private:
  result::Infeasible request_;
};

/// A tier's bytes as its allocators charge them.
struct Usage {
  std::uint64_t used = 0, peak = 0, free = 0;
};

/// A buffer that somebody waits for.
struct Wanted {
  Bytes bytes;
  Purpose purpose;
};

/// When an operation ran, on the machine's clock, seconds.
struct Ran {
  double started_s = 0, finished_s = 0;
};

/// What is equal may be simulated once: ranks of a node, micro-batches in the middle of a step. The
/// ledger then counts all of it.
enum class Fold : bool { nothing, equals };

/// What a machine needs to know before it starts.
struct MachineSetup {
  Topology topology;
  Rounding pinned = Rounding::power_of_two;
  Rounding gpu = Rounding::cuda_caching;
  /// Arrays whose drives the I/O engine addresses itself, by storage; the others have a file
  /// system. Shorter than the topology's storages: the rest have one.
  std::vector<bool> raw_drives;
  /// Copies are, on a machine that only plays a device: a device has queues for them of its own.
  InTurn in_turn;
  bool clock = true;
  bool exact_time = true;  ///< the same work takes the same time: steps can be seen to repeat
  bool trace = false;
  bool folds_micro_batches = false;  ///< of a step, those that are equal
};

/// What strategies run on: the same verbs on a counting machine, in simulated time and on a real
/// server. Single-threaded: coroutines resume only in the machine's loop, in (time, start order).
/// Verbs return at once.
///   Always checked (InternalError)   operands exist, lie on the right tier and inside their
///       buffer, views 64-byte aligned, storage ranges aligned; no operation in flight conflicts:
///       two that overlap, one of them writing, must be ordered by `After`, by an await, or by an
///       in-order stream. A conflict ends the run
///   Zero bytes   transfers of nothing finish as soon as their `After` is done, and touch no device
///   Lifetime     outlives every buffer, Op and coroutine made with it
class Machine : public BlockOwner {
 public:
  explicit Machine(MachineSetup setup);
  virtual ~Machine();
  Machine(const Machine&) = delete;

  const Topology& topology() const { return setup_.topology; }
  Scheduler& scheduler() { return scheduler_; }

  // ---- Transfers. Each starts when its `After` is done; co_await waits and rethrows its error.

  /// Storage to memory.  `into` pinned or pageable; GPU memory only with GPUDirect
  Op read(Rank rank, const Stored& from, Range range, View into, const After& after = {});
  /// Memory to storage.
  Op write(Rank rank, const Stored& into, Range range, View from, const After& after = {});
  /// Direction and pinnedness follow from the views; equal lengths.
  Op copy(Rank rank, View into, View from, const After& after = {});
  /// One-sided hand-over of GPU memory to `peer` (pipeline stages).
  Op send(Rank rank, Rank peer, View from, View into, const After& after = {});

  // ---- Work

  /// In order on the rank's compute stream, or on its side stream; one operation, one entry each in
  /// the log. The two streams run beside each other: what orders them is `After`.
  Op run(Rank rank, std::span<const GpuKernel> kernels, const After& after = {},
         GpuStream stream = GpuStream::compute);
  /// Shares the node's cores and DRAM with all ranks.
  Op run(Rank rank, CpuKernel kernel, const After& after = {});
  /// Near-storage processing inside `storage`, on extents of its own; of one drive, on that
  /// drive's.
  Op run(Rank rank, StorageId storage, StorageKernel kernel, const After& after = {});
  /// Each member of `group` calls it, in the same order; on a stream of that group's own; done when
  /// all are. Members on other nodes do what this node's do.
  ///   Throws  InternalError when the members' kinds or sizes (of the whole, see Collective)
  ///           differ, or a shard is not the whole divided by Topology::size (less than an
  ///           alignment short)
  ///   type    of the elements that a reduction adds: in fp32, in rank order, rounded once
  ///   beside  on a second stream of the group: for what its passes do not wait for
  Op collective(Rank rank, Group group, Collective what, View in, View out, const After& after = {},
                ElementType type = ElementType::fp32, PartPieces pieces = {}, bool beside = false);
  /// The fp32 number at the beginning of memory that no operation in flight writes; 0 where no real
  /// memory stands behind it.
  float number(const View& view);

  // ---- Memory

  /// Waits first come, first served, until the tier has room for all of `wanted`, and holds none of
  /// them before.
  ///   Result  parallel to `wanted`
  ///   Kept    blocks that a caching allocator kept for these classes are given at once, whoever
  ///           waits
  ///   Throws  OutOfMemory when the tier can never give them
  Task<std::vector<Buffer>> allocate(TierId tier, Rank rank, std::vector<Wanted> wanted);
  /// Never waits, and not behind those who do.  Throws  OutOfMemory
  Buffer allocate_now(TierId tier, Rank rank, Bytes bytes, Purpose purpose,
                      std::optional<Rounding> rounding = {});
  /// For prefetch: nothing when somebody waits or too little is free.
  std::optional<Buffer> try_allocate(TierId tier, Rank rank, Bytes bytes, Purpose purpose,
                                     std::optional<Rounding> rounding = {});
  /// An extent on a storage or stripe, rounded to sectors; freed when its last reference is gone.
  ///   Raw drives  its parts lie on all drives of the array, part i on drive i mod drives; no two
  ///               extents overlap, of whatever ranks
  ///   drive       all of it lies there, as far as the machine decides that: on raw drives, and in
  ///               what a transfer costs. A storage's, no stripe's
  ///   Throws      OutOfMemory when the storage can never give it, or one of its drives has no room
  Task<Stored> store(StorageId storage, Rank rank, Bytes bytes, Purpose purpose,
                     std::optional<std::uint32_t> drive = {});

  Usage usage(TierId tier, Rank rank) const;
  /// What a buffer of `bytes` takes of GPU memory, as its allocator rounds.
  std::uint64_t gpu_charge(std::uint64_t bytes) const { return rounded(setup_.gpu, bytes); }
  /// Of a stripe: what its members hold together; free is what it can still give.
  Usage usage(StorageId storage) const;
  /// Keeps `bytes` of a tier from everybody as long as the lock lives. No ledger has them: what is
  /// free is less, what is used is not more.
  ///   Throws  OutOfMemory
  Semaphore::Lock leave_free(TierId tier, Rank rank, Bytes bytes);

  // ---- Phases

  /// The rank's further allocations and operations belong to `phase`. A node leaves a phase with
  /// its last rank.
  void enter(Rank rank, result::Phase phase);

  // ---- Coroutines

  template <class T>
  Pending<T> spawn(Task<T> task) {
    return strategies::spawn(scheduler_, std::move(task));
  }

  /// From now on nobody looks whether operations in flight touch the same bytes unordered. For runs
  /// that only count: another machine checks what it simulates or does.
  void trust_order() { checks_order_ = false; }

  // ---- What would be needed

  /// From now on a request that its tier cannot give makes the tier larger by what it lacks, and
  /// the run goes on: at the end capacities are what it needs. Before the run; not of a machine
  /// with real memory.
  void let_tiers_grow() { grows_ = true; }
  bool tiers_grow() const { return grows_; }
  /// The first request that a tier could not give.
  const std::optional<result::Infeasible>& shortage() const { return shortage_; }
  /// Of a plan that no memory of this size admits: says which request failed and, where tiers grow,
  /// makes the tier so large.  Throws  OutOfMemory where they do not
  void require(TierId tier, Rank rank, Bytes capacity, const result::Infeasible& request);
  /// What the tier has by now, 0: unlimited.
  std::uint64_t capacity(std::uint32_t tier) const;

  // ---- What is equal

  /// Micro-batches of a step may be left out, as far as those that ran show what they would be.
  bool folds_micro_batches() const { return setup_.folds_micro_batches; }
  /// All ranks have ended a micro-batch of the step.
  void micro_batch_ended();
  /// The step that has just ended has so many micro-batches more, like the last but one that ran.
  ///   Result  false where those that ran are not equal
  virtual bool leave_out(std::uint64_t micro_batches) { return recorder_.leave_out(micro_batches); }
  /// What was taken for equal is not: the run says nothing, and has to be repeated with
  /// Fold::nothing.
  void is_unlike() { unlike_ = true; }
  bool unlike() const { return unlike_; }
  /// The step that has just ended had writes for which the fast flash of a drive had no room: it
  /// was full before, and steps that leave drives alone for long enough find it less and less so.
  bool met_full_cache() const { return full_cache_in_ + 1 == recorder_.steps().size(); }

  // ---- What is too long

  /// The run is of interest while its steps may be shorter than `seconds`: it ends where they are
  /// not, and says nothing then but that. A machine with no exact time never ends so.
  void want_steps_below(double seconds) { wanted_below_s_ = seconds; }
  /// A step that has begun takes so long that no mean with it is of interest: twice as long.
  bool takes_too_long() const;
  /// Whether the last two steps show it, which are alike to `share`. Not where they meet full
  /// caches: those that come later may find room again.
  bool repeats_too_long(double share) const;
  void is_too_long() { too_long_ = true; }
  bool too_long() const { return too_long_; }

  // ---- For the driver (run.hpp), not for strategies

  /// Runs one coroutine per rank to the end, and the operations that nobody awaited.
  ///   Throws  the first error; on the way out every frame, buffer and operation is gone. When
  ///           nothing can happen any more: OutOfMemory of the longest-waiting allocation, else
  ///           InternalError
  void run_ranks(std::vector<Task<>> ranks);
  void step_ended() { recorder_.step_ended(now_s()); }
  bool exact_time() const { return setup_.exact_time; }
  /// The peak of a tier, of all ranks that those in the ledger stand for.
  std::uint64_t peak_on_node(std::uint32_t tier) const;
  Recorder& recorder() { return recorder_; }
  Ledger& ledger() { return ledger_; }
  std::uint32_t gpu_tier(Rank rank) const { return rank.index; }
  /// Of the node of `rank`; the tiers of all nodes follow those of the GPUs.
  std::uint32_t host_tier(Rank rank = {}) const {
    return setup_.topology.ranks + setup_.topology.node_of(rank);
  }
  std::uint32_t storage_tier(StorageId storage) const {
    return setup_.topology.ranks + setup_.topology.simulated_nodes() + storage.index;
  }

 protected:
  /// A fresh (or recycled) operation; machines derive from Operation to keep their own state in it.
  virtual std::unique_ptr<Operation> make_operation() const {
    return std::make_unique<Operation>();
  }
  /// Dependencies are done: begin. Calls `finish`, now or from the loop; never resumes a coroutine
  /// itself.
  virtual void start(Operation& operation) = 0;
  /// Dependencies are not done: a machine whose devices can wait for them may hand the operation
  /// over now.
  ///   Result  it has; `start` comes all the same when they are done, even when one has failed
  virtual bool prepare(Operation&) { return false; }
  /// A write of this step found no room in the fast flash of a drive.
  void meets_full_cache() { full_cache_in_ = recorder_.steps().size(); }
  /// All members are ready: begin, and `finish` the round.
  virtual void start(CollectiveRound& round) = 0;
  /// Turns events into `finish` and drains the scheduler until `stopped()` or nothing can happen
  /// any more.
  virtual void loop() = 0;
  /// Forgets everything in flight; the base releases the operations afterwards.
  virtual void cancel_all() = 0;
  virtual double now_s() const = 0;
  /// A micro-batch has ended, for machines that keep sums of their own.
  virtual void note_micro_batch() {}
  /// What the operation that was just issued computes, for machines that do.
  virtual void accept(Operation&, std::span<const GpuKernel>) {}
  virtual void accept(Operation&, const CpuKernel&) {}
  virtual void accept(Operation&, const StorageKernel&) {}
  virtual float fetch(const View&) { return 0; }
  /// Real memory behind a block; the simulated machines have none.
  virtual std::byte* provide(Block&) { return nullptr; }
  virtual void withdraw(Block&) {}

  bool stopped() const;
  /// For `loop`, when nothing can happen any more: where tiers grow and an allocation waits, it
  /// gets its room.
  ///   Result  there is something to do again
  bool grow_for_waiting();
  /// Wakes who waits, begins what depended on it.
  ///   ran  when it ran, of a machine that hears of that later; absent: from its begin until now
  void finish(Operation& operation, std::exception_ptr error = {}, std::optional<Ran> ran = {});
  /// Finishes every member, in rank order; the round is gone afterwards.
  void finish(CollectiveRound& round, std::exception_ptr error = {}, std::optional<Ran> ran = {});

  Scheduler scheduler_;

 private:
  friend void release(Operation& operation);
  struct MemoryTier;
  struct Waiting;
  struct RawArray;

  void take_back(Block& block) override;
  Block* fresh_block();
  bool head_wants(const Block& block) const;
  Task<Semaphore::Lock> wait_for(MemoryTier& where, std::uint32_t index, Rank rank, Bytes bytes,
                                 Purpose purpose, std::uint64_t charged, std::uint64_t kept_class);
  void place(Block& block);
  void release_extent(Block& block);
  void cut(Operation& operation, const Block& extent);
  MemoryTier& memory(TierId tier, Rank rank) const;
  Rounding rounding_of(TierId tier, std::optional<Rounding> asked) const;
  Buffer finish_allocation(TierId tier, Rank rank, Bytes bytes, Purpose purpose, Rounding rounding,
                           Semaphore::Lock capacity);
  std::optional<Buffer> from_cache(TierId tier, Rank rank, Bytes bytes, Purpose purpose,
                                   Rounding rounding);
  result::Infeasible request_of(std::uint32_t tier, Rank rank, Purpose purpose, Bytes bytes) const;
  [[noreturn]] void out_of_memory(std::uint32_t tier, Rank rank, Purpose purpose, Bytes bytes);
  bool grows_for(std::uint32_t tier, Rank rank, Purpose purpose, Bytes bytes);
  void one_may_wait();
  std::exception_ptr why_stuck();

  Operation& issue(OperationKind kind, Rank rank, std::uint64_t bytes);
  Op launch(Operation& operation, const After& after);
  void depend(Operation& operation, Operation& on);
  void join_stream(Operation& operation, std::uint64_t stream);
  void check_operand(const View& view, bool on_gpu, Rank rank) const;
  void check_shards(Collective what, const View& in, const View& out, std::uint64_t members) const;
  void check_place(Collective what, const View& in, const View& out, std::size_t position) const;
  void check_extent(const View& view, StorageId storage) const;
  void check_range(const Stored& stored, Range range, const View& view, Rank rank) const;
  CollectiveRound& join_round(Group group, std::size_t position, Collective what,
                              std::uint64_t bytes, ElementType type, const PartPieces& pieces);
  void check_hazards(Operation& operation);
  [[noreturn]] void conflict(const Block& block, const Operation& one, const Operation& other);
  bool ordered(const Operation& earlier, Operation& later);
  void begin(Operation& operation);
  void begin(CollectiveRound& round);
  void begin_ready();
  void release_everything();
  void trace_memory();
  void forget_operands(Operation& operation);
  void recycle(Operation& operation);

  MachineSetup setup_;
  Recorder recorder_;
  Ledger ledger_;
  std::vector<std::unique_ptr<MemoryTier>> tiers_;
  std::vector<BlockCache> pinned_cache_;               ///< per rank
  std::vector<std::unique_ptr<RawArray>> raw_arrays_;  ///< by storage; null: a file system
  std::uint64_t next_tensor_ = 0;
  std::vector<std::unique_ptr<Block>> spare_blocks_;
  WaitList waiting_allocations_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> spare_operations_;
  std::vector<Operation*> stream_tails_;  ///< by rank: compute, side, then those of each group
  std::vector<std::uint64_t> stream_lengths_;
  std::vector<std::vector<std::unique_ptr<CollectiveRound>>> rounds_;
  RequestQueues queues_;
  std::uint64_t next_number_ = 1;
  std::uint64_t unfinished_ = 0;   ///< operations issued and not finished
  std::vector<Operation*> ready_;  ///< to begin, once `finish` has unwound: chains must not recurse
  bool beginning_ = false;
  std::uint64_t search_ = 0;
  std::vector<Operation*> open_;  ///< of the ordering search
  Pending<>* root_ = nullptr;
  bool checks_order_ = true;
  bool grows_ = false;
  bool unlike_ = false;
  bool too_long_ = false;
  double wanted_below_s_ = 0;      ///< 0: steps may take as long as they do
  std::size_t full_cache_in_ = 0;  ///< index of that step, the set-up counted as step 0
  std::optional<result::Infeasible> shortage_;
};

}  // namespace spillway::strategies
