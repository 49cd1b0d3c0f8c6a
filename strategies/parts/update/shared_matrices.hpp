#pragma once

#include "strategies/layout/matrix_rounds.hpp"

#include <functional>

namespace spillway::strategies {

/// One rank's part of the updates that need whole matrices, of which ranks have shares: Muon under
/// ZeRO. Each of N ranks sends its shares of N matrices, gradient and momentum in one number of
/// bf16, so that each has one of them whole; makes it orthogonal; and sends every rank its share of
/// what came of it, which that adds to its masters. Work and bytes are divided, no matrix is done
/// twice. Where fewer than N are left of a shape some ranks have none, but send as much.
///   Holds   rounds under way at most, each with what goes and what comes; one workspace
///   Hides   what a round sends behind the products of the round before
///   Source  Dion, muon.py with FSDP2 (all-to-all there and back, three tasks at once); Moonlight
///           (arXiv 2502.16982), Algorithm 1, gathers instead and does each matrix on all ranks
class SharedMatrices {
 public:
  static constexpr std::size_t under_way = 3;

  SharedMatrices(Machine& machine, Rank rank, const Job& job);

  /// The update of the weight is a part of a round.
  bool has(std::uint32_t weight) const { return shared_[weight]; }
  /// Issues all rounds.
  ///   whole   of a weight, the kernel that would update it were it whole, on the rank's share
  ///   Result  after it all are updated; empty where there are none
  ///   Throws  OutOfMemory
  Op update(const std::function<GpuKernel(std::uint32_t)>& whole);

 private:
  /// Room of a round, and what used it last.
  struct Slot {
    Buffer parts, matrix;
    Op returned;
  };
  /// Bytes that a rank sends, and gets, there and back: those of a padded matrix.
  std::uint64_t bytes(const MatrixRound& round) const;
  bool owns_one(const MatrixRound& round) const;
  Op send(const MatrixRound& round, Slot& slot, std::vector<GpuKernel> updates);
  Op orthogonalize(const MatrixRound& round, Slot& slot, const GpuKernel* update, const Op& came);
  Op apply(const MatrixRound& round, const Slot& slot, std::vector<GpuKernel> updates);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  std::vector<bool> shared_;  ///< by weight
  std::vector<MatrixRound> rounds_;
  Buffer workspace_;  ///< while rounds are being issued
};

}  // namespace spillway::strategies
