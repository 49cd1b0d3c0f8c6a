#include "models/program/tape.hpp"

#include "models/program/tile_arrays.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::models {

namespace {

Bytes traffic(const std::vector<Operand>& operands, const std::vector<Tensor>& tensors) {
  Bytes bytes;
  for (const Operand& operand : operands)
    bytes += tensors[operand.tensor].bytes * (operand.access == Access::read_write ? 2u : 1u);
  return bytes;
}

OperatorKind kind_of(OperatorFunction function) {
  switch (function) {
    case OperatorFunction::embedding:
    case OperatorFunction::embedding_backward:
      return OperatorKind::embedding;
    case OperatorFunction::norm:
    case OperatorFunction::norm_backward:
      return OperatorKind::norm;
    case OperatorFunction::product:
    case OperatorFunction::product_input_gradient:
    case OperatorFunction::product_weight_gradient:
    case OperatorFunction::tiled_feed_forward:
    case OperatorFunction::tiled_feed_forward_backward:
      return OperatorKind::matmul;
    case OperatorFunction::attention:
    case OperatorFunction::attention_backward:
    case OperatorFunction::attention_block:
    case OperatorFunction::attention_block_backward:
    case OperatorFunction::choose_tokens:
    case OperatorFunction::choose_tokens_backward:
    case OperatorFunction::delta_rule:
    case OperatorFunction::state_space:
    case OperatorFunction::state_space_backward:
    case OperatorFunction::delta_rule_backward:
      return OperatorKind::attention;
    case OperatorFunction::fused_loss:
    case OperatorFunction::fused_loss_backward:
    case OperatorFunction::chunked_loss:
    case OperatorFunction::chunked_loss_backward:
    case OperatorFunction::whole_loss:
    case OperatorFunction::whole_loss_backward:
    case OperatorFunction::joined_loss:
    case OperatorFunction::squared_loss:
    case OperatorFunction::squared_loss_backward:
      return OperatorKind::loss;
    case OperatorFunction::all_reduce:
      return OperatorKind::all_reduce;
    case OperatorFunction::all_gather:
      return OperatorKind::all_gather;
    case OperatorFunction::reduce_scatter:
      return OperatorKind::reduce_scatter;
    case OperatorFunction::context_all_to_all:
      return OperatorKind::context_all_to_all;
    case OperatorFunction::ring_shift:
      return OperatorKind::ring_shift;
    case OperatorFunction::all_to_all:
      return OperatorKind::all_to_all;
    case OperatorFunction::cpu_experts:
    case OperatorFunction::cpu_experts_backward:
      return OperatorKind::on_cpu;
    case OperatorFunction::update:
      return OperatorKind::update;
    default:
      return OperatorKind::elementwise;
  }
}

/// The tensor of a state, and what its name has behind the weight's.
std::pair<TensorRole, const char*> state_tensor(StateKind kind) {
  switch (kind) {
    case StateKind::master:
      return {TensorRole::master, ".master"};
    case StateKind::momentum:
      return {TensorRole::momentum, ".momentum"};
    case StateKind::variance:
      break;
  }
  return {TensorRole::variance, ".variance"};
}

}  // namespace

Tape::Tape(const Model& model, const Workload& workload)
    : model_(model),
      element_(NumberFormat(kernel_type(workload.precision)).bytes(1)),
      first_trained_(model.first_trained_layer()) {
  program_.workload = workload;
  program_.layers.resize(model.layers.size());
  const Architecture& a = model.architecture;
  if (workload.expert > 1 && a.experts > 0)
    program_.to_expert_ranks = description::copies_of_ranks(
        workload.expert_load.copies(a.experts, a.experts_per_token, tokens()), workload.expert);
  outputs_.resize(model.layers.size());
  const std::size_t blocks = model.layers.size();
  program_.tensors.reserve(5 * model.weights.size() + 44 * blocks);
  program_.operators.reserve(model.weights.size() + 56 * blocks);
  slots_.reserve(24 * blocks);
  steps_.reserve(24 * blocks);
  add_weights();
}

std::uint64_t Tape::split(std::uint64_t width) const {
  return description::divide_up(width, program_.workload.tensor);
}

void Tape::add_weights() {
  const Workload& w = program_.workload;
  const Formats formats(w.precision, w.optimizer, w.states, w.adapters, w.base);
  const WeightFormats& trained = formats.trained(model_);
  add_tensors(TensorRole::weight, "",
              [&](std::uint32_t i) { return formats.numbers(model_.weights[i]); });
  add_tensors(TensorRole::weight_gradient, ".gradient", [&](std::uint32_t i) {
    return model_.weights[i].frozen ? std::nullopt : trained.gradient;
  });
  std::vector<std::vector<StateFormat>> states;  // of each weight
  for (const WeightTensor& weight : model_.weights)
    states.push_back(weight.frozen ? std::vector<StateFormat>() : formats.of(weight).states);
  for (const StateFormat& state : trained.states) {
    const auto [role, suffix] = state_tensor(state.kind);
    add_tensors(role, suffix, [&](std::uint32_t i) -> std::optional<NumberFormat> {
      for (const StateFormat& own : states[i])
        if (own.kind == state.kind) return own.format;
      return std::nullopt;
    });
  }
}

std::uint64_t Tape::elements_of(const WeightTensor& weight) const {
  const std::uint64_t count = weight.parameters.value();
  if (weight.kind == WeightKind::embedding || weight.kind == WeightKind::lm_head)
    return split(weight.shape[0]) * weight.shape[1];
  const std::uint64_t own = weight.routed ? count / program_.workload.expert : count;
  return weight.cut != Cut::none ? split(own) : own;
}

void Tape::add_tensors(TensorRole role, const char* suffix,
                       const std::function<std::optional<NumberFormat>(std::uint32_t)>& format) {
  for (std::uint32_t i = 0; i < model_.weights.size(); ++i) {
    const WeightTensor& weight = model_.weights[i];
    const std::optional<NumberFormat> numbers = format(i);
    Tensor tensor;
    tensor.name = weight.name + suffix;
    tensor.role = role;
    tensor.elements = numbers ? elements_of(weight) : 0;
    tensor.bytes = Bytes(numbers ? numbers->bytes(tensor.elements) : 0);
    tensor.layer = weight.layer;
    tensor.weight = i;
    program_.tensors.push_back(std::move(tensor));
  }
}

void Tape::begin_layer(std::uint32_t layer, std::optional<Value> input) {
  layer_ = layer;
  here_.reset();
  quantized_.clear();
  draws_ = 0;
  prefix_ = model_.layers[layer].name + ".";
  LayerSpan& span = program_.layers[layer];
  span.forward.first = static_cast<std::uint32_t>(program_.operators.size());
  if (input) span.input = input->tensor;
}

void Tape::end_layer(std::optional<Value> output) {
  LayerSpan& span = program_.layers[layer_];
  span.forward.last = static_cast<std::uint32_t>(program_.operators.size());
  if (output) span.output = output->tensor;
  outputs_[layer_] = output;
}

TensorId Tape::tensor(std::string_view name, std::uint64_t elements, std::uint64_t element_bytes,
                      TensorRole role) {
  Tensor tensor;
  tensor.name.reserve(prefix_.size() + name.size());
  tensor.name.append(prefix_).append(name);
  tensor.role = role;
  tensor.bytes = Bytes(elements * element_bytes);
  tensor.elements = elements;
  tensor.layer = layer_;
  program_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

Value Tape::value(std::string_view name, std::uint64_t elements, TensorRole role) {
  return value_of(tensor(name, elements, element_, role));
}

Value Tape::value_of(TensorId tensor) {
  Slot slot;
  slot.tensor = tensor;
  slots_.push_back(slot);
  return {tensor, static_cast<std::uint32_t>(slots_.size() - 1)};
}

Value Tape::value_beside(Value x, std::string_view name, std::uint64_t width) {
  const Value y = value(name, rows(x) * width);
  slots_[y.slot].of_own_tokens = slots_[x.slot].of_own_tokens;
  return y;
}

Value Tape::value_like(Value x, std::string_view name) {
  const Value y = value(name, elements(x));
  slots_[y.slot].of_own_tokens = slots_[x.slot].of_own_tokens;
  return y;
}

void Tape::save_own_tokens(std::vector<TensorId>& saved) {
  std::erase_if(saved, [this](TensorId id) {
    const auto gathered = gathered_.find(id);
    if (gathered == gathered_.end()) return false;
    program_.operators[gathered->second.op].saved = {gathered->second.own};
    return true;
  });
}

void Tape::gather_again(std::vector<Operand>& operands) {
  for (Operand& operand : operands) {
    const auto gathered = gathered_.find(operand.tensor);
    if (gathered == gathered_.end()) continue;
    Gathered& g = gathered->second;
    if (!g.again) {
      // Made by backward, and gone with it.
      g.again = tensor("gathered_again", program_.tensors[operand.tensor].elements, element_,
                       TensorRole::activation_gradient);
      append("input.gather_again", OperatorFunction::all_gather,
             {{g.own, Access::read}, {*g.again, Access::write}});
    }
    operand.tensor = *g.again;
  }
}

Operator& Tape::add(std::string_view name, OperatorFunction function, std::vector<Operand> operands,
                    std::vector<TensorId> saved) {
  if (backward_)
    gather_again(operands);
  else if (goes_back())
    save_own_tokens(saved);
  Operator& op = append(name, function, std::move(operands));
  if (goes_back()) op.saved = std::move(saved);
  return op;
}

Operator& Tape::append(std::string_view name, OperatorFunction function,
                       std::vector<Operand> operands) {
  Operator& op = program_.operators.emplace_back();
  op.name.reserve(prefix_.size() + name.size());
  op.name.append(prefix_).append(name);
  op.kind = kind_of(function);
  op.function = function;
  op.layer = layer_;
  op.bytes = traffic(operands, program_.tensors);
  op.operands = std::move(operands);
  return op;
}

void Tape::on_backward(std::function<void()> step) {
  if (goes_back()) steps_.push_back({layer_, std::move(step)});
}

Bytes Tape::copy_of(std::uint32_t index) const {
  const Tensor& weight = program_.tensors[index];
  if (in_fp8(index)) return keeps_copies() ? Bytes() : Bytes(weight.elements);
  return Bytes(kernel_copy(weight, element_));
}

Tape::Quantized Tape::quantized(std::string_view name, Value x, bool keeps) {
  for (const MadeOnce& made : quantized_)
    if (made.of == x.tensor && (made.keeps || !keeps)) return made.copies;
  const std::string base = std::string(name) + ".fp8";
  const bool transposes = keeps && workload().fp8.transposes;
  Quantized copies;
  copies.plain = copies.transposed = tensor(base, elements(x), 1);
  std::vector<Operand> operands{{x.tensor, Access::read}, {copies.plain, Access::write}};
  if (transposes) {
    copies.transposed = tensor(base + "_transposed", elements(x), 1);
    operands.push_back({copies.transposed, Access::write});
  }
  add(base, OperatorFunction::quantize, std::move(operands),
      keeps ? std::vector<TensorId>{copies.transposed} : std::vector<TensorId>());
  quantized_.push_back({x.tensor, keeps, copies});
  return copies;
}

std::vector<Tape::Quantized> Tape::quantized_gradients(std::string_view name,
                                                       const std::vector<Value>& outputs,
                                                       bool transposed) {
  const std::string base = std::string(name) + ".gradient_fp8";
  std::vector<Operand> operands;
  for (const Value& output : outputs) operands.push_back(gradient(output));
  std::vector<Quantized> all;
  for (const Value& output : outputs) {
    Quantized copies;
    copies.plain = copies.transposed =
        tensor(base, elements(output), 1, TensorRole::activation_gradient);
    operands.push_back({copies.plain, Access::write});
    if (transposed && workload().fp8.transposes) {
      copies.transposed =
          tensor(base + "_transposed", elements(output), 1, TensorRole::activation_gradient);
      operands.push_back({copies.transposed, Access::write});
    }
    all.push_back(copies);
  }
  add(base, OperatorFunction::quantize, std::move(operands));
  return all;
}

Operand Tape::weight_gradient(std::uint32_t index) const {
  return {static_cast<TensorId>(model_.weights.size() + index), Access::read_write};
}

Operand Tape::gradient(Value value) const {
  const Slot& slot = slots_[value.slot];
  ENSURE(slot.state != Slot::State::none,
         "no gradient reached " + program_.tensors[value.tensor].name);
  return {slot.gradient, Access::read};
}

bool Tape::shares_gradient(Value one, Value other) const {
  const Slot &a = slots_[one.slot], &b = slots_[other.slot];
  return a.state != Slot::State::none && b.state != Slot::State::none && a.gradient == b.gradient;
}

TensorId Tape::new_gradient(const Slot& slot) {
  const Tensor& of = program_.tensors[slot.tensor];
  Tensor tensor;
  tensor.name = of.name + (slot.partial ? ".partial_gradient" : ".gradient");
  tensor.role =
      of.role == TensorRole::logits ? TensorRole::logits : TensorRole::activation_gradient;
  tensor.bytes = of.bytes;
  tensor.elements = of.elements;
  tensor.layer = of.layer;
  program_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

void Tape::accumulate(std::vector<Operand>& operands, Value value) {
  Slot& slot = slots_[value.slot];
  // Whoever read a passed gradient has done so: its tensor came later in forward. As autograd does,
  // the sum takes its place, so that one tensor carries the gradient down the residual stream.
  if (slot.state != Slot::State::none) {
    slot.state = Slot::State::own;
    operands.push_back({slot.gradient, Access::read_write});
    return;
  }
  slot.gradient = new_gradient(slot);
  slot.state = Slot::State::own;
  operands.push_back({slot.gradient, Access::write});
}

void Tape::replace_by_gradient(std::vector<Operand>& operands, Value value) {
  Slot& slot = slots_[value.slot];
  ENSURE(slot.state == Slot::State::none,
         "a gradient of " + program_.tensors[value.tensor].name + " is there already");
  slot.gradient = value.tensor;
  slot.state = Slot::State::own;
  operands.push_back({value.tensor, Access::read_write});
}

void Tape::pass_gradient(Value from, Value to) {
  const Operand source = gradient(from);
  Slot& slot = slots_[to.slot];
  if (slot.state == Slot::State::none) {
    slot.gradient = source.tensor;
    slot.state = Slot::State::passed;
    return;
  }
  std::vector<Operand> operands{source};
  accumulate(operands, to);
  add("gradient_sum", OperatorFunction::gradient_sum, std::move(operands));
}

StepProgram Tape::finish() {
  const auto here = [this] { return static_cast<std::uint32_t>(program_.operators.size()); };
  program_.forward = {0, here()};
  backward_ = true;
  for (std::size_t layer = model_.layers.size(); layer-- > 0;) {
    layer_ = static_cast<std::uint32_t>(layer);
    prefix_ = model_.layers[layer].name + ".";
    LayerSpan& span = program_.layers[layer];
    span.backward.first = here();
    if (outputs_[layer] && goes_back()) span.output_gradient = gradient(*outputs_[layer]).tensor;
    for (; !steps_.empty() && steps_.back().layer == layer; steps_.pop_back()) steps_.back().run();
    span.backward.last = here();
  }
  program_.backward = {program_.forward.last, here()};
  add_updates();
  program_.update = {program_.backward.last, here()};
  return std::move(program_);
}

}  // namespace spillway::models
