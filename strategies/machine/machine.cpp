#include "strategies/machine/machine.hpp"

#include "strategies/machine/machine_memory.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {
std::vector<std::string> storage_names(const Topology& topology) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < topology.storages.size(); ++i)
    names.push_back(topology.title(StorageId{i}));
  return names;
}
}  // namespace

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::ring_shift:
      return "ring_shift";
  }
  return "?";
}

bool operator==(const PartPieces& a, const PartPieces& b) {
  return a.in == b.in && a.out == b.out && a.returns == b.returns &&
         std::equal(a.shares.begin(), a.shares.end(), b.shares.begin(), b.shares.end());
}

Machine::Machine(MachineSetup setup)
    : setup_(std::move(setup)),
      recorder_(setup_.topology.ranks, storage_names(setup_.topology), setup_.clock, setup_.trace,
                setup_.topology.alike, setup_.topology.ranks_per_node),
      pinned_cache_(setup_.topology.ranks),
      stream_tails_((2 + 2 * setup_.topology.groups.size()) * setup_.topology.ranks),
      stream_lengths_(stream_tails_.size()),
      queues_(setup_.in_turn) {
  if (!setup_.exact_time) recorder_.hear_late();
  const Topology& topology = setup_.topology;
  const auto add = [this](std::string name, std::uint64_t capacity) {
    ledger_.add_tier(std::move(name), capacity);
    tiers_.push_back(
        std::make_unique<MemoryTier>(scheduler_, capacity ? capacity : unlimited_bytes));
  };
  // what a node has, less than one byte a rank of it unused where one rank stands for all
  const auto part = [&](Bytes all, Bytes taken = {}) {
    return all.value() ? (all.value() - taken.value()) / topology.alike : 0;
  };
  for (std::uint32_t rank = 0; rank < topology.ranks; ++rank)
    add("gpu " + std::to_string(rank), topology.gpu_memory.value());
  const std::uint32_t nodes = topology.simulated_nodes();
  for (std::uint32_t node = 0; node < nodes; ++node)
    add(nodes == 1 ? "host" : "host " + std::to_string(node),
        part(topology.host_memory, topology.bases));
  raw_arrays_.resize(topology.storages.size());
  for (std::size_t i = 0; i < topology.storages.size(); ++i) {
    const StorageInfo& storage = topology.storages[i];
    add(topology.title(StorageId{static_cast<std::uint32_t>(i)}), part(storage.capacity));
    if (i < setup_.raw_drives.size() && setup_.raw_drives[i] && storage.capacity.value() > 0)
      raw_arrays_[i] = std::make_unique<RawArray>(storage, topology);
  }
  rounds_.resize(topology.groups.size());
  if (setup_.trace) trace_memory();
}

Machine::~Machine() = default;

void Machine::trace_memory() {
  ledger_.on_change = [this](std::uint32_t tier, double now, std::uint64_t used) {
    recorder_.trace().samples.push_back({ledger_.name(tier) + " memory", now, used});
  };
  ledger_.on_birth = [this](std::uint32_t id, const Ledger::Entry& entry) {
    recorder_.reserved(
        id, {ledger_.name(entry.tier), entry.rank.index, std::string(to_string(entry.purpose)),
             std::string(to_string(entry.phase)), entry.asked, entry.charged, entry.pinned,
             entry.born_s});
  };
  ledger_.on_end = [this](std::uint32_t id, double now) { recorder_.given_back(id, now); };
}

std::uint64_t Machine::peak_on_node(std::uint32_t tier) const {
  const Topology& topology = setup_.topology;
  const std::uint64_t bytes = ledger_.peak_bytes(tier);
  if (tier < topology.ranks) return bytes;
  return topology.alike * bytes + (tier < storage_tier(StorageId{0}) ? topology.bases.value() : 0);
}

void Machine::micro_batch_ended() {
  std::vector<std::uint64_t> held{unfinished_};
  for (std::uint32_t tier = 0; tier < ledger_.tiers(); ++tier) held.push_back(ledger_.used(tier));
  recorder_.micro_batch_ended(now_s(), std::move(held));
  note_micro_batch();
}

void Machine::enter(Rank rank, result::Phase phase) { recorder_.enter(rank, phase, now_s()); }

bool Machine::grow_for_waiting() {
  if (!grows_ || waiting_allocations_.empty() || stopped()) return false;
  const auto& head = static_cast<const Waiting&>(waiting_allocations_.front());
  if (head.turn->granted) return false;
  if (!shortage_) shortage_ = request_of(head.tier, head.rank, head.purpose, head.bytes);
  Semaphore& capacity = head.turn->owner;  // of the host where GPUs share its memory
  capacity.grow_to(capacity.used() + head.turn->amount);
  return true;
}

bool Machine::takes_too_long() const {
  if (wanted_below_s_ == 0 || recorder_.steps().empty() || full_cache_in_ > 0) return false;
  return now_s() - recorder_.steps().back().end_s > 2 * wanted_below_s_;
}

bool Machine::repeats_too_long(double share) const {
  const auto& steps = recorder_.steps();  // the set-up first
  if (wanted_below_s_ == 0 || steps.size() < 3 || full_cache_in_ > 0) return false;
  const double now = steps.back().seconds(), then = steps[steps.size() - 2].seconds();
  return std::abs(now - then) <= share * std::max(now, then) &&
         std::min(now, then) > (1 + 2 * share) * wanted_below_s_;
}

bool Machine::stopped() const {
  if (too_long_) return true;
  return !root_ || scheduler_.failure() || (root_->done() && unfinished_ == 0);
}

void Machine::run_ranks(std::vector<Task<>> ranks) {
  std::exception_ptr error;
  {
    Pending<> root = spawn(when_all(scheduler_, std::move(ranks)));
    root_ = &root;
    try {
      loop();
    } catch (...) {
      error = std::current_exception();
    }
    for (std::uint32_t tier = setup_.topology.ranks; tier < ledger_.tiers(); ++tier)
      if (setup_.topology.alike > 1 && !ledger_.peak_lasts(tier)) is_unlike();
    if (!error) error = scheduler_.failure();
    if (!error && !too_long_ && (!root.done() || unfinished_ > 0)) error = why_stuck();
    scheduler_.set_stopping(true);
    root.reset();
    root_ = nullptr;
  }
  release_everything();
  scheduler_.set_stopping(false);
  scheduler_.forget_failure();
  if (error) std::rethrow_exception(error);
}

/// After the coroutines: operations in flight, and with them the last buffers.
void Machine::release_everything() {
  cancel_all();
  for (const auto& operation : operations_) {
    if (operation->state != Operation::State::waiting &&
        operation->state != Operation::State::running)
      continue;
    forget_operands(*operation);
    operation->dependents.clear();
  }
  for (const auto& operation : operations_) {
    std::vector<Operation*> dependencies;
    dependencies.swap(operation->dependencies);
    for (Operation* dependency : dependencies) release(*dependency);
    if (operation->state == Operation::State::waiting ||
        operation->state == Operation::State::running)
      release(*operation);
  }
  for (auto& rounds : rounds_) rounds.clear();
  queues_.clear();
  std::fill(stream_tails_.begin(), stream_tails_.end(), nullptr);
  ready_.clear();
  beginning_ = false;
  unfinished_ = 0;
}

std::exception_ptr Machine::why_stuck() {
  if (!waiting_allocations_.empty()) {
    const auto& head = static_cast<const Waiting&>(waiting_allocations_.front());
    try {
      out_of_memory(head.tier, head.rank, head.purpose, head.bytes);
    } catch (const OutOfMemory&) {
      return std::current_exception();
    }
  }
  std::string why = "nothing can happen any more and ranks or operations still wait";
  for (const auto& rounds : rounds_)
    for (const auto& round : rounds)
      if (round->joined < round->members.size())
        why += "; a collective " + std::string(to_string(round->what)) + " lacks " +
               std::to_string(round->members.size() - round->joined) + " members";
  return std::make_exception_ptr(description::InternalError(why));
}

}  // namespace spillway::strategies
