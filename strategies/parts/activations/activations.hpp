#pragma once

#include "strategies/parts/activations/activation_swap.hpp"
#include "strategies/parts/activations/passes.hpp"
#include "strategies/parts/activations/tensor_cache.hpp"

#include <optional>

namespace spillway::strategies {

/// One rank's activations, each tensor by its fate (ActivationPlan): of one micro-batch, or, of
/// pipeline stages, of the few that are under way, of which a pass is about one.
///   keep        stays on the GPU from forward to backward
///   host, ssd   leaves when the kernel that completes it has run, and comes back a layer ahead;
///               hidden states leave after the forward of the layer that reads them last
///   recompute   is made again in its layer's backward; lives in that pass only Where the plan is
///               cut into modules, a cache decides during the run (TensorCache), and backward goes
///               module by module.
///   Source      MemAscend IV-D, steps 4 and 6; "Training Deep Nets with Sublinear Memory Cost"
class Activations {
 public:
  /// `records`: micro-batches that are under way at once; more than one needs fates that leave
  /// nothing to ActivationSwap.
  Activations(Machine& machine, Rank rank, const Job& job, std::size_t records);

  Task<> init() { return cache_ ? cache_->init() : swap_.init(); }

  /// Saved tensors come and go module by module.
  bool by_module() const { return cache_ != nullptr; }
  /// What follows is about the micro-batch of this record.
  void use(std::size_t record);
  /// Its forward begins.
  ///   backward_follows  with nothing in between
  void begin_micro_batch(bool backward_follows);
  /// The micro-batch whose backward comes after this pass, if it is another's: a cache has its last
  /// tensors come back behind the end of the pass.
  void expect_backward(std::optional<std::size_t> record) { expected_ = record; }

  bool recomputes(std::uint32_t layer) const {
    return !job_.plans.layers[layer].recompute.segments.empty();
  }

  /// Waits for what is still being moved.
  Task<> end_micro_batch();

  // ---- Between pipeline stages: LayerPlans::traffic

  /// Memory for a hidden tensor that the stage before, or the next, is about to send.
  View receive(std::uint32_t hidden);
  View hidden_view(std::uint32_t hidden) const;
  /// It is on its way to another stage, which keeps it alive as long as that takes.
  void sent(std::uint32_t hidden);

  /// Temporaries and workspace are those of the pass that runs; the next pass takes them over when
  /// it needs as much. Where it does not, the pass before must be done when `make_room` is called.
  ///   Throws  OutOfMemory
  bool has_room(std::uint32_t layer, bool backward) const;
  void make_room(std::uint32_t layer, bool backward);

  /// What the layer's pass takes of GPU memory, beside what the pass before leaves it.
  std::uint64_t gpu_bytes(std::uint32_t layer, bool backward) const;
  /// Passes wait for tensors that leave.
  bool waits() const { return waits_; }
  /// Waits for the next tensor that leaves.  Result  false: none does
  Task<bool> one_leaves();

  /// Buffers for what the layer's forward writes.
  void before_forward(std::uint32_t layer);
  /// `issued`: the layer's forward. Moves away what is not to stay; releases what nobody needs
  /// again.
  void after_forward(std::uint32_t layer, const IssuedPass& issued);
  /// Starts to bring back what the layer's backward needs; called one layer ahead, for as much as
  /// leaves `reserve` bytes of GPU memory free, and at its turn for the rest.
  void prefetch_backward(std::uint32_t layer, std::uint64_t reserve);
  /// Where the plan says so, what layers below `layer` need follows, as far as memory is free.
  void return_early(std::uint32_t layer);
  bool returns_all(std::uint32_t layer) const;
  /// Of the layer's tensors that come back, so many are on their way, in the order of their use.
  std::size_t returned(std::uint32_t layer) const { return now().returned[layer]; }
  /// All are that this segment of its backward, and those before it, need.
  bool returns_for(std::uint32_t layer, const PassPlan::Segment& segment) const;
  /// Sends for those.
  ///   Throws  OutOfMemory
  void prefetch_for(std::uint32_t layer, const PassPlan::Segment& segment);
  /// The segment was issued: what came back and no later one uses is given up.
  void leave_part(const PassPlan::Segment& segment);
  void before_backward(std::uint32_t layer);
  void after_backward(std::uint32_t layer);

  /// A segment of a forward that goes by modules: buffers for what it makes.
  void enter_forward_segment(std::uint32_t layer, const PassPlan::Segment& segment);
  /// It was issued as number `index`: what it completed goes to the cache.
  void leave_forward_segment(std::uint32_t layer, std::uint32_t index, const Op& issued);
  /// A segment of a backward that goes by modules: brings what it needs, and what lies ahead is
  /// asked for.
  Task<> enter_segment(std::uint32_t layer, const PassPlan::Segment& segment);
  /// It was issued: gives up what nobody needs again.
  void leave_segment(std::uint32_t layer, const PassPlan::Segment& segment);
  void step_ended() {
    if (cache_) cache_->step_ended();
  }
  /// The run ends: waits for what the cache still stores.
  Task<> settle();

  /// What the first pass of `layer` in backward must wait for: its hidden states. Waits until all
  /// that was sent for is on its way, but for the first `from`.
  Task<std::vector<Op>> arrivals(std::uint32_t layer, std::size_t from);
  const std::vector<Buffer>& saved(std::uint32_t layer) const { return now().saved[layer]; }
  /// Of the layer's saved tensors, in backward.
  std::vector<Op>& saved_arrivals(std::uint32_t layer) { return now().saved_arrivals[layer]; }
  View transient() const { return transient_ ? transient_.view() : View(); }
  View scratch() const { return scratch_ ? scratch_.view() : View(); }
  View logits(std::uint32_t layer) const { return now().logits[layer].view(); }
  const std::vector<Buffer>& hidden() const { return now().hidden; }

 private:
  struct Room {
    std::uint64_t transient = 0, scratch = 0;
  };
  Room room_for(std::uint32_t layer, bool backward) const;
  std::uint64_t room_of_passes(std::uint32_t layer) const;
  Buffer allocate_hidden(std::uint32_t hidden);
  void call_next_back(std::uint32_t layer);
  void after_forward_by_module(std::uint32_t layer, const IssuedPass& issued);
  Buffer& memory_of(const MovedTensor& moved) {
    return moved.hidden ? now().hidden[moved.index] : now().saved[moved.layer][moved.index];
  }
  /// Of one micro-batch under way.
  struct Record {
    std::vector<std::vector<Buffer>> saved;       ///< by layer, parallel to LayerPlan::saved
    std::vector<std::vector<Op>> saved_arrivals;  ///< the same
    std::vector<Buffer> logits;                   ///< by layer
    std::vector<Buffer> hidden;                   ///< by hidden tensor
    std::vector<std::size_t>
        returned;  ///< by layer: of LayerPlan::returns, so many are on their way
    explicit Record(const LayerPlans& plans);
  };
  Record& now() { return records_[now_]; }
  const Record& now() const { return records_[now_]; }
  void expect_at(std::uint32_t module, bool backward);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  ActivationSwap swap_;
  bool waits_;  ///< for room, where tensors that leave make some: policy swap, plan
  std::unique_ptr<TensorCache> cache_;  ///< null unless the plan goes by modules
  Op before_;                           ///< the forward of the layer before
  Buffer transient_, scratch_;
  std::vector<Record> records_;
  std::size_t now_ = 0;                  ///< record in use
  std::optional<std::size_t> expected_;  ///< record whose backward is next
};

}  // namespace spillway::strategies
