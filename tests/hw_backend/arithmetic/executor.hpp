#pragma once

#include "hw_backend/arithmetic/execute.hpp"
#include "hw_backend/arithmetic/host_primitives.hpp"

#include <memory>
#include <vector>

namespace spillway::hw_backend {

/// Bytes that begin `shift` bytes behind a multiple of 64.
class Memory {
 public:
  explicit Memory(std::size_t bytes, std::size_t shift = 0)
      : bytes_(bytes), memory_(bytes + shift + 64, std::byte{0xA5}) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = (64 - address % 64) % 64 + shift;
  }
  std::byte* data() { return memory_.data() + begin_; }
  const std::byte* data() const { return memory_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  std::vector<std::byte> copy() const { return {data(), data() + bytes_}; }

 private:
  std::size_t bytes_, begin_ = 0;
  std::vector<std::byte> memory_;
};

models::Model model_of(const char* config, const description::Training& training = {});

/// Runs a step program with memory of its own for every tensor and workspace.
class Executor {
 public:
  static constexpr std::uint64_t seed = 7;
  /// training  says what is trained: the workload has to fit it
  /// tensor    number of the tensor rank whose parts of weights it has
  Executor(const char* config, const models::Workload& workload, std::size_t shift = 0,
           const description::Training& training = {}, std::uint64_t tensor = 0);

  /// The forward; its loss.
  double forward(Moment moment = {});
  void backward(Moment moment = {}, bool fresh = true);
  void run(models::Span span, Moment moment);
  /// Before steps of `run` that make a whole pass: no loss, and gradients that begin.
  void begin(bool fresh = true);
  double loss() const { return loss_; }
  /// Adam on masters of the executor's own (in pure 16 bit: on the weights).
  void update(std::uint64_t step, double learning_rate, double loss_scale);

  const models::Model& model() const { return model_; }
  const models::StepProgram& program() const { return program_; }
  std::size_t weights() const { return model_.weights.size(); }
  Memory& memory(models::TensorId tensor) { return *memory_[tensor]; }
  /// What it has of a weight.
  WeightSlice slice(std::size_t index) const {
    return slice_of(model_, program_.workload, id(index), tensor_, 0);
  }
  Array weight(std::size_t index) { return array(id(index)); }
  Array gradient(std::size_t index) { return array(id(weights() + index)); }
  std::size_t elements(std::size_t index) const { return program_.tensors[index].elements; }
  std::vector<std::byte> gradient_bytes(std::size_t index) {
    return memory(id(weights() + index)).copy();
  }
  /// All weight gradients as fp32.
  std::vector<std::vector<float>> gradients();

 private:
  bool is_fresh(const models::Tensor& tensor);
  /// In the type of the kernels, or in fp32, as adapters may lie.
  Array array(models::TensorId tensor);
  static models::TensorId id(std::size_t index) { return static_cast<models::TensorId>(index); }

  models::Model model_;
  models::StepProgram program_;
  Lowering lowering_;
  Element element_;
  std::size_t shift_;
  std::uint64_t tensor_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::vector<Memory> masters_, momenta_, variances_;
  HostPrimitives device_;
  std::vector<bool> begun_;  ///< weights whose gradient holds something
  double loss_ = 0;
};

/// Shapes of a few tokens: micro-batch 2, sequence 12 unless said otherwise.
models::Workload small_workload(models::Precision precision = models::Precision::fp32);

// Widths that no block of a product divides, two layers.
inline constexpr const char* small_llama = R"({"model_type": "llama", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
    "intermediate_size": 40, "vocab_size": 50})";
inline constexpr const char* small_qwen = R"({"model_type": "qwen2", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "num_key_value_heads": 1,
    "intermediate_size": 40, "vocab_size": 50, "tie_word_embeddings": true,
    "hidden_act": "gelu"})";
inline constexpr const char* small_gpt2 = R"({"model_type": "gpt2", "n_embd": 24, "n_layer": 2,
    "n_head": 4, "n_positions": 16, "vocab_size": 50})";
inline constexpr const char* small_opt = R"({"model_type": "opt", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 40, "vocab_size": 50,
    "max_position_embeddings": 16})";
inline constexpr const char* norm_last_opt = R"({"model_type": "opt", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 40, "vocab_size": 50,
    "max_position_embeddings": 16, "do_layer_norm_before": false})";
// Experts around a dense block, others behind a gate for all; shares that do not add up to 1.
inline constexpr const char* small_qwen2_moe = R"({"model_type": "qwen2_moe", "hidden_size": 24,
    "num_hidden_layers": 3, "num_attention_heads": 3, "num_key_value_heads": 1,
    "intermediate_size": 40, "moe_intermediate_size": 20, "num_experts": 6,
    "num_experts_per_tok": 2, "shared_expert_intermediate_size": 36, "vocab_size": 50,
    "mlp_only_layers": [1]})";
inline constexpr const char* small_mixtral = R"({"model_type": "mixtral", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 28, "num_local_experts": 5, "num_experts_per_tok": 3,
    "vocab_size": 50})";
// Keys, values and queries by their latents, values narrower than keys; a dense block, and one of
// experts by sigmoids beside shared ones.
inline constexpr const char* small_deepseek_v3 = R"({"model_type": "deepseek_v3",
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "q_lora_rank": 14, "kv_lora_rank": 10, "qk_nope_head_dim": 5,
    "qk_rope_head_dim": 4, "v_head_dim": 7, "intermediate_size": 40, "moe_intermediate_size": 20,
    "n_routed_experts": 5, "num_experts_per_tok": 3, "first_k_dense_replace": 1,
    "vocab_size": 50})";
// Queries straight from the hidden states, values wider than keys.
inline constexpr const char* small_deepseek_v2 = R"({"model_type": "deepseek_v2",
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
    "num_key_value_heads": 3, "q_lora_rank": null, "kv_lora_rank": 10, "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 2, "v_head_dim": 9, "intermediate_size": 40, "n_routed_experts": 0,
    "vocab_size": 50})";

}  // namespace spillway::hw_backend
