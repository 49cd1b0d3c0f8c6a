#pragma once

#include "strategies/layout/job.hpp"

#include <optional>

namespace spillway::strategies {

/// Bytes that passes take for what lives inside one of them only.
struct TemporaryBytes {
  std::uint64_t transient = 0, scratch = 0;
  Purpose most = Purpose::activations;  ///< what the first of them are so many for
};
/// Of a layer's forward; of its backward with what it runs again, in whose place, and in that of
/// its logits, norms of its gradients have their copies (add_norm_copies).
TemporaryBytes temporary_bytes(const LayerPlan& plan, bool backward);
/// Of the gradients of weights that a split backward leaves out.
TemporaryBytes late_temporary_bytes(const LayerPlan& plan);

/// One rank's GPU memory of activations that outlive the pass that makes them: of one micro-batch,
/// or, of pipeline stages, of the few that are under way, of which a pass is about one.
class ActivationMemory {
 public:
  /// Of one micro-batch under way.
  struct Record {
    std::vector<std::vector<Buffer>> saved;  ///< by layer, parallel to LayerPlan::saved
    /// The same: what brings each back, until a kernel waits for it.
    std::vector<std::vector<Op>> saved_arrivals;
    std::vector<Buffer> logits;  ///< by layer
    std::vector<Buffer> hidden;  ///< by hidden tensor
    explicit Record(const LayerPlans& plans);
  };

  /// `records`: micro-batches that are under way at once.
  ActivationMemory(Machine& machine, Rank rank, const Job& job, std::size_t records);

  /// What follows is about the micro-batch of this record.
  void use(std::size_t record) { now_ = record; }
  Record& now() { return records_[now_]; }
  const Record& now() const { return records_[now_]; }
  std::size_t records() const { return records_.size(); }
  /// The place of a tensor that leaves the GPU and comes back.
  Buffer& of(const MovedTensor& moved) {
    return moved.hidden ? now().hidden[moved.index] : now().saved[moved.layer][moved.index];
  }
  /// Throws  OutOfMemory
  Buffer allocate(std::uint64_t bytes, Purpose purpose = Purpose::activations) {
    return machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), purpose);
  }
  /// For what comes back ahead of its turn: nothing where less than `leave` bytes of the GPU would
  /// stay free.
  std::optional<Buffer> try_allocate(std::uint64_t bytes, std::uint64_t leave);
  /// The micro-batch's backward is over: gives up all but what another stage is still to be sent.
  void end_micro_batch();

 private:
  Machine& machine_;
  Rank rank_;
  const Job& job_;
  std::vector<Record> records_;
  std::size_t now_ = 0;  ///< record in use
};

}  // namespace spillway::strategies
