#include "strategies/parts/activations/tensor_cache.hpp"

#include "strategies/layout/module_plan.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

constexpr std::uint64_t bounce_bytes = 64ull << 20, bounce_buffers = 2;  // as the artifact's tasks

}  // namespace

TensorCache::TensorCache(Machine& machine, Rank rank, const Job& job, std::size_t records)
    : machine_(machine),
      rank_(rank),
      job_(job),
      knobs_(cache_knobs(job.scenario.strategy)),
      direct_(job.scenario.strategy.io_engine == description::IoEngine::gds),
      records_(records),
      storers_(machine.scheduler(), knobs_.store_workers),
      loaders_(machine.scheduler(), knobs_.load_workers),
      budget_(
          job.scenario.strategy.activations.swap_bytes.value_or(description::all_bytes).value()),
      candidate_(job.plans.modules.size(), 0),
      ran_(job.plans.modules.size()) {
  for (Record& record : records_) record.entries = std::vector<Entry>(job.plans.moved.size());
  std::uint32_t candidates = 0;
  for (std::size_t i = 0; i < job.plans.modules.size(); ++i) {
    candidate_[i] = candidates;
    candidates += job.plans.modules[i].in_block;
  }
  boundary_ = candidates;
  if (!job.cached_modules || job.plans.moved.empty()) return;
  job.steps->at_least_warmup(knobs_.profile_step + 1);
  boundary_ = job.cached_modules->at(rank.index);
}

models::Span TensorCache::scopes(const LayerPiece& piece) const {
  const auto& all = job_.plans.scopes;
  const auto from = [&](std::uint32_t layer) {
    const auto first = std::find_if(all.begin(), all.end(), [&](const LayerPlans::Scope& scope) {
      return job_.plans.modules[scope.module].layer >= layer;
    });
    return static_cast<std::uint32_t>(first - all.begin());
  };
  return {from(piece.layers.first), from(piece.layers.last)};
}

Task<> TensorCache::init() {
  bool drives = false;
  for (std::size_t record = 0; record < records_.size(); ++record)
    for (std::uint32_t i = 0; i < job_.plans.moved.size(); ++i) {
      const models::Span layers = piece_of(record).layers;
      if (moved(i).fate != Fate::ssd || moved(i).layer < layers.first ||
          moved(i).layer >= layers.last)
        continue;
      drives = true;
      records_[record].entries[i].on_drives = co_await machine_.store(
          machine_.topology().home(rank_), rank_, Bytes(moved(i).bytes), Purpose::activations);
    }
  if (!drives || direct_) co_return;
  for (auto* pool : {&out_, &in_})
    *pool = std::make_unique<BufferPool>(machine_, TierId::pinned, rank_, bounce_buffers,
                                         Bytes(bounce_bytes), Purpose::bounce_buffers);
}

void TensorCache::begin_micro_batch(bool backward_follows) {
  Record& record = records_[now_];
  record.offloaded = 0;
  const models::Span own = scopes(piece_of(now_));
  record.first_scope = own.first;
  record.next_asked = own.last;
  record.backward_follows = backward_follows;
  // the micro-batch's other pieces come later
  const std::size_t pieces = job_.plans.pieces.size();
  for (std::size_t later = now_ % pieces + 1; later < pieces; ++later)
    records_[now_ / pieces * pieces + later].offloaded = 0;
}

/// Bytes of the micro-batch, of all its pieces.
std::uint64_t TensorCache::offloaded() const {
  const std::size_t pieces = job_.plans.pieces.size();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < pieces; ++i) bytes += records_[now_ / pieces * pieces + i].offloaded;
  return bytes;
}

/// `module` is the last, or in the last block, as keep_last says; or it lies behind the budget.
bool TensorCache::keeps(std::uint32_t index) {
  const auto& modules = job_.plans.modules;
  const std::uint32_t module = moved(index).module;
  if (offloaded() >= budget_) return true;
  if (!modules[module].in_block) return false;
  if (candidate_[module] >= boundary_) return true;
  if (knobs_.keep_last == description::KeepLast::none || !records_[now_].backward_follows)
    return false;
  std::size_t last = modules.size() - 1;
  while (!modules[last].in_block) --last;
  return knobs_.keep_last == description::KeepLast::module
             ? module == last
             : modules[module].layer == modules[last].layer;
}

void TensorCache::pack(std::uint32_t index, const Buffer& from, Op made) {
  Entry& entry = this->entry(here(index));
  const std::uint64_t bytes = moved(index).bytes;
  const bool keep = keeps(index);
  if (entry.tensor.write_pending()) entry.tensor = CachedTensor();  // of the micro-batch before
  totals_.packed += bytes;
  ++entry.generation;
  if (entry.tensor.pack(keep) == CachedTensor::Action::nothing) {
    totals_.kept += bytes;
    return;
  }
  const std::uint32_t module = moved(index).module;
  if (job_.plans.modules[module].in_block)
    stored_modules_ = std::max<std::size_t>(stored_modules_, candidate_[module] + 1);
  records_[now_].offloaded += bytes;
  totals_.offloaded += bytes;
  entry.dropped = false;
  entry.on_gpu = from;
  entry.storing = machine_.spawn(
      store(here(index), entry.generation, from, std::move(made), std::move(entry.storing)));
}

Task<> TensorCache::store(EntryIndex at, std::uint64_t generation, Buffer from, Op made,
                          Pending<> earlier) {
  Entry& entry = this->entry(at);
  Semaphore::Lock worker = co_await storers_.acquire();
  if (earlier) co_await std::move(earlier);
  co_await made;  // what another stage sent is there
  // one that was forwarded and released may be on its way in the next micro-batch already
  const auto current = [&] { return entry.generation == generation; };
  if (current() && entry.dropped) {
    totals_.dropped += moved(at.moved).bytes;
    entry.tensor.write_ended();
    co_return;
  }
  if (current()) entry.tensor.write_began();
  co_await write_out(at, from.view(0, moved(at.moved).bytes), made);
  if (current() && entry.tensor.write_ended()) entry.on_gpu.reset();
  const CacheState state = entry.tensor.state();
  if (state != CacheState::stored && state != CacheState::loading) entry.in_host.reset();
}

Task<> TensorCache::write_out(EntryIndex at, View from, Op made) {
  Entry& entry = this->entry(at);
  if (moved(at.moved).fate == Fate::host) {
    if (!entry.in_host)
      entry.in_host = machine_.allocate_now(TierId::pinned, rank_, Bytes(from.bytes),
                                            Purpose::swapped_activations);
    const Op copied = machine_.copy(rank_, entry.in_host.view(0, from.bytes), from, made);
    co_await copied;
    note_store(copied);
    co_return;
  }
  std::vector<Op> writes;
  if (direct_)
    writes.push_back(machine_.write(rank_, entry.on_drives, {0, from.bytes}, from, made));
  for (std::uint64_t done = 0; !direct_ && done < from.bytes; done += bounce_bytes) {
    const std::uint64_t bytes = std::min(bounce_bytes, from.bytes - done);
    Buffer bounce = co_await out_->take();
    const View view = bounce.view(0, bytes);
    const Op copied = machine_.copy(rank_, view, from.part(done, bytes), made);
    writes.push_back(machine_.write(rank_, entry.on_drives, {done, bytes}, view, copied));
  }
  for (const Op& write : writes) {
    co_await write;
    note_store(write);
  }
}

void TensorCache::note_store(const Op& op) {
  if (step_ != knobs_.profile_step) return;
  if (stored_bytes_ == 0) first_store_s_ = op.timing().started_s;
  last_store_s_ = std::max(last_store_s_, op.timing().finished_s);
  stored_bytes_ += op.timing().bytes;
}

void TensorCache::request(EntryIndex at) {
  Entry& entry = this->entry(at);
  const bool behind = candidate_[moved(at.moved).module] >= boundary_;
  const bool cancels = knobs_.cancel == description::CancelStores::always ||
                       (knobs_.cancel == description::CancelStores::behind_budget && behind);
  const CacheState before = entry.tensor.state();
  switch (entry.tensor.request(knobs_.forwarding, cancels)) {
    case CachedTensor::Action::load:
      entry.loading = machine_.spawn(load(at));
      break;
    case CachedTensor::Action::drop_store:
      entry.dropped = true;
      break;
    default:
      break;
  }
  if (before == CacheState::storing && entry.tensor.state() == CacheState::forwarded)
    totals_.forwarded += moved(at.moved).bytes;
}

Task<> TensorCache::load(EntryIndex at) {
  Entry& entry = this->entry(at);
  Semaphore::Lock worker = co_await loaders_.acquire();
  if (entry.storing) {
    co_await std::move(entry.storing);
    entry.storing.reset();
  }
  entry.on_gpu =
      machine_.allocate_now(TierId::gpu, rank_, Bytes(moved(at.moved).bytes), Purpose::activations);
  co_await read_back(at, entry.on_gpu.view());
  entry.tensor.read_ended();
}

Task<> TensorCache::read_back(EntryIndex at, View into) {
  Entry& entry = this->entry(at);
  totals_.loaded += into.bytes;
  if (moved(at.moved).fate == Fate::host) {
    co_await machine_.copy(rank_, into, entry.in_host.view(0, into.bytes));
    entry.in_host.reset();
    co_return;
  }
  std::vector<Op> arrivals;
  if (direct_) arrivals.push_back(machine_.read(rank_, entry.on_drives, {0, into.bytes}, into));
  for (std::uint64_t done = 0; !direct_ && done < into.bytes; done += bounce_bytes) {
    const std::uint64_t bytes = std::min(bounce_bytes, into.bytes - done);
    Buffer bounce = co_await in_->take();
    const View view = bounce.view(0, bytes);
    const Op read = machine_.read(rank_, entry.on_drives, {done, bytes}, view);
    arrivals.push_back(machine_.copy(rank_, into.part(done, bytes), view, read));
  }
  for (const Op& arrival : arrivals) co_await arrival;
}

void TensorCache::prefetch(std::uint32_t module) {
  std::uint64_t operators = 0;
  std::uint32_t last_operator = ~std::uint32_t{0};
  using Unit = description::PrefetchDistance::Unit;
  const std::uint64_t ahead = knobs_.prefetch.unit == Unit::module ? 1 : of_a_block(module);
  const std::size_t first = records_[now_].first_scope;
  for (std::size_t& asked = records_[now_].next_asked; asked > first; --asked) {
    const LayerPlans::Scope& next = job_.plans.scopes[asked - 1];
    if (knobs_.prefetch.unit == Unit::operators) {
      if (next.module < module && next.saved_by != last_operator) ++operators;
      last_operator = next.saved_by;
      if (operators > knobs_.prefetch.operators) return;
    } else if (candidate_[next.module] + ahead < candidate_[module]) {
      return;
    }
    request(here(next.moved));
  }
}

void TensorCache::prefetch_last(std::size_t record) {
  const auto& all = job_.plans.scopes;
  const models::Span own = scopes(piece_of(record));
  if (own.first == own.last) return;
  std::size_t& asked = records_[record].next_asked;
  while (asked > own.first && all[asked - 1].module == all[own.last - 1].module)
    request({record, all[--asked].moved});
}

/// Modules of the block that `module` belongs to, or of the last one before it.
std::uint64_t TensorCache::of_a_block(std::uint32_t module) const {
  const auto& modules = job_.plans.modules;
  while (module > 0 && !modules[module].in_block) --module;
  const auto same = [&](const Module& one) { return one.layer == modules[module].layer; };
  return static_cast<std::uint64_t>(std::count_if(modules.begin(), modules.end(), same));
}

Task<Buffer> TensorCache::unpack(std::uint32_t index) {
  Entry& entry = this->entry(here(index));
  if (entry.tensor.state() == CacheState::storing || entry.tensor.state() == CacheState::stored)
    request(here(index));
  if (entry.loading) {
    co_await std::move(entry.loading);
    entry.loading.reset();
  }
  if (moved(index).overwritten &&
      entry.tensor.write_pending()) {  // what is written must not change
    co_await std::move(entry.storing);
    entry.storing.reset();
  }
  co_return entry.on_gpu;
}

void TensorCache::release(std::uint32_t index) {
  Entry& entry = this->entry(here(index));
  entry.on_gpu.reset();
  entry.in_host.reset();
  if (entry.tensor.state() != CacheState::absent) entry.tensor.release();
}

void TensorCache::forward_ran(std::uint32_t module, Op first, Op last) {
  if (step_ != knobs_.profile_step || ran_[module].last) return;
  ran_[module] = {std::move(first), std::move(last)};
}

/// Seconds and bytes of the candidates as they ran.
std::vector<ModuleLoad> TensorCache::measured_modules(double& forward_s) const {
  std::vector<ModuleLoad> loads;
  double before = ran_.front().first ? ran_.front().first.timing().started_s : 0;
  const double began = before;
  double others = 0;  // passes of others, between those of two pieces
  const auto begins_piece = [this](std::uint32_t layer) {
    const auto& pieces = job_.plans.pieces;
    return std::any_of(pieces.begin() + 1, pieces.end(),
                       [&](const LayerPiece& piece) { return piece.layers.first == layer; });
  };
  for (std::size_t i = 0; i < ran_.size(); ++i) {
    if (!ran_[i].last) continue;
    ModuleLoad load;
    if (begins_piece(job_.plans.modules[i].layer)) {
      const double started = std::max(before, ran_[i].first.timing().started_s);
      others += started - before;
      before = started;
    }
    load.seconds = ran_[i].last.timing().finished_s - before;
    before = ran_[i].last.timing().finished_s;
    load.bytes = saved_bytes(job_.plans, job_.plans.modules[i]);
    if (job_.plans.modules[i].in_block) loads.push_back(load);
  }
  forward_s = before - began - others;
  return loads;
}

void TensorCache::plan_budget() {
  double forward_s = 0;
  const std::vector<ModuleLoad> modules = measured_modules(forward_s);
  double rate = knobs_.write_rate ? knobs_.write_rate->value() : 0;
  const double seconds = last_store_s_ - first_store_s_;
  if (rate == 0 && seconds > 0) rate = static_cast<double>(stored_bytes_) / seconds;
  for (ModuleRun& run : ran_) run = ModuleRun();
  if (forward_s <= 0 || rate == 0) return;  // a machine without a clock: no limit
  boundary_ = modules_to_offload(modules, forward_s, rate);
  totals_.write_bytes_per_s = rate;
}

void TensorCache::step_ended() {
  const bool automatic = job_.cached_modules != nullptr;
  if (automatic && step_ == knobs_.profile_step) plan_budget();
  ++step_;
  totals_.candidates = candidate_.empty() ? 0 : candidate_.back();
  totals_.offloaded_modules = automatic ? boundary_ : stored_modules_;
  stored_modules_ = 0;
  job_.shared->caches[rank_.index] = totals_;
  const double rate = totals_.write_bytes_per_s;
  totals_ = CacheTotals();
  totals_.write_bytes_per_s = rate;
}

Task<> TensorCache::settle() {
  for (Record& record : records_)
    for (Entry& entry : record.entries) {
      if (!entry.storing) continue;
      co_await std::move(entry.storing);
      entry.storing.reset();
    }
}

}  // namespace spillway::strategies
