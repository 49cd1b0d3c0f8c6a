#pragma once

#include "strategies/machine/machine.hpp"

#include <map>
#include <string>
#include <vector>

namespace spillway::strategies {

/// Follows what lies on every storage: which bytes were written, and in which step. Add it to a
/// machine before the run (Recorder::set_watch). An extent that is freed leaves its past to the one
/// that gets its block, which is at worst a fault that is not found.
///   Faults   a read of bytes that nobody wrote; of states or weights that the update of the last
///            step did not renew; of gradients or activations that are not of this step
class Contents final : public OperationWatch {
 public:
  explicit Contents(Machine& machine);
  void started(const Operation& operation) override;
  void finished(const Operation& operation) override;

  /// The first few, in words.
  const std::vector<std::string>& faults() const { return faults_; }
  /// Steps that may lie between an update and the pass that reads it (`optimizer.staleness`).
  void allow_staleness(std::uint64_t steps) { staleness_ = steps; }
  /// An update that the next forward ends reads gradients of so many steps before.
  void allow_late_gradients(std::uint64_t steps) { late_gradients_ = steps; }
  /// Weights may be those that the set-up wrote: some are frozen. Which of them is not known here.
  void allow_frozen_weights() { frozen_weights_ = true; }

 private:
  /// Written last in `step`: bytes up to the next piece. Pieces of no step are holes.
  struct Piece {
    std::uint64_t last;
    std::size_t step;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  ///< by first byte; apart from each other

  std::size_t step() const;
  void check(const Operation& operation, const View& view);
  static void put(Pieces& pieces, std::uint64_t first, Piece piece);

  Machine& machine_;
  std::uint64_t staleness_ = 0;
  std::uint64_t late_gradients_ = 0;
  bool frozen_weights_ = false;
  std::map<const Block*, Pieces> extents_;
  std::vector<std::string> faults_;
};

}  // namespace spillway::strategies
