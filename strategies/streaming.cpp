#include "strategies/streaming.hpp"

#include "strategies/held_memory.hpp"
#include "strategies/parts/activations.hpp"
#include "strategies/parts/gpu_optimizer.hpp"
#include "strategies/parts/make.hpp"
#include "strategies/parts/overflow_check.hpp"
#include "strategies/parts/passes.hpp"
#include "strategies/parts/progress.hpp"
#include "strategies/parts/replay.hpp"
#include "strategies/parts/stage_links.hpp"
#include "strategies/parts/update_loop.hpp"
#include "strategies/parts/weight_chunks.hpp"
#include "strategies/setup.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

using result::Phase;

/// One rank of a streaming system: its parts, and the order in which they work.
class Streaming {
 public:
  Streaming(Machine& machine, Rank rank, const Job& job)
      : machine_(machine),
        rank_(rank),
        job_(job),
        layers_(static_cast<std::uint32_t>(job.plans.layers.size())),
        sources_(make_weights(machine, rank, job)),
        weights_(*sources_.all),
        activations_(machine, rank, job, StageLinks::records_of(job.scenario, rank)),
        links_(machine, rank, job, activations_),
        on_cpu_(job.scenario.strategy.optimizer.device != description::OptimizerDevice::gpu
                    ? std::make_unique<CpuOptimizer>(machine, rank, job, weights_)
                    : nullptr),
        gradients_(machine, rank, job, on_cpu_.get()),
        on_gpu_(machine, rank, job, weights_, gradients_),
        progress_(job),
        late_(job.scenario.strategy.optimizer.staleness == 1),
        overlap_(job.scenario.strategy.weights.overlap ||
                 job.scenario.strategy.weights.home != description::Home::ssd),
        ahead_(weights_.ahead()),
        held_(machine, rank) {
    if (!waits_for_updates()) make_update_loop();
  }

  Task<> init() {
    held_.hold_bases(job_.scenario.machine);
    // weights are made in fp32, and stay so until their masters have left for storage
    const Buffer wide = in_fp32();
    co_await weights_.init();
    co_await activations_.init();
    weights_.find_staying([this](auto layer) { return activations_.recomputes(layer); });
    co_await gradients_.init();
    if (on_cpu_)
      co_await on_cpu_->init();
    else
      co_await on_gpu_.init();
    if (update_loop_) co_await update_loop_->init();
    hold_initialisation_blocks(held_, job_);
  }

  Task<> step() {
    phase_.reset();
    const std::vector<StageAction> actions = one_forward_one_backward(
        links_.stage(), links_.stages(), job_.scenario.training.gradient_accumulation);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (actions[i].what == StageAction::What::exchange) {
        co_await links_.exchange(actions[i]);
        continue;
      }
      activations_.use(actions[i].micro % links_.records());
      const StageAction* const next = pass_after(actions, i);
      const bool backward_next = next && next->what == StageAction::What::backward;
      const bool backward_follows = backward_next && next->micro == actions[i].micro;
      activations_.expect_backward(backward_next && !backward_follows
                                       ? std::optional(next->micro % links_.records())
                                       : std::nullopt);
      if (actions[i].what == StageAction::What::forward)
        co_await forward_of(actions[i].micro, backward_follows);
      else
        co_await backward_of(actions[i].micro);
    }
    co_await links_.sum_tied(gradients_);
    if (waits_for_updates()) {
      co_await end_with_update();
    } else {
      progress_.step_ended(false);
    }
    activations_.step_ended();
  }

  static const StageAction* pass_after(const std::vector<StageAction>& actions, std::size_t i) {
    while (++i < actions.size())
      if (actions[i].what != StageAction::What::exchange) return &actions[i];
    return nullptr;
  }

  /// Stages interleave passes differently: they enter each phase once, so that a node can.
  void enter(Phase phase) {
    if (links_.stages() == 1 || !phase_ || phase > *phase_) {
      phase_ = phase;
      machine_.enter(rank_, phase);
    }
  }

  Task<> forward_of(std::uint64_t micro, bool backward_follows) {
    numbers_ = progress_.numbers(micro);
    enter(Phase::forward);
    activations_.begin_micro_batch(backward_follows);
    co_await forward(backward_follows);
  }

  Task<> backward_of(std::uint64_t micro) {
    numbers_ = progress_.numbers(micro);
    const bool last = micro + 1 == job_.scenario.training.gradient_accumulation;
    enter(Phase::backward);
    if (last) gradients_.begin_update(numbers_);
    co_await backward(micro == 0, last);
    co_await activations_.end_micro_batch();
    if (update_loop_) update_loop_->start(numbers_);
  }

  /// A step that ends with an update: its own, or the one before.
  Task<> end_with_update() {
    bool overflow = false;
    if (job_.scenario.strategy.overflow_check != description::OverflowCheck::none) {
      machine_.enter(rank_, Phase::overflow_check);
      overflow = co_await check_overflow(machine_, rank_, job_, gradients_);
    }
    machine_.enter(rank_, Phase::update);
    if (late_) co_await end_late_update();
    if (!overflow) co_await update();
    progress_.step_ended(overflow);
  }

  Task<> end() {
    if (late_) co_await end_late_update();
    if (update_loop_) co_await update_loop_->stop();
    if (sources_.replayed) co_await sources_.replayed->replay().show_all();
    co_await activations_.settle();
  }

  Task<> checkpoint() {
    if (on_cpu_)
      co_await on_cpu_->checkpoint();
    else
      co_await on_gpu_.checkpoint();
  }

 private:
  bool waits_for_updates() const {
    return job_.scenario.strategy.optimizer.staleness != description::any_staleness;
  }

  /// On the CPU beside all steps; or on the GPU, as one on the CPU was.
  void make_update_loop() {
    if (on_cpu_) {
      ENSURE(sources_.renewed, "weights that no loose update can renew");
      update_loop_ = std::make_unique<UpdateLoop>(machine_, rank_, job_, *sources_.renewed,
                                                  *on_cpu_, gradients_);
      return;
    }
    Replay& replay = sources_.replayed->replay();
    replay.set_update(
        [this](std::uint32_t weight, std::uint64_t number, View into, const After& after) {
          Numbers numbers = numbers_;
          numbers.update = number;
          return on_gpu_.update(weight, numbers, std::move(into), after);
        });
    gradients_.set_replay(&replay);
  }

  /// The update of the step before, which this one's passes did not see: the next one's do.
  Task<> end_late_update() {
    if (!on_cpu_) {
      co_await on_gpu_.publish_late();
      co_return;
    }
    if (!late_update_) co_return;
    co_await late_update_;
    late_update_.reset();
    co_await on_cpu_->publish_late();
  }

  /// On the CPU, beside the next step.
  void begin_late_update() {
    gradients_.hand_over();
    late_update_ = machine_.spawn(on_cpu_->update(
        [this](std::uint32_t weight) { return gradients_.handed_over(weight); },
        [this](std::uint32_t weight) { return gradients_.handed_over_sectors(weight); }, numbers_));
  }

  /// Of a system whose chunks are made from whole fp32 weights.
  Buffer in_fp32() {
    if (!chunk_knobs(job_.scenario.strategy).used) return Buffer();
    std::uint64_t bytes = 0;
    for (std::uint32_t weight = 0; weight < job_.model.weights.size(); ++weight)
      bytes += 4 * job_.share(weight, job_.partition.weight_ways());
    return machine_.allocate_now(TierId::pageable, rank_, Bytes(bytes), Purpose::init_copy);
  }

  Task<> update() {
    weights_.step_ends();
    if (gradients_.active())
      co_await gradients_.finish_update();
    else if (on_cpu_ && late_)
      begin_late_update();
    else if (on_cpu_)
      co_await on_cpu_->update(
          [this](std::uint32_t weight) { return gradients_.flat(weight); },
          [this](std::uint32_t weight) { return gradients_.flat_sectors(weight); }, numbers_);
    else
      co_await on_gpu_.update(numbers_);
  }

  /// The layer that runs as number `turn` of a pass.
  std::uint32_t layer_at(std::uint32_t turn, bool backward) const {
    return backward ? layers_ - 1 - turn : turn;
  }

  void fetch(std::uint32_t layer) {
    if (!fetches_[layer]) fetches_[layer] = machine_.spawn(weights_.gather(layer));
  }

  /// The hook of the layer that begins to run as number `turn`: fetches the next ones.
  void prefetch_behind(std::uint32_t turn, bool backward) {
    if (!overlap_) return;
    weights_.look_again();
    for (std::uint64_t i = turn + 1; i <= turn + ahead_ && i < layers_; ++i) {
      fetch(layer_at(static_cast<std::uint32_t>(i), backward));
    }
  }

  /// Of the layer nothing, or not all, may come before its turn: so DeepSpeed's limits have it.
  bool comes_in_its_turn(std::uint32_t layer) {
    if (!overlap_ || !weights_.fetches(layer)) return false;
    if (ahead_ == 0) return true;
    fetch(layer);
    return !fetches_[layer].done() && weights_.held_back(layer);
  }

  /// The layer's weights are still to come and find no room. A caching allocator reuses in stream
  /// order what the pass before gives back: they wait for that pass.
  bool waits_for_room(std::uint32_t layer) {
    if (!overlap_) return false;
    fetch(layer);
    return !fetches_[layer].done() && !weights_.has_room(layer);
  }

  /// The layer's weights; with overlap their fetch began a layer ago.
  Task<GatheredWeights> arrive(std::uint32_t layer) {
    weights_.demand(layer);
    fetch(layer);
    GatheredWeights weights = co_await std::move(fetches_[layer]);
    fetches_[layer].reset();
    co_return weights;
  }

  LayerOperands operands(std::uint32_t layer, const GatheredWeights& weights) const {
    LayerOperands at;
    at.weights = &weights;
    at.saved = &activations_.saved(layer);
    at.transient = activations_.transient();
    at.scratch = activations_.scratch();
    at.logits = activations_.logits(layer);
    at.hidden = &activations_.hidden();
    at.type = job_.weight_type();
    at.numbers = numbers_;
    return at;
  }

  IssuedPass issue(const PassPlan& pass, const LayerOperands& at, std::vector<Op> after) {
    return issue_pass(machine_, rank_, tensor_group(job_.scenario, rank_), pass, at,
                      std::move(after), !overlap_);
  }

  /// Forward of one layer, a segment at a time, at most one ahead of the GPU: memory is taken for
  /// what it makes, and what it completed is stored.
  Task<IssuedPass> forward_by_module(std::uint32_t layer, LayerOperands at, Op before) {
    const PassPlan& pass = job_.plans.layers[layer].forward;
    PassIssuer issuer(machine_, rank_, tensor_group(job_.scenario, rank_), pass, at, {}, !overlap_);
    for (std::uint32_t i = 0; i < pass.segments.size(); ++i) {
      activations_.enter_forward_segment(layer, pass.segments[i]);
      const Op issued = issuer.next();
      activations_.leave_forward_segment(layer, i, issued);
      co_await before;
      before = issued;
    }
    co_return issuer.finish();
  }

  /// Backward of one layer, a segment at a time, at most one ahead of the GPU: what a module needs
  /// is asked for when it begins, and given back when it is through.
  ///   before  the backward of the layer above
  Task<Op> module_by_module(std::uint32_t layer, LayerOperands at, std::vector<Op> after,
                            Op before) {
    const PassPlan& pass = job_.plans.layers[layer].backward;
    PassIssuer issuer(machine_, rank_, tensor_group(job_.scenario, rank_), pass, at,
                      std::move(after), !overlap_);
    for (const PassPlan::Segment& segment : pass.segments) {
      co_await activations_.enter_segment(layer, segment);
      const Op issued = issuer.next();
      activations_.leave_segment(layer, segment);
      co_await before;
      before = issued;
    }
    co_return issuer.finish().last;
  }

  /// Backward of one layer whose saved tensors do not find room all at once: a segment when what it
  /// needs is on its way, as far as those before it give back their memory.
  Task<IssuedPass> as_it_returns(std::uint32_t layer, LayerOperands at) {
    const PassPlan& pass = job_.plans.layers[layer].backward;
    PassIssuer issuer(machine_, rank_, tensor_group(job_.scenario, rank_), pass, at, {}, !overlap_);
    const std::uint64_t next = layer ? 2 * job_.plans.layers[layer - 1].weight_bytes + 1 : 1;
    std::vector<Op> running;
    std::size_t ended = 0, arrived = 0;
    for (const PassPlan::Segment& segment : pass.segments) {
      activations_.prefetch_backward(layer, next);
      while (!activations_.returns_for(layer, segment) && ended < running.size()) {
        co_await running[ended++];
        activations_.prefetch_backward(layer, next);
      }
      if (!activations_.returns_for(layer, segment)) activations_.prefetch_for(layer, segment);
      std::vector<Op> hidden = co_await activations_.arrivals(layer, arrived);
      arrived = activations_.returned(layer);
      for (const Op& there : hidden) co_await there;
      running.push_back(issuer.next());
      activations_.leave_part(segment);
    }
    co_return issuer.finish();
  }

  Task<> forward(bool backward_follows) {
    fetches_.clear();
    fetches_.resize(layers_);
    weights_.begin_pass(false);
    Op before;
    GatheredWeights in_use;  // of `before`: live until it is done, not only issued
    for (std::uint32_t layer = 0; layer < layers_; ++layer) {
      if (before && (!overlap_ || comes_in_its_turn(layer) || waits_for_room(layer))) {
        co_await before;
        in_use = GatheredWeights();
      }
      bool more = activations_.waits();
      while (more && waits_for_room(layer)) more = co_await activations_.one_leaves();
      GatheredWeights weights = co_await arrive(layer);
      if (!activations_.fits(layer, false)) {
        co_await before;
        in_use = GatheredWeights();
        co_await activations_.make_way(layer, false);
      }
      if (!activations_.has_room(layer, false)) {
        co_await before;
        in_use = GatheredWeights();
        activations_.make_room(layer, false);
      }
      activations_.before_forward(layer);
      const LayerOperands at = operands(layer, weights);
      IssuedPass computed;
      if (activations_.by_module())
        computed = co_await forward_by_module(layer, at, before);
      else
        computed = issue(job_.plans.layers[layer].forward, at, {});
      activations_.after_forward(layer, computed);
      // the hook of this layer runs when the layer before it has left the GPU
      co_await before;
      in_use = GatheredWeights();
      prefetch_behind(layer, false);
      if (backward_follows && weights_.stays(layer))
        weights_.keep(layer, std::move(weights));
      else
        in_use = std::move(weights);
      before = computed.last;
    }
    co_await before;
  }

  /// Backward of one layer, with what it makes again.
  ///   in_parts  it does not find room for all that returns at once
  ///   before    the backward of the layer above
  Task<IssuedPass> issue_backward(std::uint32_t layer, LayerOperands at, bool in_parts, Op before) {
    const LayerPlan& plan = job_.plans.layers[layer];
    if (in_parts && !activations_.by_module()) co_return co_await as_it_returns(layer, at);
    std::vector<Op> arrivals = co_await activations_.arrivals(layer, 0);
    if (activations_.recomputes(layer)) {
      const IssuedPass recomputed = issue(plan.recompute, at, std::move(arrivals));
      arrivals = {recomputed.last};
    }
    if (!activations_.by_module()) co_return issue(plan.backward, at, std::move(arrivals));
    IssuedPass issued;
    issued.last = co_await module_by_module(layer, at, std::move(arrivals), before);
    co_return issued;
  }

  Task<> backward(bool first_micro, bool last_micro) {
    fetches_.clear();
    fetches_.resize(layers_);
    weights_.begin_pass(true);
    Op before;
    std::vector<Op> parts;  // of the pass that `before` ends
    GatheredWeights in_use;
    activations_.prefetch_backward(layers_ - 1, 0);
    for (std::uint32_t turn = 0; turn < layers_; ++turn) {
      const std::uint32_t layer = layer_at(turn, true);
      std::size_t part = 0;
      for (; overlap_ && part < parts.size() && waits_for_room(layer); ++part)
        co_await parts[part];  // each gives back what came for it
      if (before && (!overlap_ || comes_in_its_turn(layer) || waits_for_room(layer))) {
        co_await before;
        in_use = GatheredWeights();
      }
      bool more = activations_.waits();
      while (more && waits_for_room(layer)) more = co_await activations_.one_leaves();
      GatheredWeights weights = co_await arrive(layer);
      // two layers' weights and gradients are on the GPU; activations make room for them
      if (before && !gradients_.has_room(layer)) co_await before;
      more = activations_.waits();
      while (more && !gradients_.has_room(layer)) more = co_await activations_.one_leaves();
      Gradients::OnGpu gradients = co_await gradients_.begin_layer(layer, first_micro);
      for (; part < parts.size() && !activations_.returns_all(layer); ++part) {
        co_await parts[part];
        activations_.prefetch_backward(layer, 1);
      }
      const bool in_parts = !activations_.returns_all(layer) && !activations_.recomputes(layer);
      if (!activations_.returns_all(layer) || !activations_.fits(layer, true)) {
        co_await before;
        in_use = GatheredWeights();
        co_await activations_.make_way(layer, true);
        if (!activations_.fits(layer, true)) co_await gradients_.others_leave();
        if (!in_parts) activations_.prefetch_backward(layer, 0);
      }
      if (!activations_.has_room(layer, true)) {
        co_await before;
        in_use = GatheredWeights();
        activations_.make_room(layer, true);
      }
      activations_.before_backward(layer);
      LayerOperands at = operands(layer, weights);
      at.gradients = &gradients.views;
      at.fresh = &gradients.fresh;
      at.arrivals = &activations_.saved_arrivals(layer);
      IssuedPass issued = co_await issue_backward(layer, at, in_parts, before);
      const Op computed = issued.last;
      activations_.after_backward(layer);
      co_await before;
      in_use = GatheredWeights();
      if (layer > 0)  // its weights and their gradients come first
        activations_.prefetch_backward(layer - 1,
                                       2 * job_.plans.layers[layer - 1].weight_bytes + 1);
      if (layer > 0 && activations_.returns_all(layer - 1)) activations_.return_early(layer - 1);
      prefetch_behind(turn, true);
      at = LayerOperands();
      in_use = std::move(weights);
      co_await gradients_.leave(layer, std::move(gradients), computed, first_micro, last_micro);
      before = computed;
      parts = std::move(issued.segments);
    }
    co_await before;
    co_await gradients_.drain();
  }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  std::uint32_t layers_;
  MadeWeights sources_;
  Weights& weights_;
  Activations activations_;
  StageLinks links_;
  std::unique_ptr<CpuOptimizer> on_cpu_;
  Gradients gradients_;
  GpuOptimizer on_gpu_;
  Progress progress_;
  Numbers numbers_;
  std::optional<Phase> phase_;  ///< entered last in this step
  bool late_;                   ///< an update is seen a step later
  Pending<> late_update_;
  std::unique_ptr<UpdateLoop> update_loop_;
  bool overlap_;  ///< false: reads from SSD begin when the layer before has left the GPU
  std::uint64_t ahead_;
  HeldMemory held_;
  std::vector<Pending<GatheredWeights>> fetches_;
};

}  // namespace

Task<> train_streaming(Machine& machine, Rank rank, const Job& job) {
  Streaming rank_state(machine, rank, job);
  co_await rank_state.init();
  while (co_await job.steps->next()) co_await rank_state.step();
  co_await rank_state.end();
  if (job.scenario.run.checkpoint) co_await rank_state.checkpoint();
}

}  // namespace spillway::strategies
