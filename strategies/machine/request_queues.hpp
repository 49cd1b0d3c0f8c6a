#pragma once

#include "strategies/machine/operation.hpp"

#include <compare>
#include <deque>
#include <map>

namespace spillway::strategies {

/// Which kinds of operations of a rank follow one another, in the order in which they could begin;
/// all others that are in flight share what they use.
///   requests  reads of a storage, writes of it, as a handle of DeepSpeed's I/O library serves
///             them: there is one for weights, one for what the optimizer keeps, gradients
///             included, and one for activations (runtime/swap_tensor, partitioned_param_swapper.py
///             and pipelined_optimizer_swapper.py: a reading and a writing handle each). A drive
///             that holds whole files of an array is served beside its other drives
///   copies    between a GPU and pinned memory, each way, as on its one copy engine for that way.
///             The driver stages copies of pageable memory piece by piece, which leaves room for
///             others
struct InTurn {
  bool requests = false;
  bool copies = false;
};

/// The queues of all ranks. Operations that never take turns pass by.
class RequestQueues {
 public:
  explicit RequestQueues(InTurn in_turn) : in_turn_(in_turn) {}

  /// Before an operation begins; its operands are known.
  ///   Result  it begins later, when `leave` of the one before it gives it back
  bool waits(Operation& operation);

  /// An operation that began has ended.
  ///   Result  whose turn it is now, null where none waits
  Operation* leave(Operation& operation);

  void clear() { queues_.clear(); }

 private:
  /// What one queue serves.
  struct Key {
    std::uint32_t rank;
    OperationKind kind;
    std::uint32_t storage;  ///< of the first piece; 0 for copies
    std::uint32_t drive;    ///< 1 + its number where all lies on one, else 0
    std::uint32_t handle;   ///< what kind of tensor it is for
    auto operator<=>(const Key&) const = default;
  };

  bool takes_turns(const Operation& operation) const;
  static Key key_of(const Operation& operation);

  InTurn in_turn_;
  std::map<Key, std::deque<Operation*>> queues_;  ///< the first of each is being served
};

}  // namespace spillway::strategies
