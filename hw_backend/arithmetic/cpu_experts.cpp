#include "hw_backend/arithmetic/cpu_experts.hpp"

#include "hw_backend/arithmetic/host_primitives.hpp"
#include "hw_backend/arithmetic/linear.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::hw_backend {

namespace {

using models::WeightKind;

/// Copies of tokens [rows, width], those of one expert behind those of the one before.
struct CopiesOfTokens {
  std::byte* data = nullptr;
  std::uint64_t width = 0;
};

class Experts {
 public:
  Experts(const CpuExperts& of, Team& team)
      : of_(of), team_(team), call_(call_on(primitives_)), routing_(call_.routing()) {
    const models::Architecture& a = call_.architecture();
    const std::uint64_t width = a.expert_latent > 0 ? a.expert_latent : a.hidden;
    std::byte* next = of.kept;
    if (a.gated_ffn) gate_ = take(next, a.expert_ffn);
    up_ = take(next, a.expert_ffn);
    inner_ = take(next, a.expert_ffn);
    parts_ = take(next, width);
    next = of.works;
    copies_ = take(next, width);
    inner_gradients_ = take(next, a.expert_ffn);
    for (const std::uint32_t weight : lowering().model->layers[of.operation->layer].weights)
      if (lowering().model->weights[weight].routed) matrices_.push_back(weight);
  }

  void forward() {
    OperandReader operands(call_);
    const Operand x = operands.take(), shares = operands.take(), output = operands.take();
    call_.device.scatter_rows(routing_, copies_.width, nullptr, x.read(), all(copies_).write());
    each([this](const Call& call, std::uint32_t expert) {
      const Operand copies = of(copies_, expert), up = of(up_, expert), inner = of(inner_, expert);
      if (gate_.data && has(WeightKind::ffn_gate)) {
        multiply(call, matrix(WeightKind::ffn_gate, expert), copies, {of(gate_, expert)});
        multiply(call, matrix(WeightKind::ffn_up, expert), copies, {up});
      } else if (gate_.data) {
        multiply(call, matrix(WeightKind::ffn_up, expert), copies, {of(gate_, expert), up});
      } else {
        multiply(call, matrix(WeightKind::ffn_up, expert), copies, {up});
      }
      if (gate_.data)
        call.device.gated_product({activation(), inner.elements}, of(gate_, expert).read(),
                                  up.read(), Output(), inner.write());
      else
        call.device.activate(activation(), inner.elements, up.read(), inner.write());
      multiply(call, matrix(WeightKind::ffn_down, expert), inner, {of(parts_, expert)});
    });
    call_.device.gather_rows(routing_, copies_.width, shares.floats(), all(parts_).read(),
                             output.write());
  }

  /// The gradients of copies take the place of those of what comes back, and those of gate and up
  /// that of gate and up.
  void backward() {
    OperandReader operands(call_);
    const Operand gradient = operands.take();
    operands.take();  // x: what was made of it is kept
    const Operand shares = operands.take(), x_gradient = operands.take();
    const Operand shares_gradient = operands.take();
    ENSURE(!shares_gradient.add, "something besides experts reads what they count");
    call_.device.scatter_rows(routing_, copies_.width, shares.floats(), gradient.read(),
                              all(copies_).write());
    call_.device.gather_backward(routing_, copies_.width, gradient.read(), all(parts_).read(),
                                 shares_gradient.floats());
    each([this](const Call& call, std::uint32_t expert) {
      const Operand up = of(up_, expert), inner_gradient = of(inner_gradients_, expert);
      Operand copies = of(copies_, expert);
      multiply_back(call, matrix(WeightKind::ffn_down, expert), {copies}, inner_gradient);
      if (!gate_.data) {
        call.device.activate_backward(activation(), up.elements, inner_gradient.read(), up.read(),
                                      up.replace());
        return multiply_back(call, matrix(WeightKind::ffn_up, expert), {up}, copies);
      }
      const Operand gate = of(gate_, expert);
      call.device.gated_product_backward({activation(), up.elements}, inner_gradient.read(),
                                         gate.read(), up.read(), Input(), gate.replace(),
                                         up.replace());
      if (!has(WeightKind::ffn_gate))
        return multiply_back(call, matrix(WeightKind::ffn_up, expert), {gate, up}, copies);
      multiply_back(call, matrix(WeightKind::ffn_up, expert), {up}, copies);
      copies.add = true;
      multiply_back(call, matrix(WeightKind::ffn_gate, expert), {gate}, copies);
    });
    call_.device.gather_rows(routing_, copies_.width, nullptr, all(copies_).read(),
                             x_gradient.write());
  }

 private:
  const Lowering& lowering() const { return *of_.lowering; }
  Call call_on(Primitives& device) const {
    return {device, lowering(), *of_.operation, of_.bound, nullptr, of_.moment, nullptr};
  }
  models::Activation activation() const { return call_.architecture().activation; }

  CopiesOfTokens take(std::byte*& next, std::uint64_t width) const {
    const CopiesOfTokens rows{next, width};
    next += routing_.copies() * width * size_of(call_.element());
    return rows;
  }
  Operand all(const CopiesOfTokens& rows) const {
    return {rows.data, call_.element(), routing_.copies() * rows.width};
  }
  Operand of(const CopiesOfTokens& rows, std::uint32_t expert) const {
    const std::uint64_t first = routing_.first[expert];
    return {rows.data + first * rows.width * size_of(call_.element()), call_.element(),
            (routing_.first[expert + 1] - first) * rows.width};
  }

  bool has(WeightKind kind) const {
    return std::any_of(matrices_.begin(), matrices_.end(), [&](std::uint32_t weight) {
      return lowering().model->weights[weight].kind == kind;
    });
  }
  /// One of those that lie in one tensor.
  Linear matrix(WeightKind kind, std::uint32_t expert) const {
    for (const std::uint32_t weight : matrices_) {
      const models::WeightTensor& tensor = lowering().model->weights[weight];
      if (tensor.kind != kind) continue;
      const auto found = std::find_if(of_.bound.begin(), of_.bound.end(),
                                      [&](const Bound& one) { return one.tensor == weight; });
      ENSURE(found != of_.bound.end() && tensor.is_stacked(), tensor.name + " is on no CPU");
      const std::uint64_t elements = tensor.inputs() * tensor.outputs();
      Operand operand{found->data + expert * elements * size_of(call_.element()), call_.element(),
                      elements};
      operand.weight = &tensor;
      return {operand, std::nullopt, routing_.first[expert + 1] - routing_.first[expert]};
    }
    ENSURE(false, "experts without one of their matrices");
    return {};
  }

  /// work(call, expert) of each that some token goes to, on any thread.
  template <class Work>
  void each(const Work& work) {
    team_.run(routing_.experts, [&](std::size_t expert) {
      thread_local HostPrimitives primitives;
      if (routing_.first[expert] < routing_.first[expert + 1])
        work(call_on(primitives), static_cast<std::uint32_t>(expert));
    });
  }

  const CpuExperts& of_;
  Team& team_;
  HostPrimitives primitives_;
  const Call call_;
  const Routing routing_;
  std::vector<std::uint32_t> matrices_;
  CopiesOfTokens gate_, up_, inner_, parts_;  ///< kept; without gates no `gate_`
  CopiesOfTokens copies_, inner_gradients_;   ///< of the inputs, then their gradients; of `inner_`
};

}  // namespace

void compute_experts(const CpuExperts& experts, Team& team) {
  Experts of(experts, team);
  if (experts.operation->function == models::OperatorFunction::cpu_experts)
    of.forward();
  else
    of.backward();
}

}  // namespace spillway::hw_backend
