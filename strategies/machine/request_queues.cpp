#include "strategies/machine/request_queues.hpp"

namespace spillway::strategies {

namespace {

bool is_request(OperationKind kind) {
  return kind == OperationKind::read || kind == OperationKind::write;
}

bool crosses_pcie(OperationKind kind) {
  return kind == OperationKind::copy_to_gpu || kind == OperationKind::copy_to_host;
}

/// Of an extent: weights, activations, and all that the optimizer keeps.
std::uint32_t handle_for(result::Purpose purpose) {
  using result::Purpose;
  switch (purpose) {
    case Purpose::weights:
    case Purpose::weight_copies:
      return 0;
    case Purpose::activations:
    case Purpose::offloaded_checkpoints:
    case Purpose::swapped_activations:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

bool RequestQueues::takes_turns(const Operation& operation) const {
  if (operation.bytes == 0) return false;
  if (is_request(operation.kind)) return in_turn_.requests;
  return in_turn_.copies && crosses_pcie(operation.kind) && !operation.pageable;
}

RequestQueues::Key RequestQueues::key_of(const Operation& operation) {
  Key key{operation.rank.index, operation.kind, 0, 0, 0};
  if (!is_request(operation.kind)) return key;
  const StoragePiece& first = operation.pieces.front();
  key.storage = first.storage.index;
  if (first.drive) key.drive = *first.drive + 1;
  // the extent is the second operand of either way (Machine::read, Machine::write)
  key.handle = handle_for(operation.operands.at(1).view.block->purpose);
  return key;
}

bool RequestQueues::waits(Operation& operation) {
  if (operation.queued || !takes_turns(operation)) return false;
  std::deque<Operation*>& queue = queues_[key_of(operation)];
  operation.queued = true;
  queue.push_back(&operation);
  return queue.size() > 1;
}

Operation* RequestQueues::leave(Operation& operation) {
  if (!operation.queued) return nullptr;
  std::deque<Operation*>& queue = queues_.at(key_of(operation));
  ENSURE(queue.front() == &operation, "a queue ended an operation that it did not serve");
  queue.pop_front();
  operation.queued = false;
  return queue.empty() ? nullptr : queue.front();
}

}  // namespace spillway::strategies
