#include "tests/hw_backend/arithmetic/executor.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>

namespace spillway::hw_backend {
namespace {

using models::Attention;

struct Case {
  const char* name;
  const char* config;
  Attention attention = Attention::flash;
  bool fused = true;
  double dropout = 0;
  description::Training training = {};  ///< what is trained; else everything
  std::optional<description::LossKind> loss = std::nullopt;
  description::ExpertLoad load = {};
  std::uint64_t tiles = 1;     ///< of dense feed-forwards
  std::uint64_t document = 0;  ///< tokens of those that are packed
};

/// A matrix for each expert in place of one for all.
description::Training apart(description::Training training = {}) {
  training.experts = description::ExpertLayout::separate;
  return training;
}

description::Training adapters(const char* targets, double alpha) {
  description::Training training;
  training.method = description::Method::lora;
  training.lora.rank = 3;
  training.lora.alpha = alpha;
  training.lora.targets = {targets};
  return training;
}

description::Training dora(const char* targets, double alpha) {
  description::Training training = adapters(targets, alpha);
  training.lora.dora = true;
  return training;
}

/// Of a matrix with DoRA, the norm of each row of W + scale B A.
std::vector<double> row_norms(Executor& run, std::size_t matrix, double scale) {
  const models::WeightTensor& of = run.model().weights[matrix];
  const std::size_t down = *of.adapter, up = down + 1, inputs = of.inputs();
  const std::size_t rank = run.model().weights[down].outputs();
  std::vector<double> norms(of.outputs());
  for (std::size_t row = 0; row < norms.size(); ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      double value = load(run.weight(matrix), row * inputs + i);
      for (std::size_t r = 0; r < rank; ++r)
        value +=
            scale * load(run.weight(up), row * rank + r) * load(run.weight(down), r * inputs + i);
      squares += value * value;
    }
    norms[row] = std::sqrt(squares);
  }
  return norms;
}

/// The matrix that an adapter's `weight` is of, where it has magnitudes.
std::optional<std::size_t> rescaled_by(const models::Model& model, std::size_t weight) {
  const models::WeightKind kind = model.weights[weight].kind;
  if (kind != models::WeightKind::adapter_down && kind != models::WeightKind::adapter_up)
    return std::nullopt;
  for (std::size_t matrix = 0; matrix < weight; ++matrix) {
    const auto& adapter = model.weights[matrix].adapter;
    if (!adapter || weight - *adapter > 1) continue;
    const bool has = *adapter + 2 < model.weights.size() &&
                     model.weights[*adapter + 2].kind == models::WeightKind::adapter_magnitude;
    return has ? std::optional(matrix) : std::nullopt;
  }
  return std::nullopt;
}

description::Training freezing(std::vector<std::string> names) {
  description::Training training;
  training.method = description::Method::frozen;
  training.frozen = std::move(names);
  return training;
}

class Gradients : public testing::TestWithParam<Case> {
 protected:
  Gradients() {
    workload_ = small_workload();
    workload_.attention = GetParam().attention;
    workload_.fused_kernels = GetParam().fused;
    workload_.dropout = GetParam().dropout;
    workload_.loss = GetParam().loss;
    workload_.expert_load = GetParam().load;
    workload_.adapter_scale = GetParam().training.lora.scale();
    workload_.mlp_tiles = GetParam().tiles;
    workload_.document = GetParam().document;
  }

  /// Of an expert that no token goes to.
  static bool is_idle(const models::WeightTensor& weight) {
    const std::vector<double>& counts = GetParam().load.counts;
    const bool apart = GetParam().training.experts == description::ExpertLayout::separate;
    return apart && weight.routed && !counts.empty() && counts[weight.expert] == 0;
  }

  // Initial weights are so small that every function is nearly linear, and biases are 0: make all
  // of them matter.
  static void enlarge(Executor& run) {
    const RandomStream noise = initial_stream(99, 0);
    for (std::size_t index = 0; index < run.weights(); ++index) {
      const models::WeightKind kind = run.model().weights[index].kind;
      const bool is_norm = kind == models::WeightKind::norm ||
                           kind == models::WeightKind::query_norm ||
                           kind == models::WeightKind::key_norm;
      for (std::size_t i = 0; i < run.elements(index); ++i)
        store(run.weight(index), i,
              load(run.weight(index), i) * (is_norm ? 1.0f : 5.0f) +
                  initial_value({0, 0.1f}, noise, i));
    }
  }

  /// The loss when `weight` has moved by `step` along `direction`. DoRA's norms are constants to
  /// backward: where they move, the magnitudes move with them.
  static double loss_at(Executor& run, std::size_t weight, const std::vector<float>& direction,
                        double step) {
    const auto matrix = rescaled_by(run.model(), weight);
    if (!matrix) return moved_loss(run, weight, direction, step, [] {});
    const double scale = GetParam().training.lora.scale();
    const std::size_t magnitudes = *run.model().weights[*matrix].adapter + 2;
    const std::vector<double> before = row_norms(run, *matrix, scale);
    std::vector<float> kept(before.size());
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = load(run.weight(magnitudes), i);
    const double loss = moved_loss(run, weight, direction, step, [&] {
      const std::vector<double> now = row_norms(run, *matrix, scale);
      for (std::size_t i = 0; i < kept.size(); ++i)
        store(run.weight(magnitudes), i, static_cast<float>(kept[i] * now[i] / before[i]));
    });
    for (std::size_t i = 0; i < kept.size(); ++i) store(run.weight(magnitudes), i, kept[i]);
    return loss;
  }

  template <class Meanwhile>
  static double moved_loss(Executor& run, std::size_t weight, const std::vector<float>& direction,
                           double step, const Meanwhile& meanwhile) {
    std::vector<float> before(direction.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      before[i] = load(run.weight(weight), i);
      store(run.weight(weight), i, before[i] + static_cast<float>(step) * direction[i]);
    }
    meanwhile();
    const double loss = run.forward();
    for (std::size_t i = 0; i < before.size(); ++i) store(run.weight(weight), i, before[i]);
    return loss;
  }

  /// The slope that the backward found lies between those below and above: they differ where a
  /// ReLU has its kink.
  static void expect_slope(Executor& run, std::size_t weight, const std::vector<float>& direction,
                           double slope, double tolerance) {
    constexpr double step = 1.5e-3;
    const double here = run.forward();
    const double above = (loss_at(run, weight, direction, step) - here) / step;
    const double below = (here - loss_at(run, weight, direction, -step)) / step;
    const std::string& name = run.model().weights[weight].name;
    EXPECT_GT(slope, std::min(above, below) - tolerance) << name;
    EXPECT_LT(slope, std::max(above, below) + tolerance) << name;
  }

  models::Workload workload_;
};

TEST_P(Gradients, EqualTheSlopeOfTheLossForEveryWeight) {
  Executor run(GetParam().config, workload_, 0, GetParam().training);
  enlarge(run);
  run.forward();
  run.backward();
  const auto gradients = run.gradients();
  const RandomStream noise = initial_stream(5, 5);
  for (std::size_t weight = 0; weight < run.weights(); ++weight) {
    if (run.model().weights[weight].frozen) {
      EXPECT_TRUE(gradients[weight].empty());
      continue;
    }
    // along the gradient itself, where the slope is its norm, and along a direction at random
    const std::vector<float>& gradient = gradients[weight];
    double square = 0, along = 0;
    std::vector<float> steepest(gradient.size()), random(gradient.size());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double g = gradient[i];
      random[i] = initial_value({0, 1}, noise, i) / std::sqrt(static_cast<float>(gradient.size()));
      square += g * g;
      along += g * random[i];
    }
    const double norm = std::sqrt(square);
    const std::string& name = run.model().weights[weight].name;
    // keys' biases alone move no softmax
    const bool flat = name.ends_with("k_proj.bias");
    if (is_idle(run.model().weights[weight])) {
      EXPECT_EQ(norm, 0) << name;
    } else if (!flat) {
      EXPECT_GT(norm, 2e-4) << name;
    }
    for (std::size_t i = 0; i < gradient.size(); ++i)
      steepest[i] = norm > 1e-5 ? gradient[i] / static_cast<float>(norm) : 0;
    expect_slope(run, weight, steepest, norm > 1e-5 ? norm : 0, 2e-4 + 0.01 * norm);
    expect_slope(run, weight, random, along, 2e-4 + 0.01 * norm);
  }
}

TEST_P(Gradients, AreAddedToWhatIsThereUnlessFresh) {
  Executor run(GetParam().config, workload_, 0, GetParam().training);
  run.forward();
  run.backward();
  const auto once = run.gradients();
  run.forward();
  run.backward({}, false);
  const auto twice = run.gradients();
  // a sum of parts that are rounded one by one may differ in its last bits
  for (std::size_t weight = 0; weight < once.size(); ++weight)
    for (std::size_t i = 0; i < once[weight].size(); ++i)
      ASSERT_NEAR(twice[weight][i], 2 * once[weight][i], 1e-6 + 1e-5 * std::abs(once[weight][i]))
          << run.model().weights[weight].name << " " << i;
}

constexpr const char* gelu_llama = R"({"model_type": "llama", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 40, "vocab_size": 50,
    "hidden_act": "gelu_new", "attention_bias": true, "mlp_bias": true})";

// 3 heads of 8.
constexpr const char* small_qwen3 = R"({"model_type": "qwen3", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "intermediate_size": 40, "vocab_size": 50})";
constexpr const char* small_olmo2 = R"({"model_type": "olmo2", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 40,
    "vocab_size": 50})";
constexpr const char* small_gemma3 = R"({"model_type": "gemma3_text", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "intermediate_size": 40, "vocab_size": 50})";
constexpr const char* small_phi3 = R"({"model_type": "phi3", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "num_key_value_heads": 1,
    "intermediate_size": 40, "vocab_size": 50, "partial_rotary_factor": 0.75})";
constexpr const char* small_neox = R"({"model_type": "gpt_neox", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 40,
    "vocab_size": 50})";
constexpr const char* small_cohere = R"({"model_type": "cohere", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 40,
    "vocab_size": 50})";
constexpr const char* small_nemotron = R"({"model_type": "nemotron", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 40,
    "vocab_size": 50})";
constexpr const char* small_bigcode = R"({"model_type": "gpt_bigcode", "n_embd": 24, "n_layer": 1,
    "n_head": 3, "n_inner": 40, "n_positions": 32, "vocab_size": 50})";

INSTANTIATE_TEST_SUITE_P(
    Models, Gradients,
    testing::Values(
        Case{"llama", small_llama},
        Case{"llama_unfused", small_llama, Attention::materialized, false},
        Case{"llama_chunked_loss",
             small_llama,
             Attention::flash,
             true,
             0,
             {},
             description::LossKind::chunked},
        Case{"llama_dropout", small_llama, Attention::flash, true, 0.2},
        Case{"llama_unfused_dropout", small_llama, Attention::materialized, false, 0.2},
        Case{"llama_with_biases", gelu_llama, Attention::materialized}, Case{"qwen", small_qwen},
        Case{"gpt2", small_gpt2}, Case{"gpt2_unfused", small_gpt2, Attention::materialized, false},
        Case{"gpt2_dropout", small_gpt2, Attention::flash, true, 0.2},
        Case{"gpt2_unfused_dropout", small_gpt2, Attention::materialized, false, 0.2},
        Case{"opt", small_opt}, Case{"opt_norm_last", norm_last_opt},
        Case{"norms_of_heads", small_qwen3},
        Case{"norms_of_heads_unfused", small_qwen3, Attention::materialized, false},
        Case{"norms_of_outputs", small_olmo2}, Case{"sandwich", small_gemma3},
        Case{"gate_and_up_in_one", small_phi3},
        Case{"gate_and_up_dropout", small_phi3, Attention::flash, false, 0.2},
        Case{"parallel_norms", small_neox},
        Case{"parallel_norms_dropout", small_neox, Attention::flash, true, 0.2},
        Case{"parallel_without_biases", small_cohere}, Case{"relu_squared", small_nemotron},
        Case{"one_key_head", small_bigcode},
        Case{"adapters", small_llama, Attention::flash, true, 0, adapters("attention", 6)},
        Case{"adapters_everywhere_unfused", small_llama, Attention::materialized, false, 0,
             adapters("all_linear", 2)},
        Case{"dora", small_llama, Attention::flash, true, 0, dora("all_linear", 6)},
        Case{"dora_behind_biases", gelu_llama, Attention::flash, true, 0, dora("attention", 2)},
        Case{"dora_of_one_matrix", small_phi3, Attention::flash, true, 0, dora("qkv_proj", 3)},
        Case{"adapters_of_one_matrix", small_phi3, Attention::flash, true, 0,
             adapters("qkv_proj", 3)},
        Case{"adapters_behind_biases", small_gpt2, Attention::flash, true, 0.2,
             adapters("all_linear", 3)},
        Case{"frozen_bottom", small_llama, Attention::flash, true, 0,
             freezing({"embeddings", "layers.0"})},
        Case{"frozen_middle", small_gpt2, Attention::flash, true, 0,
             freezing({"layers.1", "wpe", "wte"})}),
    [](const auto& row) { return row.param.name; });

/// Of 24 tokens the last of five tiles has fewer than the others.
Case in_tiles(const char* name, const char* config, bool fused,
              description::Training training = {}) {
  Case tiled{name, config, Attention::flash, fused};
  tiled.training = std::move(training);
  tiled.tiles = 5;
  return tiled;
}

Case packed(const char* name, const char* config, double dropout) {
  Case of_documents{name, config, Attention::flash, true, dropout};
  of_documents.document = 4;
  return of_documents;
}

INSTANTIATE_TEST_SUITE_P(Documents, Gradients,
                         testing::Values(packed("packed", small_llama, 0),
                                         packed("packed_dropout", small_llama, 0.2)),
                         [](const auto& row) { return row.param.name; });

/// The loss, too, has its logits in parts.
Case in_tiles_and_chunks(const char* name, description::Training training) {
  Case tiled = in_tiles(name, small_llama, true, std::move(training));
  tiled.loss = description::LossKind::chunked;
  return tiled;
}

INSTANTIATE_TEST_SUITE_P(
    Tiles, Gradients,
    testing::Values(in_tiles("gated", small_llama, true), in_tiles("unfused", small_llama, false),
                    in_tiles("biases", gelu_llama, true),
                    in_tiles("two_matrices", small_gpt2, true),
                    in_tiles("gate_and_up_in_one", small_phi3, true),
                    in_tiles("frozen_bottom", small_llama, true,
                             freezing({"embeddings", "layers.0"})),
                    in_tiles("frozen_feed_forward", small_llama, true, freezing({"layers.1.mlp"})),
                    in_tiles("norm_last", norm_last_opt, true),
                    in_tiles("frozen_gate", small_llama, true, freezing({"gate_proj"})),
                    in_tiles("frozen_down", gelu_llama, false, freezing({"down_proj"}))),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    TilesWithAdapters, Gradients,
    testing::Values(in_tiles("gated", small_llama, true, adapters("all_linear", 6)),
                    in_tiles("unfused", small_llama, false, adapters("all_linear", 2)),
                    in_tiles("of_attention_alone", small_llama, true, adapters("attention", 6)),
                    in_tiles("of_gate", small_llama, true, adapters("gate_proj", 6)),
                    in_tiles("of_down", small_llama, false, adapters("down_proj", 6)),
                    in_tiles("behind_biases", gelu_llama, true, adapters("all_linear", 3)),
                    in_tiles("two_matrices", small_gpt2, true, adapters("all_linear", 3)),
                    in_tiles("norm_last", norm_last_opt, true, adapters("all_linear", 3)),
                    in_tiles("gate_and_up_in_one", small_phi3, true, adapters("all_linear", 3)),
                    in_tiles("gate_and_up_in_one_unfused", small_phi3, false,
                             adapters("gate_up_proj", 3)),
                    in_tiles_and_chunks("chunked_loss", adapters("all_linear", 6)),
                    in_tiles("dora", small_llama, true, dora("all_linear", 6)),
                    in_tiles("dora_unfused", small_llama, false, dora("all_linear", 2)),
                    in_tiles("dora_of_up", small_llama, true, dora("up_proj", 6)),
                    in_tiles("dora_behind_biases", gelu_llama, true, dora("all_linear", 2)),
                    in_tiles("dora_without_a_gate", small_opt, true, dora("all_linear", 3)),
                    in_tiles("dora_of_one_matrix", small_phi3, true, dora("all_linear", 3))),
    [](const auto& row) { return row.param.name; });

// Biases of what makes latents.
constexpr const char* biased_deepseek_v2 = R"({"model_type": "deepseek_v2",
    "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3,
    "num_key_value_heads": 3, "q_lora_rank": 14, "kv_lora_rank": 10, "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 6, "v_head_dim": 4, "intermediate_size": 40, "n_routed_experts": 0,
    "attention_bias": true, "vocab_size": 50})";
constexpr const char* small_minicpm3 = R"({"model_type": "minicpm3", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "num_key_value_heads": 3,
    "q_lora_rank": 14, "kv_lora_rank": 10, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4,
    "intermediate_size": 40, "vocab_size": 50})";

// Shares that do not add up to 1, beside an expert of all tokens.
constexpr const char* mixed_deepseek_v2 = R"({"model_type": "deepseek_v2", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 3,
    "q_lora_rank": null, "kv_lora_rank": 10, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2,
    "v_head_dim": 4, "intermediate_size": 40, "moe_intermediate_size": 20,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "first_k_dense_replace": 1,
    "vocab_size": 50})";

INSTANTIATE_TEST_SUITE_P(
    Latents, Gradients,
    testing::Values(
        Case{"deepseek_v3", small_deepseek_v3},
        Case{"deepseek_v3_unfused", small_deepseek_v3, Attention::materialized, false},
        Case{"deepseek_v3_dropout", small_deepseek_v3, Attention::flash, true, 0.2},
        Case{"deepseek_v2", small_deepseek_v2},
        Case{"deepseek_v2_unfused", small_deepseek_v2, Attention::materialized, false, 0.2},
        Case{"biases", biased_deepseek_v2}, Case{"minicpm3", small_minicpm3},
        Case{"deepseek_v2_experts", mixed_deepseek_v2},
        Case{"adapters", small_deepseek_v3, Attention::flash, true, 0, adapters("attention", 6)},
        Case{"dora", small_deepseek_v2, Attention::flash, true, 0, dora("all_linear", 6)},
        packed("packed", small_deepseek_v2, 0)),
    [](const auto& row) { return row.param.name; });

constexpr const char* small_granite_moe = R"({"model_type": "granitemoeshared", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 20,
    "num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": 16,
    "vocab_size": 50})";
// Attention without positions, and a feed-forward whose gate and up are one matrix.
constexpr const char* small_granite_4 = R"({"model_type": "granitemoehybrid", "hidden_size": 24,
    "num_hidden_layers": 1, "num_attention_heads": 3, "num_local_experts": 0,
    "shared_intermediate_size": 20, "layer_types": ["attention"], "vocab_size": 50})";
constexpr const char* small_glm4_moe = R"({"model_type": "glm4_moe", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 8,
    "intermediate_size": 40, "moe_intermediate_size": 20, "n_routed_experts": 5,
    "num_experts_per_tok": 3, "first_k_dense_replace": 1, "use_qk_norm": true,
    "vocab_size": 50})";
constexpr const char* small_dbrx = R"({"model_type": "dbrx", "d_model": 24, "n_heads": 3,
    "n_layers": 1, "max_seq_len": 32, "vocab_size": 50, "attn_config": {"kv_n_heads": 1},
    "ffn_config": {"ffn_hidden_size": 20, "moe_num_experts": 4, "moe_top_k": 2}})";

INSTANTIATE_TEST_SUITE_P(
    Experts, Gradients,
    testing::Values(
        Case{"mixtral", small_mixtral},
        Case{"mixtral_apart", small_mixtral, Attention::flash, true, 0, apart()},
        Case{"mixtral_unfused", small_mixtral, Attention::materialized, false},
        Case{"mixtral_dropout", small_mixtral, Attention::flash, true, 0.2},
        Case{"mixtral_uneven",
             small_mixtral,
             Attention::flash,
             true,
             0,
             {},
             std::nullopt,
             description::ExpertLoad{1.1, {}}},
        // one is chosen by all, one by nobody
        Case{"mixtral_idle",
             small_mixtral,
             Attention::flash,
             true,
             0,
             {},
             std::nullopt,
             description::ExpertLoad{std::nullopt, {9, 0, 3, 4, 2}}},
        Case{"mixtral_idle_apart", small_mixtral, Attention::flash, true, 0, apart(), std::nullopt,
             description::ExpertLoad{std::nullopt, {9, 0, 3, 4, 2}}},
        Case{"qwen", small_qwen2_moe},
        Case{"qwen_apart_unfused", small_qwen2_moe, Attention::materialized, false, 0, apart()},
        Case{"shared", small_granite_moe}, Case{"layer_norms", small_dbrx},
        Case{"shared_adapters", small_granite_moe, Attention::flash, true, 0,
             adapters("all_linear", 6)},
        Case{"without_positions", small_granite_4}, Case{"sigmoids", small_glm4_moe},
        Case{"adapters", small_mixtral, Attention::flash, true, 0,
             apart(adapters("all_linear", 6))},
        Case{"adapters_beside", small_qwen2_moe, Attention::flash, true, 0,
             adapters("attention", 6)},
        Case{"frozen", small_mixtral, Attention::flash, true, 0, freezing({"layers.0"})}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace spillway::hw_backend
