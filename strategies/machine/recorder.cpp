#include "strategies/machine/recorder.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {
std::size_t index(result::Phase phase) { return static_cast<std::size_t>(phase); }
}  // namespace

Recorder::Recorder(std::uint32_t ranks, std::vector<std::string> storages, bool clock, bool trace,
                   std::uint32_t alike, std::uint32_t ranks_per_node)
    : ranks_(ranks),
      storage_names_(std::move(storages)),
      storages_(storage_names_.size()),
      ranks_per_node_(ranks_per_node),
      nodes_(ranks_per_node == 0 ? 1 : description::divide_up(ranks, ranks_per_node)),
      clock_(clock),
      tracing_(trace),
      alike_(alike) {
  begin_step(0);
}

void Recorder::flush(Gauge& gauge, double now_s) {
  if (gauge.users > 0) gauge.busy_s[index(gauge_phase_)] += now_s - gauge.since_s;
  gauge.since_s = now_s;
}

void Recorder::change(Gauge& gauge, int by, double now_s) {
  flush(gauge, now_s);
  gauge.users += by;
}

/// What an idle GPU may wait for now: of its rank's own operations that run the first in the order
/// reads, exchanges with other ranks, writes, copies and work of the host; where none runs, other
/// ranks whose operations do, as a stage of a pipeline does.
double& Recorder::idle_time(RankState& rank) const {
  if (gauge_phase_ == result::Phase::update || gauge_phase_ == result::Phase::overflow_check)
    return rank.waits_update;
  if (rank.reads > 0) return rank.waits_ssd;
  if (rank.exchanges > 0) return rank.waits_gpus;
  if (rank.writes > 0) return rank.waits_ssd;
  if (rank.h2d.users > 0 || rank.d2h.users > 0 || rank.on_host > 0) return rank.waits_host;
  return running_ > 0 ? rank.waits_gpus : rank.waits_host;
}

/// Nothing of its own runs, and something of another rank does.
bool Recorder::waits_for_others(const RankState& rank) const {
  return rank.reads + rank.writes + rank.exchanges + rank.on_host == 0 && rank.h2d.users == 0 &&
         rank.d2h.users == 0 && running_ > 0;
}

void Recorder::flush_idle(RankState& rank, double now_s) {
  if (rank.gpu.users == 0) {
    idle_time(rank) += now_s - rank.idle_since_s;
    if (waits_for_others(rank)) rank.others_s[index(gauge_phase_)] += now_s - rank.idle_since_s;
  }
  rank.idle_since_s = now_s;
}

void Recorder::flush_idle(double now_s) {
  for (RankState& rank : ranks_) flush_idle(rank, now_s);
}

void Recorder::flush_everything(double now_s) {
  flush_idle(now_s);
  for (RankState& rank : ranks_) {
    flush(rank.gpu, now_s);
    flush(rank.h2d, now_s);
    flush(rank.d2h, now_s);
    flush(rank.network, now_s);
    flush(rank.exchange, now_s);
  }
  for (Gauge& gauge : storages_) flush(gauge, now_s);
  for (NodeState& node : nodes_) {
    flush(node.any_storage, now_s);
    flush(node.cpu, now_s);
  }
}

void Recorder::leave_node_phase(double now_s) {
  step_.phase_s[index(node_phase_)] += now_s - phase_since_s_;
  if (tracing_ && now_s > phase_since_s_) {
    const std::string phase(result::to_string(node_phase_));
    trace_.spans.push_back({"phases", phase, phase, phase_since_s_, now_s, 0});
  }
  phase_since_s_ = now_s;
}

void Recorder::enter(Rank rank, result::Phase phase, double now_s) {
  RankState& state = ranks_[rank.index];
  state.phase = phase;
  if (++state.entered > sequence_.size()) sequence_.push_back(phase);
  std::uint64_t slowest = state.entered;
  for (const RankState& other : ranks_) slowest = std::min(slowest, other.entered);
  while (node_position_ < slowest) {
    leave_node_phase(now_s);
    node_phase_ = sequence_[node_position_++];
    if (clock_) note_phase(now_s);
  }
}

/// The running step as if it ended now: what is counted in pieces is put together.
StepRecord Recorder::so_far(double now_s) {
  leave_node_phase(now_s);
  if (clock_) apply_in_order(now_s);
  StepRecord sums = step_;
  sums.end_s = now_s;
  const double ranks = static_cast<double>(ranks_.size());
  const double nodes = static_cast<double>(nodes_.size());
  for (std::size_t phase = 0; phase < result::phase_count; ++phase) {
    result::PhaseBusy& busy = sums.busy[phase];
    for (const RankState& rank : ranks_) {
      const double launches = std::min(rank.launches_s[phase], rank.gpu.busy_s[phase]);
      busy.gpu += (rank.gpu.busy_s[phase] - launches) / ranks;
      busy.launches += launches / ranks;
      sums.stalls.gpu_waits_for_launches += launches / ranks;
      busy.gpu_recompute += rank.recompute_s[phase] / ranks;
      busy.h2d += rank.h2d.busy_s[phase] / ranks;
      busy.d2h += rank.d2h.busy_s[phase] / ranks;
      busy.network += rank.network.busy_s[phase] / ranks;
      busy.other_gpus += (rank.exchange.busy_s[phase] + rank.others_s[phase]) / ranks;
    }
    for (const NodeState& node : nodes_) {
      busy.ssd += node.any_storage.busy_s[phase] / nodes;
      busy.cpu += node.cpu.busy_s[phase] / nodes;
    }
  }
  for (const Gauge& gauge : storages_) {
    double sum = 0;
    for (const double seconds : gauge.busy_s) sum += seconds;
    sums.storage_busy_s.push_back(sum);
  }
  for (const RankState& rank : ranks_) {
    sums.stalls.gpu_waits_for_ssd += rank.waits_ssd / ranks;
    sums.stalls.gpu_waits_for_host += rank.waits_host / ranks;
    sums.stalls.gpu_waits_for_gpus += rank.waits_gpus / ranks;
    sums.stalls.gpu_waits_for_update += rank.waits_update / ranks;
  }
  if (alike_ > 1) sums.count_alike(alike_);
  return sums;
}

void Recorder::step_ended(double now_s) {
  steps_.push_back(so_far(now_s));
  if (tracing_) {
    const std::string name = steps_.size() == 1  // before the first step
                                 ? "set-up"
                                 : "step " + std::to_string(steps_.size() - 1);
    trace_.spans.push_back({"steps", name, "", step_.start_s, now_s, 0});
  }
  for (RankState& rank : ranks_) {
    rank.waits_ssd = rank.waits_host = rank.waits_gpus = rank.waits_update = 0;
    for (Gauge* gauge : {&rank.gpu, &rank.h2d, &rank.d2h, &rank.network, &rank.exchange})
      gauge->busy_s = {};
    rank.recompute_s = rank.launches_s = rank.others_s = {};
    rank.entered = 0;
  }
  for (Gauge& gauge : storages_) gauge.busy_s = {};
  for (NodeState& node : nodes_) node.any_storage.busy_s = node.cpu.busy_s = {};
  sequence_.clear();
  node_position_ = 0;
  begin_step(now_s);
}

void Recorder::begin_step(double now_s) {
  step_ = StepRecord{};
  step_.start_s = now_s;
  step_.by_storage.resize(storage_names_.size());
  step_.inside.resize(storage_names_.size());
  step_.write_sizes.resize(storage_names_.size());
}

void Recorder::micro_batch_ended(double now_s, std::vector<std::uint64_t> held) {
  if (!marks_.empty() && marks_.front().sums.start_s < step_.start_s) marks_.clear();
  marks_.push_back({so_far(now_s), std::move(held)});
}

bool Recorder::leave_out(std::uint64_t micro_batches) {
  if (marks_.size() < folded_micro_batches) return false;
  const Mark *a = &marks_[marks_.size() - 4], *b = a + 1, *c = b + 1;  // the last one's is behind
  if (a->held != b->held || b->held != c->held) return false;
  if (!StepRecord::repeats(a->sums, b->sums, c->sums)) return false;
  steps_.back().add(b->sums, c->sums, micro_batches);
  return true;
}

/// Into memory that `use` has already, of machines that do nothing else all day.
void Recorder::describe(const Operation& operation, Use& use) {
  use.kind = operation.kind;
  use.rank = operation.rank.index;
  use.storages.clear();
  use.between_nodes =
      operation.to_other_node || (operation.round && operation.round->cost.to_node > 0);
  if (operation.kind == OperationKind::storage_kernel)
    use.storages.push_back(operation.storage.index);
  if (operation.kind == OperationKind::read || operation.kind == OperationKind::write)
    for (const StoragePiece& piece : operation.pieces) use.storages.push_back(piece.storage.index);
}

void Recorder::note_phase(double now_s) {
  Change change{now_s};
  change.enters = node_phase_;
  if (late_)
    changes_.push_back(change);
  else
    apply(change);
}

void Recorder::note_use(const Operation& operation, int by, double at_s) {
  if (!late_) {
    describe(operation, now_used_);
    return use(now_used_, by, at_s);
  }
  Change& change = changes_.emplace_back();
  change.at_s = at_s;
  change.by = by;
  describe(operation, change.use);
}

void Recorder::apply(const Change& change) {
  if (!change.enters) return use(change.use, change.by, change.at_s);
  flush_everything(change.at_s);
  gauge_phase_ = *change.enters;
}

/// What was heard late goes to where it belongs. What is still on has been noted by its begin.
void Recorder::apply_in_order(double now_s) {
  for (Change& change : changes_) change.at_s = std::clamp(change.at_s, step_.start_s, now_s);
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const Change& a, const Change& b) { return a.at_s < b.at_s; });
  for (const Change& change : changes_) apply(change);
  changes_.clear();
  begun_.clear();
  flush_everything(now_s);
}

/// Of a late machine only now is known when it began.
void Recorder::note_end(const Operation& operation, double now_s) {
  if (const auto begun = begun_.find(&operation); begun != begun_.end()) {
    changes_[begun->second].at_s = operation.timing.started_s;
    begun_.erase(begun);
  }
  note_use(operation, -1, late_ ? operation.timing.finished_s : now_s);
}

void Recorder::use(const Use& use, int by, double now_s) {
  if (use.kind == OperationKind::copy_on_gpu) return;
  RankState& rank = ranks_[use.rank];
  // of ranks with nothing to do all are told whether any has
  const bool all = running_ == 0 || running_ + by == 0;
  all ? flush_idle(now_s) : flush_idle(rank, now_s);
  running_ += by;
  switch (use.kind) {
    case OperationKind::read:
    case OperationKind::write:
    case OperationKind::storage_kernel:
      (use.kind == OperationKind::read ? rank.reads : rank.writes) += by;
      change(node_of(use.rank).any_storage, by, now_s);
      for (const std::uint32_t storage : use.storages) change(storages_[storage], by, now_s);
      return;
    case OperationKind::copy_to_gpu:
      return change(rank.h2d, by, now_s);
    case OperationKind::copy_to_host:
      return change(rank.d2h, by, now_s);
    case OperationKind::gpu_kernels:
      return change(rank.gpu, by, now_s);
    case OperationKind::cpu_kernel:
    case OperationKind::copy_on_host:
      rank.on_host += by;
      return change(node_of(use.rank).cpu, by, now_s);
    case OperationKind::send:
    case OperationKind::collective:
      rank.exchanges += by;
      change(rank.exchange, by, now_s);
      if (use.between_nodes) change(rank.network, by, now_s);
      return;
    case OperationKind::copy_on_gpu:
      return;
  }
}

void Recorder::count(const Operation& operation) {
  result::PhaseBytes& bytes = step_.bytes[index(operation.phase)];
  const std::uint64_t amount = operation.bytes;
  switch (operation.kind) {
    case OperationKind::read:
      (operation.gpu_direct ? bytes.gpu_direct_read : bytes.ssd_read) += amount;
      if (operation.gpu_direct) step_.gpu_direct += amount;
      for (const StoragePiece& piece : operation.pieces)
        step_.by_storage[piece.storage.index].read += piece.bytes;
      return;
    case OperationKind::write:
      (operation.gpu_direct ? bytes.gpu_direct_write : bytes.ssd_write) += amount;
      if (operation.gpu_direct) step_.gpu_direct += amount;
      for (const StoragePiece& piece : operation.pieces) {
        step_.by_storage[piece.storage.index].write += piece.bytes;
        step_.write_sizes[piece.storage.index].add(piece.bytes);
      }
      return;
    case OperationKind::storage_kernel:
      step_.by_storage[operation.storage.index].read += operation.near_storage.read;
      step_.by_storage[operation.storage.index].write += operation.near_storage.written;
      step_.inside[operation.storage.index].read += operation.near_storage.read;
      step_.inside[operation.storage.index].write += operation.near_storage.written;
      step_.write_sizes[operation.storage.index].add(operation.near_storage.written);
      return;
    case OperationKind::copy_to_gpu:
      bytes.h2d += amount;
      return;
    case OperationKind::copy_to_host:
      bytes.d2h += amount;
      return;
    case OperationKind::collective: {
      const CollectiveRound& round = *operation.round;
      step_.network += round.cost.sent();
      step_.between_nodes += round.cost.to_node;
      return;
    }
    case OperationKind::send:
      step_.network += amount;
      if (operation.to_other_node) step_.between_nodes += amount;
      return;
    case OperationKind::copy_on_gpu:
    case OperationKind::copy_on_host:
    case OperationKind::gpu_kernels:
    case OperationKind::cpu_kernel:
      return;
  }
}

namespace {

/// The operation whose end let this one start: the last of its dependencies, or, where it waited
/// for none, the one whose end led to its issue.
std::uint64_t predecessor_of(const Operation& operation) {
  std::uint64_t last = operation.cause;
  double latest = -1;
  for (const Operation* dependency : operation.dependencies) {
    if (dependency->timing.finished_s < latest) continue;
    latest = dependency->timing.finished_s;
    last = dependency->number;
  }
  return last;
}

}  // namespace

void Recorder::started(const Operation& operation, double now_s) {
  ++step_.operations;
  count(operation);
  if (watch_) watch_->started(operation);
  if (!clock_) return;
  if (late_) begun_[&operation] = changes_.size();
  note_use(operation, 1, now_s);
}

void Recorder::finished(const Operation& operation, double now_s) {
  if (watch_) watch_->finished(operation);
  if (!clock_) return;
  note_end(operation, now_s);
  if (operation.kind == OperationKind::gpu_kernels) {
    double recompute = 0;
    for (const LoggedKernel& kernel : operation.kernels)
      if (kernel.recompute) recompute += kernel.seconds;
    RankState& rank = ranks_[operation.rank.index];
    rank.recompute_s[index(operation.phase)] += recompute;
    rank.launches_s[index(operation.phase)] += operation.launches_s;
  }
  if (!tracing_) return;
  const std::size_t first = trace_.spans.size();
  add_spans(operation);
  const std::uint64_t after = predecessor_of(operation), from = writer_of(operation);
  for (std::size_t i = first; i < trace_.spans.size(); ++i) {
    trace_.spans[i].operation = operation.number;
    trace_.spans[i].asked_s = operation.asked_s;
    trace_.spans[i].after = after;
    trace_.spans[i].from = from;
  }
  note_writes(operation);
}

void Recorder::reserved(std::uint32_t entry, result::TraceBuffer buffer) {
  if (entry >= open_buffers_.size()) open_buffers_.resize(entry + 1);
  open_buffers_[entry] = trace_.buffers.size();
  trace_.buffers.push_back(std::move(buffer));
}

void Recorder::given_back(std::uint32_t entry, double now_s) {
  trace_.buffers[open_buffers_[entry]].freed_s = now_s;
}

}  // namespace spillway::strategies
