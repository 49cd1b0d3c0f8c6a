#include "hw_backend/arithmetic/execute.hpp"
#include "models/architecture/adapters.hpp"
#include "tests/hw_backend/cuda/session.hpp"

#include <cmath>

namespace spillway::hw_backend {

namespace {

/// A two-layer llama with grouped heads, or a GPT-2, without a file.
models::Architecture small(bool llama) {
  models::Architecture a;
  a.name = a.model_type = llama ? "llama" : "gpt2";
  a.hidden = 32;
  a.layers = 2;
  a.heads = 4;
  a.kv_heads = llama ? 2 : 4;
  a.head_dim = 8;
  a.ffn = 48;
  a.gated_ffn = llama;
  a.vocabulary = 100;
  a.embedding_width = a.hidden;
  a.tied_embeddings = !llama;
  a.qkv_bias = a.attention_output_bias = a.ffn_bias = !llama;
  a.layer_norm = !llama;
  a.learned_positions = llama ? 0 : 64;
  a.activation = llama ? models::Activation::silu : models::Activation::gelu_tanh;
  return a;
}

/// All tensors of a step program in the memory of one side, and steps on it.
class Trainer {
 public:
  Trainer(Device& device, Side side, const models::Model& model, const models::StepProgram& program)
      : device_(device), side_(side), lowering_{&model, &program, 7} {
    loss_ = reinterpret_cast<double*>(memory(4096));
    workspace_ = memory(workspace_bytes());
    for (const models::Tensor& tensor : program.tensors)
      tensors_.push_back(memory(tensor.bytes.value()));
    for (std::uint32_t i = 0; i < model.weights.size(); ++i) {
      const std::uint64_t n = program.tensors[i].elements;
      states_.push_back(memory(12 * n));
      run([&](Primitives& p) {
        p.initialize(initial_rule(model, i), initial_stream(7, i), 0, n, weight(i));
        p.initialize(initial_rule(model, i), initial_stream(7, i), 0, n,
                     {states_[i], Element::fp32, false});
        p.zero(states_[i] + 4 * n, 8 * n);
      });
    }
  }

  double step(std::uint64_t step) {
    const models::StepProgram& program = *lowering_.program;
    run([&](Primitives& p) { p.zero(reinterpret_cast<std::byte*>(loss_), sizeof(double)); });
    begun_.assign(lowering_.model->weights.size(), false);
    run([&](Primitives& p) {
      for (const models::Span& span : {program.forward, program.backward})
        for (std::uint32_t i = span.first; i < span.last; ++i)
          execute_one(p, program.operators[i], step);
    });
    run([&](Primitives& p) { update(p, step); });
    double loss = 0;
    copy_now(device_, reinterpret_cast<std::byte*>(&loss), reinterpret_cast<std::byte*>(loss_), 8);
    return loss;
  }

  /// All masters.
  std::vector<float> masters() {
    std::vector<float> all;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const std::uint64_t n = lowering_.program->tensors[i].elements;
      all.resize(all.size() + n);
      copy_now(device_, reinterpret_cast<std::byte*>(all.data() + all.size() - n), states_[i],
               4 * n);
    }
    return all;
  }

 private:
  static constexpr float loss_scale = 1024;

  std::byte* memory(std::uint64_t bytes) {
    if (side_ == Side::device)
      return there_.emplace_back(std::make_unique<DeviceBytes>(device_, bytes))->data();
    here_.emplace_back(bytes + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(here_.back().data());
    return here_.back().data() + (64 - address % 64) % 64;
  }
  std::uint64_t workspace_bytes() const {
    std::uint64_t most = 1;
    for (const models::Operator& op : lowering_.program->operators)
      most = std::max<std::uint64_t>(most, op.workspace.value());
    return most;
  }
  Element element(std::size_t tensor) const {
    const models::Tensor& t = lowering_.program->tensors[tensor];
    if (t.bytes.value() == 4 * t.elements) return Element::fp32;
    return lowering_.program->workload.precision == models::Precision::fp16_mixed ? Element::fp16
                                                                                  : Element::bf16;
  }
  Output weight(std::size_t i) { return {tensors_[i], element(i), false}; }

  void run(const std::function<void(Primitives&)>& work) {
    if (side_ == Side::device)
      run_on(device_, work);
    else
      work(host_);
  }

  void execute_one(Primitives& p, const models::Operator& op, std::uint64_t step) {
    std::vector<Bound> bound;
    for (const models::Operand& operand : op.operands) {
      const models::Tensor& tensor = lowering_.program->tensors[operand.tensor];
      if (tensor.role == models::TensorRole::input) continue;
      bool fresh = false;
      if (tensor.role == models::TensorRole::weight_gradient && !begun_[*tensor.weight])
        fresh = begun_[*tensor.weight] = true;
      bound.push_back({operand.tensor, tensors_[operand.tensor], fresh});
    }
    Moment moment;
    moment.step = step;
    moment.loss_scale = loss_scale;
    execute(p, lowering_, op, bound, workspace_, moment, loss_);
  }

  void update(Primitives& p, std::uint64_t step) {
    AdamNumbers numbers;
    numbers.learning_rate = 3e-3;
    numbers.beta2 = 0.95;
    numbers.inverse_scale = 1 / loss_scale;
    const std::size_t weights = states_.size();
    for (std::size_t i = 0; i < weights; ++i) {
      const std::uint64_t n = lowering_.program->tensors[i].elements;
      if (lowering_.model->weights[i].frozen) continue;
      AdamArrays arrays;
      arrays.master = {states_[i], Element::fp32};
      arrays.momentum = {states_[i] + 4 * n, Element::fp32};
      arrays.variance = {states_[i] + 8 * n, Element::fp32};
      arrays.gradient = {tensors_[weights + i], element(weights + i)};
      if (element(i) != Element::fp32) arrays.weight = Array{tensors_[i], element(i)};
      arrays.n = n;
      p.adam(arrays, at_step(numbers, step + 1));
      if (!arrays.weight)
        p.convert(n, {states_[i], Element::fp32}, {tensors_[i], Element::fp32, false});
    }
  }

  Device& device_;
  Side side_;
  Lowering lowering_;
  HostPrimitives host_;
  std::vector<std::vector<std::byte>> here_;
  std::vector<std::unique_ptr<DeviceBytes>> there_;
  std::vector<std::byte*> tensors_, states_;
  std::byte* workspace_ = nullptr;
  double* loss_ = nullptr;
  std::vector<bool> begun_;
};

/// The llama's blocks with experts, of which one is chosen by half of the tokens, and shared ones.
models::Architecture small_mixture() {
  models::Architecture a = small(true);
  a.model_type = "qwen2_moe";
  a.experts = 5;
  a.experts_per_token = 2;
  a.expert_ffn = 24;
  a.shared_ffn = 40;
  a.shared_gate = true;
  a.router_rule = models::RouterRule::softmax_of_all;
  a.blocks.assign(a.layers, {});
  for (models::BlockTraits& block : a.blocks) block.experts = true;
  return a;
}

/// The llama with latents: of queries, too, or of keys and values alone.
models::Architecture with_latents(bool of_queries) {
  models::Architecture a = small(true);
  a.model_type = "deepseek_v3";
  a.kv_heads = a.heads;
  a.latent = {of_queries ? 20u : 0u, 16, 5, 6};
  a.head_dim = 11;
  a.rotated_dims = 6;
  a.value_dim = of_queries ? 7 : 14;
  return a;
}

models::Workload workload_of(models::Precision precision, models::Attention attention) {
  models::Workload workload;
  workload.precision = precision;
  workload.attention = attention;
  workload.micro_batch = 2;
  workload.sequence = 20;
  return workload;
}

/// Some steps on both sides: the same losses within the element type's precision, and the same bits
/// when the device does it again.
void check_training(Device& device, Report& report, const models::Model& model,
                    const models::Workload& workload, double tolerance) {
  constexpr std::uint64_t steps = 4;
  const models::StepProgram program = models::build_step_program(model, workload);
  Trainer host(device, Side::host, model, program);
  Trainer there(device, Side::device, model, program), again(device, Side::device, model, program);
  double first = 0, last = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const double expected = host.step(step);
    last = there.step(step);
    if (step == 0) first = last;
    report.expect(std::abs(last - expected) <= tolerance * expected,
                  "step " + std::to_string(step) + ": loss " + std::to_string(last) +
                      ", the processor's is " + std::to_string(expected));
    report.expect(again.step(step) == last, "the second run has another loss");
  }
  report.expect(last < first, "the loss does not fall");
  report.expect(there.masters() == again.masters(), "the second run has other masters");
  report.notes.push_back("loss " + std::to_string(first) + " to " + std::to_string(last));
}

void check_training(Device& device, Report& report, const models::Architecture& architecture,
                    const models::Workload& workload, double tolerance) {
  check_training(device, report, models::build_model(architecture), workload, tolerance);
}

void check_both_models(Device& device, Report& report, models::Precision precision,
                       double tolerance) {
  for (const bool llama : {true, false})
    check_training(device, report, small(llama), workload_of(precision, models::Attention::flash),
                   tolerance);
}

void fp32(Device& device, Report& report) {
  check_both_models(device, report, models::Precision::fp32, 1e-4);
}
void fp16(Device& device, Report& report) {
  check_both_models(device, report, models::Precision::fp16_mixed, 1e-2);
}
void bf16(Device& device, Report& report) {
  check_both_models(device, report, models::Precision::bf16_mixed, 3e-2);
}

void dropped(Device& device, Report& report) {
  models::Workload workload = workload_of(models::Precision::fp32, models::Attention::materialized);
  workload.dropout = 0.1;
  check_training(device, report, small(true), workload, 1e-4);
  workload.attention = models::Attention::flash;
  check_training(device, report, small(false), workload, 1e-4);
}

/// Adapters of every matrix, with magnitudes too, in feed-forwards that take 40 tokens in 7 tiles.
void adapters_in_tiles(Device& device, Report& report) {
  for (const auto& [precision, tolerance] :
       {std::pair(models::Precision::fp32, 1e-4), std::pair(models::Precision::bf16_mixed, 3e-2)})
    for (const bool dora : {false, true}) {
      description::Training training;
      training.method = description::Method::lora;
      training.lora.rank = 3;
      training.lora.alpha = 60;
      training.lora.targets = {description::all_linear_targets};
      training.lora.dora = dora;
      models::Workload workload = workload_of(precision, models::Attention::flash);
      workload.mlp_tiles = 7;
      workload.fused_kernels = !dora;
      workload.adapter_scale = training.lora.scale();
      check_training(device, report, models::as_trained(models::build_model(small(true)), training),
                     workload, tolerance);
    }
}

void mixture(Device& device, Report& report) {
  for (const auto& [precision, tolerance] :
       {std::pair(models::Precision::fp32, 1e-4), std::pair(models::Precision::bf16_mixed, 3e-2)}) {
    models::Workload workload = workload_of(precision, models::Attention::flash);
    workload.expert_load.counts = {5, 1, 2, 2, 0};
    check_training(device, report, small_mixture(), workload, tolerance);
  }
}

void latents(Device& device, Report& report) {
  for (const auto& [precision, tolerance] :
       {std::pair(models::Precision::fp32, 1e-4), std::pair(models::Precision::bf16_mixed, 3e-2)})
    for (const bool of_queries : {true, false})
      check_training(device, report, with_latents(of_queries),
                     workload_of(precision, of_queries ? models::Attention::flash
                                                       : models::Attention::materialized),
                     tolerance);
}

constexpr Check checks[] = {
    {"TrainingInFp32IsTheProcessorsAndRepeats", fp32},
    {"TrainingInFp16IsTheProcessorsAndRepeats", fp16, false, true},
    {"TrainingInBf16IsTheProcessorsAndRepeats", bf16, false, true},
    {"TrainingOfExpertsIsTheProcessorsAndRepeats", mixture, false, true},
    {"TrainingOfLatentsIsTheProcessorsAndRepeats", latents, false, true},
    {"TrainingOfAdaptersInTilesIsTheProcessorsAndRepeats", adapters_in_tiles, false, true},
    {"TrainingWithDropoutIsTheProcessorsAndRepeats", dropped, false, true}};

}  // namespace

std::span<const Check> training_checks() { return checks; }

}  // namespace spillway::hw_backend
