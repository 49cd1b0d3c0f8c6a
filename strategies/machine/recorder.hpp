#pragma once

#include "reports/result/result.hpp"
#include "strategies/machine/operation.hpp"
#include "strategies/machine/step_record.hpp"

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

namespace spillway::strategies {

/// Sees every operation as it starts and as it ends, its operands still alive: checks that a test
/// adds to those of the machine.
class OperationWatch {
 public:
  virtual ~OperationWatch() = default;
  virtual void started(const Operation& operation) = 0;
  virtual void finished(const Operation& operation) = 0;
};

/// Watches operations and phases and keeps one StepRecord a step; with `trace`, every span too.
///   Phase of the node   the earliest that some rank has not left
///   Busy                a resource works while at least one operation on it runs; of nodes the
///                       mean, as of ranks
class Recorder {
 public:
  /// storages        of all nodes
  /// alike           ranks that each stands for: sums over ranks count them
  /// ranks_per_node  as of the topology
  Recorder(std::uint32_t ranks, std::vector<std::string> storages, bool clock, bool trace,
           std::uint32_t alike = 1, std::uint32_t ranks_per_node = 0);

  void enter(Rank rank, result::Phase phase, double now_s);
  result::Phase phase(Rank rank) const { return ranks_[rank.index].phase; }
  /// Every rank is here: closes the running step and begins the next.
  void step_ended(double now_s);
  /// Every rank is through with a micro-batch of the running step.
  ///   held  operations that have not ended and what each tier holds: what equals is as far
  void micro_batch_ended(double now_s, std::vector<std::uint64_t> held);
  /// The step that has just ended has so many micro-batches more, like the last but one that ran.
  ///   Result  false: the two before it and that one are not alike
  bool leave_out(std::uint64_t micro_batches);

  /// The machine hears of an operation's begin and end after the fact, and tells them with its end:
  /// who used what when is put together as each step ends.
  void hear_late() { late_ = true; }
  /// Outlives the run.
  void set_watch(OperationWatch* watch) { watch_ = watch; }
  void started(const Operation& operation, double now_s);
  void finished(const Operation& operation, double now_s);

  /// Of a trace: a buffer, by its entry in the ledger.
  void reserved(std::uint32_t entry, result::TraceBuffer buffer);
  void given_back(std::uint32_t entry, double now_s);
  /// The block is free; what is written into it from now on is other data.
  void forget(const Block& block) {
    if (tracing_) writers_.erase(&block);
  }

  const std::vector<StepRecord>& steps() const { return steps_; }
  result::Trace& trace() { return trace_; }
  bool tracing() const { return tracing_; }

 private:
  /// Time with at least one user, per phase.
  struct Gauge {
    int users = 0;
    double since_s = 0;
    std::array<double, result::phase_count> busy_s{};
  };
  struct RankState {
    result::Phase phase = result::Phase::init;
    std::uint64_t entered = 0;
    Gauge gpu, h2d, d2h, network, exchange;
    int reads = 0, writes = 0, exchanges = 0, on_host = 0;  ///< operations of its own that run
    double idle_since_s = 0;
    std::array<double, result::phase_count> recompute_s{}, launches_s{}, others_s{};
    double waits_ssd = 0, waits_host = 0, waits_gpus = 0, waits_update = 0;
  };

  /// What an operation keeps busy.
  struct Use {
    OperationKind kind = OperationKind::read;
    std::uint32_t rank = 0;
    bool between_nodes = false;             ///< of a collective or a hand-over
    std::vector<std::uint32_t> storages{};  ///< of a transfer or work inside
  };
  /// An operation begins or ends to use something, or the node enters a phase.
  struct Change {
    double at_s = 0;
    int by = 0;
    Use use{};
    std::optional<result::Phase> enters{};
  };

  /// What the ranks of a node use together.
  struct NodeState {
    Gauge any_storage, cpu;
  };

  NodeState& node_of(std::uint32_t rank) {
    return nodes_[ranks_per_node_ == 0 ? 0 : rank / ranks_per_node_];
  }
  std::string cpu_track(std::uint32_t rank) const;
  static void describe(const Operation& operation, Use& use);
  void note_phase(double now_s);
  void note_use(const Operation& operation, int by, double at_s);
  void apply(const Change& change);
  void apply_in_order(double now_s);
  void note_end(const Operation& operation, double now_s);
  void change(Gauge& gauge, int by, double now_s);
  void flush(Gauge& gauge, double now_s);
  double& idle_time(RankState& rank) const;
  bool waits_for_others(const RankState& rank) const;
  void flush_idle(RankState& rank, double now_s);
  void flush_idle(double now_s);
  void flush_everything(double now_s);
  StepRecord so_far(double now_s);
  void use(const Use& use, int by, double now_s);
  void count(const Operation& operation);
  void add_spans(const Operation& operation);
  std::uint64_t writer_of(const Operation& operation) const;
  void note_writes(const Operation& operation);
  void leave_node_phase(double now_s);
  void begin_step(double now_s);

  std::vector<RankState> ranks_;
  std::vector<std::string> storage_names_;
  std::vector<Gauge> storages_;
  std::uint32_t ranks_per_node_;
  std::vector<NodeState> nodes_;
  int running_ = 0;  ///< operations of all ranks
  OperationWatch* watch_ = nullptr;
  bool clock_, tracing_, late_ = false;
  Use now_used_;                 ///< of the operation that begins or ends
  std::vector<Change> changes_;  ///< of this step, when they are heard of late
  std::unordered_map<const Operation*, std::size_t> begun_;  ///< in this step: where in changes_
  result::Phase node_phase_ = result::Phase::init;           ///< of the node now
  result::Phase gauge_phase_ = result::Phase::init;          ///< in which gauges count
  double phase_since_s_ = 0;
  std::vector<result::Phase> sequence_;  ///< phases entered by the first rank to get there
  std::uint64_t node_position_ = 0;
  std::uint32_t alike_;
  StepRecord step_;
  std::vector<StepRecord> steps_;
  /// Where a micro-batch of the running step has ended.
  struct Mark {
    StepRecord sums;
    std::vector<std::uint64_t> held;
  };
  std::vector<Mark> marks_;
  result::Trace trace_;
  std::vector<std::size_t> open_buffers_;                    ///< by ledger entry: in trace_.buffers
  std::unordered_map<const Block*, std::uint64_t> writers_;  ///< the last operation that wrote it
};

}  // namespace spillway::strategies
