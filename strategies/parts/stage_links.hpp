#pragma once

#include "strategies/layout/pipeline.hpp"
#include "strategies/parts/activations/activations.hpp"
#include "strategies/parts/hand_over.hpp"
#include "strategies/parts/update/resident_gradients.hpp"

namespace spillway::strategies {

/// One rank's links to the same rank of other pipeline stages.
///   Exchange   hidden states of a forward, gradients of a backward, both ways at once: the sender
///              writes where the receiver says; done when what is sent and what comes has arrived
///   Beside     passes: an input is offered a place, comes, and is waited for when its pass begins;
///              an output goes when it has a place. The last stage's next one is the first, with
///              its next piece
///   Sum        gradients of weights that several stages hold, in the order of the stages, once a
///              step: all copies stay the same
///   Source     Megatron-LM (SC'21) section 2.2; the sum: its all-reduce of word embeddings
class StageLinks {
 public:
  StageLinks(Machine& machine, Rank rank, const Job& job, Activations& activations);

  std::uint64_t stage() const { return stage_; }
  std::uint64_t stages() const { return job_.scenario.parallel.pipeline; }
  StagePlace place() const { return place_of(job_.scenario, rank_); }
  /// Records of activations: one for each piece of each micro-batch under way at once.
  std::size_t records() const { return records_; }
  static std::size_t records_of(const description::Scenario& scenario, Rank rank);
  std::size_t record(std::uint64_t micro, std::uint64_t piece) const;

  Task<> exchange(StageAction action);
  // ---- Beside passes
  void offer(const StageAction& action);
  Task<> arrival(StageAction action);
  void send(const StageAction& action);
  /// The step ends: waits for what is still on its way to others.
  Task<> all_sent();
  Task<> sum_tied(const ResidentGradients& gradients);

 private:
  struct Message {
    std::uint64_t key;
    std::uint32_t hidden;
    std::size_t record;
    Rank peer;
  };
  static StagePlace place_of(const description::Scenario& scenario, Rank rank);
  Rank peer(std::uint64_t stage) const;
  Rank next() const { return peer((stage_ + 1) % stages()); }
  Rank previous() const { return peer((stage_ + stages() - 1) % stages()); }
  std::uint64_t key(Rank from, Rank to, std::uint64_t item, std::uint64_t micro) const;
  const StageTraffic& traffic(std::uint64_t piece) const {
    return job_.plans.pieces[piece].traffic;
  }
  void list(const std::vector<std::uint32_t>& tensors, std::int64_t micro, bool sends, Rank there,
            std::vector<Message>& messages) const {
    if (micro >= 0)
      list(tensors, {static_cast<std::uint64_t>(micro), 0, 0}, sends, there, messages);
  }
  /// Of a micro-batch, one of the stage's pieces, and the piece on the receiver.
  struct Passage {
    std::uint64_t micro, piece, receiver;
  };
  void list(const std::vector<std::uint32_t>& tensors, Passage of, bool sends, Rank there,
            std::vector<Message>& messages) const;
  std::vector<Message> inputs(const StageAction& action) const;
  std::vector<Incoming> take_in(const std::vector<Message>& messages);
  std::vector<Outgoing> give_out(const std::vector<Message>& messages);
  Task<> sum_one(const models::TiedWeight& tied, const ResidentGradients& gradients);
  Op add(const View& one, const View& other, const View& into, ElementType type);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Activations& activations_;
  std::uint64_t ranks_of_a_stage_, stage_;
  std::size_t records_;
  std::vector<Pending<>> sending_;
};

}  // namespace spillway::strategies
