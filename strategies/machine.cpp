#include "strategies/machine.hpp"

#include "strategies/machine_memory.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {
std::vector<std::string> storage_names(const Topology& topology) {
  std::vector<std::string> names;
  for (const StorageInfo& storage : topology.storages) names.push_back(storage.name);
  return names;
}
constexpr std::uint64_t unlimited = ~std::uint64_t{0} >> 1;
}  // namespace

std::vector<StorageId> Topology::drives() const {
  std::vector<StorageId> ids;
  for (std::uint32_t i = 0; i < storages.size(); ++i)
    if (storages[i].wears) ids.push_back(StorageId{i});
  return ids;
}

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::all_gather: return "all_gather";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::all_reduce: return "all_reduce";
    case Collective::broadcast: return "broadcast";
  }
  return "?";
}

Machine::Machine(MachineSetup setup)
    : setup_(std::move(setup)),
      recorder_(setup_.topology.ranks, storage_names(setup_.topology), setup_.clock, setup_.trace),
      pinned_cache_(setup_.topology.ranks),
      stream_tails_(2 * std::size_t{setup_.topology.ranks}),
      stream_lengths_(2 * std::size_t{setup_.topology.ranks}) {
  const Topology& topology = setup_.topology;
  const auto add = [this](std::string name, std::uint64_t capacity) {
    ledger_.add_tier(std::move(name), capacity);
    tiers_.push_back(std::make_unique<MemoryTier>(scheduler_, capacity ? capacity : unlimited));
  };
  for (std::uint32_t rank = 0; rank < topology.ranks; ++rank)
    add("gpu " + std::to_string(rank), topology.gpu_memory.value());
  add("host", topology.host_memory.value());
  for (const StorageInfo& storage : topology.storages) add(storage.name, storage.capacity.value());
  rounds_.resize(topology.groups.size());
  if (setup_.trace) {
    ledger_.on_change = [this](std::uint32_t tier, double now, std::uint64_t used) {
      recorder_.trace().samples.push_back({ledger_.name(tier) + " memory", now, used});
    };
  }
}

Machine::~Machine() = default;

// ---- Operations: issue, order, begin, finish

void retain(Operation& operation) { ++operation.references; }

void release(Operation& operation) {
  if (--operation.references == 0) operation.machine->recycle(operation);
}

Operation& Machine::issue(OperationKind kind, Rank rank, std::uint64_t bytes) {
  if (spare_operations_.empty()) {
    operations_.push_back(make_operation());
    operations_.back()->machine = this;
    spare_operations_.push_back(operations_.back().get());
  }
  Operation& operation = *spare_operations_.back();
  spare_operations_.pop_back();
  operation.kind = kind;
  operation.rank = rank;
  operation.bytes = bytes;
  operation.number = next_number_++;
  operation.state = Operation::State::waiting;
  operation.phase = recorder_.phase(rank);
  operation.timing = Timing{0, 0, bytes};
  operation.references = 1;  // held by the machine until it is finished
  return operation;
}

void Machine::recycle(Operation& operation) {
  operation.state = Operation::State::free;
  operation.pageable = operation.gpu_direct = operation.recorded = false;
  operation.error = nullptr;
  operation.unfinished_dependencies = 0;
  operation.kernels.clear();
  operation.cpu.operands.clear();
  operation.round = nullptr;
  operation.stream = operation.stream_position = 0;
  spare_operations_.push_back(&operation);
}

void Machine::depend(Operation& operation, Operation& on) {
  if (on.state == Operation::State::done || on.state == Operation::State::free) return;
  retain(on);
  operation.dependencies.push_back(&on);
  on.dependents.push_back(&operation);
  ++operation.unfinished_dependencies;
}

void Machine::join_stream(Operation& operation, std::uint64_t stream) {
  operation.stream = stream + 1;
  operation.stream_position = ++stream_lengths_[stream];
  Operation*& tail = stream_tails_[stream];
  if (tail) depend(operation, *tail);
  tail = &operation;
}

Op Machine::launch(Operation& operation, const After& after) {
  after.each([&](Operation& on) {
    // an operation that failed passes its error on to what was to follow it
    if (on.state == Operation::State::done && on.error && !operation.error)
      operation.error = on.error;
    depend(operation, on);
  });
  check_hazards(operation);
  Op handle(&operation);
  if (operation.unfinished_dependencies == 0) begin(operation);
  return handle;
}

void Machine::begin(Operation& operation) {
  operation.state = Operation::State::running;
  operation.timing.started_s = now_s();
  if (operation.error) return finish(operation, operation.error);
  if (operation.round) {
    CollectiveRound& round = *operation.round;
    if (++round.ready < round.members.size()) return;
    for (Operation* member : round.members) {
      member->timing.started_s = now_s();
      member->recorded = true;
      recorder_.started(*member, now_s());
    }
    return start(round);
  }
  operation.recorded = true;
  recorder_.started(operation, now_s());
  start(operation);
}

void Machine::finish(Operation& operation, std::exception_ptr error) {
  operation.timing.finished_s = now_s();
  operation.state = Operation::State::done;
  if (error) operation.error = error;
  if (operation.recorded) recorder_.finished(operation, now_s());
  forget_operands(operation);
  if (operation.stream && stream_tails_[operation.stream - 1] == &operation)
    stream_tails_[operation.stream - 1] = nullptr;
  if (operation.error && operation.waiters.empty() && operation.dependents.empty())
    scheduler_.fail(operation.error);
  while (!operation.waiters.empty()) scheduler_.post(operation.waiters.front());
  for (Operation* dependency : operation.dependencies) release(*dependency);
  operation.dependencies.clear();
  std::vector<Operation*> next;
  next.swap(operation.dependents);
  for (Operation* dependent : next) {
    if (operation.error && !dependent->error) dependent->error = operation.error;
    if (--dependent->unfinished_dependencies == 0) begin(*dependent);
  }
  if (operation.round && --operation.round->joined == 0) {
    auto& rounds = rounds_[operation.round->group.index];
    std::erase_if(rounds, [&](const auto& round) { return round.get() == operation.round; });
  }
  next.clear();
  operation.dependents.swap(next);  // keeps its capacity
  release(operation);
}

// ---- Verbs

Op Machine::read(Rank rank, const Stored& from, Range range, View into, const After& after) {
  Operation& operation = issue(OperationKind::read, rank, range.bytes);
  check_range(from, range, into);
  operation.storage = from.block()->storage;
  operation.gpu_direct = into && into.block->tier == TierId::gpu;
  operation.operands.emplace_back(std::move(into), models::Access::write);
  operation.operands.emplace_back(View(from.block(), range.offset, range.bytes),
                                  models::Access::read);
  return launch(operation, after);
}

Op Machine::write(Rank rank, const Stored& into, Range range, View from, const After& after) {
  Operation& operation = issue(OperationKind::write, rank, range.bytes);
  check_range(into, range, from);
  operation.storage = into.block()->storage;
  operation.gpu_direct = from && from.block->tier == TierId::gpu;
  operation.operands.emplace_back(std::move(from), models::Access::read);
  operation.operands.emplace_back(View(into.block(), range.offset, range.bytes),
                                  models::Access::write);
  return launch(operation, after);
}

Op Machine::copy(Rank rank, View into, View from, const After& after) {
  ENSURE(into && from, "copy without a buffer");
  ENSURE(into.bytes == from.bytes, "copy between views of different length");
  const TierId to_tier = into.block->tier;
  const TierId from_tier = from.block->tier;
  const bool to_gpu = to_tier == TierId::gpu;
  const bool from_gpu = from_tier == TierId::gpu;
  const OperationKind kind = to_gpu ? (from_gpu ? OperationKind::copy_on_gpu
                                                : OperationKind::copy_to_gpu)
                                    : (from_gpu ? OperationKind::copy_to_host
                                                : OperationKind::copy_on_host);
  ENSURE(to_tier != TierId::storage && from_tier != TierId::storage, "copy of a storage extent");
  Operation& operation = issue(kind, rank, into.bytes);
  operation.pageable = to_tier == TierId::pageable || from_tier == TierId::pageable;
  operation.operands.emplace_back(std::move(into), models::Access::write);
  operation.operands.emplace_back(std::move(from), models::Access::read);
  for (const BoundOperand& operand : operation.operands)
    check_operand(operand, operand.view.block->tier == TierId::gpu, rank);
  return launch(operation, after);
}

Op Machine::send(Rank rank, Rank peer, View from, View into, const After& after) {
  ENSURE(into.bytes == from.bytes, "send between views of different length");
  Operation& operation = issue(OperationKind::send, rank, from.bytes);
  operation.peer = peer;
  operation.operands.emplace_back(std::move(into), models::Access::write);
  operation.operands.emplace_back(std::move(from), models::Access::read);
  check_operand(operation.operands[0], true, peer);
  check_operand(operation.operands[1], true, rank);
  return launch(operation, after);
}

Op Machine::run(Rank rank, std::span<const GpuKernel> kernels, const After& after) {
  Operation& operation = issue(OperationKind::gpu_kernels, rank, 0);
  for (const GpuKernel& kernel : kernels) {
    operation.kernels.push_back({kernel.name, kernel.flops, kernel.bytes, kernel.matrix,
                                 kernel.in_pass, kernel.recompute, 0});
    for (const BoundOperand& operand : kernel.operands) {
      check_operand(operand, true, rank);
      operation.operands.push_back(operand);
    }
  }
  join_stream(operation, 2 * std::uint64_t{rank.index});
  return launch(operation, after);
}

Op Machine::run(Rank rank, CpuKernel kernel, const After& after) {
  Operation& operation = issue(OperationKind::cpu_kernel, rank, kernel.traffic);
  operation.operands = std::move(kernel.operands);
  kernel.operands.clear();
  operation.cpu = std::move(kernel);
  for (const BoundOperand& operand : operation.operands) check_operand(operand, false, rank);
  return launch(operation, after);
}

Op Machine::run(Rank rank, StorageId storage, StorageKernel kernel, const After& after) {
  ENSURE(storage.index < setup_.topology.storages.size(), "no such storage");
  Operation& operation =
      issue(OperationKind::storage_kernel, rank, kernel.read + kernel.written);
  operation.storage = storage;
  operation.near_storage = kernel;
  return launch(operation, after);
}

Op Machine::collective(Rank rank, Group group, Collective what, View in, View out,
                       const After& after) {
  const auto& members = setup_.topology.groups.at(group.index);
  const auto self = std::find(members.begin(), members.end(), rank);
  ENSURE(self != members.end(), "a rank calls a collective of a group it is not in");
  const auto position = static_cast<std::size_t>(self - members.begin());
  const std::uint64_t bytes = what == Collective::all_gather ? out.bytes : in.bytes;
  Operation& operation = issue(OperationKind::collective, rank, bytes);
  if (out) operation.operands.emplace_back(std::move(out), models::Access::write);
  if (in && !(operation.operands.size() == 1 &&
              operation.operands[0].view.block.get() == in.block.get() &&
              operation.operands[0].view.offset == in.offset))
    operation.operands.emplace_back(std::move(in), models::Access::read);
  for (const BoundOperand& operand : operation.operands) check_operand(operand, true, rank);

  auto& rounds = rounds_[group.index];
  CollectiveRound* round = nullptr;
  for (auto& candidate : rounds)
    if (!round && candidate->members[position] == nullptr && candidate->joined < members.size())
      round = candidate.get();
  if (!round) {
    rounds.push_back(std::make_unique<CollectiveRound>());
    round = rounds.back().get();
    *round = {group, what, bytes, std::vector<Operation*>(members.size()), 0, 0};
  }
  ENSURE(round->what == what && round->bytes == bytes,
         "members of a group call different collectives: " + std::string(to_string(round->what)) +
             " of " + std::to_string(round->bytes) + " B and " + std::string(to_string(what)) +
             " of " + std::to_string(bytes) + " B");
  round->members[position] = &operation;
  ++round->joined;
  operation.round = round;
  join_stream(operation, 2 * std::uint64_t{rank.index} + 1);
  return launch(operation, after);
}

void Machine::enter(Rank rank, result::Phase phase) { recorder_.enter(rank, phase, now_s()); }

// ---- The run

bool Machine::stopped() const { return !root_ || root_->done() || scheduler_.failure(); }

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
    if (!error) error = scheduler_.failure();
    if (!error && !root.done()) error = why_stuck();
    scheduler_.set_stopping(true);
    root.reset();
    root_ = nullptr;
  }
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
  std::fill(stream_tails_.begin(), stream_tails_.end(), nullptr);
  scheduler_.set_stopping(false);
  if (error) std::rethrow_exception(error);
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
  std::string why = "nothing can happen any more and ranks still wait";
  for (const auto& rounds : rounds_)
    for (const auto& round : rounds)
      if (round->joined < round->members.size())
        why += "; a collective " + std::string(to_string(round->what)) + " lacks " +
               std::to_string(round->members.size() - round->joined) + " members";
  return std::make_exception_ptr(description::InternalError(why));
}

}  // namespace spillway::strategies
