#include "tests/hw_backend/arithmetic/executor.hpp"

#include "models/architecture/adapters.hpp"

#include <nlohmann/json.hpp>

namespace spillway::hw_backend {

namespace {

Element element_of(models::Precision precision) {
  using models::Precision;
  if (precision == Precision::fp32) return Element::fp32;
  return precision == Precision::fp16 || precision == Precision::fp16_mixed ? Element::fp16
                                                                            : Element::bf16;
}

}  // namespace

models::Model model_of(const char* config, const description::Training& training) {
  models::Architecture architecture =
      models::read_architecture(nlohmann::json::parse(config), "test", "test.json");
  architecture.expert_layout = training.experts;
  return models::as_trained(models::build_model(architecture), training);
}

models::Workload small_workload(models::Precision precision) {
  models::Workload workload;
  workload.precision = precision;
  workload.micro_batch = 2;
  workload.sequence = 12;
  return workload;
}

Executor::Executor(const char* config, const models::Workload& workload, std::size_t shift,
                   const description::Training& training, std::uint64_t tensor)
    : model_(model_of(config, training)),
      program_(models::build_step_program(model_, workload)),
      lowering_{&model_, &program_, seed},
      element_(element_of(workload.precision)),
      shift_(shift),
      tensor_(tensor) {
  require_support(model_, workload);
  for (const models::Tensor& one : program_.tensors)
    memory_.push_back(std::make_unique<Memory>(one.bytes.value(), shift_));
  for (std::uint32_t index = 0; index < weights(); ++index) {
    const std::size_t n = elements(index);
    const Array own = weight(index);
    const WeightSlice part = slice(index);
    const std::uint64_t there = part.count(0, n);
    device_.zero(own.data, n * size_of(own.type));
    initial_values(model_, seed, index, 0, there, {own.data, own.type, false}, part);
    for (std::vector<Memory>* states : {&masters_, &momenta_, &variances_}) {
      states->emplace_back(4 * n);
      device_.zero(states->back().data(), 4 * n);
    }
    initial_values(model_, seed, index, 0, there, {masters_.back().data(), Element::fp32, false},
                   part);
  }
}

Array Executor::array(models::TensorId tensor) {
  const models::Tensor& of = program_.tensors[tensor];
  const bool wide = of.bytes.value() == 4 * of.elements;
  return {memory(tensor).data(), wide ? Element::fp32 : element_};
}

void Executor::begin(bool fresh) {
  loss_ = 0;
  begun_.assign(weights(), !fresh);
}

double Executor::forward(Moment moment) {
  loss_ = 0;
  run(program_.forward, moment);
  return loss_;
}

void Executor::backward(Moment moment, bool fresh) {
  begun_.assign(weights(), !fresh);
  run(program_.backward, moment);
}

// The first to grade a weight overwrites; of a tied one the second adds.
bool Executor::is_fresh(const models::Tensor& tensor) {
  if (tensor.role != models::TensorRole::weight_gradient || begun_[*tensor.weight]) return false;
  begun_[*tensor.weight] = true;
  return true;
}

void Executor::run(models::Span span, Moment moment) {
  for (std::uint32_t i = span.first; i < span.last; ++i) {
    const models::Operator& op = program_.operators[i];
    std::vector<Bound> bound;
    for (const models::Operand& operand : op.operands) {
      const models::Tensor& tensor = program_.tensors[operand.tensor];
      if (tensor.role == models::TensorRole::input) continue;
      bound.push_back({operand.tensor, memory(operand.tensor).data(), is_fresh(tensor)});
    }
    // exactly as large as said, so that a sanitizer sees who writes beyond it
    Memory workspace(op.workspace.value(), shift_);
    execute(device_, lowering_, op, bound, op.workspace.value() ? workspace.data() : nullptr,
            moment, &loss_);
  }
}

void Executor::update(std::uint64_t step, double learning_rate, double loss_scale) {
  AdamNumbers numbers;
  numbers.learning_rate = learning_rate;
  numbers.beta2 = 0.95;
  numbers.inverse_scale = 1 / loss_scale;
  const auto precision = program_.workload.precision;
  const bool mixed =
      precision == models::Precision::fp16_mixed || precision == models::Precision::bf16_mixed;
  for (std::size_t index = 0; index < weights(); ++index) {
    AdamArrays arrays;
    arrays.master = mixed ? Array{masters_[index].data(), Element::fp32} : weight(index);
    arrays.momentum = {momenta_[index].data(), arrays.master.type};
    arrays.variance = {variances_[index].data(), arrays.master.type};
    arrays.gradient = gradient(index);
    if (mixed) arrays.weight = weight(index);
    arrays.n = elements(index);
    device_.adam(arrays, at_step(numbers, step + 1));
  }
}

std::vector<std::vector<float>> Executor::gradients() {
  std::vector<std::vector<float>> all;
  for (std::size_t index = 0; index < weights(); ++index) {
    // of a frozen weight there is none
    std::vector<float>& values = all.emplace_back(program_.tensors[weights() + index].elements);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = load(gradient(index), i);
  }
  return all;
}

}  // namespace spillway::hw_backend
