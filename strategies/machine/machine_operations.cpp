#include "strategies/machine/machine.hpp"

#include <algorithm>

/// The life of an operation: issued, begun when its dependencies are done, finished.
namespace spillway::strategies {

namespace {
bool moves_bytes(OperationKind kind) {
  switch (kind) {
    case OperationKind::read:
    case OperationKind::write:
    case OperationKind::copy_to_gpu:
    case OperationKind::copy_to_host:
    case OperationKind::copy_on_gpu:
    case OperationKind::copy_on_host:
    case OperationKind::send:
      return true;
    case OperationKind::gpu_kernels:
    case OperationKind::cpu_kernel:
    case OperationKind::storage_kernel:
    case OperationKind::collective:
      return false;
  }
  return false;
}
}  // namespace

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
  operation.cause = scheduler_.cause();
  operation.asked_s = now_s();
  operation.references = 1;  // held by the machine until it is finished
  ++unfinished_;
  return operation;
}

void Machine::recycle(Operation& operation) {
  operation.state = Operation::State::free;
  operation.pageable = operation.gpu_direct = operation.recorded = operation.found =
      operation.prepared = operation.queued = false;
  operation.error = nullptr;
  operation.unfinished_dependencies = 0;
  operation.kernels.clear();
  operation.launches_s = 0;
  operation.pieces.clear();
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
  on.awaited_by = operation.number;
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
  if (checks_order_) check_hazards(operation);
  Op handle(&operation);
  if (operation.unfinished_dependencies == 0)
    begin(operation);
  else if (!operation.error)
    operation.prepared = prepare(operation);
  return handle;
}

void Machine::begin(Operation& operation) {
  operation.state = Operation::State::running;
  operation.timing.started_s = now_s();
  // what a device has already must leave it first
  if (operation.error && !operation.prepared) return finish(operation, operation.error);
  if (operation.round) {
    if (++operation.round->ready == operation.round->members.size()) begin(*operation.round);
    return;
  }
  if (queues_.waits(operation)) return;
  operation.recorded = true;
  recorder_.started(operation, now_s());
  if (operation.bytes == 0 && moves_bytes(operation.kind)) return finish(operation);
  start(operation);
}

void Machine::begin(CollectiveRound& round) {
  for (Operation* member : round.members) {
    member->timing.started_s = now_s();
    member->recorded = true;
    recorder_.started(*member, now_s());
  }
  if (round.bytes == 0) return finish(round);
  start(round);
}

void Machine::finish(Operation& operation, std::exception_ptr error, std::optional<Ran> ran) {
  if (ran) operation.timing.started_s = ran->started_s;
  operation.timing.finished_s = ran ? ran->finished_s : now_s();
  operation.state = Operation::State::done;
  if (error) operation.error = error;
  const std::uint64_t cause = scheduler_.cause();
  scheduler_.set_cause(operation.number);
  if (operation.recorded) recorder_.finished(operation, now_s());
  if (Operation* next = queues_.leave(operation)) ready_.push_back(next);
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
    if (--dependent->unfinished_dependencies == 0) ready_.push_back(dependent);
  }
  if (operation.round && --operation.round->joined == 0) {
    auto& rounds = rounds_[operation.round->group.index];
    std::erase_if(rounds, [&](const auto& round) { return round.get() == operation.round; });
  }
  next.clear();
  operation.dependents.swap(next);  // keeps its capacity
  --unfinished_;
  release(operation);
  scheduler_.set_cause(cause);
  if (!ready_.empty()) begin_ready();
}

void Machine::finish(CollectiveRound& round, std::exception_ptr error, std::optional<Ran> ran) {
  const std::vector<Operation*> members = round.members;
  for (Operation* member : members) finish(*member, error, ran);
}

/// Begins what became ready, in that order; what finishes meanwhile adds to the same list.
void Machine::begin_ready() {
  if (beginning_) return;
  beginning_ = true;
  for (std::size_t i = 0; i < ready_.size(); ++i) begin(*ready_[i]);
  ready_.clear();
  beginning_ = false;
}

}  // namespace spillway::strategies
