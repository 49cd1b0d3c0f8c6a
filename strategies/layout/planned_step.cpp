#include "strategies/layout/planned_step.hpp"

#include "strategies/layout/pipeline.hpp"
#include "strategies/layout/planned_settings.hpp"
#include "strategies/layout/stage_layers.hpp"
#include "strategies/machine/kernel_time.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <map>

namespace spillway::strategies {

namespace {

using models::Access;
using models::TensorRole;
using result::Phase;
using Holds = StepTensor::Holds;
using planner::TensorKind;

/// Both ends of a hand-over make the same number of it.
std::uint64_t key_of(std::uint64_t kind, std::uint64_t boundary, std::uint64_t item) {
  return (boundary * 4 + kind) << 40 | item;
}

class Builder {
 public:
  Builder(const Job& job, Rounding gpu, const std::vector<StageLayers>& split,
          const models::Crossings& crossings, std::uint32_t stage)
      : job_(job),
        program_(job.program),
        gpu_(gpu),
        split_(split),
        crossings_(crossings),
        stage_(stage),
        used_(split.size(), std::vector<bool>(job.model.weights.size(), false)),
        updates_(job.model.weights.size()) {
    for (std::uint32_t each = 0; each < split.size(); ++each)
      for (std::uint32_t layer = split[each].first; layer < split[each].last; ++layer)
        for (const std::uint32_t weight : job.model.used_by(layer)) used_[each][weight] = true;
    for (std::uint32_t i = program_.update.first; i < program_.update.last; ++i)
      updates_[updated_by(program_.operators[i])].push_back(i);
    if (overlaps_update(job.scenario.strategy)) find_last_uses();
  }

  PlannedStep build() {
    const std::uint64_t micro_batches = job_.scenario.training.gradient_accumulation;
    for (const StageAction& action :
         stage_order({job_.scenario.parallel.schedule, stage_, split_.size(), micro_batches})) {
      last_micro_ = action.micro + 1 == micro_batches;
      micro_ = action.micro;
      switch (action.what) {
        case StageAction::What::forward:
          for (std::uint32_t i = layers().first; i < layers().last; ++i)
            pass(program_.layers[i].forward, Phase::forward);
          break;
        case StageAction::What::backward:
          for (std::uint32_t i = layers().last; i-- > layers().first;)
            backward(program_.layers[i].backward);
          break;
        case StageAction::What::exchange:
          exchange(action);
          break;
        default:
          ENSURE(false, "plans of whole steps have passes that wait for what they hand over");
      }
    }
    micro_ = micro_batches - 1;
    last_micro_ = true;
    sum_tied();
    update();
    return std::move(step_);
  }

 private:
  StageLayers layers() const { return split_[stage_]; }

  std::uint32_t make(StepTensor tensor) {
    tensor.taken = rounded(gpu_, description::in_sectors(tensor.bytes));
    step_.tensors.push_back(tensor);
    return static_cast<std::uint32_t>(step_.tensors.size() - 1);
  }

  /// The tensor that `id` is in this micro-batch; what the weights' own pass from one to the next.
  std::uint32_t find(models::TensorId id) {
    const models::Tensor& tensor = program_.tensors[id];
    const bool shared = tensor.role == TensorRole::weight ||
                        tensor.role == TensorRole::weight_gradient ||
                        tensor.role == TensorRole::master || tensor.role == TensorRole::momentum ||
                        tensor.role == TensorRole::variance;
    const auto [found, fresh] = known_.try_emplace({id, shared ? 0 : micro_}, 0);
    if (!fresh) return found->second;
    StepTensor made;
    made.bytes = tensor.bytes.value();
    made.tensor = id;
    made.weight = tensor.weight.value_or(0);
    made.persistent = shared && tensor.role != TensorRole::weight_gradient;
    classify(tensor.role, made);
    return found->second = make(made);
  }

  static void classify(TensorRole role, StepTensor& made) {
    switch (role) {
      case TensorRole::weight:
        made.holds = Holds::weight;
        made.kind = TensorKind::weight;
        made.purpose = Purpose::weights;
        break;
      case TensorRole::weight_gradient:
        made.holds = Holds::gradient;
        made.kind = TensorKind::gradient;
        made.purpose = Purpose::gradients;
        break;
      case TensorRole::master:
      case TensorRole::momentum:
      case TensorRole::variance:
        made.holds = role == TensorRole::master     ? Holds::master
                     : role == TensorRole::momentum ? Holds::momentum
                                                    : Holds::variance;
        made.kind = TensorKind::optimizer_state;
        made.purpose = Purpose::optimizer_states;
        break;
      case TensorRole::logits:
        made.purpose = Purpose::logits;
        break;
      case TensorRole::activation:
      case TensorRole::activation_gradient:
      case TensorRole::input:
        break;
    }
  }

  StepKernel& add(std::string_view name, Phase phase, double seconds) {
    StepKernel kernel;
    kernel.name = name;
    kernel.phase = phase;
    kernel.micro = micro_;
    kernel.last_micro = last_micro_;
    kernel.seconds = seconds;
    step_.kernels.push_back(std::move(kernel));
    return step_.kernels.back();
  }

  double updated_parameters(const models::Operator& op) const {
    const auto weight = program_.tensors[op.operands.front().tensor].weight;
    return static_cast<double>(job_.share(*weight, 1));
  }

  void add(const models::Operator& op, Phase phase, bool updates = false) {
    const double updated = updates ? updated_parameters(op) : 0;
    LoggedKernel cost = kernel_of_pass(op);
    cost.updated = updated;
    cost.in_pass = !updates;
    StepKernel& kernel = add(op.name, phase, kernel_seconds(cost, job_.scenario));
    kernel.operation = &op;
    kernel.updated = updated;
    for (const models::Operand& operand : op.operands) {
      const models::Tensor& tensor = program_.tensors[operand.tensor];
      if (tensor.role == TensorRole::input || tensor.bytes.value() == 0) continue;
      const bool gradient = tensor.role == TensorRole::weight_gradient && !updates;
      kernel.operands.push_back({find(operand.tensor), operand.access,
                                 gradient && begun_.insert({operand.tensor, true}).second});
    }
    if (op.workspace.value() == 0) return;
    StepTensor workspace;
    workspace.holds = Holds::workspace;
    workspace.kind = TensorKind::workspace;
    workspace.purpose = Purpose::workspace;
    workspace.bytes = op.workspace.value();
    kernel.operands.push_back({make(workspace), Access::write});
  }

  void pass(models::Span span, Phase phase) {
    for (std::uint32_t i = span.first; i < span.last; ++i) add(program_.operators[i], phase);
  }

  /// The weight that an operand is, or is the gradient of.
  std::optional<std::uint32_t> weight_of(const models::Operand& operand) const {
    const models::Tensor& tensor = program_.tensors[operand.tensor];
    const bool of_weight =
        tensor.role == TensorRole::weight || tensor.role == TensorRole::weight_gradient;
    return of_weight ? tensor.weight : std::nullopt;
  }

  bool on_two_stages(std::uint32_t weight) const {
    for (std::uint32_t other = 0; other < split_.size(); ++other)
      if (other != stage_ && uses(other, weight)) return true;
    return false;
  }

  /// Behind which operator of backward a weight and its gradient are used no more.
  void find_last_uses() {
    for (std::uint32_t layer = layers().last; layer-- > layers().first;) {
      const models::Span& span = program_.layers[layer].backward;
      for (std::uint32_t i = span.first; i < span.last; ++i)
        for (const models::Operand& operand : program_.operators[i].operands)
          if (const auto weight = weight_of(operand); weight && !on_two_stages(*weight))
            last_use_[*weight] = i;
    }
    for (const auto& [weight, last] : last_use_) done_with_[last].push_back(weight);
  }

  /// With updates of the weights that are done with, in the last micro-batch.
  void backward(models::Span span) {
    for (std::uint32_t i = span.first; i < span.last; ++i) {
      add(program_.operators[i], Phase::backward);
      if (!last_micro_) continue;
      const auto done = done_with_.find(i);
      if (done == done_with_.end()) continue;
      for (const std::uint32_t weight : done->second) update(weight, Phase::backward);
    }
  }

  void hand_over(StepKernel& kernel, std::uint32_t tensor, std::uint32_t peer, bool sends,
                 std::uint64_t key) {
    kernel.handovers.push_back({tensor, peer, sends, key});
    kernel.operands.push_back({tensor, sends ? Access::read : Access::write});
  }

  /// What crosses to or from stage `peer`, in micro-batch `micro`.
  void cross(StepKernel& kernel, const std::vector<models::TensorId>& tensors, std::uint32_t peer,
             std::int64_t micro, bool sends) {
    if (micro < 0) return;
    micro_ = static_cast<std::uint64_t>(micro);
    const bool forward = sends == (peer > stage_);
    const std::uint32_t boundary = std::min(stage_, peer);
    for (const models::TensorId id : tensors)
      hand_over(kernel, find(id), peer, sends,
                key_of(forward ? 0 : 1, boundary, std::uint64_t{id} << 12 | (micro_ & 0xfff)));
  }

  void exchange(const StageAction& action) {
    const bool forward = action.sends_forward >= 0 || action.receives_forward >= 0;
    StepKernel& kernel = add("hand over", forward ? Phase::forward : Phase::backward, 0);
    cross(kernel, crossings_.sends_forward, stage_ + 1, action.sends_forward, true);
    cross(kernel, crossings_.receives_forward, stage_ - 1, action.receives_forward, false);
    cross(kernel, crossings_.sends_backward, stage_ - 1, action.sends_backward, true);
    cross(kernel, crossings_.receives_backward, stage_ + 1, action.receives_backward, false);
  }

  bool uses(std::uint32_t stage, std::uint32_t weight) const { return used_[stage][weight]; }

  std::uint32_t updated_by(const models::Operator& op) const {
    return *program_.tensors[op.operands.front().tensor].weight;
  }

  /// Gradients of weights that several stages hold, in the order of the stages: each has all of
  /// them before it adds.
  void sum_tied() {
    for (std::uint32_t i = 0; i < program_.tensors.size(); ++i) {
      const models::Tensor& tensor = program_.tensors[i];
      if (tensor.role != TensorRole::weight_gradient || !uses(stage_, *tensor.weight) ||
          !job_.row(*tensor.weight).trainable())
        continue;
      std::vector<std::uint32_t> parts;  // by holder
      for (std::uint32_t holder = 0; holder < split_.size(); ++holder)
        if (uses(holder, *tensor.weight))
          parts.push_back(holder == stage_ ? find(i) : exchange_tied(i, holder));
      for (std::size_t part = 1; part < parts.size(); ++part)  // the sum so far lies before it
        add_tied(parts[part - 1], parts[part], part + 1 == parts.size() ? find(i) : parts[part]);
    }
  }

  /// Result  where the gradient of stage `other` arrives
  std::uint32_t exchange_tied(models::TensorId gradient, std::uint32_t other) {
    StepTensor arrived;
    arrived.holds = Holds::arrival;
    arrived.kind = TensorKind::communication;
    arrived.purpose = Purpose::gradients;
    arrived.bytes = program_.tensors[gradient].bytes.value();
    arrived.weight = *program_.tensors[gradient].weight;
    const std::uint32_t own = find(gradient), theirs = make(arrived);
    StepKernel& kernel = add("exchange tied gradients", Phase::backward, 0);
    hand_over(kernel, own, other, true, tied_key(gradient, stage_, other));
    hand_over(kernel, theirs, other, false, tied_key(gradient, other, stage_));
    return theirs;
  }

  std::uint64_t tied_key(models::TensorId gradient, std::uint32_t from, std::uint32_t to) const {
    return key_of(2, from * split_.size() + to, gradient);
  }

  void add_tied(std::uint32_t one, std::uint32_t other, std::uint32_t into) {
    const auto bytes = static_cast<double>(step_.tensors[into].bytes);
    const LoggedKernel cost{"", 0, 3.0 * bytes, 0, false, false, false, 0};
    StepKernel& sum =
        add("sum tied gradients", Phase::backward, kernel_seconds(cost, job_.scenario));
    sum.sums = true;
    sum.operands.push_back({into, Access::write});
    sum.operands.push_back({one, Access::read});
    sum.operands.push_back({other, Access::read});
  }

  /// One weight's.
  void update(std::uint32_t weight, Phase phase) {
    for (const std::uint32_t i : updates_[weight]) add_update(program_.operators[i], phase);
  }

  void add_update(const models::Operator& op, Phase phase) {
    const bool adam = description::is_adam(job_.scenario.training.optimizer);
    const bool fused = job_.scenario.strategy.optimizer.kernels == description::AdamKernels::fused;
    if (fused || !adam) return add(op, phase, true);
    add_adam(op, phase);
  }

  /// Kernel by kernel: none holds what only the others need.
  void add_adam(const models::Operator& op, Phase phase) {
    const auto of = [&](TensorRole role) -> std::optional<std::uint32_t> {
      for (const models::Operand& operand : op.operands)
        if (program_.tensors[operand.tensor].role == role) return find(operand.tensor);
      return std::nullopt;
    };
    const std::uint32_t weight = *of(TensorRole::weight),
                        gradient = *of(TensorRole::weight_gradient);
    const std::uint32_t first = *of(TensorRole::momentum), second = *of(TensorRole::variance);
    const std::optional<std::uint32_t> master = of(TensorRole::master);
    StepTensor made;
    made.holds = Holds::workspace;
    made.kind = TensorKind::workspace;
    made.purpose = Purpose::workspace;
    made.bytes = fp32_numbers.bytes(static_cast<std::uint64_t>(updated_parameters(op)));
    made.weight = step_.tensors[weight].weight;
    const std::uint32_t root = make(made);
    const auto reads = [](std::uint32_t tensor) { return StepOperand{tensor, Access::read}; };
    const auto renews = [](std::uint32_t tensor) {
      return StepOperand{tensor, Access::read_write};
    };
    const auto writes = [](std::uint32_t tensor) { return StepOperand{tensor, Access::write}; };
    add_part(op, phase, AdamPart::momentum, "Adam momentum", {renews(first), reads(gradient)});
    add_part(op, phase, AdamPart::decay, "Adam decay", {renews(second)});
    add_part(op, phase, AdamPart::variance, "Adam variance", {renews(second), reads(gradient)});
    add_part(op, phase, AdamPart::root, "Adam root", {writes(root), reads(second)});
    add_part(op, phase, AdamPart::correct, "Adam correct", {renews(root)});
    add_part(op, phase, AdamPart::shift, "Adam shift", {renews(root)});
    std::vector<StepOperand> last{renews(master.value_or(weight)), reads(first), reads(root)};
    if (master) last.push_back(writes(weight));
    add_part(op, phase, AdamPart::apply, "Adam apply", std::move(last));
  }

  void add_part(const models::Operator& op, Phase phase, AdamPart part, std::string_view name,
                std::vector<StepOperand> operands) {
    double bytes = 0;
    for (const StepOperand& one : operands)
      bytes += (one.access == Access::read_write ? 2.0 : 1.0) *
               static_cast<double>(step_.tensors[one.tensor].bytes);
    const LoggedKernel cost{"", 0, bytes, 0, false, false, false, 0};
    StepKernel& kernel = add(name, phase, kernel_seconds(cost, job_.scenario));
    kernel.operation = &op;
    kernel.part = part;
    kernel.operands = std::move(operands);
  }

  /// Of all weights that backward has not updated.
  void update() {
    for (std::uint32_t i = program_.update.first; i < program_.update.last; ++i) {
      const models::Operator& op = program_.operators[i];
      const std::uint32_t weight = updated_by(op);
      if (uses(stage_, weight) && !last_use_.contains(weight)) add_update(op, Phase::update);
    }
  }

  const Job& job_;
  const models::StepProgram& program_;
  Rounding gpu_;
  const std::vector<StageLayers>& split_;
  const models::Crossings& crossings_;
  std::uint32_t stage_;
  std::vector<std::vector<bool>> used_;              ///< by stage and weight
  std::vector<std::vector<std::uint32_t>> updates_;  ///< by weight: its operators
  std::uint64_t micro_ = 0;
  bool last_micro_ = false;
  PlannedStep step_;
  std::map<std::pair<models::TensorId, std::uint64_t>, std::uint32_t> known_;
  std::map<models::TensorId, bool> begun_;  ///< gradients that a kernel has written
  /// Operator of backward, by weight that is updated behind it.
  std::map<std::uint32_t, std::uint32_t> last_use_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> done_with_;  ///< the same, by operator
};

/// When the stages' kernels begin, waits for each other included.
class TimeLine {
 public:
  TimeLine(std::vector<PlannedStep>& steps, double rate, double latency)
      : steps_(steps), rate_(rate), latency_(latency), at_(steps.size()), now_(steps.size()) {}

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < steps_.size(); ++stage)
        while (at_[stage] < steps_[stage].kernels.size() && advance(stage)) moved = true;
    }
    for (std::size_t stage = 0; stage < steps_.size(); ++stage)
      ENSURE(at_[stage] == steps_[stage].kernels.size(), "pipeline stages wait for each other");
    end_together();
  }

 private:
  bool advance(std::size_t stage) {
    StepKernel& kernel = steps_[stage].kernels[at_[stage]];
    for (const Handover& handover : kernel.handovers)
      ready_[{handover.key, handover.sends}] = now_[stage];
    double end = now_[stage] + kernel.seconds;
    for (const Handover& handover : kernel.handovers) {
      const auto other = ready_.find({handover.key, !handover.sends});
      if (other == ready_.end()) return false;
      const auto bytes = static_cast<double>(steps_[stage].tensors[handover.tensor].bytes);
      end = std::max(end, std::max(now_[stage], other->second) + bytes / rate_ + latency_);
    }
    kernel.start_s = now_[stage];
    kernel.seconds = end - now_[stage];
    now_[stage] = end;
    ++at_[stage];
    return true;
  }

  /// Stages that are done wait for the others before the next step.
  void end_together() {
    const double end = *std::max_element(now_.begin(), now_.end());
    for (std::size_t stage = 0; stage < steps_.size(); ++stage)
      steps_[stage].kernels.back().seconds += end - now_[stage];
  }

  std::vector<PlannedStep>& steps_;
  double rate_, latency_;
  std::vector<std::size_t> at_;
  std::vector<double> now_;
  std::map<std::pair<std::uint64_t, bool>, double> ready_;
};

}  // namespace

planner::Lifetimes PlannedStep::lifetimes() const {
  planner::Lifetimes lifetimes;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    lifetimes.tensors.push_back({i, tensors[i].taken, tensors[i].kind, tensors[i].persistent, {}});
  for (std::uint32_t k = 0; k < kernels.size(); ++k) {
    lifetimes.kernels.push_back(
        {std::string(kernels[k].name), kernels[k].start_s, kernels[k].seconds, 0});
    for (const StepOperand& operand : kernels[k].operands) {
      auto& active = lifetimes.tensors[operand.tensor].active;
      const bool reads = operand.access != models::Access::write;
      const bool writes = operand.access != models::Access::read;
      if (active.empty() || active.back().last != k) {
        active.push_back({k, k, reads, writes});
      } else {
        active.back().reads |= reads;
        active.back().writes |= writes;
      }
    }
  }
  return lifetimes;
}

std::vector<PlannedStep> plan_steps(const Job& job, Rounding gpu) {
  const std::vector<StageLayers> split = stage_layers(job.model, job.program, job.scenario);
  const auto stages = cut_into_stages(job.model, job.program, split, split.size());
  std::vector<PlannedStep> steps;
  for (std::uint32_t stage = 0; stage < split.size(); ++stage)
    steps.push_back(
        Builder(job, gpu, split, stages[stage].pieces.front().crossings, stage).build());
  const Topology topology = setup_for(job.scenario, false, false).topology;
  TimeLine(steps, topology.peer_rate.value(), topology.network_latency.value()).run();
  return steps;
}

}  // namespace spillway::strategies
