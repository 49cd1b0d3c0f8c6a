#pragma once

#include "strategies/layout/pipeline.hpp"
#include "strategies/parts/activations/activations.hpp"
#include "strategies/parts/update/resident_gradients.hpp"

namespace spillway::strategies {

/// One rank's links to the same rank of other pipeline stages.
///   Exchange   hidden states of a forward, gradients of a backward, both ways at once: the sender
///              writes where the receiver says; done when what is sent and what comes has arrived
///   Sum        gradients of weights that several stages hold, in the order of the stages, once a
///              step: all copies stay the same
///   Source     Megatron-LM (SC'21) section 2.2; the sum: its all-reduce of word embeddings
class StageLinks {
 public:
  StageLinks(Machine& machine, Rank rank, const Job& job, Activations& activations);

  std::uint64_t stage() const { return stage_; }
  std::uint64_t stages() const { return job_.scenario.parallel.pipeline; }
  /// Micro-batches under way at once.
  std::size_t records() const { return records_of(job_.scenario, rank_); }
  static std::size_t records_of(const description::Scenario& scenario, Rank rank);

  Task<> exchange(StageAction action);
  Task<> sum_tied(const ResidentGradients& gradients);

 private:
  struct Message {
    std::uint64_t key;
    std::uint32_t hidden;
    std::size_t record;
    Rank peer;
  };
  Rank peer(std::uint64_t stage) const;
  std::uint64_t key(Rank from, Rank to, std::uint64_t item, std::uint64_t micro) const;
  void list(const std::vector<std::uint32_t>& tensors, std::int64_t micro, bool sends,
            std::uint64_t other, std::vector<Message>& messages) const;
  Task<> sum_one(const models::TiedWeight& tied, const ResidentGradients& gradients);
  Op add(const View& one, const View& other, const View& into, ElementType type);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Activations& activations_;
  std::uint64_t ranks_of_a_stage_, stage_;
};

}  // namespace spillway::strategies
